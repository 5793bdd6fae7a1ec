"""The rank correlation is scipy's, and undefined where nothing is ranked."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from imagenet_errors.study.ranks import rank_correlation


@pytest.mark.parametrize("n_values", [pytest.param(1000, id="no ties"), pytest.param(6, id="many ties")])
def test_it_is_scipys(n_values):
    random = np.random.default_rng(3)
    a = random.integers(0, n_values, 60).astype(float)
    b = a + random.integers(0, n_values, 60)
    assert rank_correlation(a, b) == pytest.approx(spearmanr(a, b).statistic)


def test_what_has_no_value_is_left_out():
    a, b = np.array([1.0, 2.0, 3.0, np.nan]), np.array([1.0, 2.0, 3.0, 0.0])
    assert rank_correlation(a, b) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "values", [pytest.param([], id="nothing"), pytest.param([1.0], id="one"), pytest.param([2.0, 2.0], id="equal")]
)
def test_it_is_undefined_without_a_ranking(values):
    assert np.isnan(rank_correlation(np.array(values), np.arange(len(values), dtype=float)))
