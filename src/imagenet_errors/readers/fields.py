"""Columns as fields: what the header says, what the values look like, and which columns and lists belong together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from imagenet_errors.problems import InputError, counted
from imagenet_errors.readers.cells import (
    first_of_boxes,
    looks_like_a_list,
    parse_list_cells,
    separating_mark,
    split_texts,
    unwrapped,
)
from imagenet_errors.readers.contents import (
    NUMERIC,
    SAMPLE,
    TEXTUAL,
    Content,
    content_of,
    is_wnid,
    looks_like_image,
    score_of,
)
from imagenet_errors.readers.headers import STATE_CLASSES, Meaning, meaning_of, words_of
from imagenet_errors.readers.nested import flattened, without_single_lists

POSITIONAL = "column"
"""What columns without a header are called: ``column 1``, ``column 2``, ...; they are no family."""
WIDE = 100
"""From this many on, values of one row are a class axis, fewer are ranks; no ImageNet head is narrower."""

_MOST_RANKS = 20
_MOST_PARTS = 40
_ENOUGH_TO_TELL = 10
_ORDINALS = {
    "first": "1",
    "second": "2",
    "third": "3",
    "fourth": "4",
    "fifth": "5",
    "1st": "1",
    "2nd": "2",
    "3rd": "3",
    "4th": "4",
    "5th": "5",
}
_ROUNDED = 0.01
"""By how much probabilities written with few digits may miss 1 together."""
_CLASSES = frozenset((Content.INTEGER, Content.TEXT, Content.WNID))
_PARTS = {
    Content.IMAGE: "image",
    Content.INTEGER: "index",
    Content.WNID: "wnid",
    Content.TEXT: "label",
    Content.NUMBER: "score",
}
"""What things in lists of several kinds are called."""


@dataclass(frozen=True, eq=False)
class Field:
    """One column, or a family of columns ``prob_0, prob_1, ...`` with the same kind of content.

    ``members``: Arrow arrays [n]; a single list array stands for as many columns as its lists are long.
    """

    header: str
    meaning: Meaning
    content: Content
    members: tuple[pa.Array, ...]
    labels: tuple[str, ...] | None = None

    @property
    def n_values(self) -> int:
        """Values a row: 1, or the length of the longest list, or the number of columns."""
        if len(self.members) > 1 or not self.is_list:
            return len(self.members)
        return pc.max(pc.list_value_length(self.members[0])).as_py() or 0

    @property
    def is_list(self) -> bool:
        """Whether the values are lists in a single column."""
        return bool(pt.is_list(self.members[0].type))


def fields_of(
    headers: Sequence[str], columns: Sequence[pa.Array | pa.ChunkedArray], *, where: Path | str
) -> list[Field]:
    """Make fields [f] of columns: decode them, parse lists in text cells, join families of columns.

    Raises
    ------
    InputError
        A list cell is shortened.
    """
    refuse_transposed(headers, where)
    headers = _unlike(headers) if len(headers) < WIDE else headers
    single = [
        _single(inner, array, where)
        for header, column in zip(headers, columns, strict=True)
        for inner, array in flattened(header, column, where)
    ]
    has_class = any(field.meaning in STATE_CLASSES for field in single)
    parts = [_by_place(one) if one.meaning is not Meaning.UNKNOWN or not has_class else [one] for one in single]
    return _join_positional(_join_wide(_join_families([field for part in parts for field in part])))


def _unlike(headers: Sequence[str]) -> list[str]:
    """Number headers that repeat, as pandas does, so that each can be named: ``pred``, ``pred.1``."""
    return [
        f"{header}.{n}" if (n := list(headers[:i]).count(header)) and f"{header}.{n}" not in headers else header
        for i, header in enumerate(headers)
    ]


def refuse_transposed(headers: Sequence[str], where: Path | str) -> None:
    """Refuse a table whose columns are images.

    Raises
    ------
    InputError
        Most of the headers are image names.
    """
    n_names = sum(map(looks_like_image, headers))
    if n_names > 2 and 2 * n_names > len(headers):
        raise InputError(
            where,
            f"images stand in columns: {counted(n_names, 'header')} of {len(headers):,} are image names",
            example=next(filter(looks_like_image, headers)),
            fix="Transpose the table (pandas: DataFrame.T), so that each row is an image.",
        )


def _single(header: str, array: pa.Array, where: Path | str) -> Field:
    if pt.is_string(array.type) and meaning_of(header) is not Meaning.NAME:
        sample = [cell for cell in unwrapped(array[:SAMPLE]).to_pylist() if cell]
        if sample and sum(map(looks_like_a_list, sample)) * 2 > len(sample):
            array = first_of_boxes(parse_list_cells(array, where=f"{where}, column {header!r}"))
        elif mark := separating_mark(sample):
            array = split_texts(array, mark)
    meaning = meaning_of(header)
    if meaning is Meaning.CONFIDENCE and meaning_of(header.rpartition(".")[2]) is Meaning.CLASS:
        meaning = Meaning.CLASS  # the label inside a struct called scores
    return Field(header, meaning, content_of(array), (array,))


def _by_place(field: Field) -> list[Field]:
    """Return the columns that lists of different things in turn stand for: ``(65, 0.9)``, ``[("tabby", 0.8), ...]``.

    Lists of one kind of thing, such as ranks or scores, are left as they are."""
    lists = field.members[0]
    width = field.n_values
    if not field.is_list or not 1 < width <= _MOST_PARTS or set(_lengths(lists)) - {0, width}:
        return [field]
    places = [pc.list_element(lists.filter(_lengths(lists) == width), i) for i in range(width)]
    contents = [content_of(place) for place in places]
    kinds = dict.fromkeys(contents)
    if len(kinds) < 2 or set(kinds) - set(_PARTS):
        return [field]
    if len(places[0]) < _ENOUGH_TO_TELL and not set(kinds) & TEXTUAL:
        return [field]  # among so few rows of scores one place may hold whole numbers by chance
    if len({contents.count(kind) for kind in kinds}) == 1:
        at = {kind: [i for i, content in enumerate(contents) if content is kind] for kind in kinds}
        return [_of_places(field, at[kind], _PARTS[kind]) for kind in kinds]
    if field.meaning not in STATE_CLASSES:
        return [field]
    loose = [replace(_of_places(field, [i], ""), meaning=Meaning.UNKNOWN) for i in range(width)]
    return [replace(one, header=f"{POSITIONAL} {i + 1}") for i, one in enumerate(loose)]


def _of_places(field: Field, places: Sequence[int], part: str) -> Field:
    """Return what stands at some places of lists as a column of its own; null in an empty list."""
    lists = field.members[0]
    filled = _lengths(lists) > 0
    rows = lists.flatten().take(pa.array(np.add.outer(np.arange(filled.sum()) * field.n_values, places).ravel()))
    at = pa.array(np.cumsum(filled) - 1, mask=~filled)
    array = pa.FixedSizeListArray.from_arrays(rows, len(places)).take(at).cast(pa.list_(rows.type))
    array = without_single_lists(array)
    is_explained = field.meaning is not Meaning.UNKNOWN or part == _PARTS[Content.IMAGE]
    header = part if part == _PARTS[Content.IMAGE] else f"{field.header}.{part}"
    return Field(header, meaning_of(header) if is_explained else Meaning.UNKNOWN, content_of(array), (array,))


def _lengths(lists: pa.ListArray) -> NDArray[np.int64]:
    lengths: NDArray[np.int64] = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    return lengths.astype(np.int64)


def is_positional(field: Field) -> bool:
    """Say whether a field has a made-up header, for want of one in the file."""
    return field.header.startswith(f"{POSITIONAL} ")


def _join_families(fields: list[Field]) -> list[Field]:
    """Join columns whose headers differ by a running number only (from 0 or 1) and hold alike values.

    The number may stand inside: ``top1_class``, ``top2_class``."""
    families: dict[tuple[str, bool], dict[int, Field]] = {}
    for field in fields:
        match = re.fullmatch(r"(.*?)[ _.\-]?(\d+)(\D*)", _numbered(field.header))
        if match and not field.is_list and match[1] != POSITIONAL and not is_wnid(field.header):
            families.setdefault((match[1] + match[3], field.content in TEXTUAL), {})[int(match[2])] = field
    joined: dict[int, Field] = {}
    for (base, _), members in families.items():
        numbers = sorted(members)
        ordered = [members[number] for number in numbers]
        is_run = numbers[0] in (0, 1) and numbers[-1] - numbers[0] == len(members) - 1
        if len(members) > 1 and is_run and not _repeat_classes(ordered) and not _mix_kinds(base, ordered):
            family = _family(base, ordered)
            joined |= {id(member): family for member in members.values()}
    return list(dict.fromkeys(joined.get(id(field), field) for field in fields))


def _numbered(header: str) -> str:
    """Return a header with a number for its first ordinal: ``first_prob`` -> ``1_prob``."""
    ordinal = rf"(?<![a-z])({'|'.join(_ORDINALS)})(?![a-z])"
    return re.sub(ordinal, lambda one: _ORDINALS[one[1].lower()], header, count=1, flags=re.IGNORECASE)


def _repeat_classes(fields: Sequence[Field]) -> bool:
    """Say whether columns name a class twice in many rows: then they are no ranks."""
    if len(fields) >= WIDE or not all(field.content in _CLASSES for field in fields):
        return False
    rows = list(zip(*(_sampled(field) for field in fields), strict=True))
    return sum(len(set(row)) < len(row) for row in rows if "" not in row) * 10 > len(rows)


def _mix_kinds(base: str, fields: Sequence[Field]) -> bool:
    """Say whether columns that are only numbered (``c1``, ``c2``) hold classes and other numbers: ``65``, ``0.9``."""
    whole = [field for field in fields if field.content is Content.INTEGER]
    if meaning_of(base) is not Meaning.UNKNOWN or len(whole) in (0, len(fields)) or len(fields) >= WIDE:
        return False
    values = [number for field in whole for cell in _sampled(field) if (number := score_of(cell)) is not None]
    return len(values) >= _ENOUGH_TO_TELL and max(values) > 1


def _sampled(field: Field) -> list[str]:
    return _cells(field.members[0][:SAMPLE])


def _cells(array: pa.Array) -> list[str]:
    return ["" if cell is None else str(cell).strip() for cell in array.to_pylist()]


def _join_positional(fields: list[Field]) -> list[Field]:
    """Join columns of classes without headers into ranks: three and more that never name a class twice in a row.

    Equally many columns of numbers beside them are their values, if they fall from rank to rank."""
    loose = [field for field in fields if is_positional(field) and field.n_values == 1 and not field.is_list]
    ranks = [field for field in loose if field.content in (Content.INTEGER, Content.WNID)]
    ranks = ranks or [field for field in loose if field.content is Content.TEXT and len(set(_sampled(field))) > 1]
    values = [field for field in loose if field.content is Content.NUMBER]
    others = [field for field in loose if field not in (*ranks, *values) and field.content is not Content.IMAGE]
    if not 3 <= len(ranks) <= _MOST_RANKS or others or _repeat_classes(ranks) or _counts_up(ranks[0]):
        return fields
    if values and not (len(values) == len(ranks) and _fall(values)):
        return fields
    taken = set(map(id, (*ranks, *values)))
    family = replace(_family(POSITIONAL, ranks), meaning=Meaning.RANKS)
    beside = [replace(_family(POSITIONAL, values), meaning=Meaning.CONFIDENCE)] if values else []
    return [field for field in fields if id(field) not in taken] + [family, *beside]


def _fall(fields: Sequence[Field]) -> bool:
    """Say whether the numbers of each row fall from column to column."""
    rows = zip(*(_sampled(field) for field in fields), strict=True)
    numbers = [[score_of(cell) for cell in row] for row in rows]
    return all(None not in (a, b) and a >= b for row in numbers for a, b in pairwise(row))  # type: ignore[operator]


def _counts_up(field: Field) -> bool:
    """Say whether a column counts up by ones, as row numbers do in front of classes."""
    cells = _sampled(field)
    numbers = [int(cell) for cell in cells if cell.isdecimal()]
    return len(numbers) == len(cells) > 2 and all(b - a == 1 for a, b in pairwise(numbers))


def _family(base: str, ordered: list[Field]) -> Field:
    contents = {field.content for field in ordered}
    content = Content.NUMBER if Content.NUMBER in contents else ordered[0].content
    header = f"{ordered[0].header}..{ordered[-1].header}"
    meaning = meaning_of(base)
    is_ordinal = ordered[0].header != _numbered(ordered[0].header)
    if (meaning is Meaning.CLASS and "top" in words_of(base)) or (is_ordinal and meaning is Meaning.UNKNOWN):
        meaning = Meaning.RANKS
    return Field(header, meaning, content, tuple(field.members[0] for field in ordered))


def _are_shares(fields: Sequence[Field]) -> bool:
    """Say whether columns are the probabilities of a few classes, a column each: their rows add up to 1."""
    if len(fields) < 3 or any(field.content is not Content.NUMBER for field in fields):
        return False
    try:
        cells = [pc.cast(field.members[0][:SAMPLE], pa.float64()).to_numpy(zero_copy_only=False) for field in fields]
    except pa.ArrowInvalid:
        return False
    shares = np.stack(cells)
    return bool((shares >= 0).all() and (np.abs(shares.sum(axis=0) - 1) < _ROUNDED).all())


def _join_wide(fields: list[Field]) -> list[Field]:
    """Join many number columns that no header explains into one class axis, in the file's order.

    Headers that are names of classes can say something by chance (file, model T): what lies between belongs to it."""
    single = [field.n_values == 1 and field.content in NUMERIC and not field.is_list for field in fields]
    unknown = [i for i, one in enumerate(single) if one and fields[i].meaning is Meaning.UNKNOWN]
    if len(unknown) < WIDE and not _are_shares([fields[i] for i in unknown]):
        return fields
    between = range(unknown[0], unknown[-1])
    inside = {i for i in between if single[i] and fields[i].content is Content.NUMBER}
    loose = [fields[i] for i in sorted(inside | set(unknown))]
    headers = tuple(field.header for field in loose)
    labels = None if any(re.search(r"\d$", header) and not is_wnid(header) for header in headers) else headers
    members = tuple(field.members[0] for field in loose)
    taken = set(map(id, loose))
    axis = Field(f"{headers[0]}..{headers[-1]}", Meaning.UNKNOWN, Content.NUMBER, members, labels)
    return [field for field in fields if id(field) not in taken] + [axis]
