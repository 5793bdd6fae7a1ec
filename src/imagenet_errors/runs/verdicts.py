"""Many models' verdicts read at once: a column that their files store in the same bytes is read once."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from imagenet_errors.runs.directory import VERDICTS, read_run_table
from imagenet_errors.workers import n_jobs

_OFTEN_SHARED = ("file_name", "target", "accepted")
"""What is said of the images, whatever a model answers."""

Columns = dict[str, Any]
"""Arrow arrays by the names of columns; one that several files share is the same object in all."""


def read_verdicts(run: Path, models: Sequence[str], names: Sequence[str]) -> list[Columns]:
    """Return the named columns of each model's verdicts, each as one array of the type that ``VERDICTS`` has for it.

    Raises
    ------
    InputError
        A file is gone or damaged, lacks a column, or a column is not of its type.
    """
    paths = [run / "verdicts" / f"{model}.parquet" for model in models]
    first = _columns(paths[0], names)
    may_share = [name for name in names if name in _OFTEN_SHARED]
    stored = _stored(paths[0], may_share)

    def of(path: Path) -> Columns:
        here = _stored(path, may_share)
        shared = {name: first[name] for name in here if here[name] == stored.get(name)}
        return shared | _columns(path, [name for name in names if name not in shared])

    with ThreadPoolExecutor(n_jobs()) as pool:
        return [first, *pool.map(of, paths[1:])]


def _columns(path: Path, names: Sequence[str]) -> Columns:
    table = read_run_table(path, VERDICTS, needed=names, only=True)
    return {name: table[name].combine_chunks() for name in names}


def _stored(path: Path, names: Sequence[str]) -> dict[str, Any]:
    """Return all that tells what the file's columns hold: what Parquet says of each, and its bytes as they are stored.

    Empty where the file cannot be read: who reads its columns says why.
    """
    found: dict[str, Any] = {}
    try:
        with path.open("rb") as stream, pq.ParquetFile(stream) as file:
            groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
            for place in range(len(file.schema)):
                name = file.schema.column(place).path.split(".")[0]
                if name in names:
                    chunks = [_chunk(stream, group.column(place)) for group in groups]
                    said = (file.schema_arrow.field(name), str(file.schema.column(place)), chunks)
                    found.setdefault(name, []).append(said)
    except (OSError, ValueError, pa.ArrowException):
        return {}
    return found


def _chunk(stream: Any, chunk: Any) -> tuple[Any, ...]:
    start = chunk.dictionary_page_offset if chunk.has_dictionary_page else chunk.data_page_offset
    stream.seek(start)
    return chunk.physical_type, chunk.compression, chunk.num_values, stream.read(chunk.total_compressed_size)
