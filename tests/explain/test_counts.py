"""Exact tests and intervals against scipy."""

import pytest
from scipy import stats

from imagenet_errors.explain.counts import paired_exact, wilson


@pytest.mark.parametrize(("first", "second"), [(0, 0), (1, 0), (8, 1), (20, 9), (5, 5), (0, 12)])
def test_the_paired_test_is_the_binomial_one(first, second):
    n = first + second
    expected = stats.binomtest(first, n).pvalue if n else 1.0
    assert paired_exact(first, second) == pytest.approx(expected)


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (10, 10), (3, 7), (50, 119)])
def test_the_interval_is_wilsons(hits, n):
    expected = stats.binomtest(hits, n).proportion_ci(method="wilson")
    assert wilson(hits, n) == pytest.approx((expected.low, expected.high))


def test_of_nothing_nothing_is_known():
    assert wilson(0, 0) == (0, 1)
