"""How often each error type occurs, how sure a rate is, and the accuracies that forgive more and more errors.

Source: Shankar et al. 2020 (multi-label accuracy, averaged per class); Peychev et al., NeurIPS 2023.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import LazyLoader, find_spec, module_from_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.chain import COUNTS_AS, ERROR_TYPES
from imagenet_errors.labels import LabelSpace
from imagenet_errors.shipped import needs
from imagenet_errors.tables import Ragged

FORGIVEN = {
    "mla": ("right",),
    "mla_minor": ("right", "minor"),
    "mla_explained": ("right", "minor", "explained"),
}
"""What each multi-label accuracy counts as right, by what error types count as."""

IS_TOP1_ERROR = np.array([name != "correct" for name in ERROR_TYPES])
IS_MULTI_LABEL_ERROR = np.array([COUNTS_AS[name] != "right" for name in ERROR_TYPES])
"""bool [T]: a multi-label error is one that is wrong by every accepted label."""
NORMAL_975 = 1.959963984540054
"""The normal distribution's 97.5 % quantile: so many standard errors each way make an interval of 95 %."""


@dataclass(frozen=True, eq=False)
class Measures:
    """One model's figures for the G groups: ``counts`` int64 [G, T]; accuracies float64 [G], each in 0..1.

    An accuracy of a group without images is NaN. ``least`` and ``most`` int64 [G, T] bound the counts: what they
    could be if the evidence that was lacking for some cases were known.
    """

    groups: tuple[str, ...]
    counts: NDArray[np.int64]
    least: NDArray[np.int64]
    most: NDArray[np.int64]
    top1_accuracy: NDArray[np.float64]
    mla: NDArray[np.float64]
    mla_minor: NDArray[np.float64]
    mla_explained: NDArray[np.float64]

    @property
    def n_evaluated(self) -> NDArray[np.int64]:
        """int64 [G]: images in each group."""
        totals: NDArray[np.int64] = self.counts.sum(axis=1)
        return totals

    def portions(self, among: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return float64 [G, T]: each type's share of the errors ``among`` (bool [T]); NaN for other types."""
        errors = np.where(among, self.counts, 0)
        n_errors = errors.sum(axis=1, keepdims=True)
        shares = np.divide(errors, n_errors, out=np.full(errors.shape, np.nan), where=n_errors > 0)
        return np.where(among, shares, np.nan)


def group_membership(accepted: Ragged, labels: LabelSpace) -> NDArray[np.bool_]:
    """Return bool [G, n]: an image is in a group if any of its accepted labels is; it can be in several."""
    return np.stack([accepted.any_of(labels.in_group(group)[accepted.values]) for group in labels.group_names])


_MOST_CODES = 1 << 40


@dataclass(frozen=True, eq=False)
class Strata:
    """n images parted by original label and groups, so that one pass counts all: K strata, by label ascending.

    ``of_image`` int64 [n] is each image's stratum, ``starts`` int64 [L] where those of the next of the L labels begin,
    ``inside`` bool [G, K] which groups a stratum is in.
    """

    of_image: NDArray[np.int64]
    starts: NDArray[np.int64]
    inside: NDArray[np.bool_]

    def counts(self, what: NDArray[np.integer], n_kinds: int) -> NDArray[np.int64]:
        """Return int64 [K, n_kinds]: how many images of each stratum are of each kind (ints [n], 0..n_kinds - 1)."""
        n_strata = self.inside.shape[1]
        found = np.bincount(self.of_image * n_kinds + what, minlength=n_strata * n_kinds)
        return found.reshape(n_strata, n_kinds)

    def by_label(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return int64 [G, L, kinds]: counts [K, kinds] summed over each group's strata of each label."""
        if not len(self.starts):
            return np.zeros((len(self.inside), 0, counts.shape[1]), dtype=np.int64)
        sums: NDArray[np.int64] = np.add.reduceat(self.inside[:, :, None] * counts, self.starts, axis=1)
        return sums


def strata(label: NDArray[np.int16], membership: NDArray[np.bool_]) -> Strata:
    """Part images by their original labels [n] and by ``membership`` [G, n] of groups."""
    code = label.astype(np.int64)
    for inside in membership:
        code = code * 2 + inside
        if code.max(initial=0) > _MOST_CODES:
            code = np.unique(code, return_inverse=True)[1]
    _, first, of_image = np.unique(code, return_index=True, return_inverse=True)
    starts = np.flatnonzero(np.diff(label[first], prepend=-1))
    return Strata(of_image, starts, membership[:, first])


def measure(
    error_type: NDArray[np.int8],
    parted: Strata,
    *,
    groups: Sequence[str],
    lacking: Mapping[str, NDArray[np.bool_]] | None = None,
) -> Measures:
    """Count and average one model's verdicts: ``error_type`` [n] of images that are ``parted`` by label and groups.

    ``lacking``: stage name -> bool [n], the images whose error that stage could not judge.
    """
    by_label = parted.by_label(parted.counts(error_type, len(ERROR_TYPES)))
    counts = by_label.sum(axis=1)
    least, most = _bounds(counts, error_type, parted, lacking or {})
    accuracies = {name: class_average(by_label, _counts_as(kinds)) for name, kinds in FORGIVEN.items()}
    n_evaluated = counts.sum(axis=1)
    top1 = np.divide(counts[:, 0], n_evaluated, out=np.full(len(counts), np.nan), where=n_evaluated > 0)
    return Measures(
        tuple(groups),
        counts,
        least,
        most,
        top1,
        accuracies["mla"],
        accuracies["mla_minor"],
        accuracies["mla_explained"],
    )


def _bounds(
    counts: NDArray[np.int64], error_type: NDArray[np.int8], parted: Strata, lacking: Mapping[str, NDArray[np.bool_]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return int64 [G, T] twice: the least and the most that the counts could be, were nothing lacking."""
    least, most = counts.copy(), counts.copy()
    open_question = np.zeros(len(error_type), dtype=np.bool_)
    for name, cannot in lacking.items():
        if cannot.any():
            most[:, ERROR_TYPES.index(name)] += parted.inside @ parted.counts(cannot.astype(np.int8), 2)[:, 1]
            open_question |= cannot
    if open_question.any():
        n_types = len(ERROR_TYPES)
        of_open = parted.counts(np.where(open_question, error_type, n_types), n_types + 1)
        least -= parted.inside @ of_open[:, :n_types]
    return least, most


def class_average(by_label: NDArray[np.int64], is_right: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return float64 [G]: the share that is right within each original class, averaged over the classes seen.

    ``by_label`` int64 [G, L, kinds]: counts of each group and label; ``is_right`` bool [kinds].
    """
    averages = np.full(len(by_label), np.nan)
    for group, of_labels in enumerate(by_label):
        seen, hits = of_labels.sum(axis=1), of_labels @ is_right
        if seen.any():
            averages[group] = np.mean(hits[seen > 0] / seen[seen > 0])
    return averages


def lower_bounds(unsettled: Iterable[str]) -> frozenset[str]:
    """Return the accuracies that forgive any of the error types, of which missing evidence may show more."""
    kinds = {COUNTS_AS[name] for name in unsettled}
    return frozenset(name for name, forgiven in FORGIVEN.items() if kinds & set(forgiven))


def _counts_as(kinds: tuple[str, ...]) -> NDArray[np.bool_]:
    """Return bool [T]: the types that count as one of these."""
    return np.array([COUNTS_AS[name] in kinds for name in ERROR_TYPES])


def wilson(hits: NDArray[Any] | int, n: NDArray[Any] | int) -> tuple[Any, Any]:
    """Return the 95 % interval of each rate ``hits / n``, of numbers or arrays of them; NaN where n is 0.

    Source: Wilson 1927 (score interval).
    """
    n = np.where(np.asarray(n) > 0, n, np.nan)
    centre = (hits + NORMAL_975**2 / 2) / (n + NORMAL_975**2)
    half = NORMAL_975 / (n + NORMAL_975**2) * np.sqrt(hits * (n - hits) / n + NORMAL_975**2 / 4)
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)


def sign_test(n_first: NDArray[Any] | int, n_second: NDArray[Any] | int) -> Any:
    """Return the exact two-sided probability of a split at least as uneven as this, were both equally likely.

    Numbers or arrays of them; 1 for an empty split.

    Source: McNemar 1947 (paired test of proportions), in its exact form.
    """
    total, fewer = np.add(n_first, n_second), np.minimum(n_first, n_second)
    p = np.minimum(1.0, 2 * special_functions().bdtr(fewer, total, 0.5))
    return float(p) if np.ndim(p) == 0 else p


def rank_correlation(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Return Spearman's rank correlation of two columns [M], ties sharing a rank; NaN where undefined."""
    defined = ~(np.isnan(a) | np.isnan(b))
    first, second = (_ranks(column[defined]) for column in (a, b))
    if len(first) < 2 or not first.std() or not second.std():
        return float("nan")
    return float(np.corrcoef(first, second)[0, 1])


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ranks from 1; equal values get the mean of theirs."""
    _, place, n_equal = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(n_equal)
    ranks: NDArray[np.float64] = (last - (n_equal - 1) / 2)[place]
    return ranks


def special_functions() -> Any:
    """Return scipy's special functions; they take longer to load than the page's other libraries together."""
    _leave_unloaded("f2py", "testing")
    return needs("scipy.special", extra="report")


def _leave_unloaded(*names: str) -> None:
    """Let numpy's modules of these names load when something of them is used.

    scipy imports all that numpy has by a star, its tools for Fortran and for tests with it, and uses none of these.
    """
    for name in names:
        if f"numpy.{name}" not in sys.modules and (spec := find_spec(f"numpy.{name}")) and spec.loader:
            spec.loader = LazyLoader(spec.loader)
            module = sys.modules[spec.name] = module_from_spec(spec)
            setattr(np, name, module)
            spec.loader.exec_module(module)
