"""A file's bytes, read once: what is parsed, what is hashed and what is told of a file are the same bytes.

Pipes and ``/dev/stdin`` are read to their end; a named pipe that nobody writes to is refused after a moment. What
libraries raise on damaged bytes becomes one message that a person can act on."""

from __future__ import annotations

import bz2
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
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from imagenet_errors.files import MORE_ROOM, unwritable
from imagenet_errors.problems import InputError, of_the_machine

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
_ARRAY_HEAD = (1 << 21) + (1 << 17)
"""Bytes of an .npy file that are kept: its header and the first block of rows, which tells what the others are."""
_PACKED_PIECE = 1 << 14
"""Bytes that are unpacked at once: to 16 MB at most."""
_MOST_DEFLATED = 1032
"""Bytes of text that a packed one can stand for at best; files that state more are cut short."""
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
        return next((kind for kind, (magic, _) in _UNPACKERS.items() if self.head.startswith(magic)), "")

    def unpacked(self) -> Opened:
        """Return the file with its content unpacked.

        Raises
        ------
        InputError
            It is damaged, or unpacks to far more than predictions do.
        """
        limit = max(_ALWAYS_UNPACKED, _MOST_UNPACKED * len(self.content))
        _, unpacker = _UNPACKERS[self.packed_by]
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


def _gunzipped(packed: memoryview, limit: int) -> bytes | None:
    """Return the text of all members, None if it is longer than the limit; zeros after a member are passed over.

    Raises
    ------
    EOFError
        The last member is cut short.
    """
    n_stated = int.from_bytes(packed[-4:], "little")  # of the last member; what no packing reaches was cut short
    if limit < n_stated <= _MOST_DEFLATED * len(packed):
        return None
    pieces: list[bytes] = []
    at, n_bytes = 0, 0
    while at < len(packed):
        unpack = zlib.decompressobj(wbits=31)
        while not unpack.eof:
            part = packed[at : at + _PACKED_PIECE]
            if not len(part):
                raise EOFError(_CUT_SHORT)
            pieces.append(unpack.decompress(part))
            at += len(part) - len(unpack.unused_data)
            n_bytes += len(pieces[-1])
            if n_bytes > limit:
                return None
        if at < len(packed) and not packed[at]:
            at = len(packed) - len(bytes(packed[at:]).lstrip(b"\0"))
    return b"".join(pieces)


def _streamed(packed: memoryview, limit: int, start: Callable[[], Any]) -> bytearray | None:
    """Return the text of streams that lie one behind another, None if it is longer than the limit."""
    text, rest = bytearray(), packed
    while len(rest):
        unpack = start()
        text += unpack.decompress(rest, limit + 1 - len(text))
        if len(text) > limit:
            return None
        if not unpack.eof:
            raise EOFError(_CUT_SHORT)
        rest = unpack.unused_data.lstrip(b"\0")
    return text


def _from_zstd(packed: memoryview, limit: int) -> bytes | None:
    with pa.input_stream(pa.py_buffer(packed), compression="zstd") as stream:
        text = bytes(stream.read(limit + 1))
    return None if len(text) > limit else text


_CUT_SHORT = "compressed file ended before the end-of-stream marker was reached"
_UNPACKERS: dict[str, tuple[bytes, Callable[[memoryview, int], bytes | bytearray | None]]] = {
    "gzip": (b"\x1f\x8b", _gunzipped),
    "bzip2": (b"BZh", lambda packed, limit: _streamed(packed, limit, bz2.BZ2Decompressor)),
    "xz": (b"\xfd7zXZ", lambda packed, limit: _streamed(packed, limit, lzma.LZMADecompressor)),
    "zstd": (b"\x28\xb5\x2f\xfd", _from_zstd),
}
"""Kind -> how its files begin, and what unpacks them up to a limit of bytes."""


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


class ArrayFile:
    """An .npy file that is read and hashed a block at a time: what is hashed are the bytes that were handed out.

    ``start``: its first bytes, read once and kept, for they are looked at before the others. ``sha256``: of all bytes;
    empty before :meth:`blocks` was gone through to its end.
    """

    def __init__(self, path: Path, file: io.FileIO, n_bytes: int) -> None:
        self.path = path
        self.n_bytes = n_bytes
        self.start = file.read(_ARRAY_HEAD)
        self.sha256 = ""
        self._file = file

    def blocks(self, sizes: Sequence[int]) -> Iterator[memoryview]:
        """Yield the file in blocks of these sizes in bytes, its size together; each is gone with the next.

        Raises
        ------
        InputError
            The file was cut short meanwhile, or its bytes are others than those of an earlier pass.
        """
        digest, n_read = hashlib.sha256(), 0
        memory = _cache_aligned(max(sizes))
        for size in sizes:
            block = memory[:size]
            self._read_into(block, n_read)
            n_read += size
            digest.update(block)
            yield block.toreadonly()
        if self.sha256 not in ("", digest.hexdigest()):
            raise changed(self.path)
        self.sha256 = digest.hexdigest()

    def _read_into(self, block: memoryview, at: int) -> None:
        known = self.start[at : at + len(block)]
        block[: len(known)] = known
        left = block[len(known) :]
        self._file.seek(at + len(known))
        while len(left):
            n_new = self._file.readinto(left)
            if not n_new:
                raise changed(self.path)
            left = left[n_new:]


@contextmanager
def opened_array(path: Path) -> Iterator[ArrayFile | None]:
    """Open an .npy file to read it a block at a time; None of any other file.

    Raises
    ------
    InputError
        As of :func:`opened`.
    """
    if not path.is_file():  # what is read of a pipe is gone from it
        yield None
        return
    with _unchanged(path) as (file, facts):
        is_array = file.read(len(ARRAY_START)) == ARRAY_START
        file.seek(0)
        yield ArrayFile(path, file, facts.st_size) if is_array else None


@contextmanager
def opened(path: Path) -> Iterator[Opened]:
    """Read a file once.

    Raises
    ------
    InputError
        There is none, it is a folder, a terminal or a pipe without a writer, or it changed while it was read.
    """
    with _unchanged(path) as (file, facts):
        yield Opened(path, memoryview(_content(file, facts, path)))


@contextmanager
def _unchanged(path: Path) -> Iterator[tuple[io.FileIO, os.stat_result]]:
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
    content = _cache_aligned(n_bytes)
    n_read = 0
    while n_new := file.readinto(content[n_read:]):
        n_read += n_new
    return content[:n_read].toreadonly()


def _cache_aligned(n_bytes: int) -> memoryview:
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
