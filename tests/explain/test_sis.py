"""Sufficient input subsets of toy functions, by hand."""

import numpy as np
import pytest

from imagenet_errors.explain.sis import back_select, find_sis, sis_collection
from imagenet_errors.problems import InputError


def l2(batch):
    return np.linalg.norm(batch.reshape(len(batch), -1), axis=1)


def test_back_select_hides_what_matters_least_first():
    order, values = back_select(l2, [0.1, 10, 5, 1], [0.0] * 4)
    assert order.tolist() == [0, 3, 2, 1]
    np.testing.assert_allclose(values, [np.sqrt(126), np.sqrt(125), 10, 0])


def test_of_equal_entries_the_lowest_is_hidden_first():
    order, _ = back_select(l2, [1.0, 1.0, 1.0], [0.0] * 3)
    assert order.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("threshold", "subset"),
    [
        pytest.param(1, [1], id="one entry suffices"),
        pytest.param(11, [1, 2], id="the entry hidden last comes first"),
        pytest.param(100, None, id="the whole is below"),
        pytest.param(0, [], id="the blank suffices"),
    ],
)
def test_find_sis(threshold, subset):
    assert find_sis(l2, threshold, [0.1, 10, 5, 1], [0.0] * 4) == subset


@pytest.mark.parametrize(
    ("threshold", "collection"),
    [
        pytest.param(1, [[2], [3], [1, 0]], id="disjoint, until too little is left"),
        pytest.param(100, [], id="the whole is below"),
        pytest.param(0, [[]], id="the blank suffices"),
    ],
)
def test_sis_collection(threshold, collection):
    assert sis_collection(l2, threshold, [0.9, 0.9, 10, 5], [0.0] * 4) == collection


def test_a_shared_axis_is_decided_by_one_entry():
    x = np.array([[1.0, 9.0, 2.0], [1.0, 0.0, 5.0]])
    order, values = back_select(l2, x, np.zeros((2, 3)), mask_axes=0)
    assert order.tolist() == [0, 2, 1]
    np.testing.assert_allclose(values, [np.sqrt(81 + 4 + 25), 9, 0])


@pytest.mark.parametrize("axes", [0, -3, (0,), (-3,)])
def test_axes_are_counted_from_either_end(axes):
    """An image of two channels: one entry a pixel."""
    x = np.array([[[1.0, 9.0], [2.0, 0.0]], [[1.0, 0.0], [5.0, 3.0]]])
    order, values = back_select(l2, x, np.zeros_like(x), mask_axes=axes)
    assert order.tolist() == [0, 3, 2, 1]
    assert len(values) == 4


def test_with_all_axes_shared_there_is_one_entry():
    order, values = back_select(l2, np.ones((2, 2)), np.zeros((2, 2)), mask_axes=(0, 1))
    assert (order.tolist(), values.tolist()) == ([0], [0.0])
    assert find_sis(l2, 1, np.ones((2, 2)), np.zeros((2, 2)), mask_axes=(0, 1)) == [0]


def test_a_whole_number_is_hidden_by_a_blank_of_fractions():
    _, values = back_select(l2, [3, 4], [0.5, 0.5])
    np.testing.assert_allclose(values, [np.sqrt(16.25), np.sqrt(0.5)])


def test_entries_of_several_axes_are_numbered_row_by_row():
    order, _ = back_select(lambda b: b[:, 1, 2] * 10 + b.sum(axis=(1, 2)), np.ones((2, 3)), np.zeros((2, 3)))
    assert order.tolist() == [0, 1, 2, 3, 4, 5]
    order, _ = back_select(lambda b: b[:, 0, 1] * 10 + b.sum(axis=(1, 2)), np.ones((2, 3)), np.zeros((2, 3)))
    assert order.tolist() == [0, 2, 3, 4, 5, 1]


def test_a_value_may_come_back_above_the_threshold_and_the_shortest_end_counts():
    """Entry 0 hides entry 1's worth: 5 alone is above, 5 with -4 below."""
    subset = find_sis(lambda b: b.sum(axis=1), 2, [-4.0, 5.0, 1.0], [0.0] * 3)
    assert subset == [1]


@pytest.mark.parametrize(
    ("f", "blank", "message"),
    [
        pytest.param(lambda b: np.full(len(b), np.nan), [0.0, 0.0], "NaN", id="nan"),
        pytest.param(lambda b: b, [0.0, 0.0], "one value an input", id="not one value an input"),
        pytest.param(l2, [0.0], "one of its shape", id="blank of another shape"),
    ],
)
def test_what_cannot_be_ordered_is_refused(f, blank, message):
    with pytest.raises(InputError, match=message):
        back_select(f, [1.0, 2.0], blank)
