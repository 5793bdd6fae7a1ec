"""The one exception that people are meant to read: where, what, how many, the first example, the way out."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path
from typing import Any

_UNPRINTABLE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters but for the newline, what turns the direction of text around, and halves of characters."""
_FOLDERS = re.compile(r"(?<![\w.:/\\])(?:/|[A-Za-z]:\\)(?:[^/\\\s:'\"()]+[/\\])+")
_OF_THE_MACHINE = {
    getattr(errno, name)
    for name in ("ENOMEM", "ENOSPC", "EDQUOT", "EFBIG", "EMFILE", "ENFILE", "EROFS")
    if hasattr(errno, name)
}


class InputError(Exception):
    """Something the user gave cannot be used; the text says where, what, the first example and the way out.

    Parameters
    ----------
    where
        The file, flag or table at fault, as the user knows it.
    what
        What is wrong, with the count if more than one thing is.
    example
        The first offender, shown as ``(first: ...)``.
    fix
        What to do about it: a full sentence.

    Example
    -------
    >>> str(InputError("vit.csv", "no prediction for 2 of 9 images", example="b.JPEG", fix="Predict them again."))
    'vit.csv: no prediction for 2 of 9 images (first: b.JPEG). Predict them again.'
    """

    def __init__(self, where: Path | str, what: str, *, example: object = None, fix: str = "") -> None:
        self.where = str(where)
        self.what = what
        self.example = None if example is None else str(example)
        self.fix = fix
        first = "" if example is None else f" (first: {example})"
        super().__init__(f"{where}: {what}{first}. {fix}".rstrip())

    def __reduce__(self) -> tuple[Any, ...]:
        """Let a worker process send it, whatever a subclass is made from."""
        return _revived, (type(self), self.args, self.__dict__)


def _revived(kind: type[InputError], texts: tuple[str, ...], facts: dict[str, Any]) -> InputError:
    error = kind.__new__(kind)
    error.args, error.__dict__ = texts, facts
    return error


def refuse_absent(path: Path, *, what: str = "no such file", fix: str = "Check the path.") -> None:
    """Refuse a path where nothing is, and a pipe or device, which can be read but once, if it ever ends.

    Raises
    ------
    InputError
        It leads to no file and no folder.
    """
    if not path.exists():
        raise InputError(path, what, fix=fix)
    if not path.is_file() and not path.is_dir():
        raise InputError(path, "is a pipe or a device, no file", fix="Write its content to a file, and name that.")


def refuse_below(where: str, number: float, least: float) -> None:
    """Refuse a number that is too small.

    Raises
    ------
    InputError
        It is below ``least``.
    """
    if number < least:
        raise InputError(where, f"{number} is below {least}", fix=f"Pass {least} or more.")


def counted(n: int, noun: str, plural: str = "") -> str:
    """Return ``'1 row'`` or ``'2,000 rows'``."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def printable(text: str) -> str:
    """Return text that cannot give a terminal orders: what is unprintable as its number, in JSON the same text.

    >>> print(printable(chr(27) + "[2J"))
    \\u001b[2J
    """
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def written(path: Path | str) -> str:
    """Return a path as text that can be stored; bytes in it that are no UTF-8 as their numbers."""
    return os.fsencode(path).decode(errors="backslashreplace")


def without_folders(text: str, file: str = "") -> str:
    """Return a message for others to read: absolute paths in it, ``file``'s before all, shortened to their last part.

    >>> without_folders("/home/me/preds/vit.csv: no rows")
    'vit.csv: no rows'
    """
    folder, name = os.path.split(file)
    return _FOLDERS.sub("", text.replace(file, name) if folder else text)


def names_a_file(name: str) -> bool:
    """Tell whether a model's name can be a file's, in its folder and nowhere else."""
    return name not in ("", ".", "..") and not set(name) & {"/", "\\", "\0"}


def of_the_machine(error: BaseException, where: Path | str) -> InputError | None:
    """Return what to tell of a fault of the machine (no memory, a full disk, too many files), None of any other."""
    if isinstance(error, MemoryError):
        fix = "Try again where there is more, or with fewer things at once."
        return InputError(where, "memory ran out while it was read", fix=fix)
    if isinstance(error, OSError) and error.errno in _OF_THE_MACHINE:
        return InputError(where, f"{error.strerror}", fix="Make room, then try again.")
    return None
