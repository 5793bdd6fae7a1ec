"""Shards: the pieces of a long computation on disk. Each is whole and proven by its content, or done again.

A shard is an Arrow file: readable by memory map, written under a temporary name, synced and renamed. Its metadata
name what made it (the encoder above all) and the sha256 of its columns. A folder of shards is a store of one row a key
(an image, a name), which grows as more are asked for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.files import write_whole

SUFFIX = ".arrow"
KEPT = "Make room and run the same command again: what is done is kept."
"""The way out where a long computation cannot be written."""
_IDENTITY, _SHA256, _FAILURES = b"identity", b"sha256", b"failures"

Rows = tuple[pa.Table, list[tuple[str, str]]]
"""Rows for the keys that could be done, with the column ``key``; and (key, reason) for the others."""


class Identity(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a shard was made from: rows of another identity do not count."""

    kind: str
    encoder: str
    prompt: str = ""
    source: str = ""
    k: int = 0

    def as_bytes(self) -> bytes:
        """Return it as the shard's metadata hold it."""
        return msgspec.json.encode(self)


def write_shard(path: Path, table: pa.Table, identity: Identity, *, failures: Sequence[tuple[str, str]] = ()) -> None:
    """Write a table as one shard; ``failures``: (key, reason) of what it lacks.

    Raises
    ------
    InputError
        The disk is full, or the place cannot be written to.
    """
    table = table.combine_chunks()
    metadata = {
        _IDENTITY: identity.as_bytes(),
        _SHA256: _digest(table),
        _FAILURES: msgspec.json.encode(list(failures)),
    }
    named = table.replace_schema_metadata(metadata)

    def write(file: BinaryIO) -> None:
        with pa.ipc.new_file(file, named.schema) as writer:
            writer.write_table(named)

    write_whole(path, write, fix=KEPT)


def read_shard(path: Path, identity: Identity) -> pa.Table | None:
    """Return a shard's table, mapped into memory; None where it is absent, damaged, or of another making."""
    try:
        table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
        metadata = table.schema.metadata or {}
        is_ours = metadata.get(_IDENTITY) == identity.as_bytes()
        return table if is_ours and metadata[_SHA256] == _digest(table).encode() else None
    except (OSError, pa.ArrowException, KeyError, ValueError):
        return None


def encoder_stated(path: Path) -> str:
    """Return the encoder that a shard says it was made by; empty where it says nothing."""
    try:
        return msgspec.json.decode(_metadata_of(path).get(_IDENTITY, b""), type=Identity).encoder
    except msgspec.MsgspecError:
        return ""


def sha256_stated(path: Path) -> str:
    """Return the sha256 that a shard states of itself, not verified; empty where it states none."""
    return _metadata_of(path).get(_SHA256, b"").decode()


def failures_stated(path: Path) -> dict[str, str]:
    """Return key -> reason of what a shard says it lacks; one that is not there says nothing."""
    return _failures(_metadata_of(path)) if path.is_file() else {}


def _failures(metadata: dict[bytes, bytes]) -> dict[str, str]:
    return dict(msgspec.json.decode(metadata.get(_FAILURES, b"[]"), type=list[tuple[str, str]]))


def _metadata_of(path: Path) -> dict[bytes, bytes]:
    try:
        return pa.ipc.open_file(pa.memory_map(str(path))).schema.metadata or {}
    except (OSError, pa.ArrowException):
        return {}


def matrix(table: pa.Table, name: str) -> NDArray[Any]:
    """Return a column of fixed-size lists as an array [n, d]; no copy where the column is one piece."""
    column = table[name].combine_chunks()
    flat = column.flatten().to_numpy(zero_copy_only=False)
    return np.reshape(flat, (len(column), column.type.list_size))


def matrix_column(rows: NDArray[Any]) -> pa.FixedSizeListArray:
    """Return an array [n, d] as a column of fixed-size lists."""
    flat = pa.array(np.ascontiguousarray(rows).ravel())
    return pa.FixedSizeListArray.from_arrays(flat, rows.shape[1])


def key_hash(keys: Sequence[str]) -> str:
    """Return a short name for a list of keys in this order."""
    return hashlib.sha256("\0".join(keys).encode()).hexdigest()[:16]


def _digest(table: pa.Table) -> str:
    """Return the sha256 of the columns' names, types and values."""
    digest = hashlib.sha256()
    for column_field, column in zip(table.schema, table.columns, strict=True):
        digest.update(f"{column_field.name} {column_field.type} {len(column)}\n".encode())
        if pa.types.is_string(column_field.type):
            digest.update("\0".join(column.to_pylist()).encode())
        elif pa.types.is_fixed_size_list(column_field.type):
            digest.update(np.ascontiguousarray(matrix(table, column_field.name)).data)
        else:
            digest.update(np.ascontiguousarray(column.to_numpy()).data)
    return digest.hexdigest()


@dataclass
class KeyedStore:
    """Rows of one identity in one folder. ``table`` has the column ``key``, each key once."""

    folder: Path
    identity: Identity
    table: pa.Table | None = None
    failed: dict[str, str] = field(default_factory=dict)
    _row_of: dict[str, int] = field(default_factory=dict)

    @classmethod
    def open(cls, folder: Path, identity: Identity) -> KeyedStore:
        """Read and verify the folder's shards; damaged ones are removed, so that their rows are done again."""
        store = cls(folder, identity)
        tables = []
        for path in sorted(folder.glob(f"*{SUFFIX}")):
            shard = read_shard(path, identity)
            if shard is None:
                path.unlink(missing_ok=True)
                continue
            tables.append(shard)
            store.failed.update(_failures(shard.schema.metadata))
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

    @property
    def keys(self) -> list[str]:
        """The key of every row of ``table``."""
        keys: list[str] = [] if self.table is None else self.table["key"].to_pylist()
        return keys

    def column(self, name: str) -> NDArray[Any]:
        """Return a column of lists as an array [n, d], of numbers as one [n]; [0, 0] in an empty store."""
        if self.table is None:
            return np.empty((0, 0), dtype=np.float32)
        if pa.types.is_fixed_size_list(self.table.schema.field(name).type):
            return matrix(self.table, name)
        numbers: NDArray[Any] = self.table[name].to_numpy()
        return numbers

    def chunks(self, keys: Sequence[str], size: int) -> list[list[str]]:
        """Return the missing keys in pieces, those that failed before in pieces of their own, last.

        So a run that goes on after a kill cuts the rest where the first one would have cut it.
        """
        missing = self.missing(keys)
        fresh = [key for key in missing if key not in self.failed]
        again = [key for key in missing if key in self.failed]
        return [part[at : at + size] for part in (fresh, again) for at in range(0, len(part), size)]

    def fill(self, chunks: Sequence[Sequence[str]], make: Callable[[Sequence[str]], Rows]) -> Iterator[int]:
        """Make each chunk's rows and write them as a shard; yield how many keys each chunk had.

        Raises
        ------
        InputError
            The disk is full; what is written stays.
        """
        tables = []
        for chunk in chunks:
            table, failures = make(chunk)
            self.failed.update(failures)
            write_shard(self.folder / f"{key_hash(chunk)}{SUFFIX}", table, self.identity, failures=failures)
            tables.append(table)
            yield len(chunk)
        self._hold(tables)
