"""A file's bytes, read once: what is parsed, what is hashed and what is told of a file are the same bytes.

Pipes and ``/dev/stdin`` are read to their end; a named pipe that nobody writes to is refused after a moment. What
libraries raise on damaged bytes becomes one message that a person can act on."""

from __future__ import annotations

import hashlib
import io
import lzma
import mmap
import os
import select
import shutil
import stat
import struct
import tempfile
import tokenize
import zipfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from imagenet_errors.files import MORE_ROOM, unwritable
from imagenet_errors.problems import InputError, of_the_machine
from imagenet_errors.readers.unpacking import UNPACKERS

_HELD_UP_TO = 1 << 30
"""Bytes up to which a file is held in memory; of a larger one a copy of our own is mapped. The file itself never is: if
another program cut it short meanwhile, the system would end this one (SIGBUS)."""
_LARGEST_PIPE = 1 << 31
_PATIENCE_SECONDS = 5.0
"""How long the first bytes of a pipe are waited for; later ones as long as its writer lives."""
_PIECE = 1 << 20
_ALIGNED = 64
"""Bytes of a cache line: the system copies a file twice as fast to where one begins."""
ARRAY_START: bytes = np.lib.format.MAGIC_PREFIX
"""How an .npy file begins."""
_ALWAYS_UNPACKED = 1 << 26
_MOST_UNPACKED = 20
"""A packed text may unpack to 64 MB, a larger one to 20 times its size; predictions shrink to a tenth at best."""

_RAISED_ON_DAMAGE = (
    pa.ArrowException,
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    tokenize.TokenError,
    EOFError,
    KeyError,
    lzma.LZMAError,
    OSError,
    OverflowError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)
"""What pyarrow, numpy, zipfile and gzip were seen to raise on files cut short or overwritten."""


@dataclass(frozen=True, eq=False)
class Opened:
    """All bytes of a file. ``content`` is what is parsed: of a packed text the text, else the file itself."""

    path: Path
    content: memoryview
    packed: memoryview | None = None

    @cached_property
    def sha256(self) -> str:
        """The hash of the file as it lies on disk, in hexadecimal."""
        return hashlib.sha256(self.content if self.packed is None else self.packed).hexdigest()

    @property
    def head(self) -> bytes:
        """The first 4,096 bytes."""
        return bytes(self.content[:4096])

    @property
    def text(self) -> bytes:
        """The content as bytes, copied only where it is part of something longer or of another kind."""
        whole = self.content.obj
        return whole if isinstance(whole, bytes) and len(whole) == len(self.content) else bytes(self.content)

    def stream(self) -> io.BufferedReader:
        """Return the content as a file object of its own."""
        return io.BufferedReader(_Stream(self.content))

    @property
    def packed_by(self) -> str:
        """The kind of compression that the file begins like; empty for none."""
        return next((kind for kind, (magic, _) in UNPACKERS.items() if self.head.startswith(magic)), "")

    def unpacked(self) -> Opened:
        """Return the file with its content unpacked.

        Raises
        ------
        InputError
            It is damaged, or unpacks to far more than predictions do.
        """
        limit = max(_ALWAYS_UNPACKED, _MOST_UNPACKED * len(self.content))
        _, unpacker = UNPACKERS[self.packed_by]
        with refusing_damage(self.path):
            text = unpacker(self.content, limit)
        if text is None:
            raise InputError(
                self.path,
                f"{len(self.content):,} bytes that unpack to more than {limit:,}",
                fix="No predictions shrink so much: is the file whole? If it is, unpack it first.",
            )
        return replace(self, content=memoryview(text), packed=self.content)

    def zipped(self, endings: Collection[str]) -> Opened:
        """Return the only file in a zip archive, if it has one of the endings; else the archive.

        Raises
        ------
        InputError
            It is damaged, or unpacks to far more than predictions do.
        """
        if not self.head.startswith(b"PK\x03\x04"):
            return self
        with refusing_damage(self.path), zipfile.ZipFile(self.stream()) as archive:
            files = (one for one in archive.infolist() if not one.is_dir())
            entries = [one for one in files if not one.filename.startswith("__MACOSX")]
            if len(entries) != 1 or Path(entries[0].filename).suffix.lower() not in endings:
                return self
            limit = max(_ALWAYS_UNPACKED, _MOST_UNPACKED * len(self.content))
            with archive.open(entries[0]) as inner:
                text = inner.read(limit + 1)
        if len(text) > limit:
            raise InputError(self.path, f"a file that unpacks to more than {limit:,} bytes", fix="Unpack it first.")
        return replace(self, content=memoryview(text), packed=self.content)


class _Stream(io.RawIOBase):
    """Reads a memoryview as a file."""

    def __init__(self, content: memoryview) -> None:
        self._content = content
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        start = (0, self._at, len(self._content))[whence]
        self._at = max(0, start + offset)
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        part = self._content[self._at : self._at + len(buffer)]
        buffer[: len(part)] = part
        self._at += len(part)
        return len(part)


