"""What a reviewer should conclude from ``sensitivity``: sentences written from the figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from imagenet_errors.report.comparison import sign_test
from imagenet_errors.report.markdown import decimal, percent
from imagenet_errors.study.sensitivity import Distributions, Effect, SensitivityRun

_STEADY = 0.95
"""From this rank correlation on two rankings are called the same here."""
_CHANCE = 0.05
"""Below this a sign test's probability is called more than chance, by convention."""


def conclusions(run: SensitivityRun) -> list[str]:
    """Return ten lines at most: the base, what is noise, a line a choice, the largest effects, the limits."""
    choices = [_choice(run, choice) for choice in run.choices]
    return [
        f"{_base(run)} {_trivial(run)}",
        _noise(run),
        *choices,
        f"{_largest(run)} {_rankings(run)}",
        _open(run),
    ]


def _base(run: SensitivityRun) -> str:
    found, own = run.base.agreement, run.base.distributions
    models = f"; of the models' multi-label errors {percent(own.share_of_failures)} are failures" if own else ""
    return (
        f"As it is: {found.n_agree.value:.0f} of {found.n} cases in the panel's category "
        f"({percent(found.agreement.value)}), kappa {decimal(found.kappa.value)}{models}."
    )


def _noise(run: SensitivityRun) -> str:
    found = run.base.agreement
    low, high = (decimal(end) for end in found.kappa_interval)
    least, most = percent(found.agreement.low), percent(found.agreement.high)
    n_moved = sum(sign_test(effect.n_gained, effect.n_lost) < _CHANCE for effect in run.effects[1:])
    return (
        f"Sampling alone moves kappa between {low} and {high}, and unknown out-of-vocabulary evidence "
        f"agreement between {least} and {most}. Compared case by case, {n_moved} of {len(run.effects) - 1} "
        f"variants change agreement by more than chance would (sign test, {percent(_CHANCE)})."
    )


def _trivial(run: SensitivityRun) -> str:
    found = run.base.agreement
    share = percent(found.n_most_frequent / max(found.n, 1))
    return (
        f"The panel calls {share} of its cases {found.most_frequent}: whatever calls more cases so gains "
        "agreement without knowing more. Compare kappa, which does not reward it."
    )


def _choice(run: SensitivityRun, choice: str) -> str:
    """Say whether one choice matters, and how far the figures range over its variants."""
    effects = run.of_choice(choice)
    up_to = "up to " if len(effects) > 1 else ""
    variants = f"{len(effects)} variants" if len(effects) > 1 else effects[0].variant.name
    beyond = any(sign_test(effect.n_gained, effect.n_lost) < _CHANCE for effect in effects)
    shares = _range([effect.agreement.agreement.value for effect in effects], percent)
    kappas = _range([effect.agreement.kappa.value for effect in effects], decimal)
    parts = [
        f"{choice[0].upper()}{choice[1:]} ({variants}) {'moves' if beyond else 'leaves'} agreement "
        f"{'beyond' if beyond else 'within'} chance: {shares}, kappa {kappas}"
    ]
    n_right = max(effect.agreement.n_right for effect in effects)
    if n_right:
        parts.append(f"{up_to}{n_right} of the panel's mistakes count as right")
    parts += _moved_distributions(run, [effect.distributions for effect in effects], up_to=up_to)
    return f"{'; '.join(parts)}."


def _moved_distributions(
    run: SensitivityRun, distributions: Sequence[Distributions | None], *, up_to: str
) -> list[str]:
    owns, base = [own for own in distributions if own is not None], run.base.distributions
    if not owns or base is None:
        return []
    changed = percent(max(own.changed for own in owns))
    points = 100 * max(abs(own.share_of_failures - base.share_of_failures) for own in owns)
    return [
        f"{up_to}{changed} of the models' errors change type and failures' share of multi-label errors "
        f"moves by {up_to}{points:.1f} points"
    ]


def _range(values: Sequence[float], shown: Callable[[float], str]) -> str:
    low, high = shown(min(values)), shown(max(values))
    return low if low == high else f"{low} to {high}"


def _largest(run: SensitivityRun) -> str:
    base = run.base.agreement.kappa.value
    by_kappa = max(run.effects[1:], key=lambda effect: abs(effect.agreement.kappa.value - base))
    moved = decimal(by_kappa.agreement.kappa.value)
    told = f"Kappa moves most with {_named(by_kappa)}: {decimal(base)} to {moved}"
    if not run.models:
        return f"{told}."
    by_change = max(run.effects[1:], key=_changed)
    changed = percent(_changed(by_change))
    return f"{told}; the models' errors with {_named(by_change)}: {changed} change type."


def _rankings(run: SensitivityRun) -> str:
    effects = [effect for effect in run.effects[1:] if not math.isnan(_rank(effect))]
    if not effects:
        return "Whether models keep their ranking cannot be told without several models' predictions."
    n_held = sum(_rank(effect) >= _STEADY for effect in effects)
    least = min(effects, key=_rank)
    held = f"The ranking of the models by share of failures holds (rank correlation at least {_STEADY})"
    lowest = f"lowest is {_rank(least):.3f}, with {_named(least)}"
    if n_held == len(effects):
        return f"{held} under every variant; {lowest}. Comparisons of models hang on no single choice."
    return (
        f"{held} under {n_held} of {len(effects)} variants; {lowest}. Where it does not hold, a comparison "
        "of models must say which choice was made."
    )


def _open(run: SensitivityRun) -> str:
    missing = "".join(f" Not varied: {one.choice} ({one.reason})." for one in run.not_varied)
    return (
        "Out-of-vocabulary evidence was held fixed, though superclasses decide which cases need it: variants "
        f"with fewer kin leave more cases undecided.{missing}"
    )


def _named(effect: Effect) -> str:
    return f"{effect.variant.choice}, {effect.variant.name}"


def _changed(effect: Effect) -> float:
    own = effect.distributions
    return own.changed if own is not None and not math.isnan(own.changed) else 0.0


def _rank(effect: Effect) -> float:
    return effect.distributions.rank_correlation if effect.distributions is not None else float("nan")
