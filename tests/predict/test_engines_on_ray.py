"""Over a Ray cluster, started and stopped here: same files, same resume; a lost worker costs one model."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from patience import PATIENCE_SECONDS
from ray_world import PATIENT, SAME_TOKEN
from timm_world import (
    TOP,
    arguments,
    end,
    kill_after,
    make_images,
    needs_timm,
    start,
    tables_of,
)

needs_timm()
pytest.importorskip("ray", reason="needs the extra ray: ray is not installed")

RAY = Path(sys.executable).with_name("ray")
MODELS = ["dying_net", "tiny_net.*", "slow_net", "raising_net"]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


PORT = free_port()
JOINING = ("--engine", "ray", "--ray-address", f"127.0.0.1:{PORT}")


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    return make_images(tmp_path_factory.mktemp("ray") / "images", 10)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A cluster of this machine alone; what it holds is reached at an address, as on several machines."""
    spare = tmp_path_factory.mktemp("r") / "spare"
    environment = {
        **os.environ,
        **PATIENT,
        **SAME_TOKEN,
        "PYTHONPATH": str(TOP / "src"),
        "OMP_NUM_THREADS": "1",
        "SPARE_MODELS": str(spare),
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    }
    scratch = tempfile.mkdtemp(prefix="r")  # its sockets' paths must be short: not below pytest's folders
    command = [RAY, "start", "--head", "--port", str(PORT), "--num-cpus", "2", "--num-gpus", "1", "--block"]
    command += ["--include-dashboard", "false", "--disable-usage-stats", "--temp-dir", scratch]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    head = subprocess.Popen(command, env=environment, start_new_session=True, **quiet)
    wait_until_listening(head)
    yield spare
    os.killpg(head.pid, signal.SIGTERM)
    try:
        head.wait(timeout=20)
    except subprocess.TimeoutExpired:
        os.killpg(head.pid, signal.SIGKILL)
    shutil.rmtree(scratch, ignore_errors=True)


def wait_until_listening(head):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while head.poll() is None and time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", PORT)) == 0:
                return
        time.sleep(0.2)
    raise AssertionError(f"the cluster did not start: status {head.poll()}")


def begin(models, images, run, *more, **variables):
    return start(arguments(models, images, run, *more), **PATIENT, **SAME_TOKEN, **variables)


@pytest.fixture(scope="module")
def local(images, tmp_path_factory):
    """What the local engine makes of the models, the one that may die among them."""
    folder = tmp_path_factory.mktemp("local")
    (folder / "spare").touch()
    status, errors = end(begin(MODELS, images, folder / "run", SPARE_MODELS=str(folder / "spare")))
    assert status == 1, errors
    return tables_of(folder / "run")


def test_killed_or_with_a_lost_worker_it_goes_on_to_the_local_engines_tables(cluster, images, local, tmp_path):
    run, more = tmp_path / "run", (*JOINING, "--gpu-share", 0, "--cpus-per-model", 1)
    kill_after(begin(MODELS, images, run, *more), run / "predictions", 2)
    status, errors = end(begin(MODELS, images, run, *more))
    assert status == 1, errors
    lost = pq.read_table(run / "failures.parquet").to_pydict()
    assert sorted(lost["model"]) == ["dying_net.x", "raising_net.x"]
    assert "its worker died" in lost["reason"][lost["model"].index("dying_net.x")]
    assert pq.read_table(run / "summary.parquet").num_rows == 7
    cluster.touch()  # from now on that model lives
    assert end(begin(MODELS, images, run, *more))[0] == 1
    spread = tables_of(run)
    assert spread["failures"]["model"] == ["raising_net.x"]
    assert_same(spread, local)


def assert_same(spread, local):
    """Probabilities may differ in their last digits: each machine adds up in its own order."""
    assert spread.keys() == local.keys()
    assert spread["distribution"] == local["distribution"]
    for name in (name for name in local if name.startswith("predictions/")):
        assert spread[name]["top5_classes"] == local[name]["top5_classes"]


def test_two_models_share_a_gpu_and_decode_on_their_own_cores(cluster, images, tmp_path):
    """The cluster only says that it has a GPU; the models run on the CPU."""
    models = ["tiny_net.seed1", "tiny_net.seed2"]
    status, errors = end(begin(models, images, tmp_path / "run", *JOINING, "--gpu-share", 0.5))
    assert status == 0, errors
    assert pq.read_table(tmp_path / "run" / "summary.parquet").num_rows == 2


def test_a_cluster_of_its_own_gives_the_local_engines_predictions(images, local, tmp_path):
    status, errors = end(begin(["tiny_net.seed3"], images, tmp_path / "run", "--engine", "ray"))
    assert status == 0, errors
    name = "predictions/tiny_net.seed3"
    assert tables_of(tmp_path / "run")[name]["top5_classes"] == local[name]["top5_classes"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        pytest.param([*JOINING, "--gpu-share", "64"], "no machine of the cluster has", id="no such machine"),
        pytest.param(
            ["--engine", "ray", "--ray-address", "127.0.0.1:1"],
            "--ray-address: cannot join the cluster",
            id="no cluster",
        ),
    ],
)
def test_a_cluster_that_cannot_do_it_is_refused_before_the_first_model(cluster, images, tmp_path, flags, message):
    status, errors = end(begin(["tiny_net.seed1"], images, tmp_path / "run", *flags))
    assert status == 2
    assert message in errors
    assert not (tmp_path / "run" / "predictions").exists()
