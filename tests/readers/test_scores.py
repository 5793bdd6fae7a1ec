"""Dense scores become one top-1 a row: lowest index on a tie, no class at all for NaN and infinity."""

import tracemalloc

import numpy as np
import pytest
from sklearn.utils.extmath import softmax

from imagenet_errors.problems import InputError
from imagenet_errors.readers import read_raw
from imagenet_errors.readers.raw import RawPredictions
from imagenet_errors.readers.scores import ArrayScores, reduce_scores, top1_from_scores, without_labels

NAN, INF = np.nan, np.inf
LOGITS = np.random.default_rng(0).normal(size=(5, 8)).astype(np.float32)
PROBS = softmax(LOGITS)


def dense(scores, **stated):
    scores = np.asarray(scores)
    source = ArrayScores(scores, "model.npy")
    return RawPredictions("npy", len(scores), n_outputs=scores.shape[1], scores=source, **stated)


@pytest.mark.parametrize(
    ("row", "index", "claims"),
    [
        pytest.param([0.1, 0.7, 0.2], 1, "", id="the largest"),
        pytest.param([0.4, 0.4, 0.2], 0, "tied", id="two are equal: the lower"),
        pytest.param([0.2, 0.4, 0.4], 1, "tied", id="two later ones are equal"),
        pytest.param([1.0, 1.0, 1.0], 0, "tied", id="all are equal"),
        pytest.param([NAN, NAN, NAN], -1, "nan", id="all NaN is not class 0"),
        pytest.param([0.9, NAN, 0.1], -1, "nan", id="one NaN spoils the row"),
        pytest.param([0.9, INF, 0.1], -1, "infinite", id="plus infinity"),
        pytest.param([INF, NAN, 0.1], -1, "nan", id="NaN is told before infinity"),
        pytest.param([-INF, 0.5, -INF], 1, "", id="masked classes beside a finite one"),
        pytest.param([-INF, -INF, -INF], -1, "infinite", id="nothing but masked classes"),
    ],
)
def test_the_top1_of_a_row(row, index, claims):
    best = top1_from_scores(np.array([row], dtype=np.float32))
    flags = {"tied": best.is_tied, "nan": best.is_nan, "infinite": best.is_infinite}
    assert best.index.tolist() == [index]
    assert [name for name, flag in flags.items() if flag[0]] == ([claims] if claims else [])


def test_a_position_is_that_within_the_columns_kept():
    best = top1_from_scores(np.array([[9.0, 1.0, 3.0, 2.0]]), axis_positions=np.array([3, 2, 1]))
    assert best.index.tolist() == [1]


def test_a_nan_outside_the_columns_kept_still_spoils_the_row():
    best = top1_from_scores(np.array([[NAN, 1.0, 3.0]]), axis_positions=np.array([1, 2]))
    assert best.index.tolist() == [-1]


@pytest.mark.parametrize(("name", "scores"), [("logits", LOGITS), ("probabilities", PROBS)])
def test_logits_and_their_softmax_give_the_same_predictions(name, scores):
    reduced = reduce_scores(dense(scores))
    assert reduced.index.tolist() == PROBS.argmax(axis=1).tolist(), name
    np.testing.assert_allclose(reduced.confidence, PROBS.max(axis=1), rtol=1e-5)


def test_a_softmax_is_said_and_a_probability_is_not():
    assert "softmax of all 8 outputs in 5 rows" in reduce_scores(dense(LOGITS)).notes[0]
    assert reduce_scores(dense(PROBS)).notes == ()


def test_probabilities_that_add_up_roughly_are_kept_as_they_are():
    assert reduce_scores(dense([[0.7, 0.305]])).confidence.tolist() == [np.float32(0.7)]


def test_fewer_columns_leave_the_probability_as_it_was_and_say_so():
    reduced = reduce_scores(dense([[0.5, 0.2, 0.3]]), np.array([1, 2]))
    assert (reduced.index.tolist(), reduced.n_outputs) == ([1], 3)
    assert reduced.confidence.tolist() == [np.float32(0.3)]
    assert "not renormalised to the 2 used" in reduced.notes[0]


