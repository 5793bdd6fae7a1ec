"""Neighbours that are known already are read from a table or the published file."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from imagenet_errors.images import ImageIndex, val_file_names
from imagenet_errors.oov.neighbour_files import read_neighbours
from imagenet_errors.problems import InputError

IMAGES = ImageIndex(val_file_names(np.arange(1, 9)))
NAMES = val_file_names(np.array([3, 1])).to_pylist()


def read(path):
    return read_neighbours(path, IMAGES, n_classes=1000)


def parquet(path, **columns):
    pq.write_table(pa.table(columns), path)
    return path


def text(path, content):
    path.write_text(content)
    return path


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(
            lambda path: parquet(path, file_name=NAMES, neighbour_classes=[[5, 0, 999], [7]]), id="Parquet of lists"
        ),
        pytest.param(
            lambda path: text(path, f"file_name,neighbour_classes\n{NAMES[0]},5 0 999\n{NAMES[1]},7\n"), id="CSV"
        ),
        pytest.param(
            lambda path: text(path, f'file_name,neighbour_classes\n{NAMES[0]},"[5, 0, 999]"\nn01440764/{NAMES[1]},7\n'),
            id="CSV as pandas writes lists",
        ),
    ],
)
def test_a_table_gives_the_classes_of_its_images(tmp_path, write):
    known = read(write(tmp_path / "neighbours"))
    assert known.of([2, 0, 5]).tolist() == [[5, 0, 999], [7, -1, -1], [-1, -1, -1]]


def test_the_published_file_does(tmp_path):
    classes = np.arange(100).reshape(2, 50)
    np.savez(tmp_path / "valid_clip_knn.npz", topk_train_targets=classes, topk_train_indices=classes)
    np.savez(tmp_path / "samples_info.npz", sample_files=np.array(NAMES), targets=np.zeros(2))
    assert np.array_equal(read(tmp_path / "valid_clip_knn.npz").of([0, 2]), classes[::-1])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        pytest.param({"file_name": NAMES, "classes": [[1], [2]]}, "no column", id="other column"),
        pytest.param({"file_name": NAMES, "neighbour_classes": [[1], None]}, "empty cells", id="empty cell"),
        pytest.param(
            {"file_name": NAMES, "neighbour_classes": [[1], [1000]]},
            r"1 neighbour of a class outside 0\.\.999 \(first: 1000 for .*1.JPEG\)",
            id="no class",
        ),
        pytest.param({"file_name": ["cat.JPEG"], "neighbour_classes": [[1]]}, "none of its 1 image", id="no image"),
        pytest.param({"file_name": NAMES, "neighbour_classes": ["a b", "c"]}, "not a table of neighbours", id="names"),
    ],
)
def test_what_are_no_neighbours_is_refused(tmp_path, columns, message):
    with pytest.raises(InputError, match=message):
        read(parquet(tmp_path / "neighbours.parquet", **columns))
