"""The published program's files stand in for the training images."""

import numpy as np
import pytest

from imagenet_errors.oov import pool
from imagenet_errors.oov.cosine import normalised
from imagenet_errors.oov.neighbour_files import fingerprint, n_embeddings, read_published_neighbours
from imagenet_errors.oov.pool import import_shards, load_pool
from imagenet_errors.problems import InputError

RANDOM = np.random.default_rng(2)
VECTORS = 20 * RANDOM.standard_normal((70, 16))
FILES = np.array([f"n01440764/n01440764_{row}.JPEG" for row in range(70)])
CLASSES = np.arange(70)


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    monkeypatch.setattr(pool, "SHARD_ROWS", 32)


def write(folder, *, save=np.savez, **changes):
    arrays = {"train_files": FILES, "targets": CLASSES, "embeddings": VECTORS.astype(np.float32)}
    path = folder / "train_clip_embeddings.npz"
    save(path, **{name: array for name, array in (arrays | changes).items() if array is not None})
    return path


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="float32"),
        pytest.param({"embeddings": VECTORS.astype(np.float16)}, id="float16"),
        pytest.param({"save": np.savez_compressed}, id="compressed"),
    ],
)
def test_embeddings_of_any_length_become_normalised_shards(tmp_path, options):
    path = write(tmp_path, **options)
    assert list(import_shards(path, tmp_path / "train", "a/b")) == [32, 32, 6]
    train = load_pool(sorted((tmp_path / "train").iterdir()), "a/b", where=path)
    assert np.allclose(np.vstack(train.matrices), normalised(VECTORS), atol=1e-3)
    assert np.array_equal(train.classes, CLASSES)
    assert n_embeddings(path) == 70


def test_only_missing_and_damaged_shards_are_copied_again(tmp_path):
    path = write(tmp_path)
    list(import_shards(path, tmp_path / "train", "a/b"))
    first, second, third = sorted((tmp_path / "train").iterdir())
    second.unlink()
    third.write_bytes(third.read_bytes()[:-9])
    kept = first.stat().st_mtime_ns
    list(import_shards(path, tmp_path / "train", "a/b"))
    assert first.stat().st_mtime_ns == kept
    assert len(load_pool([first, second, third], "a/b", where=path)) == 70


ZERO = VECTORS.copy()
ZERO[40] = 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"embeddings": None}, "no array embeddings in it", id="no embeddings"),
        pytest.param({"targets": None}, "no array targets in it", id="no classes"),
        pytest.param({"embeddings": VECTORS[:60]}, r"of shape \(60, 16\) for 70 files", id="other number"),
        pytest.param({"embeddings": ZERO}, r"1 row without a direction .* \(first: n0.*_40.JPEG\)", id="a zero row"),
        pytest.param({"embeddings": CLASSES}, "embeddings is int64", id="no vectors"),
    ],
)
def test_what_are_no_embeddings_is_refused(tmp_path, changes, message):
    with pytest.raises(InputError, match=message):
        list(import_shards(write(tmp_path, **changes), tmp_path / "train", "a/b"))


@pytest.mark.parametrize("content", [b"", b"<html>", b"PK\x03\x04 cut"], ids=["empty", "web page", "cut"])
def test_a_damaged_file_is_refused(tmp_path, content):
    path = tmp_path / "x.npz"
    path.write_bytes(content)
    for read in (fingerprint, n_embeddings, read_published_neighbours):
        with pytest.raises(InputError, match=r"x\.npz: cannot be read"):
            read(path)


def test_a_file_cut_in_half_is_refused(tmp_path):
    path = write(tmp_path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(InputError, match="cannot be read"):
        list(import_shards(path, tmp_path / "train", "a/b"))


def test_a_fingerprint_is_of_the_content(tmp_path):
    first = fingerprint(write(tmp_path))
    assert fingerprint(write(tmp_path)) == first
    assert fingerprint(write(tmp_path, targets=CLASSES + 1)) != first


def neighbours(folder, *, n_names=3):
    path = folder / "valid_clip_knn.npz"
    targets = RANDOM.integers(0, 1000, (3, 50))
    np.savez(path, topk_train_indices=targets * 7, topk_train_targets=targets)
    names = np.array([f"n01440764/ILSVRC2012_val_0000000{row}.JPEG" for row in range(n_names)])
    np.savez(folder / "samples_info.npz", sample_files=names, targets=np.zeros(n_names, int))
    return path, targets, names


def test_neighbours_go_with_the_names_beside_them(tmp_path):
    path, targets, names = neighbours(tmp_path)
    found_names, classes = read_published_neighbours(path)
    assert found_names.to_pylist() == names.tolist()
    assert np.array_equal(classes, targets)


def test_neighbours_without_their_names_are_refused(tmp_path):
    path, _, _ = neighbours(tmp_path)
    (tmp_path / "samples_info.npz").unlink()
    with pytest.raises(InputError, match=r"samples_info.npz: cannot be read"):
        read_published_neighbours(path)


def test_names_of_another_set_are_refused(tmp_path):
    path, _, _ = neighbours(tmp_path, n_names=4)
    with pytest.raises(InputError, match=r"neighbours of shape \(3, 50\) for 4 images in samples_info.npz"):
        read_published_neighbours(path)
