"""The shipped orders of classes: which class stands at which position of a known head, and how wide such heads are."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.labels import imagenet_1k
from imagenet_errors.shipped import shipped


@lru_cache(maxsize=1)
def shipped_axes() -> dict[str, tuple[int, NDArray[np.int64]]]:
    """Return name -> (width, int64 [m, 2] of position and class) out of ``data/class_axes.csv``."""
    import pyarrow as pa
    import pyarrow.csv

    as_text = pyarrow.csv.ConvertOptions(column_types={"axis": pa.string()})
    table = pyarrow.csv.read_csv(shipped("data", "class_axes.csv"), convert_options=as_text)
    axis = np.array(table["axis"].to_pylist())
    width, position, index = (table[key].to_numpy() for key in ("width", "position", "index"))
    return {
        str(name): (int(width[axis == name][0]), np.stack([position, index], axis=1)[axis == name])
        for name in np.unique(axis)
    }


@lru_cache(maxsize=1)
def head_widths() -> frozenset[int]:
    """Return the widths of heads that have an output for every class of ImageNet-1k, or nearly so."""
    n_classes = len(imagenet_1k())
    return frozenset((n_classes, *(width for width, _ in shipped_axes().values() if width >= n_classes)))
