"""The figures of agreement equal scikit-learn's and scipy's; their bounds hold whatever unknown evidence says."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import bootstrap
from sklearn.metrics import cohen_kappa_score, confusion_matrix, precision_recall_fscore_support

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.study.outcomes import (
    CATEGORIES,
    FAILURE,
    OOV,
    PanelOutcomes,
    agreement,
    cross_table,
    kappa,
    kappa_interval,
)


def outcomes_of(human, ours, undecided):
    """Outcomes of cases whose verdict might be out-of-vocabulary instead where undecided."""
    return PanelOutcomes(human, np.stack([ours, np.where(undecided, np.int8(OOV), ours)]))


HUMAN = [ERROR_TYPES.index(name) for name in CATEGORIES]


def random_outcomes(seed, n_cases=300):
    random = np.random.default_rng(seed)
    human = random.choice(HUMAN, n_cases, p=[0.6, 0.15, 0.1, 0.15]).astype(np.int8)
    other = random.choice([*HUMAN, FAILURE], n_cases).astype(np.int8)
    ours = np.where(random.random(n_cases) < 0.5, human, other)
    undecided = (random.random(n_cases) < 0.3) & (ours > OOV)
    return outcomes_of(human, ours, undecided)


@pytest.fixture(params=range(5), ids=lambda seed: f"seed {seed}")
def outcomes(request):
    return random_outcomes(request.param)


def test_the_table_is_scikit_learns_confusion_matrix(outcomes):
    expected = confusion_matrix(outcomes.human, outcomes.ours, labels=range(len(ERROR_TYPES)))
    assert (outcomes.counts.known == expected).all()


def test_kappa_is_scikit_learns(outcomes):
    assert float(kappa(outcomes.counts.known)) == pytest.approx(cohen_kappa_score(outcomes.human, outcomes.ours))


@pytest.mark.parametrize("category", CATEGORIES)
def test_precision_and_recall_are_scikit_learns(outcomes, category):
    place = ERROR_TYPES.index(category)
    ((precision,), (recall,), _, (n_human,)) = precision_recall_fscore_support(
        outcomes.human, outcomes.ours, labels=[place]
    )
    found = agreement(outcomes).categories[category]
    assert (found.precision.value, found.recall.value) == pytest.approx((precision, recall))
    assert found.n_human == n_human


def test_kappas_interval_is_scipys_percentile_bootstrap():
    outcomes = random_outcomes(7)

    def statistic(human, ours):
        return float(kappa(cross_table(human, ours, len(ERROR_TYPES))))

    pair = (outcomes.human, outcomes.ours)
    theirs = bootstrap(
        pair, statistic, paired=True, vectorized=False, method="percentile", n_resamples=4000, rng=1
    ).confidence_interval
    assert kappa_interval(outcomes.counts.known) == pytest.approx((theirs.low, theirs.high), abs=0.01)


def test_kappas_interval_is_the_same_every_time(outcomes):
    assert kappa_interval(outcomes.counts.known) == kappa_interval(outcomes.counts.known)


@pytest.mark.parametrize(
    "human",
    [pytest.param([], id="no case"), pytest.param([HUMAN[0]] * 4, id="one single type on both sides")],
)
def test_kappa_is_undefined_where_chance_is_certain(human):
    single = np.array(human, dtype=np.int8)
    table = cross_table(single, single, len(ERROR_TYPES))
    assert np.isnan(kappa(table))
    assert np.isnan(kappa_interval(table)).all()


def test_without_any_case_all_shares_are_undefined_and_nothing_warns():
    nothing = np.array([], dtype=np.int8)
    found = agreement(outcomes_of(nothing, nothing, nothing.astype(bool)))
    assert np.isnan([found.agreement.value, found.agreement_of_explained.high]).all()
    assert found.n_agree.value == 0


CASES = st.lists(
    st.tuples(st.sampled_from(HUMAN), st.sampled_from([*HUMAN, FAILURE]), st.booleans()), min_size=1, max_size=5
)


def of(cases):
    human, ours, undecided = (np.array(column) for column in zip(*cases, strict=True))
    # Only what reached the out-of-vocabulary stage and fell through it can be undecided.
    return outcomes_of(human.astype(np.int8), ours.astype(np.int8), undecided.astype(bool) & (ours > OOV))


def resolutions(outcomes):
    """Every way in which the unknown evidence can turn out."""
    open_cases = np.flatnonzero(outcomes.undecided)
    for says in product([False, True], repeat=len(open_cases)):
        ours = outcomes.ours.copy()
        ours[open_cases[list(says)]] = OOV
        yield outcomes_of(outcomes.human, ours, np.zeros(len(ours), dtype=bool))


@settings(deadline=None, max_examples=100)
@given(CASES)
def test_bounds_of_shares_and_counts_are_reached_and_never_passed(cases):
    outcomes = of(cases)
    bounded, ways = agreement(outcomes), [agreement(way) for way in resolutions(outcomes)]
    for name in ("n_agree", "n_failures", "agreement", "agreement_of_explained", "share_of_failures"):
        values = [getattr(way, name).value for way in ways]
        if not np.isnan(values).any():
            found = getattr(bounded, name)
            assert (found.low, found.high) == pytest.approx((min(values), max(values))), name


@settings(deadline=None, max_examples=100)
@given(CASES)
def test_bounds_of_cells_are_reached_and_never_passed(cases):
    outcomes = of(cases)
    tables = np.stack([way.counts.known for way in resolutions(outcomes)])
    assert (tables.min(axis=0) == outcomes.counts.low).all()
    assert (tables.max(axis=0) == outcomes.counts.high).all()


@settings(deadline=None, max_examples=100)
@given(CASES, st.sampled_from(CATEGORIES))
def test_bounds_of_precision_and_recall_are_reached_and_never_passed(cases, category):
    outcomes = of(cases)
    ways = [agreement(way).categories[category] for way in resolutions(outcomes)]
    found = agreement(outcomes).categories[category]
    for name in ("precision", "recall"):
        values = [getattr(way, name).value for way in ways]
        if not np.isnan(values).any():
            bounds = getattr(found, name)
            assert (bounds.low, bounds.high) == pytest.approx((min(values), max(values))), name


def test_precision_is_least_where_unknown_evidence_adds_misses_and_no_hits():
    found = agreement(of([(OOV, OOV, False), (HUMAN[0], FAILURE, True)])).categories["fine_grained_oov"]
    assert (found.precision.value, found.precision.low, found.precision.high) == (1.0, 0.5, 1.0)


def test_the_trivial_answer_is_named_beside_the_agreement():
    outcomes = of([(HUMAN[0], FAILURE, False)] * 3 + [(HUMAN[1], HUMAN[1], False)])
    found = agreement(outcomes)
    assert (found.most_frequent, found.n_most_frequent) == ("fine_grained", 3)
    assert found.n_agree.value == 1
