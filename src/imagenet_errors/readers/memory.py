"""Predictions that are in memory already: tables by the readers' rules, arrays of classes or scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from imagenet_errors.problems import InputError
from imagenet_errors.readers.assemble import Columns, read_columns
from imagenet_errors.readers.raw import RawPredictions
from imagenet_errors.readers.scores import ArrayScores

_SHAPES = "Give a path, a DataFrame or Arrow table, (image names, classes or scores), or an array with row_order=."


@dataclass(frozen=True, eq=False)
class InMemory:
    """One model's predictions, named ``model``, as RawPredictions says; nothing is read from a file."""

    model: str
    raw: RawPredictions

    @property
    def path(self) -> Path:
        """What messages call it."""
        return Path(self.model)


def in_memory(model: str, given: Any) -> InMemory:
    """Take one model's predictions as they are.

    Parameters
    ----------
    model
        The model's name.
    given
        A pandas DataFrame or Arrow table with the columns of any predictions file; ``(names, values)``; or values
        alone, whose rows are in a stated order. Values are classes [n] (ints, or texts that name classes) or scores
        [n, C]; torch tensors are fine.

    Raises
    ------
    InputError
        It is none of these, or the lengths differ.
    """
    table = _table(given)
    if table is not None:
        columns = Columns(Path(model), "table in memory", tuple(table.column_names), tuple(table.columns))
        return InMemory(model, read_columns(columns))
    names, values = given if isinstance(given, tuple) and len(given) == 2 else (None, given)
    array = _array(values, model)
    texts = None if names is None else pa.array([str(name) for name in names], type=pa.string())
    if texts is not None and len(texts) != len(array):
        raise InputError(model, f"{len(texts):,} image names for {len(array):,} predictions", fix="Give one for each.")
    return InMemory(model, _raw(array, texts, model))


def _table(given: Any) -> pa.Table | None:
    """Return an Arrow table of a table or frame; a frame's index is a column where it has a name or holds texts."""
    if isinstance(given, pa.RecordBatch):
        return pa.Table.from_batches([given])
    if isinstance(given, pa.Table):
        return given
    if type(given).__module__.partition(".")[0] == "pandas" and hasattr(given, "columns"):
        is_counter = given.index.name is None and str(given.index.dtype).startswith("int")
        named = given if is_counter or given.index.name else given.rename_axis("file_name")
        return pa.Table.from_pandas(named if is_counter else named.reset_index(), preserve_index=False)
    if hasattr(given, "__arrow_c_stream__") and hasattr(given, "columns"):
        return pa.table(given)
    return None


def _array(values: Any, model: str) -> Any:
    if hasattr(values, "detach"):  # a torch tensor, perhaps on another device
        values = values.detach().cpu()
        values = values.float() if str(values.dtype) == "torch.bfloat16" else values
    array = np.asarray(values)
    if array.ndim == 0 or array.dtype.kind not in "iufUO":
        raise InputError(model, f"cannot read predictions from a {type(values).__name__}", fix=_SHAPES)
    return array


def _raw(array: Any, names: pa.StringArray | None, model: str) -> RawPredictions:
    bare = RawPredictions("array in memory", len(array), names)
    if array.ndim == 2 and array.dtype.kind == "f":
        return replace(bare, scores=ArrayScores(array, model), n_outputs=array.shape[1])
    if array.ndim == 1 and array.dtype.kind in "UO":
        return replace(bare, text=pa.array([str(text) for text in array], type=pa.string()))
    if array.ndim == 1 and (array.dtype.kind in "iu" or _is_whole(array)):
        return replace(bare, index=array.astype(np.int64))
    raise InputError(model, f"an array of {array.dtype} {list(array.shape)} is no predictions", fix=_SHAPES)


def _is_whole(array: Any) -> bool:
    return array.dtype.kind == "f" and bool(np.isfinite(array).all() and (array == np.round(array)).all())


def is_path(given: Any) -> bool:
    """Tell whether something names files: a path, a text, or several of them."""
    if isinstance(given, str | Path):
        return True
    return isinstance(given, Sequence) and bool(given) and all(isinstance(each, str | Path) for each in given)
