"""The conclusions follow from the figures: what is largest, what holds, what is chance."""

from pathlib import Path

import numpy as np
import pytest

import toy
from imagenet_errors.chain import DEFAULT_ORDER, ERROR_TYPES
from imagenet_errors.study.outcomes import Outcomes, agreement
from imagenet_errors.study.sensitivity import Distributions, Effect, Request, SensitivityRun
from imagenet_errors.study.sensitivity_conclusions import conclusions
from imagenet_errors.study.variants import BASE, NotVaried, Variant
from toy import inputs_of

FINE, SPURIOUS, FAILURE = (
    ERROR_TYPES.index(name) for name in ("fine_grained", "spurious_correlation", "model_failure")
)
NO_SAMPLES = toy.annotations((0, {0}))


def effect(choice, name, *, n_agree, changed=0.0, rank=1.0, moved=(0, 0), models=True):
    """Twenty judged cases, half of them fine-grained, of which so many agree and the others are failures."""
    human = np.array([FINE, SPURIOUS] * 10, dtype=np.int8)
    ours = np.where(np.arange(20) < n_agree, human, np.int8(FAILURE)).astype(np.int8)
    counts = np.zeros((2, len(ERROR_TYPES)), dtype=np.int64)
    counts[:, [FINE, FAILURE]] = 3, 1
    return Effect(
        Variant(choice, name, NO_SAMPLES, toy.whole_evidence(), DEFAULT_ORDER),
        agreement(Outcomes(human, ours, np.zeros(20, dtype=bool))),
        *moved,
        Distributions(counts, changed, rank) if models else None,
    )


def told(*effects, models=True, not_varied=()):
    base = effect(BASE, BASE, n_agree=10, models=models)
    request = Request((), (), inputs_of("toy.csv"), Path("out"))
    names = ("a", "b") if models else ()
    return conclusions(SensitivityRun(request, names, 20, (base, *effects), not_varied))


def test_the_first_line_tells_the_base_and_the_trivial_answer():
    first = told(effect("order", "other", n_agree=10))[0]
    assert "10 of 20 cases in the panel's category (50.0 %)" in first
    assert "25.0 % are failures" in first
    assert "calls 50.0 % of its cases fine_grained" in first


def test_variants_beyond_chance_are_counted_by_the_sign_test():
    lines = told(effect("order", "one", n_agree=11, moved=(1, 0)), effect("order", "two", n_agree=16, moved=(6, 0)))
    assert "1 of 2 variants change agreement by more than chance would (sign test, 5.0 %)" in lines[1]


def test_each_choice_has_a_line_with_its_range():
    lines = told(
        effect("order", "one", n_agree=8, changed=0.1),
        effect("order", "two", n_agree=12, changed=0.2),
        effect("labels", "other", n_agree=6, changed=0.3),
    )
    assert "Order (2 variants) leaves agreement within chance: 40.0 % to 60.0 %, kappa" in lines[2]
    assert "up to 20.0 % of the models' errors change type" in lines[2]
    assert "Labels (other) leaves agreement within chance: 30.0 %, kappa" in lines[3]
    assert "; 30.0 % of the models' errors change type" in lines[3]


def test_a_choice_that_moves_agreement_beyond_chance_is_said_to():
    lines = told(effect("order", "one", n_agree=16, moved=(6, 0)))
    assert lines[2].startswith("Order (one) moves agreement beyond chance: 80.0 %")


def test_the_largest_effects_are_named():
    lines = told(effect("order", "one", n_agree=9, changed=0.5), effect("labels", "other", n_agree=2, changed=0.1))
    assert "Kappa moves most with labels, other: " in lines[-2]
    assert "the models' errors with order, one: 50.0 % change type" in lines[-2]


@pytest.mark.parametrize(
    ("ranks", "says"),
    [
        pytest.param((0.99, 0.97), "under every variant; lowest is 0.970, with order, two", id="all hold"),
        pytest.param((0.99, 0.7), "under 1 of 2 variants; lowest is 0.700, with order, two", id="one does not"),
        pytest.param((np.nan, np.nan), "cannot be told without several models' predictions", id="one model"),
    ],
)
def test_whether_the_ranking_of_models_holds_is_told(ranks, says):
    effects = [effect("order", name, n_agree=10, rank=rank) for name, rank in zip(("one", "two"), ranks, strict=True)]
    assert says in told(*effects)[-2]


def test_without_models_only_agreement_is_told():
    lines = told(effect("order", "one", n_agree=9, models=False), models=False)
    assert not any("change type" in line for line in lines)


def test_choices_that_were_not_varied_come_last_with_their_reason():
    lines = told(effect("order", "one", n_agree=9), not_varied=(NotVaried("labels", "there are none"),))
    assert lines[-1].endswith("Not varied: labels (there are none).")