def test_rows_without_a_prediction_are_listed_by_reason():
    reduced = reduce_scores(dense([[0.1, 0.9], [NAN, 1], [INF, 0], [0.5, 0.5]]))
    assert reduced.index.tolist() == [1, -1, -1, 0]
    assert {reason: rows.tolist() for reason, rows in reduced.invalid.items()} == {
        "an output is NaN": [1],
        "an output is infinite": [2],
    }
    assert np.isnan(reduced.confidence).tolist() == [False, True, True, False]
    assert reduced.n_ties == 1


def test_a_row_whose_kept_columns_are_all_masked_has_no_prediction_and_no_confidence():
    reduced = reduce_scores(dense([[3.0, -INF, -INF], [3.0, 1.0, -INF]]), np.array([1, 2]))
    assert reduced.index.tolist() == [-1, 0]
    assert np.isnan(reduced.confidence).tolist() == [True, False]


def test_a_stated_class_is_kept_and_a_disagreement_is_counted():
    reduced = reduce_scores(dense([[0.4, 0.6], [0.4, 0.6]], index=np.array([1, 0])))
    assert reduced.index.tolist() == [1, 0]
    assert reduced.confidence.tolist() == [np.float32(0.6), np.float32(0.4)]
    assert "not the one with the largest value in 1 row of 2" in reduced.notes[0]


def test_a_stated_class_outside_the_columns_kept_gives_way_to_the_largest_of_them():
    reduced = reduce_scores(dense([[0.5, 0.2, 0.3]], index=np.array([0])), np.array([1, 2]))
    assert reduced.index.tolist() == [1]
    assert "No class among the 2 used is stated in 1 row" in reduced.notes[0]


def test_a_stated_class_beyond_the_outputs_is_refused():
    with pytest.raises(InputError, match=r"1 stated class outside the 2 outputs \(first: class 7 in row 1\)"):
        reduce_scores(dense([[0.5, 0.5]], index=np.array([7])))


def test_a_file_without_scores_stays_as_it_is():
    raw = RawPredictions("CSV", 1, index=np.array([3]))
    assert reduce_scores(raw) is raw


@pytest.mark.parametrize("kind", ["<f2", "<f4", ">f4", "<f8", "|u1", "<i4"])
def test_every_number_type_gives_the_same_top1(kind):
    scores = np.array([[1, 7, 3], [9, 2, 4]]).astype(kind)
    assert reduce_scores(dense(scores)).index.tolist() == [1, 0]


def test_bfloat16_is_the_upper_half_of_float32():
    exact = np.array([[0.25, 0.75], [0.625, 0.375]], dtype=np.float32)
    halves = (exact.view(np.uint32) >> 16).astype(np.uint16).view("V2")
    reduced = reduce_scores(dense(halves))
    assert reduced.index.tolist() == [1, 0]
    assert reduced.confidence.tolist() == [0.75, 0.625]


def test_float64_values_that_float32_would_merge_are_told_apart():
    reduced = reduce_scores(dense(np.array([[1.0, 1.0 + 1e-12]])))
    assert (reduced.index.tolist(), reduced.n_ties) == ([1], 0)


def test_blocks_join_without_a_seam(monkeypatch):
    monkeypatch.setattr("imagenet_errors.readers.scores.CHUNK_BYTES", 64)  # two rows a block
    reduced = reduce_scores(dense(LOGITS, index=np.array([0, 1, 2, 3, 4])))
    assert reduced.index.tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_allclose(reduced.confidence, PROBS[range(5), range(5)], rtol=1e-5)


