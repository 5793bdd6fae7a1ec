"""A store holds each key once, makes only what it lacks, and begins again where a shard is damaged."""

import numpy as np
import pyarrow as pa
import pytest

from imagenet_errors.oov.shards import Identity, KeyedStore, matrix_column

IDENTITY = Identity("test", "a/b")


def lengths(keys):
    """Make a row of each key but those that begin with x."""
    good = [key for key in keys if key[0] != "x"]
    rows = np.array([[len(key)] for key in good], dtype=np.float32).reshape(-1, 1)
    return pa.table({"key": pa.array(good, pa.string()), "n": matrix_column(rows)}), [
        (key, "begins with x") for key in keys if key[0] == "x"
    ]


@pytest.fixture
def store(tmp_path):
    store = KeyedStore.open(tmp_path, IDENTITY)
    assert sum(store.fill(store.chunks(["bb", "a", "xx", "ccc", "a"], 2), lengths)) == 4
    return store


def test_each_key_is_held_once(store):
    assert store.missing(["a", "d", "bb", "d"]) == ["d"]
    assert store.column("n")[store.rows(["ccc", "a"])].ravel().tolist() == [3, 1]
    assert store.rows(["d"]).tolist() == [-1]


def test_another_run_finds_them_again(store, tmp_path):
    again = KeyedStore.open(tmp_path, IDENTITY)
    assert again.missing(["a", "bb", "ccc", "d"]) == ["d"]
    assert again.failed == {"xx": "begins with x"}


def test_what_failed_is_tried_again_last_and_apart(store):
    assert store.chunks(["e", "xx", "d", "f", "a"], 2) == [["d", "e"], ["f"], ["xx"]]


def test_what_succeeds_at_last_failed_no_more(store, tmp_path):
    made, _ = lengths(["yy"])
    made = made.set_column(0, "key", pa.array(["xx"]))
    list(store.fill([["xx"]], lambda keys: (made, [])))
    assert store.failed == {}
    assert KeyedStore.open(tmp_path, IDENTITY).missing(["xx"]) == []


def test_a_damaged_shard_is_removed_and_only_its_keys_are_missing(store, tmp_path):
    damaged = sorted(tmp_path.iterdir())[0]
    damaged.write_bytes(damaged.read_bytes()[:50])
    again = KeyedStore.open(tmp_path, IDENTITY)
    assert 1 <= len(again.missing(["a", "bb", "ccc"])) <= 2
    assert not damaged.exists()


def test_an_empty_store_lacks_everything(tmp_path):
    store = KeyedStore.open(tmp_path / "new", IDENTITY)
    assert store.missing(["b", "a"]) == ["a", "b"]
    assert store.column("n").shape == (0, 0)
