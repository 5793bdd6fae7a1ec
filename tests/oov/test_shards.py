"""A shard is read back whole, or not at all."""

import numpy as np
import pyarrow as pa
import pytest

from imagenet_errors.oov.shards import (
    Identity,
    failures_stated,
    key_hash,
    matrix,
    matrix_column,
    read_shard,
    write_shard,
)

IDENTITY = Identity("test", "a/b")
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
    assert failures_stated(shard) == {"f.JPEG": "cannot be read"}


def test_it_is_read_by_memory_map(shard):
    assert not matrix(read_shard(shard, IDENTITY), "embedding").flags.owndata


def test_one_of_another_making_does_not_count(shard):
    assert read_shard(shard, Identity("test", "a/c")) is None


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


def test_a_list_of_keys_has_a_name_of_its_own():
    assert key_hash(["a", "b"]) == key_hash(["a", "b"])
    assert len({key_hash(keys) for keys in (["a", "b"], ["b", "a"], ["ab"], [])}) == 4