@pytest.mark.parametrize("columns", [None, np.arange(1, 1000)[::-1]], ids=["all", "some"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_several_blocks_of_any_layout_are_read_row_by_row_and_not_written_to(order, columns):
    scores = np.random.default_rng(0).normal(size=(700, 1000)).astype(np.float32)
    scores[1:699:2, 7] = scores[1:699:2].max(axis=1)
    scores = np.array(scores, order=order)
    scores.flags.writeable = False
    reduced = reduce_scores(dense(scores), columns)
    kept = scores if columns is None else scores[:, columns]
    assert reduced.index.tolist() == kept.argmax(axis=1).tolist()
    assert reduced.n_ties == ((kept == kept.max(axis=1, keepdims=True)).sum(axis=1) > 1).sum() > 300
    expected = softmax(scores.astype(np.float64))[range(700), np.arange(1000)[columns].ravel()[reduced.index]]
    np.testing.assert_allclose(reduced.confidence, expected, rtol=1e-5)


def test_fifty_thousand_rows_of_a_thousand_outputs_take_under_a_hundred_megabytes_beside_the_file(tmp_path):
    path = tmp_path / "model.npy"
    scores = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(50_000, 1_000))
    scores[-1, 65] = 3
    scores.flush()
    tracemalloc.start()
    reduced = reduce_scores(read_raw(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (reduced.index[-1], reduced.n_ties) == (65, 49_999)
    assert peak - path.stat().st_size < 100e6


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint32])
def test_whole_numbers_that_float32_would_merge_are_told_apart(kind):
    reduced = reduce_scores(dense(np.array([[16_777_216, 16_777_217]], dtype=kind)))
    assert (reduced.index.tolist(), reduced.n_ties) == ([1], 0)


def test_outputs_above_zero_that_add_up_to_no_one_are_no_probabilities():
    reduced = reduce_scores(dense([[3.0, 1.0, 0.0], [0.5, 0.2, 0.1]]))
    np.testing.assert_allclose(reduced.confidence, softmax([[3.0, 1.0, 0.0], [0.5, 0.2, 0.1]]).max(axis=1), rtol=1e-5)


def test_rows_without_a_usable_output_are_in_no_note_and_have_no_label():
    scores = [[3.0, 1.0], [NAN, 2.0], [1.0, 4.0]]
    reduced = reduce_scores(dense(scores, axis_labels=("tench", "goldfish")))
    assert "softmax of all 2 outputs in 2 rows" in reduced.notes[0]
    assert reduced.text.to_pylist() == ["tench", None, "goldfish"]
    stated = reduce_scores(dense(scores, index=np.array([1, 1, 1])))
    assert "not the one with the largest value in 1 row of 3" in stated.notes[0]


@pytest.mark.parametrize(("place", "said"), [(0, "first"), (8, "last")])
def test_labels_saved_beside_outputs_are_left_out_and_that_is_said(place, said):
    scores = np.insert(LOGITS, place, [3, 1, 7, 0, 2], axis=1)
    kept = without_labels(dense(scores))
    assert f"The {said} of 9 columns holds whole numbers" in kept.notes[0]
    assert reduce_scores(kept).index.tolist() == LOGITS.argmax(axis=1).tolist()


def test_without_them_a_stated_class_beyond_the_outputs_is_refused_by_the_files_name():
    scores = np.insert(LOGITS, 0, [3, 1, 7, 0, 2], axis=1)
    kept = without_labels(dense(scores, index=np.full(5, 8)))
    with pytest.raises(InputError, match=r"^model\.npy: 5 stated classes outside the 8 outputs"):
        reduce_scores(kept)


def test_so_they_are_where_half_of_the_columns_are_whole_numbers():
    half = np.column_stack([[3, 1, 7, 0, 2], np.zeros((5, 3)), LOGITS[:, :4]])
    assert "The first of 8 columns holds whole numbers" in without_labels(dense(half)).notes[0]


@pytest.mark.parametrize(
    "scores",
    [
        pytest.param(np.insert(LOGITS, 4, [3, 1, 7, 0, 2], axis=1), id="in the middle"),
        pytest.param(np.insert(LOGITS, 0, [3, 1, 10, 0, 2], axis=1), id="more than there are columns"),
        pytest.param(np.insert(LOGITS, 0, 3, axis=1), id="the same in every row"),
        pytest.param(np.insert(LOGITS[:1], 0, 3, axis=1), id="of a single row"),
        pytest.param(np.insert(np.round(PROBS), 0, [3, 1, 7, 0, 2], axis=1), id="beside whole numbers"),
        pytest.param(np.insert(LOGITS, 0, [0, 1, 1, 0, 1], axis=1), id="zeros and ones"),
        pytest.param(np.array([[3.0], [1], [7]]), id="alone"),
        pytest.param(np.round(9 * PROBS), id="everywhere"),
        pytest.param(LOGITS[:0], id="no rows"),
        pytest.param(LOGITS, id="nowhere"),
    ],
)
def test_whole_numbers_that_may_be_outputs_are_outputs(scores):
    assert without_labels(dense(scores)).notes == ()


def test_a_negative_value_anywhere_makes_a_row_logits():
    row = np.array([0.5, 0.5, 0.1, 0, 0, 0, 0, 0, 0, -0.1])
    for at in range(10):
        found = reduce_scores(dense([np.roll(row, at)])).confidence
        np.testing.assert_allclose(found, softmax([row]).max(axis=1), rtol=1e-6)
