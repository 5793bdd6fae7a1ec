"""Small counts told honestly: intervals of shares, and exact tests of paired answers."""

from __future__ import annotations

from math import comb, sqrt

_NORMAL_975 = 1.959963984540054


def wilson(n_hits: int, n: int) -> tuple[float, float]:
    """Return the 95 % interval of a share (Wilson 1927); (0, 1) of nothing."""
    if not n:
        return 0.0, 1.0
    share, z2 = n_hits / n, _NORMAL_975**2
    middle = share + z2 / (2 * n)
    half = _NORMAL_975 * sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return max(0.0, (middle - half) / (1 + z2 / n)), min(1.0, (middle + half) / (1 + z2 / n))


def paired_exact(n_first_only: int, n_second_only: int) -> float:
    """Return the two-sided p of McNemar's exact test; 1 without a pair that differs.

    Example
    -------
    >>> round(paired_exact(8, 1), 4)
    0.0391
    """
    n = n_first_only + n_second_only
    tail = sum(comb(n, k) for k in range(min(n_first_only, n_second_only) + 1))
    return float(min(1.0, 2 * tail / 2**n))
