"""What was found out about a column lately is not found out again: files of one data set name the same images."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import pyarrow as pa

_MOST_KEPT = 4

Key = TypeVar("Key")
Others = ParamSpec("Others")
Result = TypeVar("Result")


def remembered(
    work: Callable[Concatenate[Key, Others], Result], *, n_kept: int = _MOST_KEPT
) -> Callable[Concatenate[Key, Others], Result]:
    """Let a function return what it gave for the very same objects (by identity) in one of its last few calls.

    Arguments by position are compared, those by name are not: they may only tell where a fault lies. May be called
    from several threads. What it returns must not be changed.
    """
    kept: list[tuple[tuple[Any, ...], Result]] = []

    @wraps(work)
    def recall(*given: Any, **words: Any) -> Result:
        for known, result in kept:
            if len(known) == len(given) and all(one is other for one, other in zip(known, given, strict=True)):
                return result
        result = work(*given, **words)
        kept[:] = [(given, result), *kept[: n_kept - 1]]
        return result

    return recall


class SameColumns:
    """Gives one and the same object for columns of equal content, as long as they come within a few of each other."""

    def __init__(self) -> None:
        self._kept: list[pa.Array] = []

    def __call__(self, column: pa.Array) -> pa.Array:
        """Return the column that was given earlier, if it is equal to this one; else this one."""
        for known in self._kept:
            if known is column or known.equals(column):
                return known
        self._kept = [column, *self._kept[: _MOST_KEPT - 1]]
        return column


shared = SameColumns()
"""Of all files read in this process."""
