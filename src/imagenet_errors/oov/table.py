"""The evidence table as a file that grows: what it holds already, and rows added so that none is ever lost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from imagenet_errors.evidence.oov import OOV_SCHEMA
from imagenet_errors.oov.shards import write_atomically
from imagenet_errors.problems import InputError

_RECIPE = b"imagenet_errors_recipe"
_FIX = "Choose another --out, or pass --redo to begin this one anew."


def held_rows(path: Path, recipe: Mapping[str, Any]) -> pa.Table:
    """Return the rows that the file holds; none where it is not there yet.

    Raises
    ------
    InputError
        The file is none of this program's, or was made with another encoder, other superclasses or neighbours.
    """
    if path.suffix.lower() == ".csv":
        raise InputError(path, "evidence is written as Parquet", fix="Let --out end with .parquet.")
    if not path.exists():
        return OOV_SCHEMA.empty_table()
    try:
        table = pq.ParquetFile(path).read()
    except (pa.ArrowException, OSError) as error:
        raise InputError(path, f"cannot be read: {error}", fix=_FIX) from None
    written = json.loads((table.schema.metadata or {}).get(_RECIPE, b"null"))
    if written is None or not table.schema.equals(OOV_SCHEMA):
        raise InputError(path, "was not written by this command", fix=_FIX)
    for part in recipe:
        if written.get(part) != recipe[part]:
            what = f"was made with another {part}: {written.get(part)}, now {recipe[part]}"
            raise InputError(path, what, fix=_FIX)
    return table.replace_schema_metadata(None)


def lacking(held: pa.Table, file_names: pa.StringArray, prediction: NDArray[np.int16]) -> NDArray[np.int64]:
    """Return which of n cases the rows do not hold, ascending."""
    missing = pc.invert(pc.is_in(_keys(file_names, prediction), value_set=_keys(held["file_name"], held["prediction"])))
    return np.flatnonzero(missing.to_numpy(zero_copy_only=False))


def _keys(file_names: pa.StringArray | pa.ChunkedArray, prediction: Any) -> pa.StringArray:
    if isinstance(file_names, pa.ChunkedArray):
        file_names, prediction = file_names.combine_chunks(), prediction.combine_chunks()
    return pc.binary_join_element_wise(file_names, pc.cast(pa.array(prediction), pa.string()), "\t")


def write_rows(path: Path, rows: pa.Table, recipe: Mapping[str, Any]) -> pa.Table:
    """Write the rows, ordered by file name and prediction, in place of the file; return them so.

    Raises
    ------
    InputError
        The disk is full, or the place cannot be written to; the old file stays.
    """
    ordered = rows.sort_by([("file_name", "ascending"), ("prediction", "ascending")]).combine_chunks()
    named = ordered.replace_schema_metadata({_RECIPE: json.dumps(recipe, sort_keys=True)})

    def write(file: BinaryIO) -> None:
        pq.write_table(named, file, compression="zstd")

    write_atomically(path, write)
    return ordered