@contextmanager
def opened(path: Path) -> Iterator[Opened]:
    """Read a file once.

    Raises
    ------
    InputError
        There is none, it is a folder, a terminal or a pipe without a writer, or it changed while it was read.
    """
    with unchanged(path) as (file, facts):
        yield Opened(path, memoryview(_content(file, facts, path)))


@contextmanager
def unchanged(path: Path) -> Iterator[tuple[io.FileIO, os.stat_result]]:
    """Open a file, and refuse it in the end if it changed meanwhile."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        what = "a link to nothing" if path.is_symlink() else "there is no such file"
        raise InputError(path, what, fix="Check the path.") from None
    except OSError as problem:
        raise InputError(path, f"the file cannot be opened: {problem.strerror}", fix="Check the path.") from problem
    before = os.fstat(handle)
    if stat.S_ISDIR(before.st_mode):
        os.close(handle)
        raise InputError(path, "this is a folder, not a file", fix="Name the files in it.")
    with os.fdopen(handle, "rb", buffering=0) as file:
        try:
            yield file, before
        except InputError as error:
            if _is_changed(before, os.fstat(handle)):  # what is amiss in it may be no more than that
                raise changed(path) from error
            raise
        if _is_changed(before, os.fstat(handle)):
            raise changed(path)


def _is_changed(before: os.stat_result, after: os.stat_result) -> bool:
    return stat.S_ISREG(before.st_mode) and state_of(before) != state_of(after)


def state_of(facts: os.stat_result) -> tuple[int, int]:
    """Return what changes with a file's content: its size in bytes, and when it was written, in nanoseconds."""
    return facts.st_size, facts.st_mtime_ns


def changed(path: Path) -> InputError:
    """Return what to tell of a file that is written to while it is read."""
    return InputError(path, "the file changed while it was read", fix="Wait until it is written, then try again.")


def _content(file: io.FileIO, facts: os.stat_result, path: Path) -> bytes | mmap.mmap | memoryview:
    if not stat.S_ISREG(facts.st_mode):
        return _from_pipe(file, path)
    if facts.st_size > _HELD_UP_TO:
        return _own_copy(file)
    is_array = file.read(len(ARRAY_START)) == ARRAY_START
    file.seek(0)
    return _array_file(file, facts.st_size) if is_array else file.readall()


def _array_file(file: io.FileIO, n_bytes: int) -> memoryview:
    """Return a file of numbers in memory of numpy's, which has large pages: that halves the time to read it."""
    content = cache_aligned(n_bytes)
    n_read = 0
    while n_new := file.readinto(content[n_read:]):
        n_read += n_new
    return content[:n_read].toreadonly()


def cache_aligned(n_bytes: int) -> memoryview:
    """Return memory that begins where a cache line does, with whatever is in it."""
    memory = np.empty(n_bytes + _ALIGNED, dtype=np.uint8)
    start = -memory.__array_interface__["data"][0] % _ALIGNED
    return memory[start : start + n_bytes].data


def _own_copy(file: io.FileIO) -> bytes | mmap.mmap:
    """Map a copy without a name on the disk for temporary files, which goes with the map."""
    try:
        with tempfile.TemporaryFile() as copy:
            shutil.copyfileobj(file, copy, _PIECE)
            copy.flush()
            return mmap.mmap(copy.fileno(), 0, access=mmap.ACCESS_READ) if copy.tell() else b""
    except OSError as error:
        raise unwritable(Path(tempfile.gettempdir()), error, fix=MORE_ROOM) from None


def _from_pipe(file: io.FileIO, path: Path) -> bytes:
    if file.isatty() or not stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
        raise InputError(path, "is no file, and not a pipe either", fix="Write the predictions to a file.")
    poll = select.poll()
    poll.register(file, select.POLLIN | select.POLLHUP)
    parts: list[bytes] = []
    n_bytes = 0
    while poll.poll(None if parts else _PATIENCE_SECONDS * 10**3):
        part = file.read(_PIECE)
        if not part:
            return b"".join(parts)
        parts.append(part)
        n_bytes += len(part)
        if n_bytes > _LARGEST_PIPE:
            raise InputError(path, f"more than {_LARGEST_PIPE:,} bytes from a pipe", fix="Write them to a file.")
    raise InputError(path, "nothing is written to this pipe", fix="Write the predictions to a file.")


@contextmanager
def refusing_damage(path: Path | str) -> Iterator[None]:
    """Wrap calls into a format library: whatever it raises becomes an InputError.

    Keep the block to those calls, so that a slip of our own is not taken for a broken file.

    Raises
    ------
    InputError
        The library could not read the file.
    """
    try:
        yield
    except MemoryError as problem:
        raise InputError(
            path,
            "reading it needs more memory than there is",
            example=str(problem)[:160] or None,
            fix="Read it where there is more memory.",
        ) from problem
    except _RAISED_ON_DAMAGE as problem:
        if (machine := of_the_machine(problem, path)) is not None:
            raise machine from problem
        detail = (str(problem).splitlines() or [type(problem).__name__])[0]
        raise InputError(
            path,
            "the file is cut short or damaged",
            example=detail[:160],
            fix="Copy it again, or write it again from the model's outputs.",
        ) from problem
