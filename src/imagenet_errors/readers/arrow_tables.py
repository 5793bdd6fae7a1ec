"""Parquet, Feather and Arrow IPC files: pandas', timm's (``filename`` last), and our own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from imagenet_errors.problems import InputError
from imagenet_errors.readers.assemble import MOST_COLUMNS, MOST_ROWS, Columns, refuse_size
from imagenet_errors.readers.opened import Opened, refusing_damage
from imagenet_errors.workers import free_memory

OUR_METADATA = b"imagenet-errors"
"""The key under which ``predict`` says in a Parquet file's metadata how it was made."""
_MOST_FOOTER = 12 << 20
_MOST_TEXT = 1 << 28
"""Bytes of text that a column's dictionary may stand for: 50 a row of the longest files."""
_FEW, _MANY, _LONG = 8, 64, 255
"""Bytes a row of a column of different short texts on the disk, and of the longest name; of others few texts may stand
for much."""
_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8, "INT96": 12}
"""Bytes of a number."""
OUR_COLUMNS = ["file_name", "predicted_class", "predicted_probability"]
"""Those of its columns that are evaluated; the others hold the five best classes."""


def our_metadata(path: Path) -> dict[str, Any] | None:
    """Return what a predictions file of ours says of itself; None for other files, damaged ones and pipes."""
    import pyarrow.parquet as pq

    if not path.is_file():  # a pipe was read to its end already: opening it again would wait for another writer
        return None
    try:
        with path.open("rb") as file:
            if file.read(4) != b"PAR1":
                return None
        metadata = pq.read_schema(path).metadata or {}
        facts = json.loads(metadata[OUR_METADATA])
    except (OSError, KeyError, ValueError, pa.ArrowException):
        return None
    return facts if isinstance(facts, dict) else None


def read_parquet(file: Opened, _stated: Mapping[str, str]) -> Columns:
    """Read a Parquet file; a pandas index is a column like others.

    Raises
    ------
    InputError
        The file is damaged, or larger than predictions are.
    """
    import pyarrow.parquet as pq

    if len(file.content) < 12 or bytes(file.content[-4:]) != b"PAR1":
        raise InputError(file.path, "the Parquet file is cut short", fix="Copy it again, or write it again.")
    refuse_size("bytes of column descriptions", int.from_bytes(file.content[-8:-4], "little"), _MOST_FOOTER, file.path)
    with refusing_damage(file.path):
        facts = pq.read_metadata(pa.BufferReader(pa.py_buffer(file.content)))
        refuse_size("columns", facts.num_columns, MOST_COLUMNS, file.path)
        refuse_size("rows", facts.num_rows, MOST_ROWS, file.path)
        is_ours = OUR_METADATA in (facts.metadata or {})
        few = _few_texts(facts)
        _refuse_memory(facts, file.path)
    source = pa.BufferReader(pa.py_buffer(file.content))
    with refusing_damage(file.path), pq.ParquetFile(source, metadata=facts, read_dictionary=few) as parquet:
        table = parquet.read(OUR_COLUMNS if is_ours else None)
    return _columns(table, "Parquet", file.path)


def _refuse_memory(facts: Any, path: Path) -> None:
    """Refuse a table that takes more memory than is free: it would be ended without a word while it was read."""
    n_bytes = 0
    for group in range(facts.num_row_groups):
        row_group = facts.row_group(group)
        for place in range(row_group.num_columns):
            column = row_group.column(place)
            n_bytes += column.num_values * _WIDTHS.get(column.physical_type, 0)
    if n_bytes > (free := free_memory()):
        what = f"{n_bytes:,} bytes when it is read, and {free:,} are free"
        raise InputError(
            path, what, fix="Write the best class of each image alone, or read it where there is more memory."
        )


def _few_texts(facts: Any) -> list[str]:
    """Return the columns of text that may repeat long ones: these are read as a dictionary, before they grow."""
    n_bytes: dict[str, int] = {}
    is_long = set()
    for group in range(facts.num_row_groups):
        row_group = facts.row_group(group)
        for place in range(row_group.num_columns):
            column = row_group.column(place)
            if column.physical_type == "BYTE_ARRAY":
                name = column.path_in_schema
                n_bytes[name] = n_bytes.get(name, 0) + column.total_uncompressed_size
                is_long.update([name] if _has_long_texts(column.statistics) else [])
    least, most = _FEW * facts.num_rows, _MANY * facts.num_rows
    return [name for name, size in n_bytes.items() if name in is_long or not least <= size <= most]


def _has_long_texts(statistics: Any) -> bool:
    """Say whether the first or last text is long, or not told, as writers leave long ones out."""
    if statistics is None or not statistics.has_min_max:
        return True
    return max(len(statistics.min_raw), len(statistics.max_raw)) > _LONG


def _columns(table: pa.Table, format: str, path: Path) -> Columns:  # noqa: A002
    """Return a table's columns, those of text as they are: plain or a dictionary.

    Raises
    ------
    InputError
        A column's dictionary stands for far more text than predictions hold.
    """
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_dictionary(column.type) and _is_text(column.type.value_type):
            refuse_size(f"bytes of text in column {name!r}", _n_text(column, path), _MOST_TEXT, path)
    return Columns(path, format, tuple(table.column_names), tuple(table.columns))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind))


def _n_text(column: pa.ChunkedArray, path: Path) -> int:
    """Return how many bytes the column's texts have, each as often as it stands there."""
    n_bytes = 0
    with refusing_damage(path):
        column.validate(full=True)
        for chunk in column.chunks:
            lengths = pc.binary_length(chunk.dictionary).fill_null(0).to_numpy(zero_copy_only=False)
            codes = chunk.indices.drop_null().to_numpy()
            n_bytes += int(np.bincount(codes, minlength=len(lengths)) @ lengths) if len(codes) else 0
    return n_bytes


def read_arrow(file: Opened, _stated: Mapping[str, str]) -> Columns:
    """Read a Feather (version 2) or Arrow file, or an Arrow stream.

    Raises
    ------
    InputError
        The file is damaged, or larger than predictions are.
    """
    import pyarrow.dataset
    import pyarrow.ipc as ipc

    is_stream = file.head.startswith(b"\xff\xff\xff\xff")
    with refusing_damage(file.path):
        buffer = pa.py_buffer(file.content)
        if not is_stream:  # rows are counted before they are unpacked
            n_rows = pyarrow.dataset.IpcFileFormat().make_fragment(buffer).count_rows()
            refuse_size("rows", n_rows, MOST_ROWS, file.path)
        reader = (ipc.open_stream if is_stream else ipc.open_file)(buffer)
        refuse_size("columns", len(reader.schema), MOST_COLUMNS, file.path)
        table = reader.read_all()
        table.validate(full=True)  # offsets of a damaged file would lead outside it
    return _columns(table, "Arrow", file.path)


def read_orc(file: Opened, _stated: Mapping[str, str]) -> Columns:
    """Read an ORC file, as Hive and Spark write them.

    Raises
    ------
    InputError
        The file is damaged, or larger than predictions are.
    """
    from pyarrow import orc

    with refusing_damage(file.path):
        reader = orc.ORCFile(pa.BufferReader(pa.py_buffer(file.content)))
        refuse_size("columns", len(reader.schema), MOST_COLUMNS, file.path)
        refuse_size("rows", reader.nrows, MOST_ROWS, file.path)
        table = reader.read()
    return _columns(table, "ORC", file.path)
