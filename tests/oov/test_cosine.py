"""Cosines are the same to the last bit however the work is cut."""

from fractions import Fraction

import numpy as np
import pytest

from imagenet_errors.oov.cosine import check_unit, cosines, is_unit, normalised, on_grid
from imagenet_errors.problems import InputError

RANDOM = np.random.default_rng(0)
SOME = normalised(RANDOM.standard_normal((70, 768)))
OTHERS = normalised(RANDOM.standard_normal((90, 768)))


def test_they_are_the_true_cosines_of_the_rounded_vectors():
    a, b = on_grid(SOME[:2]), on_grid(OTHERS[:2])
    true = sum(Fraction(x) * Fraction(y) for x, y in zip(a[0].tolist(), b[1].tolist(), strict=True))
    assert Fraction(float(cosines(a, b)[0, 1])) == true


def test_rounding_moves_them_less_than_float32_does():
    wide = SOME.astype(np.float64) @ OTHERS.astype(np.float64).T
    assert np.abs(cosines(on_grid(SOME), on_grid(OTHERS)) - wide).max() < 5e-8


@pytest.mark.parametrize("rows", [[3], [3, 60], list(range(40))], ids=["one", "two", "forty"])
def test_a_row_does_not_depend_on_its_company(rows):
    whole = cosines(on_grid(SOME), on_grid(OTHERS))
    assert np.array_equal(cosines(on_grid(SOME[rows]), on_grid(OTHERS)), whole[rows])


def test_nor_on_the_order_of_dimensions():
    order = RANDOM.permutation(768)
    turned = cosines(on_grid(SOME[:, order]), on_grid(OTHERS[:, order]))
    assert np.array_equal(turned, cosines(on_grid(SOME), on_grid(OTHERS)))


def test_float16_vectors_lie_on_the_grid_already():
    stored = SOME.astype(np.float16)
    assert np.array_equal(on_grid(stored), stored.astype(np.float64))


def test_a_vector_is_no_nearer_to_itself_than_1():
    assert np.diagonal(cosines(on_grid(SOME), on_grid(SOME))).max() <= 1


@pytest.mark.parametrize(
    "row",
    [pytest.param([0, 0], id="zero"), pytest.param([np.nan, 1], id="NaN"), pytest.param([np.inf, 1], id="infinite")],
)
def test_what_has_no_direction_becomes_nan(row):
    units = normalised(np.array([[3.0, 4.0], row]))
    assert np.allclose(units[0], [0.6, 0.8])
    assert np.isnan(units[1]).all()
    assert is_unit(units).tolist() == [True, False]


def test_vectors_of_another_length_are_refused():
    with pytest.raises(InputError, match=r"x: 1 row of 2 not of length 1 \(first: row 1\)"):
        check_unit(np.array([[1.0, 0.0], [20.0, 0.0]]), where="x")
