"""The one exception that people are meant to read: where, what, how many, the first example, the way out."""

from __future__ import annotations

from pathlib import Path
from typing import Any


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


def counted(n: int, noun: str, plural: str = "") -> str:
    """Return ``'1 row'`` or ``'2,000 rows'``."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"
