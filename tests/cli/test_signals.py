"""SIGTERM, as Slurm and docker send it, cleans up as Ctrl-C does."""

import signal
import subprocess
import sys

import pytest

from patience import PATIENCE_SECONDS

WORK = """
import sys, time
from pathlib import Path
from imagenet_errors import cli
from imagenet_errors.files import staged_beside

def work(arguments):
    with staged_beside(Path(sys.argv[1]) / "run") as staged:
        (staged / "half").touch()
        print("working", flush=True)
        if "finalised" in sys.argv:
            Slow()
        time.sleep(1800)

class Slow:
    def __del__(self):
        time.sleep(1800)

cli.program = lambda arguments: work
cli.main()
"""


@pytest.mark.parametrize(
    ("sent", "status", "word"),
    [(signal.SIGTERM, 143, "Terminated"), (signal.SIGINT, 130, "Interrupted")],
    ids=["SIGTERM", "Ctrl-C"],
)
@pytest.mark.parametrize("more", [(), ("finalised",)], ids=["at work", "in a finaliser, where Python drops exceptions"])
def test_an_ended_run_says_so_and_leaves_nothing(tmp_path, more, sent, status, word):
    command = [sys.executable, "-c", WORK, tmp_path, *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "working\n"
        process.send_signal(sent)
        _, errors = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == status
    assert errors == f"{word}: nothing was left half-written.\n"
    assert not [*tmp_path.iterdir()]


STARTING = """
import os, signal, sys
module, out = sys.argv[1:]

class CtrlC:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, CtrlC())
from imagenet_errors.__main__ import main
sys.argv[1:] = ["evaluate", "--demo", "--out", out]
main()
"""


@pytest.mark.parametrize("module", ["cyclopts", "numpy", "pyarrow", "imagenet_errors.cli.evaluate"])
def test_ctrl_c_while_the_program_is_loaded_is_quiet(tmp_path, module):
    command = [sys.executable, "-c", STARTING, module, tmp_path / "run"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")
