"""What README and documentation show is what the program prints, writes and runs."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import build_docs
import readme_examples
from imagenet_errors.images import val_file_names
from real_looking import real_looking

TOP = Path(__file__).parents[1]
PAGES = [TOP / "README.md", *sorted((TOP / "docs").glob("*.md"))]
PYTHON = re.compile(r"(?P<mark><!-- not run: [^\n]+ -->\n)?^```python\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
WITH_PYTHON = [path for path in PAGES if any(not found["mark"] for found in PYTHON.finditer(path.read_text()))]


@pytest.mark.parametrize("path", readme_examples.pages(), ids=lambda path: path.name)
def test_every_example_shows_the_programs_real_output(path):
    text = path.read_text(encoding="utf-8")
    assert readme_examples.with_examples(text) == text, "run: python scripts/readme_examples.py"


def test_there_are_examples():
    assert sum(len(readme_examples.EXAMPLE.findall(path.read_text(encoding="utf-8"))) for path in PAGES) >= 10


@pytest.mark.parametrize("name", build_docs.PAGES)
def test_pages_made_from_the_program_are_up_to_date(name):
    made = build_docs.PAGES[name]()
    assert (TOP / "docs" / name).read_text(encoding="utf-8") == made, "run: python scripts/build_docs.py"


def test_the_readme_is_read_in_a_few_minutes():
    assert len((TOP / "README.md").read_text(encoding="utf-8").splitlines()) <= 160


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A folder with a model's predictions of all validation images."""
    pytest.importorskip("pandas")
    folder = tmp_path_factory.mktemp("docs")
    top1 = real_looking()
    names = val_file_names(np.arange(1, len(top1) + 1)).to_pylist()
    rows = [f"{name},{index}" for name, index in zip(names, top1, strict=True)]
    (folder / "resnet50.csv").write_text("\n".join(["file_name,predicted_class", *rows]) + "\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("path", WITH_PYTHON, ids=lambda path: path.name)
def test_python_on_the_pages_runs_as_written(world, path, monkeypatch):
    monkeypatch.chdir(world)
    names = {}
    for found in PYTHON.finditer(path.read_text(encoding="utf-8")):
        if not found["mark"]:
            exec(compile(found["code"], str(path), "exec"), names)


def test_the_documentation_builds_without_a_warning(tmp_path):
    pytest.importorskip("mkdocs", reason="needs the extra docs: mkdocs is not installed")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", tmp_path / "site"]
    ended = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    for page in ("index", "commands", "formats", "api"):
        assert (tmp_path / "site" / f"{page}.html").is_file()


def test_every_public_name_is_on_the_page_of_the_api():
    import imagenet_errors

    page = (TOP / "docs" / "api.md").read_text(encoding="utf-8")
    for name in imagenet_errors.__all__:
        assert name in page or name == "__version__", name
