"""Lines through clouds of models with their confidence bands, and intervals of counts; the mathematics is scipy's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.measure import special_functions
from imagenet_errors.shipped import needs

TWO_PIECE_SPLIT = 90.0
"""MLA in percent at which the portion of model failures starts to fall faster.

Source: Peychev et al., NeurIPS 2023, model failures by MLA.
"""
_LEAST_GAIN = 0.15
"""A curve is drawn instead of a line where it leaves at least this share less of the variance unexplained."""
_FEWEST_FOR_CURVE = 30

Floats = NDArray[np.float64]


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

    def at(self, x: Floats) -> Floats:
        """Return the line's height at each x."""
        return self.intercept + self.slope * x

    def half_band(self, x: Floats) -> Floats:
        """Return half the height of the 95 % confidence band of the line at each x."""
        error = self.spread * np.sqrt(1 / self.n + (x - self.x_mean) ** 2 / self.x_squares)
        band: Floats = special_functions().stdtrit(self.n - 2, 0.975) * error
        return band


def fit_line(x: Floats, y: Floats) -> LinearFit | None:
    """Fit y over x where both are known; None for fewer than three points, or points of one x only."""
    x, y = _known(x, y)
    if len(x) < 3 or np.ptp(x) == 0:
        return None
    slope, intercept = np.polyfit(x, y, 1)
    spread = float(np.sqrt(np.sum((y - intercept - slope * x) ** 2) / (len(x) - 2)))
    squares = float(np.sum((x - x.mean()) ** 2))
    return LinearFit(
        float(slope), float(intercept), len(x), spread, float(x.mean()), squares, float(x.min()), float(x.max())
    )


def two_piece(x: Floats, y: Floats, *, split: float = TWO_PIECE_SPLIT) -> tuple[LinearFit | None, LinearFit | None]:
    """Fit the points below the split, and those from it on, each alone."""
    return fit_line(x[x < split], y[x < split]), fit_line(x[x >= split], y[x >= split])


def curve(x: Floats, y: Floats) -> tuple[Floats, Floats] | None:
    """Return a smooth curve through the points, (x, y) float64 [100], where a line leaves the data; else None.

    Source: the smoothing spline whose penalty generalised cross-validation chooses
        (scipy.interpolate.make_smoothing_spline; Woltring 1986).
    """
    x, y = _known(x, y)
    places, of = np.unique(np.round(x, 1), return_inverse=True)
    line = fit_line(x, y)
    if line is None or len(x) < _FEWEST_FOR_CURVE or len(places) < 5:
        return None
    weights = np.bincount(of).astype(np.float64)
    means = np.bincount(of, weights=y) / weights
    spline = needs("scipy.interpolate", extra="report").make_smoothing_spline(places, means, w=weights)
    left = np.sum((y - spline(x)) ** 2) / np.sum((y - line.at(x)) ** 2)
    if left > 1 - _LEAST_GAIN:
        return None
    along = np.linspace(x.min(), x.max(), 100)
    return along, np.maximum(spline(along), 0.0)


def poisson(hits: NDArray[Any]) -> tuple[Floats, Floats]:
    """Return the exact 95 % interval of each count's expectation.

    Source: Garwood 1936 (from the gamma distribution).
    """
    special = special_functions()
    hits = np.asarray(hits, dtype=np.float64)
    low = np.where(hits > 0, special.gammaincinv(np.maximum(hits, 1), 0.025), 0.0)
    return low, special.gammaincinv(hits + 1, 0.975)


def _known(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    known = np.isfinite(x) & np.isfinite(y)
    return x[known], y[known]
