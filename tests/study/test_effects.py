"""What a choice does is counted case by case, bounded by unknown evidence, and tested for chance."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, spearmanr

import toy
from imagenet_errors.chain import DEFAULT_ORDER, ERROR_TYPES, build_chain
from imagenet_errors.inputs import Basis
from imagenet_errors.measure import sign_test
from imagenet_errors.study.effects import (
    ModelErrors,
    VariantOutcome,
    chance_of,
    effects_of,
    holm,
    mean_share_of_failures,
    rank_correlation,
)
from imagenet_errors.study.outcomes import FAILURE, OOV, Bounded, bounded_counts
from imagenet_errors.study.panel import PanelMistakes
from imagenet_errors.study.variants import Variant
from toy import inputs_of

FINE, SPURIOUS = (ERROR_TYPES.index(name) for name in ("fine_grained", "spurious_correlation"))


@pytest.mark.parametrize("n_values", [pytest.param(1000, id="no ties"), pytest.param(6, id="many ties")])
def test_the_rank_correlation_is_scipys(n_values):
    random = np.random.default_rng(3)
    a = random.integers(0, n_values, 60).astype(float)
    b = a + random.integers(0, n_values, 60)
    assert rank_correlation(a, b) == pytest.approx(spearmanr(a, b).statistic)


def test_what_has_no_value_is_left_out_of_a_ranking():
    a, b = np.array([1.0, 2.0, 3.0, np.nan]), np.array([1.0, 2.0, 3.0, 0.0])
    assert rank_correlation(a, b) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "values", [pytest.param([], id="nothing"), pytest.param([1.0], id="one"), pytest.param([2.0, 2.0], id="equal")]
)
def test_the_rank_correlation_is_undefined_without_a_ranking(values):
    assert np.isnan(rank_correlation(np.array(values), np.arange(len(values), dtype=float)))


def test_holm_corrects_the_worked_example():
    # The smallest times 4, the next times 3, and never below one before.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_lies_between_the_bare_probability_and_bonferronis(probabilities):
    bare, corrected = np.array(probabilities), holm(probabilities)
    assert (corrected >= bare).all()
    assert (corrected <= np.minimum(bare * len(bare), 1.0) + 1e-12).all()
    assert corrected.min() == pytest.approx(min(1.0, bare.min() * len(bare)))


def test_one_test_needs_no_correction_and_none_gives_none():
    assert holm([0.3]).tolist() == [0.3]
    assert holm([]).tolist() == []


@pytest.mark.parametrize("moved", [(0, 0), (1, 0), (3, 9), (17, 0), (40, 55)])
def test_the_chance_of_known_gains_and_losses_is_scipys_binomial_test(moved):
    gained, lost = (Bounded(n, n, n) for n in moved)
    expected = binomtest(moved[0], sum(moved)).pvalue if sum(moved) else 1.0
    assert chance_of(gained, lost) == pytest.approx((expected,) * 3)


KINDS = {"gain": (1, 0), "loss": (0, 1), "none": (0, 0)}
WAYS = [*[(kind,) for kind in KINDS], ("gain", "none"), ("loss", "none"), ("gain", "loss"), tuple(KINDS)]


@given(st.lists(st.sampled_from(WAYS), max_size=6))
def test_the_bounds_of_chance_hold_however_unknown_evidence_turns_out(cases):
    splits = [tuple(map(sum, zip((0, 0), *(KINDS[kind] for kind in way), strict=True))) for way in product(*cases)]
    gained, lost = ([split[side] for split in splits] for side in (0, 1))
    bounds = chance_of(*(Bounded(counts[0], min(counts), max(counts)) for counts in (gained, lost)))
    chances = [sign_test(*split) for split in splits]
    assert bounds.low <= min(chances) + 1e-12
    assert bounds.high >= max(chances) - 1e-12


# --- whole effects on a world of cases ------------------------------------------------------------------------------


def variant(name, evidence=None):
    evidence = evidence or EVIDENCE
    basis = Basis(inputs_of(), toy.LABELS, toy.annotations(), evidence, build_chain(evidence, DEFAULT_ORDER))
    return Variant("choice", name, basis)


EVIDENCE = toy.whole_evidence()
OTHER_OOV = toy.whole_evidence(oov=toy.oov((0, toy.MUG, True, "jug")))


def outcome(name, of_panel, of_models=(), *, evidence=None):
    """Each case: its type, or a pair (if unknown evidence says no, if yes); 0: excluded."""
    rows = [
        np.array([case if isinstance(case, tuple) else (case, case) for case in cases], dtype=np.int8).reshape(-1, 2).T
        for cases in (of_panel, of_models)
    ]
    return VariantOutcome(variant(name, evidence), *rows)


def panel(*human):
    return PanelMistakes(None, ("m",), np.zeros(len(human), np.int16), np.array(human, np.int8), None, None)


def effect(before, after, human, **changes):
    mistakes = panel(*human)
    return effects_of([outcome("base", before), outcome("other", after, **changes)], mistakes, None)[1]


OPEN = (FAILURE, OOV)


def test_gains_and_losses_are_counted_against_the_panel():
    found = effect([FINE, FAILURE, FINE], [FAILURE, SPURIOUS, FINE], [FINE, SPURIOUS, FINE])
    assert (found.gained, found.lost) == ((1, 1, 1), (1, 1, 1))


def test_cases_excluded_on_one_side_are_compared_nowhere():
    found = effect([FINE, 0], [0, FINE], [FINE, FINE])
    assert (found.gained.high, found.lost.high, found.agreement.n) == (0, 0, 1)


@pytest.mark.parametrize(
    ("before", "after", "evidence", "lost"),
    [
        pytest.param((FAILURE, OOV), (SPURIOUS, OOV), None, (0, 0, 0), id="one evidence: out-of-vocabulary in both"),
        pytest.param((FAILURE, OOV), FAILURE, None, (0, 0, 1), id="open before alone"),
        pytest.param((FAILURE, OOV), (FAILURE, OOV), OTHER_OOV, (0, 0, 1), id="two tables may differ"),
    ],
)
def test_what_is_unknown_turns_out_alike_under_one_evidence(before, after, evidence, lost):
    assert effect([before], [after], [OOV], evidence=evidence).lost == lost


def test_the_tests_of_all_variants_are_corrected_together():
    human = [FINE] * 6
    base = outcome("base", [FAILURE] * 6)
    others = [outcome("all", [FINE] * 6), outcome("none", [FAILURE] * 6)]
    found = effects_of([base, *others], panel(*human), None)
    assert found[1].chance == pytest.approx((2 / 2**6,) * 3)
    assert found[1].corrected == pytest.approx((4 / 2**6,) * 3)
    assert found[0].corrected == found[2].corrected == (1, 1, 1)


def models(*cases_of_model):
    """Each model: the rows of its errors among the cases."""
    names = tuple("abcdef"[: len(cases_of_model)])
    model = np.repeat(np.arange(len(names)), [len(rows) for rows in cases_of_model])
    cases = toy.cases_of(toy.annotations((0, {0})), np.zeros(9, int), np.arange(9, dtype=np.int16))
    return ModelErrors(names, model, np.concatenate([np.array(rows, int) for rows in cases_of_model]), cases)


def distributions(before, after, errors):
    before, after = ([*types, *[0] * (9 - len(types))] for types in (before, after))
    pair = [outcome("base", [FINE], before), outcome("other", [FINE], after)]
    return effects_of(pair, panel(FINE), errors)[1].distributions


def test_changed_is_the_share_of_all_models_errors_that_get_another_type():
    found = distributions([FINE, FAILURE, FAILURE], [FINE, SPURIOUS, FAILURE], models([0, 1], [1, 2]))
    assert found.changed == (0.5, 0.5, 0.5)
    assert found.moves[FAILURE, SPURIOUS] == 2
    assert found.moves.sum() == 4


def test_errors_that_unknown_evidence_may_change_bound_what_changed():
    found = distributions([OPEN, FINE], [SPURIOUS, FINE], models([0, 1]))
    assert found.changed == (0.5, 0.5, 0.5)
    found = distributions([OPEN, FINE], [FAILURE, FINE], models([0, 1]))
    assert found.changed == (0.0, 0.0, 0.5)


def test_portions_and_failures_are_averaged_over_the_models_with_their_bounds():
    found = distributions([FINE, OPEN], [FINE, OPEN], models([0, 1], [0, 0]))
    assert found.portions[FINE] == (0.75, 0.75, 0.75)
    assert found.portions[FAILURE] == (0.25, 0.0, 0.25)
    assert found.portions[OOV] == (0.0, 0.0, 0.25)
    assert found.share_of_failures == (0.25, 0.0, 0.25)


def test_models_are_ranked_at_both_ends_of_what_is_unknown():
    errors = models([0, 2, 2], [1, 2, 2], [3, 2, 2])
    before = [FAILURE, FINE, FINE, OPEN]
    found = distributions(before, before, errors)
    assert found.rank_correlation == pytest.approx((1.0, 1.0))
    found = distributions(before, [FINE, FINE, FINE, FAILURE], errors)
    if_no, if_yes = found.rank_correlation
    assert if_no == pytest.approx(spearmanr([1, 0, 1], [0, 0, 1]).statistic)
    assert if_yes == pytest.approx(spearmanr([1, 0, 0], [0, 0, 1]).statistic)


def test_a_model_without_errors_has_no_share_of_failures():
    counts = bounded_counts(np.array([0]), np.array([[FAILURE], [FAILURE]], np.int8), 2)
    assert mean_share_of_failures(counts) == (1.0, 1.0, 1.0)
    assert mean_share_of_failures(counts, of_top1_errors=True) == (1.0, 1.0, 1.0)
