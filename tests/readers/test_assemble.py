"""From columns to predictions: rows without a usable one are listed with the reason, none is dropped."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from imagenet_errors.problems import InputError
from imagenet_errors.readers.assemble import Columns, read_columns
from imagenet_errors.readers.scores import reduce_scores

NAN, INF = float("nan"), float("inf")


def read(**table):
    arrays = [pa.array(values) for values in table.values()]
    return read_columns(Columns(Path("model.csv"), "CSV", tuple(table), tuple(arrays)))


def invalid(raw):
    return {reason: rows.tolist() for reason, rows in raw.invalid.items()}


def test_rows_keep_their_order_and_names_their_spelling():
    raw = read(filename=["b.JPEG", "a.JPEG", "b.JPEG"], index=[3, 65, 3])
    assert raw.names.to_pylist() == ["b.JPEG", "a.JPEG", "b.JPEG"]
    assert (raw.n_rows, raw.index.tolist(), raw.invalid) == (3, [3, 65, 3], {})


@pytest.mark.parametrize(
    ("probs", "rows"),
    [
        pytest.param(["", "0.5"], {"the confidence is NaN": [0]}, id="one empty cell beside a value"),
        pytest.param([None, 0.5], {"the confidence is NaN": [0]}, id="null beside a value"),
        pytest.param(["nan", "0.5"], {"the confidence is NaN": [0]}, id="the word nan"),
        pytest.param([NAN, NAN], {"the confidence is NaN": [0, 1]}, id="NaN in every row"),
        pytest.param(["nan", "nan"], {"the confidence is NaN": [0, 1]}, id="the word nan in every row"),
        pytest.param([INF, 0.5], {"the confidence is infinite": [0]}, id="infinity"),
        pytest.param(["", ""], {}, id="an empty column says nothing"),
        pytest.param([None, None], {}, id="a null column says nothing"),
    ],
)
def test_a_class_with_nan_for_its_confidence_is_no_prediction(probs, rows):
    raw = read(filename=["a.JPEG", "b.JPEG"], index=[0, 65], prob=probs)
    assert invalid(raw) == rows


@pytest.mark.parametrize("values", [[12.5, 0.5], [-0.5, 0.5], [97.0, 55.0]])
def test_values_outside_0_to_1_are_no_confidence_and_that_is_said(values):
    raw = read(filename=["a.JPEG", "b.JPEG"], index=[0, 65], score=values)
    assert raw.confidence is None
    assert "outside 0..1" in raw.notes[0]


def test_a_probability_that_rounding_lifts_above_1_is_1():
    assert read(index=[7], prob=[1.0000001]).confidence.tolist() == [1.0]


def test_a_row_without_class_is_listed_unless_its_text_gives_one():
    raw = read(filename=["a.JPEG", "b.JPEG", "c.JPEG"], index=[None, None, 3], label=["tench", None, ""])
    assert raw.index.tolist() == [-1, -1, 3]
    assert raw.text.to_pylist() == ["tench", None, None]
    assert invalid(raw) == {"no class given": [1]}


def test_index_and_text_are_both_kept_even_if_they_disagree():
    raw = read(index=[0], wnid=["n01443537"])
    assert (raw.index.tolist(), raw.text.to_pylist()) == ([0], ["n01443537"])


def test_unsorted_ranks_are_sorted_by_their_confidence_and_that_is_said():
    raw = read(index=[[3, 65], [7, 8]], label=[["a", "b"], ["c", "d"]], prob=[[0.2, 0.7], [0.6, 0.3]])
    assert (raw.index.tolist(), raw.text.to_pylist()) == ([65, 7], ["b", "c"])
    assert raw.confidence.tolist() == [np.float32(0.7), np.float32(0.6)]
    assert "not sorted in 1 row" in raw.notes[0]


def test_equal_ranks_keep_the_first_as_the_file_states():
    assert read(index=[[65, 3]], prob=[[0.4, 0.4]]).index.tolist() == [65]


@pytest.mark.parametrize("as_list", [True, False])
def test_a_value_for_every_class_is_kept_until_the_axis_is_known(as_list):
    scores = np.random.default_rng(0).dirichlet(np.ones(200), size=3)
    columns = {"prob": scores.tolist()} if as_list else {f"prob_{i}": scores[:, i] for i in range(200)}
    raw = read(filename=["a.JPEG", "b.JPEG", "c.JPEG"], **columns)
    assert (raw.index, raw.n_outputs, raw.scores.shape) == (None, 200, (3, 200))
    assert reduce_scores(raw).index.tolist() == scores.argmax(axis=1).tolist()


def test_wnid_headers_label_the_class_axis():
    wnids = [f"n{number:08d}" for number in range(99, 0, -1)] + ["n09999999"]
    raw = reduce_scores(read(image=["a.JPEG"], **{wnid: [0.02 if wnid == "n00000042" else 0.01] for wnid in wnids}))
    assert raw.text.to_pylist() == ["n00000042"]


def test_a_missing_name_is_the_empty_name():
    assert read(filename=["a.JPEG", None], index=[1, 2]).names.to_pylist() == ["a.JPEG", ""]


def test_no_rows_is_refused():
    with pytest.raises(InputError, match="no rows"):
        read(filename=pa.array([], pa.string()), index=pa.array([], pa.int64()))
