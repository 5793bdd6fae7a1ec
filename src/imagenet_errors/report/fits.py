"""Straight lines through clouds of models, with the band in which the line itself may lie."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

TWO_PIECE_SPLIT = 90.0
"""MLA in percent at which the portion of model failures starts to fall faster.

Source: Peychev et al., NeurIPS 2023, section 5 (model failures by MLA).
"""
_NORMAL_975 = 1.959963984540054
_STUDENT_975 = {1: 12.7062047, 2: 4.3026527, 3: 3.1824463, 4: 2.7764451}


@dataclass(frozen=True)
class LinearFit:
    """Least squares over n points: ``slope``, ``intercept``, and what the band needs.

    ``spread`` is the residuals' standard deviation (n - 2 degrees of freedom), ``x_mean`` and ``x_squares`` the
    mean of x and its sum of squared deviations; ``x_min`` and ``x_max`` bound the points.
    """

    slope: float
    intercept: float
    n: int
    spread: float
    x_mean: float
    x_squares: float
    x_min: float
    x_max: float

    def at(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the line's height at each x."""
        return self.intercept + self.slope * x

    def half_band(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return half the height of the 95 % confidence band of the line at each x."""
        error = self.spread * np.sqrt(1 / self.n + (x - self.x_mean) ** 2 / self.x_squares)
        return student_975(self.n - 2) * error


def fit_line(x: NDArray[np.float64], y: NDArray[np.float64]) -> LinearFit | None:
    """Fit y over x where both are known; None for fewer than three points, or points of one x only."""
    known = np.isfinite(x) & np.isfinite(y)
    x, y = x[known], y[known]
    if len(x) < 3 or np.ptp(x) == 0:
        return None
    deviation = x - x.mean()
    squares = float(deviation @ deviation)
    slope = float(deviation @ (y - y.mean())) / squares
    intercept = float(y.mean() - slope * x.mean())
    spread = float(np.sqrt(np.sum((y - intercept - slope * x) ** 2) / (len(x) - 2)))
    return LinearFit(slope, intercept, len(x), spread, float(x.mean()), squares, float(x.min()), float(x.max()))


def two_piece(
    x: NDArray[np.float64], y: NDArray[np.float64], *, split: float = TWO_PIECE_SPLIT
) -> tuple[LinearFit | None, LinearFit | None]:
    """Fit the points below the split, and those from it on, each alone."""
    return fit_line(x[x < split], y[x < split]), fit_line(x[x >= split], y[x >= split])


def student_975(freedom: int) -> float:
    """Return the 97.5 % quantile of Student's t, to three digits.

    Source: Abramowitz and Stegun 1964, 26.7.5, an expansion in 1/freedom that serves from 5 on.
    """
    if freedom in _STUDENT_975:
        return _STUDENT_975[freedom]
    z = _NORMAL_975
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return float(sum(term / freedom**power for power, term in enumerate(terms)))
