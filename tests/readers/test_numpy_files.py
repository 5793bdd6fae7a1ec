"""npy arrays: classes, ranked classes with or without probabilities beside them, scores, records."""

from pathlib import Path

import numpy as np
import pytest

from imagenet_errors.problems import InputError
from imagenet_errors.readers import read_raw as read_npy
from imagenet_errors.readers.scores import reduce_scores

SHARED = Path(__file__).parents[3] / "shared" / "data" / "predictions"
UNSORTED = np.array([[149, 391, 48], [0, 391, 389]])
PROBS = np.array([[0.24, 0.20, 0.25], [0.5, 0.3, 0.1]], dtype=np.float32)

needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data lie beside a development checkout only")


@pytest.fixture
def saved(tmp_path):
    """Return a function that saves an array and returns its path."""

    def save(array, name="model.npy"):
        np.save(tmp_path / name, array)
        return tmp_path / name

    return save


@pytest.mark.parametrize(
    "array",
    [
        pytest.param(np.array([65, 3], dtype=np.uint16), id="uint16"),
        pytest.param(np.array([65, 3], dtype=">i4"), id="big-endian"),
        pytest.param(np.array([[65], [3]]), id="one column"),
        pytest.param(np.array([65.0, 3.0]), id="whole floats"),
        pytest.param(np.array(["65", "3"]), id="texts of numbers"),
        pytest.param(np.array([[65, 1, 2], [3, 7, 9]]), id="ranked top-3"),
        pytest.param(np.array([[65.0, 1, 2], [3, 7, 9]]), id="ranked top-3 as floats"),
        pytest.param(np.asfortranarray([[65, 1, 2], [3, 7, 9]]), id="columns first in memory"),
    ],
)
def test_classes_are_read(saved, array):
    raw = read_npy(saved(array))
    assert (raw.index.tolist(), raw.names, raw.confidence) == ([65, 3], None, None)


def test_wnids_are_labels(saved):
    assert read_npy(saved(np.array(["n01440764", "n01443537"]))).text.to_pylist() == [
        "n01440764",
        "n01443537",
    ]


def test_ranks_without_probabilities_are_taken_as_sorted_and_that_is_said(saved):
    assert "taken as ranked" in read_npy(saved(UNSORTED)).notes[0]


@pytest.mark.parametrize("strange", [np.nan, np.inf, 1e30])
def test_a_rank_that_is_no_class_is_an_invalid_row(saved, strange):
    raw = read_npy(saved(np.array([[65.0, 1, 2], [strange, 7, 9], [3.0, 4, 8]] + [[9.0, 8, 7]] * 1000)))
    assert raw.index[:3].tolist() == [65, -1, 3]
    assert [rows.tolist() for rows in raw.invalid.values()] == [[1]]


def test_unsorted_ranks_are_sorted_by_the_probabilities_beside_them(saved):
    saved(PROBS, "resnet50_top3probs_unsorted.npy")
    raw = read_npy(saved(UNSORTED, "resnet50_top3preds_unsorted.npy"))
    assert (raw.index.tolist(), raw.confidence.tolist()) == ([48, 0], [np.float32(0.25), 0.5])
    assert "probabilities in resnet50_top3probs_unsorted.npy" in raw.notes[0]


def test_equal_probabilities_give_the_lower_class_and_are_counted(saved):
    saved(np.array([[0.2, 0.4, 0.4], [np.nan, 0.5, 0.1]], dtype=np.float32), "probs.npy")
    raw = read_npy(saved(UNSORTED, "preds.npy"))
    assert (raw.index.tolist(), raw.n_ties) == ([48, -1], 1)
    assert raw.invalid["the confidence is NaN"].tolist() == [1]


