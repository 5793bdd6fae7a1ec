"""What one design choice does: to agreement with the panel, and to what the models' errors are; is it chance?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.inputs import Basis
from imagenet_errors.measure import IS_MULTI_LABEL_ERROR, rank_correlation, sign_test
from imagenet_errors.mistakes import Mistakes
from imagenet_errors.study.outcomes import (
    FAILURE,
    OOV,
    Agreement,
    Bounded,
    BoundedCounts,
    PanelOutcomes,
    agreement,
    bounded_counts,
    cross_table,
    possible_types,
)
from imagenet_errors.study.panel import PanelMistakes
from imagenet_errors.study.variants import Variant
from imagenet_errors.tables import Annotations, Cases, cases_of

_Claim = Callable[[NDArray[np.int8], NDArray[np.int8]], NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class ModelErrors:
    """All models' top-1 errors on the images that count: ``model`` and ``case`` int64 [E], rows of each."""

    models: tuple[str, ...]
    model: NDArray[np.int64]
    case: NDArray[np.int64]
    cases: Cases


@dataclass(frozen=True, eq=False)
class Distributions:
    """What M models' errors become, ``counts`` [M, T], beside what they are under the base.

    ``moves`` int64 [T, T]: the errors that count under both, by type under the base (row) and here (column), by
    what is known; ``changed``: the share of these that get another type. ``rank_correlation``: Spearman's, of the
    models by their share of failures among multi-label errors that count under both, with the base: where unknown
    evidence says no, and where it says yes. NaN where undefined.
    """

    counts: BoundedCounts
    moves: NDArray[np.int64]
    changed: Bounded
    rank_correlation: tuple[float, float]

    @property
    def portions(self) -> tuple[Bounded, ...]:
        """Of every type its share of the top-1 errors, averaged over the models."""
        totals = self.counts.known.sum(axis=1, keepdims=True)
        shares = [_mean_over_models(part / np.maximum(totals, 1)) for part in self.counts]
        return tuple(Bounded(*(float(share[place]) for share in shares)) for place in range(len(ERROR_TYPES)))

    @property
    def share_of_failures(self) -> Bounded:
        """The share of failures among multi-label errors, averaged over the models."""
        return mean_share_of_failures(self.counts)


@dataclass(frozen=True, eq=False)
class Effect:
    """One variant and what came of it; ``distributions`` is None without predictions.

    ``gained``: cases in the panel's category under the variant, not under the base; ``lost``: the other way
    round; both among those that count under both. ``chance``: how likely counts so uneven are if either is as
    likely (exact sign test); ``corrected``: the same for the number of variants (Holm 1979).
    """

    variant: Variant
    agreement: Agreement
    gained: Bounded
    lost: Bounded
    chance: Bounded
    corrected: Bounded
    distributions: Distributions | None


def model_errors(mistakes: Mistakes, annotations: Annotations) -> ModelErrors:
    """Return every model's errors as rows of the distinct cases."""
    cases: list[NDArray[np.int64]] = []
    for model in mistakes.models:
        predictions = model.load()
        wrong = ~annotations.is_correct(predictions.rows, predictions.top1)
        cases.append(mistakes.cases.find(predictions.rows[wrong], predictions.top1[wrong]))
    return ModelErrors(
        models=tuple(model.model for model in mistakes.models),
        model=np.repeat(np.arange(len(cases)), [len(rows) for rows in cases]),
        case=np.concatenate(cases),
        cases=mistakes.cases,
    )


