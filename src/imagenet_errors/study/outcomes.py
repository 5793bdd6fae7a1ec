"""How far our verdicts agree with the panel's: the table, its bounds, kappa, precision and recall.

A case that lacks out-of-vocabulary evidence is undecided: given it, its verdict might be ``fine_grained_oov``
instead of what it fell through to. So every figure comes with the least and the most it can be.

Source: Peychev et al., NeurIPS 2023 (agreement with the panel); Cohen 1960 (kappa);
    Efron and Tibshirani 1993, chapter 13 (percentile bootstrap).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.chain import ERROR_TYPES

FAILURE = ERROR_TYPES.index("model_failure")
OOV = ERROR_TYPES.index("fine_grained_oov")
_RIGHT = [ERROR_TYPES.index(name) for name in ("class_overlap", "multi_object")]
CATEGORIES = ("fine_grained", "fine_grained_oov", "non_prototypical", "spurious_correlation")
"""What the panel calls a mistake; it has no failures."""
COLUMNS = (*CATEGORIES, "model_failure", "class_overlap", "multi_object")
"""What we call it, in the paper's order; the last two mean that an annotation accepts the prediction."""

N_RESAMPLES = 10_000
LEVEL = 0.95
_SEED = 2205_04596

Table = NDArray[np.integer]


@dataclass(frozen=True)
class Bounded:
    """A figure as it is with what is known, and the least and the most that unknown evidence can make it.

    NaN where it is undefined: a share of nothing.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What the panel and we said of n cases: ``human`` and ``ours`` int8 [n], rows of ``ERROR_TYPES``.

    ``undecided`` bool [n]: with out-of-vocabulary evidence our verdict might be OOV instead.
    """

    human: NDArray[np.int8]
    ours: NDArray[np.int8]
    undecided: NDArray[np.bool_]

    def among(self, chosen: NDArray[np.bool_]) -> Outcomes:
        """Return the chosen cases (bool [n])."""
        return Outcomes(self.human[chosen], self.ours[chosen], self.undecided[chosen])

    @cached_property
    def table(self) -> NDArray[np.int64]:
        """int64 [T, T]: cases by the panel's type (row) and ours (column), both as ``ERROR_TYPES``."""
        return confusion(self.human, self.ours)

    @cached_property
    def swing(self) -> NDArray[np.int64]:
        """int64 [T, T]: those of each cell that might be OOV instead."""
        return confusion(self.human[self.undecided], self.ours[self.undecided])

    @property
    def low(self) -> NDArray[np.int64]:
        """int64 [T, T]: the least each cell can be."""
        return self.table - self.swing

    @property
    def high(self) -> NDArray[np.int64]:
        """int64 [T, T]: the most each cell can be."""
        high = self.table.copy()
        high[:, OOV] += self.swing.sum(axis=1)
        return high

    @property
    def best(self) -> NDArray[np.int8]:
        """int8 [n]: our verdicts if all unknown evidence turned out as the panel says."""
        return np.where(self.undecided & (self.human == OOV), np.int8(OOV), self.ours)

    @property
    def worst(self) -> NDArray[np.int8]:
        """int8 [n]: our verdicts if no unknown evidence turned out as the panel says."""
        return np.where(self.undecided & (self.human != OOV), np.int8(OOV), self.ours)


@dataclass(frozen=True)
class CategoryFigures:
    """One category: how many cases the panel, we, and both put there, and the shares that follow.

    ``precision``: of those we put there, the panel's share; ``recall``: of the panel's, ours.
    """

    n_human: int
    n_ours: int
    n_both: int
    precision: Bounded
    recall: Bounded


@dataclass(frozen=True)
class Agreement:
    """The figures of n cases.

    The bounds of kappa are its values where agreement is worst and best; ``kappa_interval`` is the
    bootstrap's, by what is known. ``most_frequent`` is the panel's most frequent category: calling every
    case so would agree on ``n_most_frequent``, with a kappa of 0. ``n_right``: mistakes of the panel's that
    the annotations accept.
    """

    n: int
    n_undecided: int
    n_agree: Bounded
    most_frequent: str
    n_most_frequent: int
    n_right: int
    n_failures: Bounded
    agreement: Bounded
    agreement_of_explained: Bounded
    share_of_failures: Bounded
    kappa: Bounded
    kappa_interval: tuple[float, float]
    kappa_of_explained: float
    kappa_of_explained_interval: tuple[float, float]
    categories: dict[str, CategoryFigures]


def confusion(human: NDArray[np.int8], ours: NDArray[np.int8]) -> NDArray[np.int64]:
    """Return int64 [T, T]: how many cases have each pair of types."""
    n_types = len(ERROR_TYPES)
    pairs = human.astype(np.int64) * n_types + ours
    return np.bincount(pairs, minlength=n_types * n_types).reshape(n_types, n_types)


