"""Counts add up, portions are shares of errors, and accuracies are averages over the original classes."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import recall_score

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.measure import (
    IS_MULTI_LABEL_ERROR,
    IS_TOP1_ERROR,
    NORMAL_975,
    class_average,
    group_membership,
    measure,
    sign_test,
    strata,
    wilson,
)
from imagenet_errors.tables import Ragged
from toy import BEAGLE, LABELS, MUG, SOFA, TABBY

CODE = {name: np.int8(code) for code, name in enumerate(ERROR_TYPES)}
EVERYONE = np.ones((1, 4), dtype=bool)


def measured(*names, label=(TABBY, TABBY, SOFA, MUG), membership=EVERYONE):
    return measure(
        np.array([CODE[name] for name in names]),
        strata(np.array(label, dtype=np.int16), membership),
        groups=("all",) * len(membership),
    )


def test_an_image_is_in_every_group_that_one_of_its_accepted_labels_is_in():
    accepted = Ragged.of([[TABBY], [SOFA], [TABBY, SOFA], [MUG], [BEAGLE, SOFA, MUG]])
    everything, organism, artifact, other = group_membership(accepted, LABELS).tolist()
    assert everything == [True] * 5
    assert organism == [True, False, True, False, True]
    assert artifact == [False, True, True, False, True]
    assert other == [False, False, False, True, True]


@pytest.mark.parametrize(
    ("names", "mla", "mla_minor", "mla_explained"),
    [
        pytest.param(("correct",) * 4, 1, 1, 1, id="all correct"),
        pytest.param(("correct", "class_overlap", "multi_object", "correct"), 1, 1, 1, id="right by some label"),
        pytest.param(("fine_grained", "fine_grained_oov", "correct", "correct"), 2 / 3, 1, 1, id="minor ones"),
        pytest.param(
            ("non_prototypical", "spurious_correlation", "correct", "correct"),
            2 / 3,
            2 / 3,
            1,
            id="explained ones",
        ),
        pytest.param(("model_failure", "correct", "correct", "model_failure"), 1 / 2, 1 / 2, 1 / 2, id="failures"),
    ],
)
def test_each_accuracy_forgives_more(names, mla, mla_minor, mla_explained):
    measures = measured(*names)
    assert measures.mla == pytest.approx([mla])
    assert measures.mla_minor == pytest.approx([mla_minor])
    assert measures.mla_explained == pytest.approx([mla_explained])


def test_top1_accuracy_is_a_plain_share():
    assert measured("correct", "class_overlap", "model_failure", "correct").top1_accuracy == pytest.approx([0.5])


def test_the_class_average_is_scikit_learns_macro_recall():
    random = np.random.default_rng(0)
    label = random.integers(0, 40, 500)
    right = random.random(500) < 0.7
    membership = np.stack([np.ones(500, dtype=bool), label < 13])
    parted = strata(label.astype(np.int16), membership)
    ours = class_average(parted.by_label(parted.counts(right, 2)), np.array([False, True]))
    for group, inside in enumerate(membership):
        predicted = np.where(right, label, (label + 1) % 40)[inside]
        classes = np.unique(label[inside])
        expected = recall_score(label[inside], predicted, labels=classes, average="macro")
        assert ours[group] == pytest.approx(expected, abs=1e-12)


def test_counts_add_up_to_the_images_of_the_group():
    membership = np.array([[True] * 4, [True, False, True, False]])
    measures = measured("correct", "fine_grained", "model_failure", "correct", membership=membership)
    assert measures.counts.sum(axis=1).tolist() == [4, 2]
    assert measures.n_evaluated.tolist() == [4, 2]


@pytest.mark.parametrize("among", [IS_TOP1_ERROR, IS_MULTI_LABEL_ERROR], ids=["top-1", "multi-label"])
def test_portions_are_shares_of_those_errors_and_undefined_elsewhere(among):
    portions = measured("multi_object", "fine_grained", "model_failure", "model_failure").portions(among)
    assert np.nansum(portions) == pytest.approx(1)
    assert np.isnan(portions[0, ~among]).all()
    n_errors = 4 if among is IS_TOP1_ERROR else 3
    assert portions[0, CODE["model_failure"]] == pytest.approx(2 / n_errors)


def test_a_group_without_errors_has_no_portions():
    assert np.isnan(measured("correct", "correct", "correct", "correct").portions(IS_TOP1_ERROR)).all()


def test_a_group_without_images_has_no_accuracy():
    measures = measured("correct", "correct", "correct", "correct", membership=np.zeros((1, 4), dtype=bool))
    assert np.isnan([measures.mla[0], measures.top1_accuracy[0]]).all()
    assert measures.counts.sum() == 0


def test_no_images_are_of_no_label_and_give_no_accuracy():
    parted = strata(np.array([], dtype=np.int16), np.ones((2, 0), dtype=bool))
    assert parted.by_label(parted.counts(np.array([], dtype=np.int8), 3)).shape == (2, 0, 3)
    measures = measure(np.array([], dtype=np.int8), parted, groups=("all", "some"))
    assert measures.n_evaluated.tolist() == [0, 0]
    assert np.isnan([measures.mla, measures.top1_accuracy]).all()


def test_multi_label_errors_are_the_types_from_fine_grained_on():
    assert [name for name, wrong in zip(ERROR_TYPES, IS_MULTI_LABEL_ERROR, strict=True) if wrong] == [
        "fine_grained",
        "fine_grained_oov",
        "non_prototypical",
        "spurious_correlation",
        "model_failure",
    ]


def test_counts_are_bounded_by_what_is_not_known():
    """The second image's error could be out of vocabulary, had the evidence something on it."""
    lacking = {"fine_grained_oov": np.array([False, True, False, False])}
    names = ("fine_grained_oov", "model_failure", "model_failure", "correct")
    error_type = np.array([CODE[name] for name in names])
    measures = measure(
        error_type,
        strata(np.array([TABBY, TABBY, SOFA, MUG], dtype=np.int16), EVERYONE),
        groups=("all",),
        lacking=lacking,
    )
    bounds = {name: (int(measures.least[0, CODE[name]]), int(measures.most[0, CODE[name]])) for name in ERROR_TYPES}
    assert bounds["fine_grained_oov"] == (1, 2)
    assert bounds["model_failure"] == (1, 2)
    assert bounds["correct"] == (1, 1)


