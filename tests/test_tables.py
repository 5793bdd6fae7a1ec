"""The tables between the parts: ragged lists of labels behave like lists of lists, cases like rows."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from imagenet_errors.tables import Annotations, Finding, Ragged, case_codes, cases_of, split_codes

LISTS = st.lists(st.lists(st.integers(0, 999), max_size=4), max_size=6)


def plain(ragged):
    return [ragged[row].tolist() for row in range(len(ragged))]


@given(LISTS)
def test_a_ragged_array_holds_the_lists_it_was_made_of(lists):
    ragged = Ragged.of(lists)
    assert plain(ragged) == lists
    assert ragged.lengths.tolist() == [len(one) for one in lists]
    assert ragged.owners.tolist() == [row for row, one in enumerate(lists) for _ in one]


@given(LISTS, st.integers(0, 6))
def test_it_goes_to_arrow_and_back_also_from_the_middle_of_an_array(lists, start):
    arrow = Ragged.of(lists).to_arrow()
    assert arrow.type == pa.list_(pa.int16())
    assert arrow.to_pylist() == lists
    assert plain(Ragged.from_arrow(arrow[start:])) == lists[start:]


@given(LISTS.filter(len), st.data())
def test_taking_rows_takes_their_lists(lists, data):
    chosen = data.draw(st.lists(st.integers(0, len(lists) - 1)))
    assert plain(Ragged.of(lists).take(np.array(chosen, dtype=int))) == [lists[row] for row in chosen]


@given(LISTS)
def test_any_of_is_any(lists):
    ragged = Ragged.of(lists)
    assert ragged.any_of(ragged.values > 500).tolist() == [any(v > 500 for v in one) for one in lists]


@given(st.lists(st.lists(st.tuples(st.integers(0, 999), st.integers(-1, 2)), max_size=4), max_size=5))
def test_best_of_is_the_first_value_of_the_highest_positive_score(scored):
    ragged = Ragged.of([[value for value, _ in row] for row in scored])
    score = np.array([score for row in scored for _, score in row], dtype=int)
    best = [max(row, key=lambda pair: pair[1], default=(-1, 0)) for row in scored]
    assert ragged.best_of(score).tolist() == [value if score > 0 else -1 for value, score in best]


@pytest.fixture
def annotations():
    return Annotations(
        name="toy",
        file_names=pa.array(["a", "b", "c"]),
        label=np.array([0, 1, 2], dtype=np.int16),
        accepted=Ragged.of([[0], [], [2, 5]]),
        problematic=np.array([True, False, False]),
    )


def test_problematic_images_and_those_without_labels_do_not_count(annotations):
    assert annotations.evaluated.tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("rejected_labels", "evaluated", "correct"),
    [
        pytest.param("exclude", [True, False, False], [True, True, True], id="images of rejected labels do not count"),
        pytest.param("judge", [True, False, True], [True, False, False], id="a rejected label is a mistake"),
        pytest.param("trust", [True, False, True], [True, True, True], id="a rejected label is right"),
    ],
)
def test_a_label_that_is_none_of_the_accepted_ones_is_rejected(rejected_labels, evaluated, correct):
    """What is accepted: the label and another, nothing at all, another alone."""
    images = Annotations(
        name="toy",
        file_names=pa.array(["a", "b", "c"]),
        label=np.array([0, 1, 2], dtype=np.int16),
        accepted=Ragged.of([[0, 3], [], [5]]),
        problematic=np.zeros(3, dtype=bool),
        rejected_labels=rejected_labels,
    )
    assert images.label_is_rejected.tolist() == [False, False, True]
    assert images.evaluated.tolist() == evaluated
    assert images.is_correct(np.arange(3), images.label).tolist() == correct
    assert not images.is_correct(np.array([0, 2]), np.array([3, 5])).any()


def test_cases_know_what_the_annotations_say_of_their_images(annotations):
    cases = cases_of(annotations, np.array([2, 0]), np.array([7, 1], dtype=np.int16))
    assert cases.label.tolist() == [2, 0]
    assert plain(cases.accepted) == [[2, 5], [0]]
    assert cases.prediction_of_accepted.tolist() == [7, 7, 1]
    assert cases.take(np.array([1])).prediction.tolist() == [1]


def test_codes_tell_cases_apart_and_sort_by_image_then_class():
    rows, prediction = np.divmod(np.arange(3 * 1000), 1000)
    codes = case_codes(rows, prediction)
    assert (np.diff(codes) > 0).all()
    assert case_codes(np.array([49_999], dtype=np.int32), np.array([999], dtype=np.int16)) > 2**30


def test_codes_are_split_into_what_they_were_made_of():
    rows, prediction = np.array([0, 1, 49_999, 2_000_000]), np.array([999, 0, 32_767, 17])
    assert [part.tolist() for part in split_codes(case_codes(rows, prediction))] == [rows.tolist(), prediction.tolist()]


def test_a_finding_keeps_its_columns_together():
    finding = Finding(np.array([True, False]), {"kin": np.array([3, 4])}, np.array([False, True]))
    last = finding.take(np.array([1]))
    assert (last.explains.tolist(), last.evidence["kin"].tolist(), last.lacks_evidence.tolist()) == (
        [False],
        [4],
        [True],
    )
