# make demo: set up, evaluate the shipped real predictions, say where the result is.
# make test: set up, run all tests. Both work in a fresh clone; PYTHON chooses the interpreter.
# make test-all: the tests that need torch, open_clip, faiss, timm and ray too (several GB).
PYTHON ?= python3
TORCH ?= torch==2.14.1 torchvision==0.29.1
VENV := .venv
RUN := $(VENV)/bin
RAY_TESTS := tests/oov/test_pool_on_ray.py tests/predict/test_engines_on_ray.py tests/cli/test_explain_on_ray.py

.PHONY: help demo agreement test test-lowest test-all test-ray reliability mutants check docs fix bench tables clean

help:
	@echo "make demo   evaluate the shipped predictions of three real models into runs/demo"
	@echo "make agreement   the table of agreement with the human experts into runs/agreement (fetches a few MB once)"
	@echo "make test   run all tests (those that need torch skip)"
	@echo "make test-lowest   run all tests with the lowest versions that pyproject.toml allows"
	@echo "make test-ray   run those alone that start Ray clusters"
	@echo "make reliability   kill it, damage its inputs, load it, into reports/reliability.md (one to three hours)"
	@echo "make mutants  change the core in 450 places and see whether the tests notice, into reports/mutants.md (an hour)"
	@echo "make test-all   run those that need torch, open_clip, faiss, timm and ray, too (several GB)"
	@echo "make check  formatting, lint, types, documentation"
	@echo "make docs   build the documentation into site/"
	@echo "make fix    format and mend what can be mended"
	@echo "make bench  measure speed and memory into reports/"

demo: $(VENV)/core.done
	$(RUN)/imagenet-errors evaluate --demo --out runs/demo
	$(RUN)/imagenet-errors report runs/demo
	@echo "Look into one verdict: $(RUN)/imagenet-errors why runs/demo ILSVRC2012_val_00038461.JPEG"

agreement: $(VENV)/core.done
	$(RUN)/imagenet-errors agreement --out runs/agreement

test: $(VENV)/dev.done
	$(RUN)/python -m pytest -n 2

# Tests that start Ray clusters follow, one after the other: two clusters at once are more than small machines have.
test-all: $(VENV)/all.done
	$(RUN)/python -m pytest -n 2 $(RAY_TESTS:%=--ignore=%)
	$(RUN)/python -m pytest $(RAY_TESTS)

test-ray: $(VENV)/all.done
	$(RUN)/python -m pytest $(RAY_TESTS)

# The lowest of what this project names itself; of what that needs in turn, the newest. Warnings of old ones are theirs.
test-lowest: $(VENV)-lowest/lowest.done
	$(VENV)-lowest/bin/python -m pytest -n 2 -o filterwarnings=

# RELIABILITY="--work DIR --images DIR --human FILE --published-file FILE" keeps what is done, and tries real files.
reliability: $(VENV)/all.done
	$(RUN)/python scripts/check_reliability.py $(RELIABILITY) --out reports/reliability.md

# MUTANTS="--sample 0 readers/columns.py" tries every place of a module; what survived is tried again by --again.
mutants: $(VENV)/mutants.done
	$(RUN)/python scripts/mutants.py --seed 12 --sample 450 $(MUTANTS) --out reports/mutants.md

check: $(VENV)/dev.done docs
	$(RUN)/ruff format --check .
	$(RUN)/ruff check .
	$(RUN)/mypy

docs: $(VENV)/docs.done
	$(RUN)/python scripts/build_docs.py --check
	NO_MKDOCS_2_WARNING=1 $(RUN)/mkdocs build --strict --quiet

fix: $(VENV)/dev.done
	$(RUN)/ruff format .
	$(RUN)/ruff check --fix .

bench: $(VENV)/dev.done
	$(RUN)/python scripts/bench_evaluate.py --out reports/bench_evaluate.md
	$(RUN)/python scripts/bench_report.py --out reports/bench_report.md
	$(RUN)/python scripts/bench_growth.py --out reports/bench_growth.md

clean:
	rm -rf $(VENV) $(VENV)-lowest runs dist site

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/core.done: pyproject.toml | $(VENV)/bin/python
	$(RUN)/python -m pip install --quiet --editable .
	@touch $@

# torch and torchvision are installed together first: apart, pip may pick versions that do not fit.
$(VENV)/all.done: pyproject.toml | $(VENV)/bin/python
	$(RUN)/python -m pip install --quiet $(TORCH)
	$(RUN)/python -m pip install --quiet --editable ".[dev,clip,timm,ray,explain,wandb,notebooks]" torchmetrics
	@touch $@ $(VENV)/dev.done $(VENV)/core.done

$(VENV)/dev.done: pyproject.toml | $(VENV)/bin/python
	$(RUN)/python -m pip install --quiet --editable ".[dev]"
	@touch $@ $(VENV)/core.done

# Cosmic Ray, because its changes alter what code does and never how it words a message, and it can be used as a library.
$(VENV)/mutants.done: pyproject.toml | $(VENV)/bin/python
	$(RUN)/python -m pip install --quiet --editable ".[dev,mutants]"
	@touch $@ $(VENV)/dev.done $(VENV)/core.done

$(VENV)-lowest/lowest.done: pyproject.toml
	$(PYTHON) -m venv $(VENV)-lowest
	$(VENV)-lowest/bin/python -m pip install --quiet uv
	$(VENV)-lowest/bin/uv pip compile --quiet --resolution lowest-direct --extra dev --python $(VENV)-lowest/bin/python \
		--output-file $(VENV)-lowest/lowest.txt pyproject.toml
	$(VENV)-lowest/bin/uv pip install --quiet --python $(VENV)-lowest/bin/python --requirement $(VENV)-lowest/lowest.txt
	$(VENV)-lowest/bin/uv pip install --quiet --python $(VENV)-lowest/bin/python --no-deps --editable .
	@touch $@

$(VENV)/docs.done: pyproject.toml | $(VENV)/bin/python
	$(RUN)/python -m pip install --quiet --editable ".[docs]"
	@touch $@
