"""The evidence table grows by whole writes, and knows what its rows were made with."""

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from imagenet_errors.evidence.oov import OOV_SCHEMA
from imagenet_errors.oov.table import Recipe, held_rows, lacking, write_rows
from imagenet_errors.problems import InputError

RECIPE = Recipe("a/b", "1", "images 2", 1)


def rows(*cases):
    return pa.Table.from_pylist(
        [{"file_name": name, "prediction": index, "is_oov": False} for name, index in cases], schema=OOV_SCHEMA
    )


def test_rows_come_back_in_order(tmp_path):
    write_rows(tmp_path / "oov.parquet", rows(("b", 2), ("a", 9), ("b", 1)), RECIPE)
    held = held_rows(tmp_path / "oov.parquet", RECIPE)
    assert held.schema == OOV_SCHEMA
    assert held.equals(rows(("a", 9), ("b", 1), ("b", 2)))


def test_a_file_that_is_not_there_yet_holds_none(tmp_path):
    assert held_rows(tmp_path / "oov.parquet", RECIPE).equals(rows())


def test_the_cases_it_lacks_are_found():
    wanted = lacking(rows(("a", 1), ("b", 2)), pa.array(["a", "a", "b", "c"]), np.array([1, 2, 2, 1], np.int16))
    assert wanted.tolist() == [1, 3]
    assert lacking(rows(), pa.array(["a"]), np.array([1], np.int16)).tolist() == [0]


@pytest.mark.parametrize("part", ["encoder", "superclasses", "neighbours", "method"])
def test_rows_of_another_making_are_refused(tmp_path, part):
    write_rows(tmp_path / "oov.parquet", rows(("a", 1)), RECIPE)
    with pytest.raises(InputError, match=f"was made with another {part}: .*--redo"):
        held_rows(tmp_path / "oov.parquet", msgspec.structs.replace(RECIPE, **{part: "other"}))


@pytest.mark.parametrize(
    ("write", "message"),
    [
        pytest.param(lambda path: path.write_text("<html>"), "cannot be read", id="web page"),
        pytest.param(lambda path: path.write_bytes(b"PAR1"), "cannot be read", id="truncated"),
        pytest.param(lambda path: pq.write_table(rows(), path), "not written by this command", id="somebody else's"),
    ],
)
def test_other_files_are_refused_and_left_alone(tmp_path, write, message):
    path = tmp_path / "oov.parquet"
    write(path)
    before = path.read_bytes()
    with pytest.raises(InputError, match=message):
        held_rows(path, RECIPE)
    assert path.read_bytes() == before
