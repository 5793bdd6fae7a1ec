"""Results that are whole or not there: files and folders are written aside and renamed once all is done."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from imagenet_errors.problems import InputError

_FIX = "Choose another --out."


def check_folder(out: Path) -> None:
    """Refuse a place where no folder can be.

    Raises
    ------
    InputError
        ``out`` is a file.
    """
    if out.exists() and not out.is_dir():
        raise InputError(out, "is a file, not a folder", fix=_FIX)


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Give a temporary name beside ``path``; what was written there is renamed if the block ends well.

    Raises
    ------
    OSError
        The file cannot be written; the caller knows what to tell.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield partial
        partial.replace(path)
    finally:
        with suppress(OSError):  # the folder itself may be what is wrong
            partial.unlink(missing_ok=True)


@contextmanager
def staged_beside(out: Path) -> Iterator[Path]:
    """Give an empty folder beside ``out``, on the same disk, and remove it in the end, whatever happens.

    Raises
    ------
    InputError
        ``out`` is a file, or cannot be written to.
    """
    check_folder(out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        staged = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    except OSError as error:
        raise InputError(out, f"cannot be written: {error.strerror}", fix=_FIX) from None
    try:
        yield staged
    finally:
        shutil.rmtree(staged, ignore_errors=True)


@contextmanager
def writing_folder(out: Path) -> Iterator[Path]:
    """Give an empty folder beside ``out``; its files are renamed into ``out`` if the block ends well.

    Files of the same names there are replaced, others are left alone.

    Raises
    ------
    InputError
        ``out`` is a file, or cannot be written to.
    """
    with staged_beside(out) as staged:
        yield staged
        out.mkdir(exist_ok=True)
        for path in sorted(staged.iterdir()):
            path.replace(out / path.name)
