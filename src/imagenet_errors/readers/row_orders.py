"""The orders that rows without image names come in, and lists of names that state an order.

The validation images: by file name (caffe, tfds), or as in class folders, wnid by wnid (torchvision, timm).
Other sets: folders and names in lexicographic order (torchvision), or in natural order, 2 before 11 (timm).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.images import ImageIndex
from imagenet_errors.problems import InputError, counted
from imagenet_errors.readers.order import fits_clearly, fitting_shift
from imagenet_errors.readers.original_labels import has_val_labels, val_labels
from imagenet_errors.readers.tables import read_names
from imagenet_errors.tables import Annotations

IMAGEFOLDER = "imagefolder"
"""Class folders by name, images in them by name."""


@dataclass(frozen=True, eq=False)
class RowOrder:
    """``rows`` int64 [m]: the annotated image at each place, -1 for one that is not; ``label`` int16 [m]."""

    name: str
    rows: NDArray[np.int64]
    label: NDArray[np.int16]

    def fits(self, top1: NDArray[np.int16]) -> bool:
        """Return True when predictions int16 [m] (-1: none) are far better in this order than by chance."""
        usable = top1 >= 0
        return len(top1) == len(self.label) and fits_clearly(self.label[usable], top1[usable])

    def shift(self, top1: NDArray[np.int16]) -> int:
        """Return what to add to each class index for the predictions to fit this order; 0 for nothing."""
        usable = top1 >= 0
        return fitting_shift(self.label[usable], top1[usable]) if len(top1) == len(self.label) else 0


def known_orders(annotations: Annotations, images: ImageIndex) -> tuple[RowOrder, ...]:
    """Return the orders that the rows of a file about these images could be in."""
    if images.is_val and has_val_labels(annotations):
        label = val_labels()
        by_label = np.argsort(label, kind="stable")
        by_name = images.rows_of_numbers(np.arange(1, len(label) + 1))
        return (
            RowOrder("name", by_name, label),
            RowOrder(IMAGEFOLDER, by_name[by_label], label[by_label]),
        )
    paths = [name.replace("\\", "/") for name in annotations.file_names.to_pylist()]
    lexicographic = sorted(range(len(paths)), key=lambda row: paths[row].rpartition("/")[::2])
    natural = sorted(range(len(paths)), key=lambda row: _natural_key(paths[row]))
    orders = {IMAGEFOLDER: lexicographic} | ({} if natural == lexicographic else {"natural": natural})
    if annotations.file_order is not None:
        orders["annotations"] = annotations.file_order.tolist()
    return tuple(
        RowOrder(name, np.array(rows, dtype=np.int64), annotations.label[rows]) for name, rows in orders.items()
    )


def _natural_key(path: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", path.lower())]


def stated_rows(
    order: str, n_rows: int, known: tuple[RowOrder, ...], images: ImageIndex, *, where: Path
) -> NDArray[np.int64]:
    """Return int64 [n_rows]: the row of the annotated image at each place of a stated order, -1 for none.

    ``order`` is the name of a known one, or a file of image names: ``samples_info.npz``, npy, a JSON list, or
    a name a line (``val.txt``, CSV with the name first).

    Raises
    ------
    InputError
        The order is none of these, or has another number of names than there are rows.
    """
    by_name = {one.name: one for one in known}
    if order in by_name:
        rows = by_name[order].rows
    elif Path(order).is_file():
        rows = images.rows(read_names(Path(order)), where=order)
    else:
        raise InputError(
            "--row-order", f"no order and no file {order!r}", fix=f"Known are {', '.join(by_name)}, or FILE."
        )
    if len(rows) != n_rows:
        raise InputError(
            where,
            f"{counted(n_rows, 'row')}, but the order {order} has {len(rows):,} names",
            fix="The order must name one image a row.",
        )
    return rows