def test_probabilities_of_another_shape_are_left_alone_and_that_is_said(saved):
    saved(PROBS[:, :2], "probs.npy")
    raw = read_npy(saved(UNSORTED, "preds.npy"))
    assert raw.confidence is None
    assert "another shape, (2, 2); it was not used" in raw.notes[1]


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("n_outputs", [1000, 1001, 21843])
def test_scores_wait_until_it_is_known_which_outputs_count(saved, kind, n_outputs):
    scores = np.zeros((3, n_outputs), dtype=kind)
    scores[[0, 1, 2], [66, 0, 999]] = 5
    raw = read_npy(saved(scores))
    assert (raw.index, raw.n_outputs, raw.scores.shape) == (None, n_outputs, (3, n_outputs))
    assert reduce_scores(raw).index.tolist() == [66, 0, 999]


def test_of_1001_outputs_the_background_is_never_a_class(saved):
    scores = np.zeros((2, 1001), dtype=np.float32)
    scores[[0, 1, 1], [66, 0, 8]] = [5, 9, 5]
    reduced = reduce_scores(read_npy(saved(scores)), np.arange(1, 1001))
    assert reduced.index.tolist() == [65, 7]


def test_bfloat16_is_read(saved):
    halves = (np.array([[0.25, 0.75]], dtype=np.float32).view(np.uint32) >> 16).astype(np.uint16).view("V2")
    assert reduce_scores(read_npy(saved(halves))).index.tolist() == [1]


def test_a_structured_array_is_a_table(saved):
    kind = [("file_name", "U8"), ("pred", "i2"), ("prob", "f2"), ("target", "i4")]
    raw = read_npy(saved(np.array([("a.JPEG", 65, 0.5, 7)], dtype=kind)))
    assert (raw.names.to_pylist(), raw.index.tolist(), raw.confidence.tolist()) == (["a.JPEG"], [65], [0.5])


@pytest.mark.parametrize(
    ("array", "told"),
    [
        pytest.param(np.array(["a", 1], dtype=object), "pickled Python objects", id="objects"),
        pytest.param(np.array([(1, "a")], dtype=[("pred", "i4"), ("f", object)]), "pickled", id="objects inside"),
        pytest.param(np.zeros((0, 1000)), r"shape \(0, 1000\)", id="no rows"),
        pytest.param(np.zeros((2, 2, 2)), r"shape \(2, 2, 2\)", id="three axes"),
        pytest.param(np.array(3), r"shape \(\)", id="a single number"),
        pytest.param(np.array([65.5, 3]), "row 1: 65.5", id="fractions"),
        pytest.param(np.array([[True, False]] * 3), "array of bool", id="truth values"),
    ],
)
def test_other_arrays_are_refused(saved, array, told):
    with pytest.raises(InputError, match=told):
        read_npy(saved(array))


@pytest.mark.parametrize("kept", [7, 60, 150], ids=["in the mark", "in the header", "in the values"])
def test_a_file_cut_short_is_refused(saved, kept):
    path = saved(np.arange(100))
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(InputError, match="cut short or damaged"):
        read_npy(path)


def test_columns_cannot_be_stated_for_an_array(saved):
    with pytest.raises(InputError, match="an npy file has no columns"):
        read_npy(saved(np.arange(3)), columns={"index": "pred"})


@needs_shared
@pytest.mark.parametrize(
    ("name", "first"),
    [
        pytest.param("cleanlab_resnet50_cv_argmax.npy", [48, 391, 693], id="uint16 classes"),
        pytest.param("raw/resnet18_top5_int64.npy", [48, 0, 391], id="ranked"),
        pytest.param("raw/resnet50_top5preds_unsorted.npy", [149, 0, 758], id="unsorted, with probabilities"),
    ],
)
def test_the_shared_arrays_are_read(name, first):
    raw = read_npy(SHARED / name)
    assert (raw.n_rows, raw.index[:3].tolist(), raw.invalid) == (50_000, first, {})


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_a_file_of_scores_cut_short_is_refused(saved, kind):
    path = saved(np.ones((40, 1000), dtype=kind))
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(InputError, match="cut short or damaged"):
        reduce_scores(read_npy(path))
