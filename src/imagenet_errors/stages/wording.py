"""Sentences about many cases at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from imagenet_errors.tables import Ragged


def fill(template: str, *columns: Any) -> pa.StringArray:
    """Return one sentence a row: ``fill("{} is no {}.", names, 7)``; columns are arrays or single values.

    A null in any column makes the row's sentence null.
    """
    pieces = template.split("{}")
    if len(pieces) != len(columns) + 1:
        raise ValueError(f"{template!r} has {len(pieces) - 1} gaps for {len(columns)} columns")
    parts: list[Any] = [pieces[0]]
    for column, piece in zip(columns, pieces[1:], strict=True):
        parts += [_as_text(column), piece]
    return pc.binary_join_element_wise(*parts, "")


def listed(rows: Ragged, names: pa.StringArray) -> pa.StringArray:
    """Return each row's class names joined by commas: ``"police van, grille"``."""
    lists = pa.ListArray.from_arrays(pa.array(rows.offsets, type=pa.int32()), named(rows.values, names))
    return pc.binary_join(lists, ", ")


def named(classes: NDArray[np.integer], names: pa.StringArray) -> pa.StringArray:
    """Return the name of each class; null for -1."""
    return names.take(pa.array(classes, mask=classes < 0))


def either(claim: NDArray[np.bool_], yes: pa.StringArray, no: pa.StringArray | str) -> pa.StringArray:
    """Return ``yes`` in the rows where the claim holds, ``no`` in the others."""
    return pc.if_else(pa.array(claim), yes, no)


def _as_text(column: Any) -> Any:
    if isinstance(column, str):
        return column
    if isinstance(column, np.ndarray):
        column = pa.array(column)
    return str(column) if isinstance(column, int | float | np.number) else pc.cast(column, pa.string())
