"""The program as a person meets it: help, version, exit status, and how quickly it answers."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from imagenet_errors import __version__
from imagenet_errors.cli import COMMANDS
from imagenet_errors.cli import program as program_of

TOP = Path(__file__).parents[1]
HEAVY = ("torch", "open_clip", "faiss", "timm", "ray", "sklearn", "matplotlib", "nltk", "jinja2", "PIL", "selenium")


LEAVES = [(name,) for name in COMMANDS if name != "data"] + [("data", name) for name in ("list", "fetch", "path")]


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_every_command_has_help_with_an_example(path):
    command = program_of(path)
    for name in path:
        command = command[name]
    assert command.help
    assert f"imagenet-errors {' '.join(path)}" in command.help_epilogue
    for argument in command.assemble_argument_collection():
        if argument.parse and argument.show:
            assert argument.parameter.help, f"{' '.join(path)}: {argument.name} is not explained"


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_the_readme_or_a_page_of_the_documentation_shows_every_command(path):
    pages = [TOP / "README.md", *(TOP / "docs").glob("*.md")]
    assert any(f"imagenet-errors {' '.join(path)}" in page.read_text(encoding="utf-8") for page in pages)


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_help_is_whole_on_a_narrow_screen(program, path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    answer = program(*path, "--help")
    assert answer.status == 0
    assert "…" not in answer.out


def test_help_ends_well(program):
    answer = program("--help")
    assert answer.status == 0
    assert "evaluate" in answer.out


def test_the_version_is_the_packages(program):
    assert program("--version").out.strip() == f"imagenet-errors {__version__}"
    assert f'version = "{__version__}"' in (TOP / "pyproject.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("unknown",), id="command"),
        pytest.param(("evaluate", "--unknown"), id="option"),
        pytest.param(("why",), id="missing argument"),
    ],
)
def test_wrong_usage_ends_with_status_2(program, arguments):
    assert program(*arguments).status == 2


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("import imagenet_errors.cli", id="the command line"),
        pytest.param("import imagenet_errors.evaluation, imagenet_errors.report.terminal", id="evaluate"),
        pytest.param("import imagenet_errors.why, imagenet_errors.downloads", id="why and data"),
    ],
)
def test_importing_pulls_in_no_heavy_library(code):
    loaded = set(python(f"{code}; import sys; print(*sys.modules)").split())
    assert loaded.isdisjoint(HEAVY)


def test_evaluating_a_csv_loads_only_what_it_uses(val_images, tmp_path):
    """A budget of modules, not of time: pandas is installed here, and pyarrow would import it."""
    answer = run_program(
        "evaluate",
        val_images.csv(tmp_path / "one.csv"),
        *("--allow-partial", "--out", tmp_path / "run"),
        python=("-X", "importtime"),
    )
    modules = [
        line.rpartition("|")[2].strip() for line in answer.stderr.splitlines() if line.startswith("import time:")
    ]
    loaded = {module.split(".")[0] for module in modules}
    assert answer.returncode == 0
    assert loaded.isdisjoint({*HEAVY, "scipy", "matplotlib", "jinja2", "pooch", "requests", "multiprocessing", "PIL"})
    assert {"pyarrow.dataset", "pyarrow.acero", "cyclopts.help", "rich.progress"}.isdisjoint(modules)
    others = ("json_files", "npz_files", "numpy_files", "own_classes")
    assert {f"imagenet_errors.readers.{name}" for name in others}.isdisjoint(modules)
    assert len(modules) < 560, "what is new here, and is it needed to evaluate a CSV?"


def test_help_loads_no_table_library():
    loaded = python("import imagenet_errors.cli, sys; print(*sys.modules)").split()
    assert set(loaded).isdisjoint({"numpy", "pyarrow", "pandas", "pooch"})


def test_nothing_in_the_package_imports_a_heavy_library_at_the_top():
    for path in (TOP / "src").rglob("*.py"):
        found = re.findall(rf"^(?:import|from) ({'|'.join(HEAVY)})\b", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert not found, path


def test_the_module_is_the_program():
    command = [
        sys.executable,
        "-m",
        "imagenet_errors",
        "evaluate",
        "nothing.csv",
        "--annotations",
        "real",
        "--out",
        "x",
    ]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr.strip() == "Error: nothing.csv: no such file or folder. Check the path."


def test_the_demo_evaluates_the_shipped_predictions(program, tmp_path):
    answer = program("evaluate", "--demo", "--out", tmp_path / "run")
    assert answer.status == 0
    for model in ("efficientnet_lite0", "efficientnet_lite1", "efficientnet_lite2"):
        assert model in answer.out
    assert (tmp_path / "run" / "summary.parquet").is_file()


def test_json_output_is_json_alone(program, tmp_path):
    import json

    answer = program("evaluate", "--demo", "--json", "--out", tmp_path / "run")
    content = json.loads(answer.out)
    assert {row["model"] for row in content["models"]} == {f"efficientnet_lite{size}" for size in range(3)}
    assert content["out"] == str(tmp_path / "run")
    assert set(content["stages_not_run"]) == {"fine_grained_oov", "non_prototypical"}
    for row in content["models"]:
        assert row["error_types"]["fine_grained_oov"]["count"] is None
        assert row["error_types"]["model_failure"]["count"] > 0


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(
    ("signal_name", "status", "said"), [("SIGINT", 130, "Interrupted"), ("SIGTERM", 143, "Terminated")]
)
def test_an_interrupted_run_says_so_and_leaves_nothing(val_images, tmp_path, jobs, signal_name, status, said):
    for number in range(30):
        val_images.csv(tmp_path / "models" / f"model{number}.csv")
    code = """
