"""Tables that take long to make of files, kept in the user's cache under the hash of what they were made of.

Whatever is wrong with the cache costs time only: what cannot be read is made again, what cannot be written is not kept.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from imagenet_errors import __version__
from imagenet_errors.files import written_whole

CACHE_VARIABLE = "IMAGENET_ERRORS_CACHE"
_FOLDER = "prepared"
_MOST_KEPT = 32
_DIGEST_BYTES = 32


def cache_folder() -> Path:
    """Return the folder for what can be had again: ``$IMAGENET_ERRORS_CACHE``, or the user's cache."""
    import platformdirs

    own = os.environ.get(CACHE_VARIABLE)
    return Path(own) if own else Path(platformdirs.user_cache_dir("imagenet-errors"))


def stamp(paths: Iterable[Path]) -> str:
    """Return a text that changes when one of these files, which are the program's own, is another one."""
    facts = [(path.name, path.stat()) for path in sorted(paths)]
    return "\n".join(f"{name} {fact.st_size} {fact.st_mtime_ns}" for name, fact in facts)


def content(column: pa.Array) -> bytes:
    """Return all that an array holds, as bytes that two arrays share only if they are equal."""
    whole: bytes = pa.record_batch([column], ["column"]).serialize().to_pybytes()
    return whole


def prepared(made_of: Iterable[str | bytes], make: Callable[[], pa.Table]) -> pa.Table:
    """Return a table that was kept for the same ``made_of``, or make it and keep it; safe for several processes.

    ``made_of``: all that the table depends on, the code that makes it included, as texts, bytes or hashes of them.
    """
    key = hashlib.sha256(__version__.encode())
    for part in made_of:
        key.update(hashlib.sha256(part.encode() if isinstance(part, str) else part).digest())
    path = cache_folder() / _FOLDER / f"{key.hexdigest()}.arrow"
    kept = _kept(path)
    if kept is None:
        kept = make()
        with suppress(OSError):  # a home that is read-only, or full
            _keep(kept, path)
    return kept


def _kept(path: Path) -> pa.Table | None:
    with suppress(OSError, pa.ArrowException):
        content = pa.py_buffer(path.read_bytes())
        body = content.slice(_DIGEST_BYTES)
        if hashlib.sha256(body).digest() == content.slice(0, _DIGEST_BYTES).to_pybytes():
            return pa.ipc.open_stream(body).read_all()
    return None


def _keep(table: pa.Table, path: Path) -> None:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    body = sink.getvalue()
    with written_whole(path) as partial, partial.open("wb") as file:
        file.write(hashlib.sha256(body).digest())
        file.write(body)
    for old in sorted(path.parent.glob("*.arrow"), key=lambda each: each.stat().st_mtime)[:-_MOST_KEPT]:
        old.unlink(missing_ok=True)
