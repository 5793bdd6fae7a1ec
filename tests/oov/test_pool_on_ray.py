"""Ray makes the shards that the local loop makes, and tries again what a lost worker had."""

import os
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import evidence_world
from clip_models import write_config, write_image
from imagenet_errors.image_folder import labelled_images
from imagenet_errors.images import val_file_names
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.oov import pool
from imagenet_errors.oov.clip import EncoderSpec
from imagenet_errors.oov.pool import embed_tasks, run_tasks
from imagenet_errors.problems import InputError
from imagenet_errors.readers.annotations import read_real
from ray_world import PATIENT

ray = pytest.importorskip("ray", reason="Ray spreads the shards")
pytest.importorskip("open_clip", reason="open_clip has the model")


@pytest.fixture(scope="module")
def cluster():
    """A Ray cluster of two workers on this machine, stopped at the end."""
    places = [str(Path(evidence_world.__file__).parent), *sys.path]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(places))
        for name, value in PATIENT.items():
            patch.setenv(name, value)
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        ray.init(num_cpus=2, num_gpus=0, include_dashboard=False, log_to_driver=False)
        yield
        ray.shutdown()


@pytest.fixture
def images(tmp_path):
    labels = imagenet_1k()
    for seed in range(20):
        write_image(tmp_path / "train" / labels.wnids[seed % 3] / f"{seed}.JPEG", seed)
    (tmp_path / "train" / labels.wnids[0] / "bad.JPEG").write_text("no image")
    return labelled_images(tmp_path / "train", labels)


def tasks(images, folder, **changes):
    spec = EncoderSpec(**{"model": str(write_config(folder)), "weights": "random:1", "device": "cpu"} | changes)
    return embed_tasks(spec, images, folder / "shards")


def table(path):
    return pa.ipc.open_file(path).read_all()


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    monkeypatch.setattr(pool, "SHARD_ROWS", 6)


def test_ray_makes_what_the_local_loop_makes(cluster, images, tmp_path):
    for engine in ("local", "ray"):
        (tmp_path / engine).mkdir()
        done = run_tasks(tasks(images, tmp_path / engine), engine=engine)
        assert sorted(done) == [3, 6, 6, 6]
    local, spread = (sorted((tmp_path / engine / "shards").iterdir()) for engine in ("local", "ray"))
    assert [path.name for path in local] == [path.name for path in spread]
    for one, other in zip(local, spread, strict=True):
        assert table(one).drop(["embedding"]).equals(table(other).drop(["embedding"]))
        vectors = [np.stack(table(path)["embedding"].to_numpy()) for path in (one, other)]
        assert np.allclose(*vectors, atol=1e-3)


def dies_once(task):
    """Make a shard, but the first attempt at each takes the worker with it."""
    mark = task.path.with_suffix(".tried")
    if not mark.exists():
        mark.parent.mkdir(exist_ok=True)
        mark.touch()
        os._exit(1)
    return pool.attempt(task)


def test_a_lost_workers_shard_is_tried_again(cluster, images, tmp_path, monkeypatch):
    todo = tasks(images, tmp_path)[:2]
    attempt = pool.attempt
    dies_once.__module__ = "__main__"  # sent by value, as the workers have no such test
    monkeypatch.setattr(pool, "attempt", lambda task, once=dies_once: once(task))
    assert sorted(run_tasks(todo, engine="ray")) == [6, 6]
    monkeypatch.setattr(pool, "attempt", attempt)
    assert all(task.is_done for task in todo)


def test_what_no_retry_mends_is_said_after_the_others_are_made(cluster, images, tmp_path):
    todo = tasks(images, tmp_path)
    blocked = todo[1].path
    (blocked / "in the way").mkdir(parents=True)
    with pytest.raises(InputError, match=r"--engine ray: 1 shard could not be made .*cannot be written"):
        list(run_tasks(todo, engine="ray"))
    assert [task.is_done for task in todo] == [True, False, True, True]


def test_an_encoder_that_does_not_load_is_said(cluster, images, tmp_path):
    with pytest.raises(InputError, match=r"4 shards could not be made .*open_clip has no 'ViT-Z'"):
        list(run_tasks(tasks(images, tmp_path, model="ViT-Z"), engine="ray"))


def test_the_command_gives_the_same_rows_with_ray(cluster, images, program, tmp_path):
    pytest.importorskip("faiss", reason="faiss searches the training images")
    names = val_file_names(np.flatnonzero(read_real(imagenet_1k()).evaluated)[:12] + 1).to_pylist()
    for seed, name in enumerate(names):
        write_image(tmp_path / "val" / name, 100 + seed)
    rows = [f"{name},{(seed * 83) % 1000}" for seed, name in enumerate(names)]
    (tmp_path / "model.csv").write_text("\n".join(["file_name,predicted_class", *rows]) + "\n")
    tables = []
    for engine in ("local", "ray"):
        answer = program(
            *("evidence", tmp_path / "model.csv", "--images", tmp_path / "val", "--train-images", tmp_path / "train"),
            *("--clip-model", write_config(tmp_path), "--clip-weights", "random:1", "--device", "cpu"),
            *("--no-check-order", "--engine", engine, "--out", tmp_path / f"{engine}.parquet"),
        )
        assert answer.status == 1, "one training image is bad"
        tables.append(pq.read_table(tmp_path / f"{engine}.parquet").to_pylist())
    assert len(tables[0]) > 5
    for one, other in zip(*tables, strict=True):
        assert one.pop("best_score") == pytest.approx(other.pop("best_score"), rel=1e-3)
        assert {key: one[key] for key in ("file_name", "best_name")} == {
            key: other[key] for key in ("file_name", "best_name")
        }
