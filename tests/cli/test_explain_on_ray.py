"""Explained over a Ray cluster, started and stopped here, the table is the one that this machine alone makes."""

import pyarrow.parquet as pq
import pytest

from explain_world import without
from ray_world import PATIENT, SAME_TOKEN
from timm_world import MODELS, arguments, end, make_images, needs_timm, start

needs_timm()
pytest.importorskip("ray", reason="needs the extra ray: ray is not installed")


def test_over_a_cluster_the_table_is_the_same(tmp_path):
    images, run = make_images(tmp_path / "images", 6), tmp_path / "run"
    assert end(start(arguments(["tiny_net.seed1"], images, run)))[0] == 0
    given = ["explain", str(run), "--model", "tiny_net.seed1", "--images", str(images), "--register", str(MODELS)]
    given += ["--error-types", "model_failure,spurious_correlation,fine_grained", "--method", "stability"]
    given += ["--device", "cpu", "--out"]
    assert end(start([*given, str(tmp_path / "local")]))[0] == 0
    status, errors = end(start([*given, str(tmp_path / "ray"), "--engine", "ray"], **PATIENT, **SAME_TOKEN))
    assert status == 0, errors
    tables = (tmp_path / name / "stability" / "tiny_net.seed1.parquet" for name in ("local", "ray"))
    local, spread = (pq.read_table(path) for path in tables)
    assert len(local) > 0
    assert without(local, "seconds") == without(spread, "seconds")
