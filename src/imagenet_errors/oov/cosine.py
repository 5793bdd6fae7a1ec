"""Cosines that come out the same however the work is cut into batches.

A float product of matrices depends, in its last bits, on how many rows are multiplied at once and on the number of
threads. A run that was killed and goes on, or a second model that adds cases, cuts the work elsewhere, so near-ties
could turn. Here unit vectors are first rounded to multiples of 2**-26 (an error of 1e-8, less than float32's own):
every product is then a multiple of 2**-52 and every partial sum lies below 2, which float64 holds exactly. Exact
sums have no order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.problems import InputError, counted

Vectors = NDArray[np.floating[Any]]
Float64 = NDArray[np.float64]

_STEPS = 2.0**26
UNIT_TOLERANCE = 1e-3
"""How far from 1 a norm may be; a unit vector stored in float16 is off by up to 5e-4."""


def on_grid(vectors: Vectors) -> Float64:
    """Return float64 unit vectors [..., d] rounded to multiples of 2**-26; float16 ones are kept as they are."""
    grid: Float64 = vectors.astype(np.float64)
    grid *= _STEPS
    np.rint(grid, out=grid)
    grid /= _STEPS
    return grid


def cosines(some: Float64, others: Float64) -> Float64:
    """Return the exact cosines [n, m] of unit vectors [n, d] and [m, d], both from :func:`on_grid`."""
    product = some @ others.T
    return np.clip(product, -1.0, 1.0, out=product)


def is_unit(vectors: Vectors) -> NDArray[np.bool_]:
    """Return bool [n]: which vectors [n, d] are finite and of length 1."""
    squares = np.einsum("nd,nd->n", vectors, vectors, dtype=np.float64)
    near: NDArray[np.bool_] = np.abs(np.sqrt(squares) - 1) <= UNIT_TOLERANCE
    return near


def check_unit(vectors: Vectors, *, where: object) -> None:
    """Refuse vectors [n, d] that are not of length 1.

    Raises
    ------
    InputError
        A vector has another length, or holds a NaN.
    """
    wrong = np.flatnonzero(~is_unit(vectors))
    if wrong.size:
        what = f"{counted(wrong.size, 'row')} of {len(vectors):,} not of length 1"
        raise InputError(str(where), what, example=f"row {wrong[0]}", fix="Normalise them, or make them again.")


def normalised(vectors: Vectors) -> NDArray[np.float32]:
    """Return the vectors [n, d] at length 1; zero and non-finite ones become NaN."""
    wide = vectors.astype(np.float64)
    lengths = np.sqrt(np.einsum("nd,nd->n", wide, wide))
    usable = np.isfinite(lengths) & (lengths > 0)
    scaled = wide / np.where(usable, lengths, 1.0)[:, None]
    return np.where(usable[:, None], scaled, np.nan).astype(np.float32)
