"""How often each error type occurs, and the accuracies that forgive more and more of them.

Source: Shankar et al. 2020 (multi-label accuracy, averaged per class); Peychev et al., NeurIPS 2023.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.chain import COUNTS_AS, ERROR_TYPES
from imagenet_errors.labels import LabelSpace
from imagenet_errors.tables import Ragged

_FORGIVEN = {
    "mla": ("right",),
    "mla_minor": ("right", "minor"),
    "mla_explained": ("right", "minor", "explained"),
}

IS_TOP1_ERROR = np.array([name != "correct" for name in ERROR_TYPES])
IS_MULTI_LABEL_ERROR = np.array([COUNTS_AS[name] != "right" for name in ERROR_TYPES])
"""bool [T]: a multi-label error is one that is wrong by every accepted label."""


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


def measure(
    error_type: NDArray[np.int8],
    label: NDArray[np.int16],
    membership: NDArray[np.bool_],
    *,
    groups: Sequence[str],
    lacking: Mapping[str, NDArray[np.bool_]] | None = None,
) -> Measures:
    """Count and average one model's verdicts: ``error_type`` and ``label`` [n], ``membership`` [G, n] of ``groups``.

    ``lacking``: stage name -> bool [n], the images whose error that stage could not judge.
    """
    counts = _counts(error_type, membership)
    least, most = counts.copy(), counts.copy()
    open_question = np.zeros(len(error_type), dtype=np.bool_)
    for name, cannot in (lacking or {}).items():
        most[:, ERROR_TYPES.index(name)] += (membership & cannot).sum(axis=1)
        open_question |= cannot
    if open_question.any():
        least -= _counts(error_type[open_question], membership[:, open_question])
    accuracies = {
        name: class_average(_counts_as(kinds)[error_type], label, membership) for name, kinds in _FORGIVEN.items()
    }
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


def _counts(error_type: NDArray[np.int8], membership: NDArray[np.bool_]) -> NDArray[np.int64]:
    return np.stack([np.bincount(error_type[inside], minlength=len(ERROR_TYPES)) for inside in membership])


def class_average(
    right: NDArray[np.bool_], label: NDArray[np.int16], membership: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return float64 [G]: the share that is right within each original class, averaged over the classes seen."""
    averages = np.full(len(membership), np.nan)
    for group, inside in enumerate(membership):
        seen = np.bincount(label[inside])
        hits = np.bincount(label[inside & right], minlength=len(seen))
        if len(seen):
            averages[group] = np.mean(hits[seen > 0] / seen[seen > 0])
    return averages


def _counts_as(kinds: tuple[str, ...]) -> NDArray[np.bool_]:
    """Return bool [T]: the types that count as one of these."""
    return np.array([COUNTS_AS[name] in kinds for name in ERROR_TYPES])


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
