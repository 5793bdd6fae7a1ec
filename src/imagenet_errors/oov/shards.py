"""Shards: the pieces of a long computation on disk. Each is whole and proven by its content, or done again.

A shard is an Arrow file: readable by memory map, written under a temporary name, synced and renamed. Its metadata
name what made it (the encoder above all) and the sha256 of its columns.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.problems import InputError

SUFFIX = ".arrow"
_PARTIAL = ".partial"
_IDENTITY, _SHA256, _FAILURES = b"identity", b"sha256", b"failures"


def write_atomically(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file so that it is there whole or not at all, even if power fails.

    Raises
    ------
    InputError
        The disk is full, or the place cannot be written to; what was there stays.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}{_PARTIAL}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        raise InputError(
            path,
            f"cannot be written: {error.strerror or error}",
            fix="Make room and run the same command again: what is done is kept.",
        ) from None
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):  # not every file system lets a folder be synced
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def sweep(folder: Path, table: Path) -> None:
    """Remove what killed runs left half-written under a folder, and of a table that lies elsewhere."""
    for partial in (*folder.rglob(f".*{_PARTIAL}"), *table.parent.glob(f".{table.name}.*{_PARTIAL}")):
        partial.unlink(missing_ok=True)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep a second run out of a folder; the lock goes with the process, however it ends.

    Raises
    ------
    InputError
        Another run holds it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # Windows has no fcntl: there, two runs at once are the user's care
            pass
        except OSError:
            raise InputError(folder, "another run is at work here", fix="Wait for it to end.") from None
        yield


def write_shard(
    path: Path, table: pa.Table, identity: Mapping[str, Any], *, failures: Sequence[tuple[str, str]] = ()
) -> None:
    """Write a table as one shard; ``failures``: (key, reason) of what it lacks.

    Raises
    ------
    InputError
        The disk is full, or the place cannot be written to.
    """
    table = table.combine_chunks()
    metadata = {
        _IDENTITY: _as_text(identity),
        _SHA256: _digest(table),
        _FAILURES: json.dumps(list(failures)),
    }
    named = table.replace_schema_metadata(metadata)

    def write(file: BinaryIO) -> None:
        with pa.ipc.new_file(file, named.schema) as writer:
            writer.write_table(named)

    write_atomically(path, write)


def read_shard(path: Path, identity: Mapping[str, Any]) -> pa.Table | None:
    """Return a shard's table, mapped into memory; None where it is absent, damaged, or of another making."""
    try:
        table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
        metadata = table.schema.metadata or {}
        is_ours = metadata.get(_IDENTITY) == _as_text(identity).encode()
        return table if is_ours and metadata[_SHA256] == _digest(table).encode() else None
    except (OSError, pa.ArrowException, KeyError, ValueError):
        return None


def identity_of(path: Path) -> dict[str, Any]:
    """Return what a shard says it was made from; empty where it says nothing."""
    try:
        content: dict[str, Any] = json.loads(_metadata_of(path).get(_IDENTITY, b"{}"))
    except ValueError:
        return {}
    return content


def sha256_stated(path: Path) -> str:
    """Return the sha256 that a shard states of itself, not verified; empty where it states none."""
    return _metadata_of(path).get(_SHA256, b"").decode()


def _metadata_of(path: Path) -> dict[bytes, bytes]:
    try:
        return pa.ipc.open_file(pa.memory_map(str(path))).schema.metadata or {}
    except (OSError, pa.ArrowException):
        return {}


def failures_of(shard: pa.Table) -> dict[str, str]:
    """Return key -> reason of what a shard lacks."""
    return dict(json.loads(shard.schema.metadata[_FAILURES]))


def failures_stated(paths: Sequence[Path]) -> dict[str, str]:
    """Return key -> reason of what shards say they lack; those that are not there say nothing."""
    stated = (json.loads(_metadata_of(path).get(_FAILURES, b"[]")) for path in paths if path.is_file())
    return {key: reason for failures in stated for key, reason in failures}


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


def _as_text(identity: Mapping[str, Any]) -> str:
    return json.dumps(identity, sort_keys=True)


def _digest(table: pa.Table) -> str:
    """Return the sha256 of the columns' names, types and values."""
    digest = hashlib.sha256()
    for field, column in zip(table.schema, table.columns, strict=True):
        digest.update(f"{field.name} {field.type} {len(column)}\n".encode())
        if pa.types.is_string(field.type):
            digest.update("\0".join(column.to_pylist()).encode())
        elif pa.types.is_fixed_size_list(field.type):
            digest.update(np.ascontiguousarray(matrix(table, field.name)).data)
        else:
            digest.update(np.ascontiguousarray(column.to_numpy()).data)
    return digest.hexdigest()
