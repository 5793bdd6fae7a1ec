"""A predictions file counts as done by its content: rows, hashes and versions, not by being there."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from imagenet_errors.image_folder import ImageFolder
from imagenet_errors.predict.inference import Outputs
from imagenet_errors.predict.table import SCHEMA, prediction_bytes, why_not_done
from imagenet_errors.readers import read_raw
from imagenet_errors.readers.arrow_tables import our_metadata

NAMES = tuple(f"ILSVRC2012_val_0000000{number}.JPEG" for number in range(1, 5))
FACTS = {"model": "resnet18.a1_in1k", "timm_version": "1.0.15", "n_images": 4, "images_sha256": "ab" * 32}


@pytest.fixture
def images(tmp_path):
    return ImageFolder(tmp_path, NAMES, NAMES, "ab" * 32)


def outputs():
    classes = np.arange(20, dtype=np.int16).reshape(4, 5)
    shares = np.full((4, 5), 0.125, dtype=np.float32)
    classes[2], shares[2] = -1, np.nan
    return Outputs(classes, shares, np.zeros(4, dtype=bool), 4)


@pytest.fixture
def path(images, tmp_path):
    path = tmp_path / "resnet18.a1_in1k.parquet"
    path.write_bytes(prediction_bytes(images, outputs(), FACTS))
    return path


def test_the_columns_are_those_that_are_promised(path):
    table = pq.read_table(path)
    assert table.schema.remove_metadata() == SCHEMA
    assert table["predicted_class"].to_pylist() == [0, 5, None, 15]
    assert table["top5_classes"].to_pylist() == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [], [15, 16, 17, 18, 19]]
    assert [len(shares) for shares in table["top5_probabilities"].to_pylist()] == [5, 5, 0, 5]


def test_the_reader_takes_the_best_class_and_its_probability(path):
    raw = read_raw(path)
    assert raw.index.tolist() == [0, 5, -1, 15]
    assert raw.confidence[0] == 0.125


def test_the_facts_come_back(path):
    assert our_metadata(path) == FACTS


def test_a_whole_file_of_the_same_work_is_done(path, images):
    assert why_not_done(path, images, FACTS) is None


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"timm_version": "1.0.16"}, "timm version was 1.0.15, now 1.0.16"),
        ({"images_sha256": "cd" * 32}, "images sha256 was abababababab..., now cdcdcdcdcdcd..."),
        ({"checkpoint_sha256": "ef"}, "checkpoint sha256 was nothing, now ef"),
    ],
)
def test_other_work_is_not_done_and_says_what_changed(path, images, changed, why):
    assert why_not_done(path, images, FACTS | changed) == why


def test_a_file_that_is_not_there_is_not_done(images, tmp_path):
    assert why_not_done(tmp_path / "x.parquet", images, FACTS) == "not predicted yet"


def cut(content):
    return content[: len(content) // 2]


def flipped(content):
    """Change one bit of the first page's data."""
    column = pq.ParquetFile(pa.BufferReader(content)).metadata.row_group(0).column(0)
    place = column.data_page_offset + column.total_compressed_size - 5
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


@pytest.mark.parametrize("damage", [cut, flipped, lambda content: b""], ids=["cut short", "a bit flipped", "empty"])
def test_a_damaged_file_is_not_done(path, images, damage):
    path.write_bytes(damage(path.read_bytes()))
    assert "damaged" in why_not_done(path, images, FACTS)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda table: table.slice(0, 3), id="a row less"),
        pytest.param(lambda table: table.take([1, 0, 2, 3]), id="another order"),
        pytest.param(lambda table: table.drop_columns("top5_classes"), id="a column less"),
    ],
)
def test_other_rows_under_the_same_facts_are_not_done(path, images, change):
    pq.write_table(change(pq.read_table(path)), path)
    assert why_not_done(path, images, FACTS) == "its rows are not these images"


@pytest.mark.parametrize("metadata", [None, {b"imagenet-errors": b"[1]"}, {b"imagenet-errors": b"{"}])
def test_a_file_of_another_program_says_nothing_of_itself(tmp_path, metadata):
    other = tmp_path / "other.parquet"
    pq.write_table(pa.table({"a": [1]}).replace_schema_metadata(metadata), other)
    assert our_metadata(other) is None
