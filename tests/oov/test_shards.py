"""A shard is read back whole, or not at all."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from imagenet_errors.oov.shards import (
    failures_of,
    key_hash,
    locked,
    matrix,
    matrix_column,
    read_shard,
    sweep,
    write_atomically,
    write_shard,
)
from imagenet_errors.problems import InputError

FULL = Path("/dev/full")
IDENTITY = {"kind": "test", "encoder": "a/b"}
ROWS = np.random.default_rng(0).standard_normal((5, 8)).astype(np.float16)
TABLE = pa.table({"key": list("abcde"), "class": pa.array(range(5), pa.int16()), "embedding": matrix_column(ROWS)})


@pytest.fixture
def shard(tmp_path):
    path = tmp_path / "deep" / "one.arrow"
    write_shard(path, TABLE, IDENTITY, failures=[("f.JPEG", "cannot be read")])
    return path


def test_it_comes_back_as_it_was(shard):
    table = read_shard(shard, IDENTITY)
    assert table.equals(TABLE)
    assert np.array_equal(matrix(table, "embedding"), ROWS)
    assert failures_of(table) == {"f.JPEG": "cannot be read"}


def test_it_is_read_by_memory_map(shard):
    assert not matrix(read_shard(shard, IDENTITY), "embedding").flags.owndata


def test_one_of_another_making_does_not_count(shard):
    assert read_shard(shard, {**IDENTITY, "encoder": "a/c"}) is None


def test_one_that_is_not_there_does_not_count(tmp_path):
    assert read_shard(tmp_path / "none.arrow", IDENTITY) is None


@pytest.mark.parametrize("cut", [0, 1, 300, -1], ids="{} bytes".format)
def test_a_truncated_one_does_not_count(shard, cut):
    shard.write_bytes(shard.read_bytes()[:cut])
    assert read_shard(shard, IDENTITY) is None


def test_one_with_a_changed_value_does_not_count(shard):
    content = bytearray(shard.read_bytes())
    at = content.index(ROWS.tobytes())
    content[at + 3] ^= 1
    shard.write_bytes(content)
    assert read_shard(shard, IDENTITY) is None


def test_a_web_page_in_its_place_does_not_count(shard):
    shard.write_text("<html>")
    assert read_shard(shard, IDENTITY) is None


def test_a_write_that_fails_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("old")

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"No space left on device\. Make room and run the same command again"):
        write_atomically(path, lambda file: file.write(b"new"))
    assert path.read_text() == "old"
    assert [*tmp_path.iterdir()] == [path]


def test_a_really_full_disk_is_reported(tmp_path):
    if not FULL.exists():
        pytest.skip("no /dev/full to write to")

    def write(file):
        with FULL.open("wb", buffering=0) as full:
            full.write(b"x")

    with pytest.raises(InputError, match="No space left on device"):
        write_atomically(tmp_path / "file", write)
    assert not [*tmp_path.iterdir()]


def test_what_killed_runs_left_is_swept_away(tmp_path):
    (tmp_path / "train").mkdir()
    (tmp_path / "train/.one.arrow.77.partial").write_bytes(b"half")
    (tmp_path / "train/one.arrow").write_bytes(b"whole")
    (tmp_path / ".oov.parquet.78.partial").write_bytes(b"half")
    sweep(tmp_path / "train", tmp_path / "oov.parquet")
    assert [path.name for path in tmp_path.rglob("*.*")] == ["one.arrow"]


def test_two_runs_do_not_work_in_one_folder(tmp_path):
    with locked(tmp_path), pytest.raises(InputError, match="another run is at work here"), locked(tmp_path):
        pass
    with locked(tmp_path):
        pass


def test_a_list_of_keys_has_a_name_of_its_own():
    assert key_hash(["a", "b"]) == key_hash(["a", "b"])
    assert len({key_hash(keys) for keys in (["a", "b"], ["b", "a"], ["ab"], [])}) == 4
