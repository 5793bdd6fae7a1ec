"""The wheel, installed into an empty folder, does everything: its tables travel in it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[1]


def run(*command, **options):
    ended = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, **options)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder that holds the installed wheel and nothing else."""
    wheels, target = tmp_path_factory.mktemp("wheels"), tmp_path_factory.mktemp("installed")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input")
    run(*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", wheels, TOP)
    (wheel,) = wheels.glob("*.whl")
    run(*pip, "install", "--no-deps", "--target", target, wheel)
    return target


def python(installed, folder, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    return run(sys.executable, *arguments, cwd=folder, env=environment)


def test_it_is_the_wheel_that_is_imported(installed, tmp_path):
    code = "import imagenet_errors.shipped as s; print(s.shipped('data', 'sources.toml'))"
    assert python(installed, tmp_path, "-c", code).strip() == str(
        installed / "imagenet_errors" / "data" / "sources.toml"
    )


def test_the_demo_runs_from_an_empty_folder(installed, tmp_path):
    out = python(installed, tmp_path, "-m", "imagenet_errors", "evaluate", "--demo", "--out", "run")
    assert "efficientnet_lite0" in out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]


def test_every_shipped_file_is_in_the_wheel(installed):
    for folder in ("data", "superclasses"):
        ours = {path.relative_to(TOP) for path in (TOP / folder).rglob("*") if path.is_file()}
        theirs = {
            path.relative_to(installed / "imagenet_errors")
            for path in (installed / "imagenet_errors" / folder).rglob("*")
            if path.is_file()
        }
        assert ours == theirs
