"""SIGTERM, as Slurm and docker send it, cleans up as Ctrl-C does."""

import signal
import subprocess
import sys

import pytest

WORK = """
import sys, time
from pathlib import Path
from imagenet_errors import cli
from imagenet_errors.files import staged_beside

def work(arguments):
    with staged_beside(Path(sys.argv[1]) / "run") as staged:
        (staged / "half").touch()
        print("working", flush=True)
        time.sleep(120)

cli.program = lambda arguments: work
cli.main()
"""


@pytest.mark.parametrize(
    ("sent", "status", "word"),
    [(signal.SIGTERM, 143, "Terminated"), (signal.SIGINT, 130, "Interrupted")],
    ids=["SIGTERM", "Ctrl-C"],
)
def test_an_ended_run_says_so_and_leaves_nothing(tmp_path, sent, status, word):
    command = [sys.executable, "-c", WORK, tmp_path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "working\n"
        process.send_signal(sent)
        _, errors = process.communicate(timeout=120)
    assert process.returncode == status
    assert errors == f"{word}: nothing was left half-written.\n"
    assert not [*tmp_path.iterdir()]
