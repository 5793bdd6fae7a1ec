"""The evidence table as a file that grows: what it holds already, and rows added so that none is ever lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from imagenet_errors.evidence.oov import OOV_SCHEMA
from imagenet_errors.files import write_whole
from imagenet_errors.oov.shards import KEPT
from imagenet_errors.problems import InputError

_RECIPE = b"imagenet_errors_recipe"
_FIX = "Choose another --out, or pass --redo to begin this one anew."


class Recipe(msgspec.Struct, frozen=True):
    """What the rows of a table depend on: rows of another recipe are not added to it."""

    encoder: str
    superclasses: str
    neighbours: str
    method: int


def held_rows(path: Path, recipe: Recipe) -> pa.Table:
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
    written = recipe_of(table.schema)
    if written is None or not table.schema.equals(OOV_SCHEMA):
        raise InputError(path, "was not written by this command", fix=_FIX)
    for part in Recipe.__struct_fields__:
        was, now = getattr(written, part), getattr(recipe, part)
        if was != now:
            raise InputError(path, f"was made with another {part}: {was}, now {now}", fix=_FIX)
    return table.replace_schema_metadata(None)


def recipe_of(schema: pa.Schema) -> Recipe | None:
    """Return what a table says its rows depend on; None where it says nothing that can be read."""
    try:
        return msgspec.json.decode((schema.metadata or {}).get(_RECIPE, b""), type=Recipe)
    except msgspec.MsgspecError:
        return None


def lacking(held: pa.Table, file_names: pa.StringArray, prediction: NDArray[np.int16]) -> NDArray[np.int64]:
    """Return which of n cases the rows do not hold, ascending."""
    missing = pc.invert(pc.is_in(_keys(file_names, prediction), value_set=case_keys(held)))
    return np.flatnonzero(missing.to_numpy(zero_copy_only=False))


def case_keys(rows: pa.Table) -> pa.StringArray:
    """Return one text for each row that tells its case from all others."""
    return _keys(rows["file_name"].combine_chunks(), rows["prediction"].combine_chunks())


def _keys(file_names: pa.StringArray, prediction: Any) -> pa.StringArray:
    return pc.binary_join_element_wise(file_names, pc.cast(pa.array(prediction), pa.string()), "\t")


def write_rows(path: Path, rows: pa.Table, recipe: Recipe | None) -> pa.Table:
    """Write the rows, ordered by file name and prediction, in place of the file; return them so.

    Raises
    ------
    InputError
        The disk is full, or the place cannot be written to; the old file stays.
    """
    ordered = rows.sort_by([("file_name", "ascending"), ("prediction", "ascending")]).combine_chunks()
    named = ordered.replace_schema_metadata({} if recipe is None else {_RECIPE: msgspec.json.encode(recipe)})

    def write(file: BinaryIO) -> None:
        pq.write_table(named, file, compression="zstd")

    write_whole(path, write, fix=KEPT)
    return ordered
