"""Images given by whole numbers, which are places in a common order: taken as the one that fits the labels."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from imagenet_errors.images import ImageIndex
from imagenet_errors.problems import InputError
from imagenet_errors.readers.order import fits_clearly, fitting_shift
from imagenet_errors.readers.resolve import Resolved
from imagenet_errors.readers.row_orders import known_orders
from imagenet_errors.tables import Annotations

_ID = r"^(?P<folder>.*[/\\])?(?P<id>[0-9]{1,7})(?:\.(?i:jpe?g|png|webp|bmp))?$"
"""A number too short to be that of a validation image, perhaps with a folder, the same for all, and an ending."""


def are_ids(names: pa.StringArray) -> bool:
    """Return True when all names are whole numbers: ``17``, ``images/17.jpg``."""
    if not re.match(_ID, names[0].as_py() or ""):
        return False
    parts = pc.extract_regex(names, _ID)
    n_folders = pc.count_distinct(pc.struct_field(parts, "folder")).as_py()
    return bool(parts.null_count == 0 and n_folders == 1)


def rows_of_ids(
    resolved: Resolved, images: ImageIndex, annotations: Annotations, path: Path
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return each row's image, and which order the numbers count in: from 0 or 1, as only one fits the labels.

    Raises
    ------
    InputError
        None fits, or several do.
    """
    names = resolved.raw.names
    written = pc.struct_field(pc.extract_regex(names, _ID), "id")
    ids = pc.cast(written, "int64").to_numpy(zero_copy_only=False)
    known = known_orders(annotations, images)
    fitting = []
    shifted = False
    for order, base in product(known, (0, 1)):
        place = ids - base
        inside = (place >= 0) & (place < len(order.rows))
        rows = np.where(inside, order.rows[np.where(inside, place, 0)], -1)
        usable = (rows >= 0) & (resolved.top1 >= 0)
        shifted |= fitting_shift(annotations.label[rows[usable]], resolved.top1[usable]) == -1
        if fits_clearly(annotations.label[rows[usable]], resolved.top1[usable]):
            fitting.append((usable & (annotations.label[rows] == resolved.top1), order, base, rows))
    fitting.sort(key=lambda found: -int(found[0].sum()))
    if not fitting or (len(fitting) > 1 and not _clearly_more(fitting[0][0], fitting[1][0])):
        if shifted and not fitting:
            what = "class indices are shifted: only with every class index -1 do they fit the images, given by integers"
            raise InputError(path, what, fix="Pass --class-axis 1001 (a background class in front).")
        listed = ", ".join(order.name for order in known)
        raise InputError(
            path,
            f"images are given by integers, and which order they count in ({listed}; from 0 or 1) cannot be told",
            example=names[0] if names is not None else None,
            fix="Write file names, or numbers of 8 digits counted from 1.",
        )
    _, order, base, rows = fitting[0]
    return rows, (f"image ids count from {base} in the order {order.name}: only that fits the labels",)


def _clearly_more(right: NDArray[np.bool_], other: NDArray[np.bool_]) -> bool:
    """Say whether rows are right more often in one reading than in another, by four deviations of the difference.

    In class folders a place more or less mostly stays in the class, so only the rows that differ are looked at.
    """
    only, only_other = int(np.sum(right & ~other)), int(np.sum(other & ~right))
    return bool(only - only_other > 4 * np.sqrt(only + only_other))