def shares_of_failures(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return float64 [M]: each model's share of failures among its multi-label errors; NaN without any."""
    n_errors = (counts * IS_MULTI_LABEL_ERROR).sum(axis=1)
    undefined = np.full(len(counts), np.nan)
    shares: NDArray[np.float64] = np.divide(counts[:, FAILURE], n_errors, out=undefined, where=n_errors > 0)
    return shares


def mean_share_of_failures(counts: BoundedCounts, *, of_top1_errors: bool = False) -> Bounded:
    """Return the share of failures among multi-label errors, or all top-1 errors, averaged over the models."""
    errors = counts.known[:, 1:] if of_top1_errors else counts.known * IS_MULTI_LABEL_ERROR
    totals = errors.sum(axis=1).astype(np.float64)
    totals[totals == 0] = np.nan
    return Bounded(*(float(_mean_over_models(part[:, FAILURE] / totals)) for part in counts))


def holm(probabilities: Sequence[float]) -> NDArray[np.float64]:
    """Return float64 [K]: the probabilities of K tests corrected for their number.

    Source: Holm 1979 (a simple sequentially rejective multiple test procedure).
    """
    values = np.asarray(probabilities, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    stepped = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    corrected = np.empty_like(values)
    corrected[order] = np.minimum(stepped, 1.0)
    return corrected


def chance_of(gained: Bounded, lost: Bounded) -> Bounded:
    """Return the sign test's probability by what is known, and its bounds whatever unknown evidence says.

    The more uneven the counts, the less likely: so the bounds lie where gains are most and losses least, and the
    other way round; where either may be the larger, counts as even as can be are possible.
    """
    known = sign_test(int(gained.value), int(lost.value))
    ends = [sign_test(int(gained.high), int(lost.low)), sign_test(int(gained.low), int(lost.high))]
    either_way = gained.low < lost.high and gained.high > lost.low
    return Bounded(known, min(ends), 1.0 if either_way else max(ends))


@dataclass(frozen=True, eq=False)
class VariantOutcome:
    """What the panel's mistakes and the models' errors can be under one variant: int8 [2, n], 0 if excluded."""

    variant: Variant
    of_panel: NDArray[np.int8]
    of_models: NDArray[np.int8]

    def compared(self, base: VariantOutcome, claim: _Claim, *, models: bool, weights: NDArray[np.int64]) -> Bounded:
        """Count the cases of which ``claim(type under the base, type here)`` holds: known, in every way, in any.

        Where both rest on the same out-of-vocabulary evidence, what is unknown turns out alike for both.
        """
        before, after = (each.of_models if models else each.of_panel for each in (base, self))
        ways = [(0, 0), (1, 1)]
        if self.variant.basis.evidence.get("oov") is not base.variant.basis.evidence.get("oov"):
            ways += [(0, 1), (1, 0)]
        counting = (before[0] > 0) & (after[0] > 0)
        holds = np.stack([claim(before[first], after[second]) & counting for first, second in ways])
        return Bounded(*(int(weights[rows].sum()) for rows in (holds[0], holds.all(axis=0), holds.any(axis=0))))


def outcome_of(variant: Variant, mistakes: PanelMistakes, errors: ModelErrors | None) -> VariantOutcome:
    """Ask the variant's stages about the panel's mistakes and the models' errors."""
    of_models = np.zeros((2, 0), dtype=np.int8) if errors is None else possible_of(variant.basis, errors.cases)
    return VariantOutcome(variant, possible_of(variant.basis, mistakes.cases), of_models)


def possible_of(basis: Basis, cases: Cases) -> NDArray[np.int8]:
    """Return int8 [2, n]: the cases' possible types, 0 where the image is excluded."""
    relabelled = cases_of(basis.annotations, cases.rows, cases.prediction)
    possible = possible_types(basis.chain.ask(relabelled))
    return np.where(basis.annotations.evaluated[cases.rows], possible, np.int8(0))


def effects_of(
    outcomes: Sequence[VariantOutcome], mistakes: PanelMistakes, errors: ModelErrors | None
) -> tuple[Effect, ...]:
    """Compare every outcome with the first, which is the base."""
    effects = [_effect(outcome, outcomes[0], mistakes, errors) for outcome in outcomes]
    tests = [effect.chance for effect in effects[1:]]
    corrected = np.stack([holm(column) for column in zip(*tests, strict=True)], axis=1) if tests else np.zeros((0, 3))
    rows = [Bounded(1.0, 1.0, 1.0), *(Bounded(*map(float, row)) for row in corrected)]
    return tuple(replace(effect, corrected=row) for effect, row in zip(effects, rows, strict=True))


def _effect(
    outcome: VariantOutcome, base: VariantOutcome, mistakes: PanelMistakes, errors: ModelErrors | None
) -> Effect:
    human, once = mistakes.human, np.ones(len(mistakes), dtype=np.int64)
    gained, lost = (
        outcome.compared(base, claim, models=False, weights=once)
        for claim in (
            lambda before, after: (before != human) & (after == human),
            lambda before, after: (before == human) & (after != human),
        )
    )
    chance = chance_of(gained, lost)
    return Effect(
        variant=outcome.variant,
        agreement=agreement(PanelOutcomes(human, outcome.of_panel).among(outcome.of_panel[0] > 0)),
        gained=gained,
        lost=lost,
        chance=chance,
        corrected=chance,
        distributions=None if errors is None else _distributions(outcome, base, errors),
    )


def _distributions(outcome: VariantOutcome, base: VariantOutcome, errors: ModelErrors) -> Distributions:
    n_of_case = np.bincount(errors.case, minlength=len(errors.cases))
    both = (base.of_models[0] > 0) & (outcome.of_models[0] > 0)
    before, after = (np.where(both, types, np.int8(0)) for types in (base.of_models, outcome.of_models))
    moves = cross_table(before[0][errors.case], after[0][errors.case], len(ERROR_TYPES))
    moves[0] = 0
    changed = outcome.compared(base, np.not_equal, models=True, weights=n_of_case)
    n_both = int(moves.sum()) or float("nan")
    ranks = [
        rank_correlation(shares_of_failures(here), shares_of_failures(there))
        for here, there in zip(_ends(error_counts(errors, after)), _ends(error_counts(errors, before)), strict=True)
    ]
    return Distributions(
        counts=error_counts(errors, outcome.of_models),
        moves=moves,
        changed=Bounded(*(n / n_both for n in changed)),
        rank_correlation=(ranks[0], ranks[1]),
    )


def error_counts(errors: ModelErrors, possible: NDArray[np.int8]) -> BoundedCounts:
    """Return the counts of each model; errors on excluded images are counted nowhere."""
    types = possible[:, errors.case]
    counting = types[0] > 0
    return bounded_counts(errors.model[counting], types[:, counting], len(errors.models))


def _ends(counts: BoundedCounts) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the counts where unknown evidence says no, and where it says yes."""
    yes = counts.low.copy()
    yes[:, OOV] = counts.high[:, OOV]
    return counts.known, yes


def _mean_over_models(values: NDArray[np.float64]) -> NDArray[np.float64]:
    defined = values[~np.isnan(values).reshape(len(values), -1).any(axis=1)]
    return defined.mean(axis=0) if len(defined) else np.full(values.shape[1:], np.nan)
