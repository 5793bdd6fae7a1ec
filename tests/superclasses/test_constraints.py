"""Published facts constrain the relation: each holds or not, and a rule finds memberships that agree with them."""

import numpy as np
import pytest

from constrain_superclasses import Decision, Evidence, Prior, cross_validate, shares_met, told
from imagenet_errors.evidence.superclasses import Superclasses, load_superclasses
from superclass_facts import AnyOf, Pair, Sum, facts_of_class, read_facts

A, B, C, D, E = range(5)
LEMMAS = (1, 2, 3, 1, 2)


def sum_of(prediction, lemmas):
    adds = tuple(0 if index == prediction else n for index, n in enumerate(LEMMAS))
    return Sum(prediction, target=E, lemmas=lemmas, adds=adds)


def sharing(*pairs):
    shares = np.eye(5, dtype=bool)
    for a, b in pairs:
        shares[a, b] = shares[b, a] = True
    return shares


def toy_prior(log_odds=-1.0):
    """One superclass that any of five classes may belong to, each as unlikely as the others."""
    return Prior(np.ones((1, 5), dtype=bool), np.full((1, 5), log_odds), [(0, index) for index in range(5)])


def decided(*facts, prior=None):
    decision = Decision(prior or toy_prior(), facts)
    decision.settle()
    return decision


@pytest.mark.parametrize(
    ("fact", "holds"),
    [
        pytest.param(Pair(A, B, kin=True), True, id="kin and shared"),
        pytest.param(Pair(A, C, kin=True), False, id="kin but not shared"),
        pytest.param(Pair(A, B, kin=False), False, id="apart but shared"),
        pytest.param(AnyOf(A, (C, B)), True, id="one of two labels is enough"),
        pytest.param(AnyOf(A, (C, D)), False, id="none of two labels"),
        pytest.param(sum_of(A, 2), True, id="the mate's lemmas"),
        pytest.param(sum_of(B, 2), False, id="another number of lemmas"),
    ],
)
def test_a_fact_holds_or_not(fact, holds):
    assert fact.holds(sharing((A, B))) == holds


def test_the_rule_keeps_kin_together_and_drops_what_no_fact_speaks_for():
    decision = decided(Pair(A, B, kin=True), Pair(A, C, kin=False))
    assert np.flatnonzero(decision.members[0]).tolist() == [A, B]


def test_a_sum_keeps_the_mates_that_it_counts():
    prior = toy_prior()
    prior.candidates[0, [C, E]] = False
    assert np.flatnonzero(decided(sum_of(A, 3), prior=prior).members[0]).tolist() == [A, B, D]
    assert not decided(Pair(A, C, kin=False), prior=prior).members.any()


def test_one_of_several_labels_stays_kin():
    prior = toy_prior()
    prior.log_odds[0, A] = 7
    assert np.flatnonzero(decided(AnyOf(A, (B, C)), Pair(A, B, kin=False), prior=prior).members[0]).tolist() == [A, C]


def test_without_facts_the_likelier_memberships_stand():
    prior = toy_prior()
    prior.log_odds[0, [A, B]] = 1
    assert np.flatnonzero(decided(prior=prior).members[0]).tolist() == [A, B]


def test_a_change_tried_costs_what_it_costs_and_leaves_no_trace():
    decision = Decision(toy_prior(), [sum_of(A, 2), Pair(C, D, kin=True), AnyOf(E, (A, B))])
    before, off, chosen = decision.n_shared.copy(), decision.off.copy(), decision.n_chosen.copy()
    tried = decision.change(0, C, keep=False)
    assert np.array_equal(decision.n_shared, before)
    assert np.array_equal(decision.off, off)
    assert np.array_equal(decision.n_chosen, chosen)
    assert decision.change(0, C) == pytest.approx(tried)
    assert decision.change(0, C) == pytest.approx(-tried)


def test_facts_are_counted_for_the_classes_that_they_name_and_count():
    counted = facts_of_class([Pair(A, B, kin=True), sum_of(A, 2)], sharing((A, B)))
    assert counted.tolist() == [[1, 1, 0], [1, 0, 1], [0, 0, 0], [0, 0, 0], [0, 0, 0]]


def test_a_contradicted_sum_is_told_in_lemmas():
    assert told(sum_of(A, 1), sharing((A, B))).endswith("1 lemmas too many")


def test_every_fact_is_left_out_once():
    facts = [Pair(a, b, kin=(a, b) == (A, B)) for a in range(5) for b in range(a + 1, 5)]
    evidence = Evidence(Superclasses((), (), (), (), 5), [*facts, AnyOf(A, (B, C))], None, None)
    evidence.__dict__["prior"] = toy_prior()
    met = cross_validate(evidence)
    assert met["rule"].total() == met["prior alone"].total() == len(facts)


def test_hardly_a_published_fact_is_contradicted(shared):
    met = shares_met(read_facts(shared / "published"), load_superclasses().shares)
    for kind in ("share a superclass", "share none", "as many proposals"):
        assert met[kind, True] >= 0.99 * (met[kind, True] + met[kind, False]), kind
