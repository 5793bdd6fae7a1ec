"""A folder of shards that holds one row a key (an image, a name) and grows as more are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.oov.shards import (
    SUFFIX,
    failures_of,
    key_hash,
    matrix,
    read_shard,
    write_shard,
)

Made = tuple[pa.Table, list[tuple[str, str]]]
"""Rows for the keys that could be done, with the column ``key``; and (key, reason) for the others."""


@dataclass
class KeyedStore:
    """Rows of one making in one folder. ``table`` has the column ``key``, each key once."""

    folder: Path
    identity: Mapping[str, Any]
    table: pa.Table | None = None
    failed: dict[str, str] = field(default_factory=dict)
    _row_of: dict[str, int] = field(default_factory=dict)

    @classmethod
    def open(cls, folder: Path, identity: Mapping[str, Any]) -> KeyedStore:
        """Read and verify the folder's shards; damaged ones are removed, so that their rows are done again."""
        store = cls(folder, identity)
        tables = []
        for path in sorted(folder.glob(f"*{SUFFIX}")):
            shard = read_shard(path, identity)
            if shard is None:
                path.unlink(missing_ok=True)
                continue
            tables.append(shard)
            store.failed.update(failures_of(shard))
        store._hold(tables)
        return store

    def _hold(self, tables: Sequence[pa.Table]) -> None:
        kept = [table.replace_schema_metadata(None) for table in tables if len(table)]
        if self.table is not None:
            kept.insert(0, self.table)
        if not kept:
            return
        self.table = pa.concat_tables(kept)
        self._row_of = {key: row for row, key in enumerate(self.table["key"].to_pylist())}
        self.failed = {key: reason for key, reason in self.failed.items() if key not in self._row_of}

    def missing(self, keys: Sequence[str]) -> list[str]:
        """Return the keys that are not held, each once, ascending."""
        return sorted({*keys} - self._row_of.keys())

    def rows(self, keys: Sequence[str]) -> NDArray[np.int64]:
        """Return int64 [n]: each key's row in ``table``, -1 where it is not held."""
        return np.array([self._row_of.get(key, -1) for key in keys], dtype=np.int64)

    def column(self, name: str) -> NDArray[Any]:
        """Return a column of lists as an array [n, d]; [0, 0] in an empty store."""
        return np.empty((0, 0), dtype=np.float32) if self.table is None else matrix(self.table, name)

    def chunks(self, keys: Sequence[str], size: int) -> list[list[str]]:
        """Return the missing keys in pieces, those that failed before in pieces of their own, last.

        So a run that goes on after a kill cuts the rest where the first one would have cut it.
        """
        missing = self.missing(keys)
        fresh = [key for key in missing if key not in self.failed]
        again = [key for key in missing if key in self.failed]
        return [part[at : at + size] for part in (fresh, again) for at in range(0, len(part), size)]

    def fill(self, chunks: Sequence[Sequence[str]], make: Callable[[Sequence[str]], Made]) -> Iterator[int]:
        """Make each chunk's rows and write them as a shard; yield how many keys each chunk had.

        Raises
        ------
        InputError
            The disk is full; what is written stays.
        """
        made = []
        for chunk in chunks:
            table, failures = make(chunk)
            self.failed.update(failures)
            write_shard(self.folder / f"{key_hash(chunk)}{SUFFIX}", table, self.identity, failures=failures)
            made.append(table)
            yield len(chunk)
        self._hold(made)
