"""Pairs of classes that appear together in images often enough for one to suggest the other.

Source: Peychev et al., NeurIPS 2023, section 3 (spurious correlations); Beyer et al. 2020 (ReaL labels).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import InputError, counted
from imagenet_errors.tables import Ragged

MIN_IMAGES = 2
"""A pair counts from this many images on (Peychev et al., section 3)."""
_NEEDED, _OPTIONAL = ("a", "b"), {"n_images"}


@dataclass(frozen=True, eq=False)
class CoOccurrence:
    """``pairs`` bool [C, C] symmetric; ``n_images`` int32 [C, C]: images that show both (0: not known)."""

    pairs: NDArray[np.bool_]
    n_images: NDArray[np.int32]
    source: str

    def without(self, shares: NDArray[np.bool_]) -> CoOccurrence:
        """Drop the pairs that share a superclass: confusing kin is no spurious correlation."""
        return CoOccurrence(self.pairs & ~shares, self.n_images, self.source)


def count_together(accepted: Ragged, n_classes: int) -> NDArray[np.int32]:
    """Return int32 [C, C]: in how many of the images (rows) both classes are accepted; diagonal 0.

    Every row must hold each class at most once.
    """
    together = np.zeros((n_classes, n_classes), dtype=np.int32)
    values, owners = accepted.values, accepted.owners
    for distance in range(1, int(accepted.lengths.max(initial=0))):
        same_image = owners[distance:] == owners[:-distance]
        first, second = values[:-distance][same_image], values[distance:][same_image]
        np.add.at(together, (first, second), 1)
    return together + together.T


def co_occurrence(accepted: Ragged, n_classes: int, *, source: str) -> CoOccurrence:
    """Find the pairs seen together in at least ``MIN_IMAGES`` of the images (rows of ``accepted``)."""
    n_images = count_together(accepted, n_classes)
    return CoOccurrence(n_images >= MIN_IMAGES, n_images, source)


def read_co_occurrence(path: Path, labels: LabelSpace) -> CoOccurrence:
    """Read a CSV with class columns ``a,b`` and, optionally, ``n_images``.

    Raises
    ------
    InputError
        A column or cell is missing, or a class index is not one of the label space.
    """
    import pyarrow as pa
    import pyarrow.csv

    try:
        table = pyarrow.csv.read_csv(path)
        columns = {name: table[name].cast(pa.int64()) for name in (*_NEEDED, *_OPTIONAL & set(table.column_names))}
    except (KeyError, pa.ArrowException) as error:
        raise InputError(
            path, f"not a table of class pairs: {error}", fix="Give a CSV with integer columns a,b."
        ) from None
    n_empty = sum(column.null_count for column in columns.values())
    if n_empty:
        raise InputError(path, f"{counted(n_empty, 'empty cell')}", fix="Fill them, or drop those rows.")
    first, second = (columns[name].to_numpy() for name in _NEEDED)
    outside = (np.minimum(first, second) < 0) | (np.maximum(first, second) >= len(labels))
    if outside.any():
        row = int(np.argmax(outside))
        raise InputError(
            path,
            f"{counted(int(outside.sum()), 'pair')} outside the classes 0..{len(labels) - 1}",
            example=f"row {row + 2}: {first[row]},{second[row]}",
            fix="Write class indices.",
        )
    shape = (len(labels), len(labels))
    pairs, n_images = np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.int32)
    pairs[first, second] = pairs[second, first] = True
    if "n_images" in columns:
        n_images[first, second] = n_images[second, first] = columns["n_images"].to_numpy()
    return CoOccurrence(pairs, n_images, str(path))
