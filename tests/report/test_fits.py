"""Lines and their bands agree with scipy's."""

import numpy as np
import pytest
from scipy import stats

from imagenet_errors.report.fits import curve, fit_line, poisson, two_piece

RANDOM = np.random.default_rng(5)
X = RANDOM.uniform(60, 98, 40)
Y = 100 - 0.8 * X + RANDOM.normal(0, 3, 40)


def test_the_line_is_that_of_least_squares():
    fit, theirs = fit_line(X, Y), stats.linregress(X, Y)
    assert (fit.slope, fit.intercept) == pytest.approx((theirs.slope, theirs.intercept))


def test_the_band_is_the_confidence_interval_of_the_line():
    fit, theirs = fit_line(X, Y), stats.linregress(X, Y)
    at_zero = stats.t.ppf(0.975, len(X) - 2) * theirs.intercept_stderr
    assert fit.half_band(np.array([0.0]))[0] == pytest.approx(at_zero, rel=1e-4)


def test_the_band_is_narrowest_in_the_middle():
    fit = fit_line(X, Y)
    left, middle, right = fit.half_band(np.array([fit.x_min, fit.x_mean, fit.x_max]))
    assert middle < left
    assert middle < right


def test_unknown_points_are_left_out():
    x, y = np.append(X, [70.0, np.nan]), np.append(Y, [np.nan, 3.0])
    assert fit_line(x, y).slope == pytest.approx(fit_line(X, Y).slope)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        pytest.param([1.0, 2.0], [1.0, 2.0], id="two points"),
        pytest.param([1.0, 1.0, 1.0], [1.0, 2.0, 3.0], id="one x only"),
        pytest.param([], [], id="none"),
    ],
)
def test_too_little_gives_no_line(x, y):
    assert fit_line(np.array(x), np.array(y)) is None


def test_each_piece_is_fitted_to_its_own_side_alone():
    x = np.array([70.0, 80.0, 89.0, 90.0, 95.0, 98.0])
    below, above = two_piece(x, np.where(x < 90, 100 - x, 300 - 3 * x))
    assert below.slope == pytest.approx(-1)
    assert above.slope == pytest.approx(-3)


def test_a_curve_is_drawn_where_a_line_leaves_the_data():
    x = np.linspace(60, 98, 80)
    bent = np.where(x < 90, 60.0, 60 - 4 * (x - 90)) + np.sin(7 * x)
    along, heights = curve(x, bent)
    assert np.abs(np.interp(x, along, heights) - bent).max() < np.abs(fit_line(x, bent).at(x) - bent).max() / 2
    assert curve(x, 100 - 0.8 * x + np.sin(7 * x)) is None
    assert curve(x[:5], bent[:5]) is None


@pytest.mark.parametrize("hits", [0, 1, 6, 210])
def test_counts_have_the_exact_poisson_interval(hits):
    low, high = poisson(np.array(hits))
    assert stats.poisson.sf(hits - 1, low) == pytest.approx(0.025) if hits else low == 0
    assert stats.poisson.cdf(hits, high) == pytest.approx(0.025)
