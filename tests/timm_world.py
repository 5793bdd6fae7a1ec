"""A few made-up images under the names of validation images, for tests that predict; needs torch and timm."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from imagenet_errors.image_folder import read_folder
from imagenet_errors.images import val_file_names
from imagenet_errors.predict.job import PredictModel
from imagenet_errors.predict.settings import Settings
from patience import PATIENCE_SECONDS

MODELS = Path(__file__).with_name("registered_models.py")
TOP = Path(__file__).parents[1]


def needs_timm():
    for library in ("torch", "timm"):
        pytest.importorskip(library, reason=f"needs the extra timm: {library} is not installed")


def make_images(folder, n_images=12, *, side=40):
    """Write seeded noise of different colours; the names are the first validation images'."""
    from PIL import Image

    folder.mkdir(parents=True)
    random = np.random.default_rng(3)
    for name in val_file_names(np.arange(1, n_images + 1)).to_pylist():
        pixels = random.integers(0, 80, (side, side, 3)) + random.integers(0, 170, 3)
        Image.fromarray(pixels.astype(np.uint8)).save(folder / name, quality=95)
    return folder


def work_on(images, **settings):
    chosen = {"device": "cpu", "batch_size": 5, "register": (MODELS,)} | settings
    return PredictModel(read_folder(images), Settings(**chosen))


def said(path):
    """Return what a predictions file says of itself."""
    return json.loads(pq.read_schema(path).metadata[b"imagenet-errors"])


def write_content(path, outcome):
    assert outcome.content is not None, outcome.reason
    path.write_bytes(outcome.content)
    return path


def tables_of(run):
    """Return a run's tables as Python objects: what must not depend on how often the run was interrupted."""
    names = ["summary", "distribution", "accuracy", *(f"verdicts/{path.stem}" for path in run.glob("verdicts/*"))]
    names += [f"predictions/{path.stem}" for path in run.glob("predictions/*.parquet")]
    names += ["failures"] if (run / "failures.parquet").exists() else []
    return {name: pq.read_table(run / f"{name}.parquet").to_pydict() for name in names}


def arguments(models, images, run, *more):
    """Return a batch's command line."""
    given = ["batch", *models, "--images", images, "--annotations", "real", "--allow-partial", "--out", run]
    return [*map(str, given), "--register", str(MODELS), "--device", "cpu", "--batch-size", "5", *map(str, more)]


def start(command, **variables):
    """Start the program in a process of its own, in its own session so that all of it can be killed."""
    environment = {**os.environ, "PYTHONPATH": str(TOP / "src"), "OMP_NUM_THREADS": "1", **variables}
    return subprocess.Popen(
        [sys.executable, "-m", "imagenet_errors", *command],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def end(process):
    """Wait for the program; return its status and what it said."""
    _, errors = process.communicate(timeout=PATIENCE_SECONDS)
    return process.returncode, errors.decode()


def wait_for_models(process, predictions, n_models):
    """Wait until so many models are predicted."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len(list(predictions.glob("*.parquet"))) < n_models:
        if process.poll() is not None or time.monotonic() > deadline:
            raise AssertionError(f"ended by itself: {end(process)}")
        time.sleep(0.02)


def kill_after(process, predictions, n_models):
    """Kill the program once so many models are predicted; return how many there were then."""
    wait_for_models(process, predictions, n_models)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=PATIENCE_SECONDS)
    return len(list(predictions.glob("*.parquet")))