def test_images_in_any_of_many_groups_are_counted_as_one_by_one():
    random = np.random.default_rng(1)
    label, membership = random.integers(0, 30, 400).astype(np.int16), random.random((70, 400)) < 0.3
    error_type = random.integers(0, len(ERROR_TYPES), 400).astype(np.int8)
    counts = measure(error_type, strata(label, membership), groups=("",) * 70).counts
    one_by_one = [np.bincount(error_type[inside], minlength=len(ERROR_TYPES)) for inside in membership]
    assert counts.tolist() == np.stack(one_by_one).tolist()


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (3, 7), (3, 18), (50, 119), (139, 1163), (10, 10)])
def test_a_rate_has_the_score_interval(hits, n):
    theirs = stats.binomtest(hits, n).proportion_ci(method="wilson")
    assert wilson(hits, n) == pytest.approx((theirs.low, theirs.high))


def test_rates_have_their_intervals_together_and_of_nothing_nothing_is_known():
    low, high = wilson(np.array([3, 0]), np.array([18, 0]))
    assert (low[0], high[0]) == pytest.approx(wilson(3, 18))
    assert np.isnan([low[1], high[1]]).all()


def test_an_interval_of_95_percent_leaves_as_much_on_either_side():
    assert pytest.approx(stats.norm.ppf(0.975), rel=1e-14) == NORMAL_975


@pytest.mark.parametrize(
    ("first", "second"), [(0, 0), (0, 1), (3, 9), (10, 10), (0, 40), (250, 300), (1200, 1000)], ids=str
)
def test_the_sign_test_is_exact(first, second):
    expected = stats.binomtest(first, first + second).pvalue if first + second else 1.0
    assert sign_test(first, second) == pytest.approx(expected, rel=1e-9)


def test_what_scipy_imports_for_nothing_stays_unloaded_until_it_is_used():
    code = """
import sys
import numpy
from imagenet_errors.measure import special_functions
assert special_functions().bdtr(1, 2, 0.5) == 0.75
assert "numpy.f2py.crackfortran" not in sys.modules
assert "unittest" not in sys.modules
numpy.testing.assert_equal(1, 1)
from numpy.f2py import crackfortran
assert numpy.f2py.crackfortran is crackfortran
"""
    subprocess.run([sys.executable, "-c", code], check=True)