def kappa(table: Table) -> NDArray[np.float64]:
    """Return Cohen's kappa, (observed - chance) / (1 - chance), of each table [..., T, T]; float64 [...].

    NaN where chance agreement is certain (one single type) or the table is empty.
    """
    n_cases = table.sum(axis=(-2, -1)).astype(np.float64)
    observed = np.trace(table, axis1=-2, axis2=-1) * n_cases
    chance = (table.sum(axis=-1) * table.sum(axis=-2)).sum(axis=-1).astype(np.float64)
    room = n_cases**2 - chance
    undefined = np.full(room.shape, np.nan)
    values: NDArray[np.float64] = np.divide(observed - chance, room, out=undefined, where=room > 0)
    return values


def kappa_interval(
    table: Table, *, n_resamples: int = N_RESAMPLES, level: float = LEVEL, seed: int = _SEED
) -> tuple[float, float]:
    """Return kappa's percentile bootstrap interval: cases drawn anew, as many, with replacement.

    Drawing cases is drawing the cells' counts from a multinomial distribution, so all resamples are one call.
    Resamples without a kappa are left out; (NaN, NaN) if none has one.
    """
    n_cases = int(table.sum())
    if not n_cases:
        return np.nan, np.nan
    occurs = np.flatnonzero(table.sum(axis=0) + table.sum(axis=1))
    used = table[np.ix_(occurs, occurs)]
    drawn = np.random.default_rng(seed).multinomial(n_cases, used.ravel() / n_cases, size=n_resamples)
    values = kappa(drawn.reshape(n_resamples, *used.shape))
    values = values[~np.isnan(values)]
    if not len(values):
        return np.nan, np.nan
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def agreement(outcomes: Outcomes) -> Agreement:
    """Return every figure of the cases."""
    ways = [confusion(outcomes.human, ours) for ours in (outcomes.ours, outcomes.worst, outcomes.best)]
    explained = _explained(ways[0])
    # Unknown evidence can only take failures away; failures are most with what is known.
    n_failures = [int(outcomes.table[:, FAILURE].sum()), int(outcomes.low[:, FAILURE].sum())]
    n_cases = len(outcomes.human)
    per_category = ways[0].sum(axis=1)
    most = int(np.argmax(per_category))
    return Agreement(
        n=n_cases,
        n_undecided=int(outcomes.undecided.sum()),
        n_agree=_ordered([float(np.trace(table)) for table in ways]),
        most_frequent=ERROR_TYPES[most],
        n_most_frequent=int(per_category[most]),
        n_right=int(ways[0][:, _RIGHT].sum()),
        n_failures=_ordered([float(count) for count in n_failures]),
        agreement=_ordered([_share(np.trace(table), n_cases) for table in ways]),
        agreement_of_explained=_ordered([_share_of_explained(table) for table in ways]),
        share_of_failures=_ordered([_share(count, n_cases) for count in n_failures]),
        kappa=_ordered([float(kappa(table)) for table in ways]),
        kappa_interval=kappa_interval(ways[0]),
        kappa_of_explained=float(kappa(explained)),
        kappa_of_explained_interval=kappa_interval(explained),
        categories={name: _category(outcomes, name) for name in CATEGORIES},
    )


def _explained(table: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the table without what we leave as a model failure."""
    explained = table.copy()
    explained[:, FAILURE] = 0
    return explained


def _share_of_explained(table: NDArray[np.int64]) -> float:
    return _share(np.trace(table), int(_explained(table).sum()))


def _category(outcomes: Outcomes, name: str) -> CategoryFigures:
    place = ERROR_TYPES.index(name)
    table, low, high = outcomes.table, outcomes.low, outcomes.high
    hits = [int(cells[place, place]) for cells in (table, low, high)]
    misses = [int(cells[:, place].sum()) - hit for cells, hit in zip((table, low, high), hits, strict=True)]
    n_human = int(table[place].sum())
    return CategoryFigures(
        n_human=n_human,
        n_ours=int(table[:, place].sum()),
        n_both=hits[0],
        # Fewest hits come with most misses, since each undecided case goes its own way.
        precision=Bounded(
            _share(hits[0], hits[0] + misses[0]),
            _share(hits[1], hits[1] + misses[2]),
            _share(hits[2], hits[2] + misses[1]),
        ),
        recall=Bounded(*(_share(hit, n_human) for hit in hits)),
    )


def _ordered(values: list[float]) -> Bounded:
    """Return the first value, which is what is known, between the least and the most of all."""
    known = [value for value in values if not np.isnan(value)]
    return Bounded(values[0], min(known, default=np.nan), max(known, default=np.nan))


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole else float("nan")
