"""Parquet, Feather and Arrow IPC files: pandas', timm's (``filename`` last), and our own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from imagenet_errors.readers.assemble import Source, read_columns
from imagenet_errors.readers.damage import refusing_damage
from imagenet_errors.readers.raw import RawPredictions

OUR_METADATA = b"imagenet-errors"
"""The key under which ``predict`` says in a Parquet file's metadata how it was made."""
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


def read_parquet(path: Path, *, columns: Mapping[str, str] | None = None) -> RawPredictions:
    """Read a Parquet file; a pandas index is a column like others.

    Raises
    ------
    InputError
        The file is damaged, or see :func:`imagenet_errors.readers.assemble.read_columns`.
    """
    import pyarrow.parquet as pq

    with refusing_damage(path), pq.ParquetFile(path) as file:
        is_ours = OUR_METADATA in (file.metadata.metadata or {})
        table = file.read(OUR_COLUMNS if is_ours else None)
    return read_table(table, Source(path, "Parquet"), columns=columns)


def read_arrow(path: Path, *, columns: Mapping[str, str] | None = None) -> RawPredictions:
    """Read a Feather (version 2) or Arrow file, or an Arrow stream.

    Raises
    ------
    InputError
        The file is damaged, or see :func:`imagenet_errors.readers.assemble.read_columns`.
    """
    import pyarrow.ipc as ipc

    with refusing_damage(path), pa.memory_map(str(path)) as file:
        is_stream = file.read(4) == b"\xff\xff\xff\xff"
        file.seek(0)
        table = (ipc.open_stream if is_stream else ipc.open_file)(file).read_all()
        table.validate(full=True)  # offsets of a damaged file would lead outside it
    return read_table(table, Source(path, "Arrow"), columns=columns)


def read_table(table: pa.Table, source: Source, *, columns: Mapping[str, str] | None = None) -> RawPredictions:
    """Make predictions of an Arrow table."""
    return read_columns(table.column_names, table.columns, source, columns=columns)
