"""Over a Ray cluster, started and stopped here: same files, same resume; a lost worker costs one model."""

import os
import secrets
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

from timm_world import TOP, arguments, end, kill_after, make_images, needs_timm, start, tables_of

needs_timm()
pytest.importorskip("ray", reason="needs the extra ray: ray is not installed")

RAY = Path(sys.executable).with_name("ray")
SAME_TOKEN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
"""Lets only the programs that the tests start into the tests' clusters; nothing is written to the home folder."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


PORT = free_port()


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    return make_images(tmp_path_factory.mktemp("ray") / "images", 10)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A cluster of this machine alone; what it holds is reached at an address, as on several machines."""
    folder = tmp_path_factory.mktemp("r")
    environment = {
        **os.environ,
        **SAME_TOKEN,
        "PYTHONPATH": str(TOP / "src"),
        "OMP_NUM_THREADS": "1",
        "SPARE_MODELS": str(folder / "spare"),
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    }
    scratch = tempfile.mkdtemp(prefix="r")  # its sockets' paths must be short: not below pytest's folders
    command = [RAY, "start", "--head", "--port", str(PORT), "--num-cpus", "2", "--num-gpus", "1", "--block"]
    command += ["--include-dashboard", "false", "--disable-usage-stats", "--temp-dir", scratch]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    head = subprocess.Popen(command, env=environment, start_new_session=True, **quiet)
    wait_for_port()
    yield folder / "spare"
    os.killpg(head.pid, signal.SIGTERM)
    try:
        head.wait(timeout=60)
    except subprocess.TimeoutExpired:
        os.killpg(head.pid, signal.SIGKILL)
    shutil.rmtree(scratch, ignore_errors=True)


def wait_for_port():
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", PORT)) == 0:
                return
        time.sleep(0.2)
    raise AssertionError("the cluster did not start")


def on_cluster(models, images, run, *more):
    return arguments(models, images, run, "--engine", "ray", "--ray-address", f"127.0.0.1:{PORT}", *more)


def test_killed_or_with_a_lost_worker_it_goes_on_to_the_same_tables(cluster, images, tmp_path):
    models = ["dying_net", "tiny_net.*", "slow_net", "raising_net"]
    command = on_cluster(models, images, tmp_path / "killed", "--gpu-share", 0, "--cpus-per-model", 1)
    kill_after(start(command, **SAME_TOKEN), tmp_path / "killed" / "predictions", 2)
    status, errors = end(start(command, **SAME_TOKEN))
    assert status == 1, errors
    lost = pq.read_table(tmp_path / "killed" / "failures.parquet").to_pydict()
    assert lost["model"] == ["raising_net.x", "dying_net.x"] or lost["model"] == ["dying_net.x", "raising_net.x"]
    assert "its worker died" in lost["reason"][lost["model"].index("dying_net.x")]
    assert pq.read_table(tmp_path / "killed" / "summary.parquet").num_rows == 7
    cluster.touch()  # from now on that model lives
    assert end(start(command, **SAME_TOKEN))[0] == 1
    assert (
        end(
            start(on_cluster(models, images, tmp_path / "whole", "--gpu-share", 0, "--cpus-per-model", 1), **SAME_TOKEN)
        )[0]
        == 1
    )
    interrupted, whole = tables_of(tmp_path / "killed"), tables_of(tmp_path / "whole")
    for tables in (interrupted, whole):
        assert tables.pop("failures")["model"] == ["raising_net.x"]
    assert interrupted == whole


def test_two_models_share_a_gpu_and_decode_on_their_own_cores(cluster, images, tmp_path):
    """The cluster only says that it has a GPU; the models run on the CPU."""
    command = on_cluster(["tiny_net.seed1", "tiny_net.seed2"], images, tmp_path / "run", "--gpu-share", 0.5)
    status, errors = end(start(command, **SAME_TOKEN))
    assert status == 0, errors
    assert pq.read_table(tmp_path / "run" / "summary.parquet").num_rows == 2


def test_a_cluster_of_its_own_gives_the_local_engines_predictions(images, tmp_path):
    for engine in ("local", "ray"):
        command = arguments(["tiny_net.*"], images, tmp_path / engine, "--engine", engine)
        status, errors = end(start(command, **SAME_TOKEN))
        assert status == 0, errors
    local, ray = tables_of(tmp_path / "local"), tables_of(tmp_path / "ray")
    assert local["distribution"] == ray["distribution"]
    assert local["predictions/tiny_net.seed3"]["top5_classes"] == ray["predictions/tiny_net.seed3"]["top5_classes"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        pytest.param(["--gpu-share", "64"], "no machine of the cluster has", id="no such machine"),
        pytest.param(["--ray-address", "127.0.0.1:1"], "--ray-address: cannot join the cluster", id="no cluster"),
    ],
)
def test_a_cluster_that_cannot_do_it_is_refused_before_the_first_model(images, tmp_path, flags, message):
    status, errors = end(
        start(arguments(["tiny_net.seed1"], images, tmp_path / "run", "--engine", "ray", *flags), **SAME_TOKEN)
    )
    assert status == 2
    assert message in errors
    assert not (tmp_path / "run" / "predictions").exists()
