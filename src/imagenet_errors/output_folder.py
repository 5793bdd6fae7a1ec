"""A folder of results that is whole or not there: files are written aside and renamed once all are done."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
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
