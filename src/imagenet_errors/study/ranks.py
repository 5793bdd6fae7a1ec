"""Rank correlation: are the same things ranked alike by two figures?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def rank_correlation(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Return Spearman's rank correlation of two columns [M], ties sharing a rank; NaN where undefined."""
    known = ~(np.isnan(a) | np.isnan(b))
    first, second = (_ranks(column[known]) for column in (a, b))
    if len(first) < 2 or not first.std() or not second.std():
        return float("nan")
    return float(np.corrcoef(first, second)[0, 1])


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ranks from 1; equal values get the mean of theirs."""
    _, place, n_equal = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(n_equal)
    ranks: NDArray[np.float64] = (last - (n_equal - 1) / 2)[place]
    return ranks
