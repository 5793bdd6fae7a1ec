"""The roles that columns can play, and what is asked of a column before it plays one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
import pyarrow as pa

from imagenet_errors.problems import InputError
from imagenet_errors.readers.contents import Content
from imagenet_errors.readers.fields import WIDE, Field
from imagenet_errors.readers.headers import Meaning

ROLES = ("name", "index", "label", "confidence", "scores")
ROW_NUMBERS_FROM = 10
"""A column ``index`` that just counts is taken for row numbers from this many rows on."""


@dataclass(frozen=True, eq=False)
class Claim:
    """Fields that may state the predicted class: an index, a text, or both of one prediction."""

    index: Field | None
    label: Field | None

    @property
    def header(self) -> str:
        """The header it goes by."""
        return next(field.header for field in (self.index, self.label) if field is not None)

    @property
    def is_named(self) -> bool:
        """Whether the header says that it is a class, if not whose."""
        return any(field is not None and field.meaning is Meaning.CLASS for field in (self.index, self.label))


@dataclass(frozen=True, eq=False)
class Roles:
    """The field that plays each role, None where none does; ``notes`` says what was decided."""

    name: Field | None = None
    index: Field | None = None
    label: Field | None = None
    confidence: Field | None = None
    scores: Field | None = None
    notes: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    """All that may state the class, where there are several; the images' labels then tell which does."""


def refuse(where: Path | str, what: str, fields: Iterable[Field], role: str) -> NoReturn:
    """Ask which column plays a role.

    Raises
    ------
    InputError
        What is unclear, and the first of the columns in question.
    """
    headers = [field.header for field in fields]
    listed = ", ".join(map(repr, headers[:12])) + (", ..." if len(headers) > 12 else "")
    raise InputError(where, f"{what}: {listed}", fix=f"Say which it is: --column {role}=NAME.")


def only(candidates: list[Field], role: str, where: Path | str) -> Field:
    """Return the one candidate, or the first of several that hold the same; refuse to choose otherwise."""
    first, *others = candidates
    differing = [field for field in others if not same_values(first, field)]
    if differing:
        refuse(where, f"{len(differing) + 1} columns may be the {role}", [first, *differing], role)
    return first


def same_values(a: Field, b: Field) -> bool:
    """Say whether two fields hold the same values in equally many columns."""
    return all(one.equals(other) for one, other in zip(a.members, b.members, strict=False)) and (
        len(a.members) == len(b.members)
    )


def is_single(field: Field) -> bool:
    """Say whether a field holds one value a row."""
    return field.n_values == 1 and not field.is_list


def is_vector(field: Field) -> bool:
    """Say whether a field holds a value for each class, rather than the classes themselves."""
    return field.n_values > 1 and (field.content is Content.NUMBER or field.n_values >= WIDE)


def counts_rows(field: Field) -> bool:
    """Say whether a field counts the rows: 0, 1, 2, ... or 1, 2, 3, ..."""
    array = field.members[0]
    if field.n_values > 1 or field.is_list or field.content is not Content.INTEGER or len(array) < ROW_NUMBERS_FROM:
        return False
    if array[0].as_py() not in (0, 1, "0", "1") or array.null_count:
        return False
    try:
        values = array.cast(pa.int64()).to_numpy()
    except pa.ArrowInvalid:
        return False
    return bool(np.array_equal(values, np.arange(len(values)) + values[0]))
