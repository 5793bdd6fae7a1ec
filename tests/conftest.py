"""Fixtures: the shared real data where it is there, made-up predictions, the command line."""

import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from imagenet_errors import cli
from imagenet_errors.images import val_file_names
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.prepared import CACHE_VARIABLE
from imagenet_errors.readers.annotations import read_real

TOP = Path(__file__).parents[1]
pytest_plugins = ["report_world"]

# The same examples on every run and no time limits: a busy machine is no fault. To look for new ones:
# pytest --hypothesis-profile=default
settings.register_profile(
    "steady", deadline=None, derandomize=True, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")


@pytest.fixture(scope="session", autouse=True)
def _interrupts_are_heard():
    """A shell has what it starts in the background ignore Ctrl-C, and programs pass that on to those they start."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    """What earlier runs or other code kept prepared is not met here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CACHE_VARIABLE, str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def shared():
    """The folder of real files that may not be shipped; tests that need it skip where it is absent."""
    folder = Path(os.environ.get("IMAGENET_ERRORS_SHARED", TOP.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no shared real data at {folder}")
    return folder


@dataclass(frozen=True)
class Answer:
    """What the program said and how it ended."""

    status: int
    out: str
    err: str


@pytest.fixture
def program(monkeypatch, capsys):
    """Run the program in this process: ``program("evaluate", path, ...)``."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["imagenet-errors", *map(str, arguments)])
        before = dict(os.environ)
        try:
            cli.main()
            status = 0
        except SystemExit as ended:
            status = int(ended.code or 0)
        finally:  # --offline and --jobs are told to the rest of the process, which a program of its own ends with
            os.environ.clear()
            os.environ.update(before)
        said = capsys.readouterr()
        return Answer(status, said.out, said.err)

    return run


@dataclass(frozen=True)
class ValImages:
    """The first n validation images that have ReaL labels, and a seeded model's predictions of them."""

    names: list[str]
    label: np.ndarray
    top1: np.ndarray

    def csv(self, path, *, header="file_name,predicted_class", keep=slice(None), **changes):
        """Write predictions; ``at_ROW=class`` replaces single ones."""
        path.parent.mkdir(exist_ok=True)
        top1 = self.top1.copy()
        for key, value in changes.items():
            top1[int(key.removeprefix("at_"))] = value
        rows = [f"{name},{index}" for name, index in zip(self.names, top1, strict=True)]
        path.write_text("\n".join([header, *rows[keep]]) + "\n", encoding="utf-8")
        return path

    def annotations(self, path, **changes):
        """Write annotations: the original label alone is accepted, but for ``at_ROW="1 2"``."""
        labels = [changes.get(f"at_{row}", str(label)) for row, label in enumerate(self.label)]
        rows = [f"{name},{label}" for name, label in zip(self.names, labels, strict=True)]
        path.write_text("\n".join(["file_name,labels", *rows]) + "\n", encoding="utf-8")
        return path


@pytest.fixture(scope="session")
def val_images():
    real = read_real(imagenet_1k())
    rows = np.flatnonzero(real.evaluated)[:300]
    random = np.random.default_rng(7)
    label = real.label[rows].astype(int)
    near = np.clip(label + random.integers(1, 6, len(rows)), 0, 999)
    top1 = np.where(random.random(len(rows)) < 0.7, label, near)
    return ValImages(val_file_names(rows + 1).to_pylist(), label, top1)
