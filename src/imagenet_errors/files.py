"""Results that are whole or not there: files and folders are written aside and renamed once all is done.

What is written aside is named ``.NAME.HOST-PID-RANDOM.partial``: nobody can guess it, it is created exclusively, and
the next run sees from it that the process which wrote it has died, and removes it. A run keeps its place to itself by
a lock that goes with the process, however that ends.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
import re
import secrets
import shutil
import socket
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from imagenet_errors.problems import InputError

_FIX = "Choose another --out."
MORE_ROOM = "Make room there, or set TMPDIR to a folder on a larger disk."
"""The way out where the disk for temporary files is full."""
_HOST = f"{zlib.crc32(socket.gethostname().encode()):08x}"
_PARTIAL = re.compile(r"\.(?P<name>.+)\.(?P<host>[0-9a-f]{8})-(?P<pid>\d+)-(?P<token>[0-9a-f]{16})\.partial")
_LONGEST_NAME = 64
"""Characters of a name that its temporary name repeats: together they must stay below 255 bytes."""
_FOREIGN_SECONDS = 24 * 3600
"""How old another machine's unfinished file must be to count as left behind."""
_FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|\t")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_open_tokens: set[str] = set()
"""Of this process's own unfinished files; after a restart in a container its number may be the same again."""


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_folder(out: Path) -> None:
    """Refuse a place where no folder can be.

    Raises
    ------
    InputError
        ``out`` is a file, or the root of all.
    """
    if out.exists() and not out.is_dir():
        raise InputError(out, "is a file, not a folder", fix=_FIX)
    if not out.resolve().name:
        raise InputError(out, "is the whole disk", fix=_FIX)


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Keep other runs out of a file or folder of results until the block ends; may be nested.

    Raises
    ------
    InputError
        Another run is at work there, or its folder cannot be written to.
    """
    from filelock import FileLock, Timeout

    place = out.resolve()
    path = place.with_name(f".{_short(place.name)}.lock")
    lock = FileLock(path, timeout=0, is_singleton=True, thread_local=False)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise InputError(
            out, "another run is at work here", fix="Wait for it to end, or choose another --out."
        ) from None
    except OSError as error:
        raise unwritable(out, error) from None
    try:
        yield
    finally:
        if lock.lock_counter == 1:
            with suppress(OSError):  # Windows removes no file that is open
                path.unlink()
        lock.release()


@contextmanager
def written_whole(path: Path, *, synced: bool = False) -> Iterator[Path]:
    """Give a temporary name beside ``path``; what was written there is renamed if the block ends well.

    ``synced``: on the disk before it is renamed, so that it is whole even after a loss of power.

    Raises
    ------
    OSError
        The file cannot be written; the caller knows what to tell.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(path.parent, path.name)
    with _aside(path) as partial:
        partial.touch(exist_ok=False)
        yield partial
        if synced:
            _sync(partial)
        partial.replace(path)
        if synced:
            _sync(path.parent)


def write_whole(path: Path, content: bytes | Callable[[BinaryIO], object], *, fix: str = _FIX) -> None:
    """Write a file, given as bytes or by what writes them, so that it is there whole or not at all.

    Raises
    ------
    InputError
        The disk is full, or the place cannot be written to; what was there stays.
    """
    try:
        with written_whole(path, synced=True) as partial, partial.open("wb") as file:
            if isinstance(content, bytes):
                file.write(content)
            else:
                content(file)
    except OSError as error:
        raise unwritable(path, error, fix=fix) from None


@contextmanager
def staged_beside(out: Path) -> Iterator[Path]:
    """Give an empty folder beside ``out``, on the same disk, and remove it in the end, whatever happens.

    Other runs are kept out of ``out`` meanwhile.

    Raises
    ------
    InputError
        ``out`` is a file, cannot be written to, or another run is at work there.
    """
    check_folder(out)
    place = out.resolve()
    with locked(out), _aside(place) as staged:
        try:
            remove_leftovers(place.parent, place.name)
            staged.mkdir()
        except OSError as error:
            raise unwritable(out, error) from None
        yield staged


@contextmanager
def writing_folder(out: Path) -> Iterator[Path]:
    """Give an empty folder beside ``out``; its files are renamed into ``out`` if the block ends well.

    Files of the same names there are replaced, others are left alone.

    Raises
    ------
    InputError
        ``out`` is a file, cannot be written to, or the disk is full; nothing is changed then.
    """
    with staged_beside(out) as staged:
        try:
            yield staged
            out.mkdir(exist_ok=True)
            for path in sorted(staged.iterdir()):
                path.replace(out / path.name)
        except OSError as error:
            raise unwritable(out, error) from None


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV that a spreadsheet takes for texts and numbers, never for formulas.

    A text that would be one gets an apostrophe before it; None is an empty cell.
    """
    sink = io.StringIO()
    csv.writer(sink, lineterminator="\n").writerows([_no_formula(cell) for cell in row] for row in rows)
    return sink.getvalue()


def _no_formula(cell: object) -> object:
    if not isinstance(cell, str):
        return cell
    text = cell.replace("\r", " ")  # Python 3.11 does not quote it
    is_formula = _FORMULA.match(text) is not None and _NUMBER.fullmatch(text) is None
    return f"'{text}" if is_formula else text


def unwritable(path: Path, error: OSError, *, fix: str = _FIX) -> InputError:
    """Return the one way to tell that a place cannot be written to."""
    return InputError(path, f"cannot be written: {error.strerror or error}", fix=fix)


def remove_leftovers(folder: Path, name: str | None = None, *, below: bool = False) -> None:
    """Remove what killed runs left unfinished in a folder: of one name or of any, in its subfolders too if asked."""
    pattern = ".*.partial" if name is None else f".{_escaped(_short(name))}.*.partial"
    for path in list((folder.rglob if below else folder.glob)(pattern)):
        if _is_left_behind(path):
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else _remove(path)


@contextmanager
def _aside(path: Path) -> Iterator[Path]:
    """Give a name beside ``path`` that does not exist; remove what stands there in the end."""
    token = secrets.token_hex(8)
    partial = path.with_name(f".{_short(path.name)}.{_HOST}-{os.getpid()}-{token}.partial")
    _open_tokens.add(token)
    try:
        yield partial
    finally:
        shutil.rmtree(partial, ignore_errors=True) if partial.is_dir() else _remove(partial)
        _open_tokens.discard(token)


def _remove(path: Path) -> None:
    with suppress(OSError):  # the folder itself may be what is wrong
        path.unlink(missing_ok=True)


def _short(name: str) -> str:
    return name.encode()[:_LONGEST_NAME].decode(errors="ignore")


def _escaped(name: str) -> str:
    return re.sub(r"([*?[])", r"[\1]", name)


def _is_left_behind(path: Path) -> bool:
    """Tell whether the process that wrote a partial file or folder has ended."""
    named = _PARTIAL.fullmatch(path.name)
    if named is None:
        return False
    if named["host"] != _HOST:
        with suppress(OSError):
            return time.time() - path.stat().st_mtime > _FOREIGN_SECONDS
        return False
    if int(named["pid"]) == os.getpid():
        return named["token"] not in _open_tokens
    return not _is_alive(int(named["pid"]))


def _is_alive(pid: int) -> bool:
    if os.name == "nt":  # there, signal 0 would end the process; and what is open cannot be removed
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _sync(path: Path) -> None:
    """Bring a file's content, or a folder's names, onto the disk; not every system can for folders."""
    is_folder = path.is_dir()
    try:
        handle = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError:
        if not is_folder:
            raise