import itertools, os, signal, sys
from imagenet_errors import cli
from imagenet_errors.runs import directory as run_directory
program = os.getpid()
signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever the tests were started from: & and nohup ignore it
write, calls = run_directory.RunWriter.verdicts, itertools.count(1)

def write_and_interrupt(*arguments):
    write(*arguments)
    if next(calls) == 3:  # one step in C, so no two threads see the same number
        os.kill(program, signal.SIGNAL)

run_directory.RunWriter.verdicts = write_and_interrupt
sys.argv = ["imagenet-errors", *sys.argv[1:]]
cli.main()
"""
    arguments = ("evaluate", tmp_path / "models", "--annotations", "real", "--allow-partial", "--out", tmp_path / "run")
    arguments += ("--jobs", jobs)
    command = [sys.executable, "-c", code.replace("SIGNAL", signal_name), *map(str, arguments)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == status
    assert ended.stderr.strip() == f"{said}: nothing was left half-written."
    assert [path.name for path in tmp_path.iterdir()] == ["models"]


def run_program(*arguments, python=(), **options):
    command = [sys.executable, *python, "-m", "imagenet_errors", *map(str, arguments)]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False, **options)


def test_a_full_disk_at_the_end_of_the_answer_is_one_line():
    with Path("/dev/full").open("w") as full:
        ended = run_program("superclasses", "terriers", "--json", stdout=full)
    assert ended.returncode == 2
    assert "No space left on device" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_reader_that_has_seen_enough_is_no_fault():
    command = f"{sys.executable} -m imagenet_errors superclasses | head -1"
    ended = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert ended.stderr == ""


def test_an_encoding_without_bars_still_shows_the_figures(tmp_path):
    import os

    environment = {**os.environ, "PYTHONIOENCODING": "cp1252"}
    given = ("evaluate", "--demo", "--out", tmp_path / "run")
    ended = run_program(*given, env=environment, stdout=subprocess.PIPE, encoding="cp1252")
    assert ended.returncode == 0
    assert "efficientnet_lite0" in ended.stdout


@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_fault(tmp_path, closed):
    command = f"{sys.executable} -m imagenet_errors evaluate --demo --out {tmp_path / 'run'} {closed}"
    ended = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert ended.returncode == 0
    assert "Traceback" not in ended.stderr
    assert (tmp_path / "run" / "run.json").is_file()


def test_with_a_closed_stderr_nothing_but_the_answer_is_printed(tmp_path):
    import json

    command = f"{sys.executable} -m imagenet_errors evaluate --demo --json --out {tmp_path / 'run'} 2>&-"
    ended = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert json.loads(ended.stdout)["models"]
    command = f"{sys.executable} -m imagenet_errors evaluate nothing.csv 2>&-"
    ended = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")


def test_a_reader_of_a_table_that_has_seen_enough_is_no_fault(program, tmp_path):
    program("evaluate", "--demo", "--out", tmp_path / "run")
    command = [sys.executable, "-m", "imagenet_errors", "summary", tmp_path / "run"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        said = process.stderr.read()
    assert (process.returncode, said) == (0, "")
