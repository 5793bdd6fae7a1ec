"""How far the verdicts agree with the panel: the table, its bounds, kappa, precision and recall.

A case that lacks out-of-vocabulary evidence is undecided: given it, its verdict might be ``fine_grained_oov``
instead of what it fell through to. So every figure comes with the least and the most it can be.

Source: Peychev et al., NeurIPS 2023 (agreement with the panel); Cohen 1960 (kappa);
    Efron and Tibshirani 1993 (percentile bootstrap).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.chain import ERROR_TYPES, Walk
from imagenet_errors.readers.judgements import ERROR_TYPE_OF_CATEGORY
from imagenet_errors.tables import Verdicts

FAILURE = ERROR_TYPES.index("model_failure")
OOV = ERROR_TYPES.index("fine_grained_oov")
CATEGORIES = tuple(name for name in ERROR_TYPES if name in ERROR_TYPE_OF_CATEGORY.values())
"""What the panel calls a mistake; it has no failures."""
PAPERS_COLUMNS = (*CATEGORIES, "model_failure")
COLUMNS = (*PAPERS_COLUMNS, *(name for name in ERROR_TYPES[1:] if name not in PAPERS_COLUMNS))
"""The error types that a verdict can be: the paper's columns, then those the paper does not show."""

N_RESAMPLES = 10_000
LEVEL = 0.95
_SEED = 2205_04596

Table = NDArray[np.integer]


class Bounded(NamedTuple):
    """A figure by what is known, and the least and the most that unknown evidence can make it.

    NaN where it is undefined: a share of nothing.
    """

    value: float
    low: float
    high: float


class BoundedCounts(NamedTuple):
    """Cases by row and error type, int64 [R, T] each: by what is known, the least and the most of each cell."""

    known: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]

    def cell(self, human: str, column: str) -> Bounded:
        """Return one cell by names; rows are ``ERROR_TYPES``, too."""
        at = ERROR_TYPES.index(human), ERROR_TYPES.index(column)
        return Bounded(*(int(cells[at]) for cells in self))


def possible_types(verdicts: Verdicts | Walk) -> NDArray[np.int8]:
    """Return int8 [2, n]: each case's type if unknown out-of-vocabulary evidence says no, and if it says yes."""
    undecided = verdicts.lacking.get("fine_grained_oov", np.zeros(len(verdicts.error_type), dtype=np.bool_))
    return np.stack([verdicts.error_type, np.where(undecided, np.int8(OOV), verdicts.error_type)])


def bounded_counts(rows: NDArray[np.integer], possible: NDArray[np.int8], n_rows: int) -> BoundedCounts:
    """Count n cases by their row (ints [n]) and what they can be (int8 [2, n])."""
    is_open = possible[0] != possible[1]
    known = cross_table(rows, possible[0], n_rows)
    leaving, coming = (cross_table(rows[is_open], types[is_open], n_rows) for types in possible)
    return BoundedCounts(known, known - leaving, known + coming)


def cross_table(rows: NDArray[np.integer], error_type: NDArray[np.integer], n_rows: int) -> NDArray[np.int64]:
    """Return int64 [n_rows, T]: how many cases have each row and error type."""
    n_types = len(ERROR_TYPES)
    cells = rows.astype(np.int64) * n_types + error_type
    return np.bincount(cells, minlength=n_rows * n_types).reshape(n_rows, n_types)


@dataclass(frozen=True, eq=False)
class PanelOutcomes:
    """What the panel says of n cases, ``human`` int8 [n], and what they can be for us, ``possible`` int8 [2, n].

    Both are rows of ``ERROR_TYPES``; see :func:`possible_types`.
    """

    human: NDArray[np.int8]
    possible: NDArray[np.int8]

    def __len__(self) -> int:
        """Return the number of cases n."""
        return len(self.human)

    def among(self, chosen: NDArray[np.bool_]) -> PanelOutcomes:
        """Return the chosen cases (bool [n])."""
        return PanelOutcomes(self.human[chosen], self.possible[:, chosen])

    @property
    def ours(self) -> NDArray[np.int8]:
        """int8 [n]: the verdicts by what is known."""
        known: NDArray[np.int8] = self.possible[0]
        return known

    @property
    def undecided(self) -> NDArray[np.bool_]:
        """bool [n]: cases that unknown evidence may make out-of-vocabulary."""
        differ: NDArray[np.bool_] = self.possible[0] != self.possible[1]
        return differ

    @cached_property
    def counts(self) -> BoundedCounts:
        """Cases by the panel's type (row) and ours (column)."""
        return bounded_counts(self.human, self.possible, len(ERROR_TYPES))

    @property
    def extremes(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Tables int64 [T, T]: by what is known, where unknown evidence agrees least, and where it agrees most."""
        if_no, if_yes = self.possible
        worst = np.where(self.undecided & (self.human != if_yes), if_yes, if_no)
        best = np.where(self.human == if_yes, if_yes, if_no)
        n_types = len(ERROR_TYPES)
        known, least, most = (cross_table(self.human, ours, n_types) for ours in (if_no, worst, best))
        return known, least, most


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
    case so would agree on ``n_most_frequent``, with a kappa of 0.
    """

    n: int
    n_undecided: int
    n_agree: Bounded
    most_frequent: str
    n_most_frequent: int
    n_failures: Bounded
    agreement: Bounded
    agreement_of_explained: Bounded
    share_of_failures: Bounded
    kappa: Bounded
    kappa_interval: tuple[float, float]
    categories: dict[str, CategoryFigures]


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


def agreement(outcomes: PanelOutcomes) -> Agreement:
    """Return every figure of the cases."""
    tables, n_cases = outcomes.extremes, len(outcomes)
    # Unknown evidence can only take failures away; they are most with what is known.
    n_failures = [int(counts[:, FAILURE].sum()) for counts in (outcomes.counts.known, outcomes.counts.low)]
    per_category = tables[0].sum(axis=1)
    most = int(np.argmax(per_category))
    return Agreement(
        n=n_cases,
        n_undecided=int(outcomes.undecided.sum()),
        n_agree=_ordered([float(np.trace(table)) for table in tables]),
        most_frequent=ERROR_TYPES[most],
        n_most_frequent=int(per_category[most]),
        n_failures=_ordered([float(count) for count in n_failures]),
        agreement=_ordered([_share(np.trace(table), n_cases) for table in tables]),
        agreement_of_explained=_ordered([_share_of_explained(table) for table in tables]),
        share_of_failures=_ordered([_share(count, n_cases) for count in n_failures]),
        kappa=_ordered([float(kappa(table)) for table in tables]),
        kappa_interval=kappa_interval(tables[0]),
        categories={name: _category(outcomes.counts, ERROR_TYPES.index(name)) for name in CATEGORIES},
    )


def _share_of_explained(table: NDArray[np.int64]) -> float:
    """Return the share in agreement of the cases that are not left as failures; the panel has none of those."""
    return _share(np.trace(table), int(table.sum() - table[:, FAILURE].sum()))


def _category(counts: BoundedCounts, place: int) -> CategoryFigures:
    hits = [int(cells[place, place]) for cells in counts]
    misses = [int(cells[:, place].sum()) - hit for cells, hit in zip(counts, hits, strict=True)]
    n_human = int(counts.known[place].sum())
    return CategoryFigures(
        n_human=n_human,
        n_ours=hits[0] + misses[0],
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
    defined = [value for value in values if not np.isnan(value)]
    return Bounded(values[0], min(defined, default=np.nan), max(defined, default=np.nan))


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole else float("nan")
