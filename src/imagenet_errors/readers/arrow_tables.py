"""Parquet, Feather and Arrow IPC files: pandas', timm's (``filename`` last), and our own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from imagenet_errors.problems import InputError
from imagenet_errors.readers.assemble import MOST_COLUMNS, MOST_ROWS, Columns
from imagenet_errors.readers.opened import Opened, refusing_damage

OUR_METADATA = b"imagenet-errors"
"""The key under which ``predict`` says in a Parquet file's metadata how it was made."""
_MOST_FOOTER = 12 << 20
OUR_COLUMNS = ["file_name", "predicted_class", "predicted_probability"]
"""Those of its columns that are evaluated; the others hold the five best classes."""


def our_metadata(path: Path) -> dict[str, Any] | None:
    """Return what a predictions file of ours says of itself; None for other files and damaged ones."""
    import pyarrow.parquet as pq

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
    _refuse_size("bytes of column descriptions", int.from_bytes(file.content[-8:-4], "little"), _MOST_FOOTER, file.path)
    with refusing_damage(file.path), pq.ParquetFile(pa.BufferReader(pa.py_buffer(file.content))) as parquet:
        facts = parquet.metadata
        _refuse_size("columns", facts.num_columns, MOST_COLUMNS, file.path)
        _refuse_size("rows", facts.num_rows, MOST_ROWS, file.path)
        is_ours = OUR_METADATA in (facts.metadata or {})
        table = parquet.read(OUR_COLUMNS if is_ours else None)
    return Columns(file.path, "Parquet", tuple(table.column_names), tuple(table.columns))


def read_arrow(file: Opened, _stated: Mapping[str, str]) -> Columns:
    """Read a Feather (version 2) or Arrow file, or an Arrow stream.

    Raises
    ------
    InputError
        The file is damaged, or larger than predictions are.
    """
    import pyarrow.ipc as ipc

    is_stream = file.head.startswith(b"\xff\xff\xff\xff")
    with refusing_damage(file.path):
        buffer = pa.py_buffer(file.content)
        reader = (ipc.open_stream if is_stream else ipc.open_file)(buffer)
        _refuse_size("columns", len(reader.schema), MOST_COLUMNS, file.path)
        table = reader.read_all()
        table.validate(full=True)  # offsets of a damaged file would lead outside it
    return Columns(file.path, "Arrow", tuple(table.column_names), tuple(table.columns))


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
        _refuse_size("columns", len(reader.schema), MOST_COLUMNS, file.path)
        _refuse_size("rows", reader.nrows, MOST_ROWS, file.path)
        table = reader.read()
    return Columns(file.path, "ORC", tuple(table.column_names), tuple(table.columns))


def _refuse_size(what: str, found: int, most: int, path: Path) -> None:
    if found > most:
        raise InputError(path, f"{found:,} {what}; at most {most:,} are read", fix="Write a row an image.")
