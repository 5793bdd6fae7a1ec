"""Columns as fields: what the header says, what the values look like, one value a row or several."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from imagenet_errors.readers.cells import looks_like_a_list, parse_list_cells, unwrapped
from imagenet_errors.readers.damage import refusing_damage
from imagenet_errors.readers.headers import Meaning, meaning_of

_SAMPLE = 200
"""Rows looked at to tell what a column holds; every row is checked when the column is read."""
POSITIONAL = "column"
"""What columns without a header are called: ``column 1``, ``column 2``, ...; they are no family."""
WIDE = 100
"""From this many on, values of one row are a class axis, fewer are ranks; no ImageNet head is narrower."""

_IMAGE_NAME = re.compile(
    r"\.(jpe?g|png|webp|bmp|gif|tiff?|ppm|jfif)$|ILSVRC2012_(val|test|train)_|^\d{8}$", re.IGNORECASE
)
_WNID = re.compile(r"n\d{8}")
_BLANK = frozenset(("", "nan", "-nan", "inf", "-inf", "none", "null", "na", "n/a"))


class Content(StrEnum):
    """What the values look like; of lists, the values inside."""

    EMPTY = "empty"
    BLANK = "words for a missing value"
    IMAGE = "image names"
    INTEGER = "whole numbers"
    NUMBER = "numbers"
    OTHER = "something else"
    TEXT = "text"
    WNID = "wnids"


NUMERIC = frozenset((Content.INTEGER, Content.NUMBER))
TEXTUAL = frozenset((Content.BLANK, Content.TEXT, Content.WNID, Content.IMAGE))


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
    single = [_single(header, column, where) for header, column in zip(headers, columns, strict=True)]
    return _join_wide(_join_families(single))


def _single(header: str, column: pa.Array | pa.ChunkedArray, where: Path | str) -> Field:
    with refusing_damage(where):
        array = plain(column)
    if pt.is_string(array.type):
        sample = [cell for cell in array[:_SAMPLE].to_pylist() if cell]
        if sample and sum(map(looks_like_a_list, sample)) * 2 > len(sample):
            array = parse_list_cells(array, where=where)
    return Field(header, meaning_of(header), content_of(array), (array,))


def plain(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a column as one array of a plain type: no dictionary, no large or view or fixed-size variant."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], type=array.type)
    if pt.is_dictionary(array.type):
        array = array.dictionary_decode()
    kind = array.type
    if pt.is_large_string(kind) or pt.is_string_view(kind) or pt.is_binary(kind) or pt.is_large_binary(kind):
        return array.cast(pa.string())
    if pt.is_large_list(kind) or pt.is_fixed_size_list(kind) or pt.is_list(kind):
        inside = pa.string() if _holds_text(kind.value_type) else kind.value_type
        return array.cast(pa.list_(inside))
    return array


def _holds_text(kind: pa.DataType) -> bool:
    if pt.is_dictionary(kind):
        return _holds_text(kind.value_type)
    return bool(pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind) or pt.is_binary(kind))


def content_of(array: pa.Array) -> Content:
    """Tell what an array (of lists: their values) holds, from its type and its first values."""
    if pt.is_list(array.type):
        array = array[:_SAMPLE].flatten()
    kind = array.type
    if array.null_count == len(array):
        return Content.EMPTY
    if pt.is_integer(kind):
        return Content.INTEGER
    if pt.is_floating(kind) or pt.is_decimal(kind):
        return _of_numbers([float(value) for value in array[:_SAMPLE].to_pylist() if value is not None])
    return _of_texts(array) if pt.is_string(kind) else Content.OTHER


def _of_numbers(values: list[float]) -> Content:
    """Tell class indices that became floats (65.0) from probabilities and scores."""
    finite = [value for value in values if value == value and abs(value) != float("inf")]
    whole = all(value.is_integer() for value in finite)
    return Content.INTEGER if whole and any(value > 1 for value in finite) else Content.NUMBER


def _of_texts(array: pa.StringArray) -> Content:
    cells = unwrapped(array[:_SAMPLE]).to_pylist()
    texts = [cell.strip() for cell in cells if cell and cell.strip().lower() not in _BLANK]
    if not texts:
        return Content.BLANK if pc.any(pc.not_equal(array, "")).as_py() else Content.EMPTY
    for content, pattern in ((Content.IMAGE, _IMAGE_NAME), (Content.WNID, _WNID)):
        if _mostly([bool(pattern.search(text)) for text in texts]):
            full = content is Content.IMAGE or all(_WNID.fullmatch(text) for text in texts)
            return content if full else Content.TEXT
    numbers = [number for text in texts if (number := _number(text)) is not None]
    if len(numbers) * 2 >= len(texts):
        written_whole = all(text.lstrip("+-").isdecimal() for text in texts)
        return Content.INTEGER if written_whole else _of_numbers(numbers)
    return Content.OTHER if {text.lower() for text in texts} <= {"true", "false"} else Content.TEXT


def _mostly(claims: list[bool]) -> bool:
    return sum(claims) * 10 >= len(claims) * 9


def _number(text: str) -> float | None:
    if re.fullmatch(r"[+-]?\d+,\d+", text):  # a decimal comma
        text = text.replace(",", ".")
    try:
        return float(text)
    except ValueError:
        return None


def is_positional(field: Field) -> bool:
    """Say whether a field has a made-up header, for want of one in the file."""
    return field.header.startswith(f"{POSITIONAL} ")


def is_wnid(text: str) -> bool:
    """Say whether a text is a WordNet id such as ``n01440764``."""
    return _WNID.fullmatch(text) is not None


def _join_families(fields: list[Field]) -> list[Field]:
    """Join columns whose headers differ by a running number only (from 0 or 1) and hold alike values."""
    families: dict[tuple[str, bool], dict[int, Field]] = {}
    for field in fields:
        match = re.fullmatch(r"(.*?)[ _.\-]?(\d+)", field.header)
        if match and not field.is_list and match[1] != POSITIONAL and not is_wnid(field.header):
            families.setdefault((match[1], field.content in TEXTUAL), {})[int(match[2])] = field
    joined: dict[int, Field] = {}
    for (base, _), members in families.items():
        numbers = sorted(members)
        if len(members) > 1 and numbers[0] in (0, 1) and numbers[-1] - numbers[0] == len(members) - 1:
            family = _family(base, [members[number] for number in numbers])
            joined |= {id(member): family for member in members.values()}
    return list(dict.fromkeys(joined.get(id(field), field) for field in fields))


def _family(base: str, ordered: list[Field]) -> Field:
    contents = {field.content for field in ordered}
    content = Content.NUMBER if Content.NUMBER in contents else ordered[0].content
    header = f"{ordered[0].header}..{ordered[-1].header}"
    return Field(header, meaning_of(base), content, tuple(field.members[0] for field in ordered))


def _join_wide(fields: list[Field]) -> list[Field]:
    """Join many number columns that no header explains into one class axis, in the file's order."""
    loose = [
        field
        for field in fields
        if field.n_values == 1 and field.meaning is Meaning.UNKNOWN and field.content in NUMERIC and not field.is_list
    ]
    if len(loose) < WIDE:
        return fields
    headers = tuple(field.header for field in loose)
    labels = headers if all(map(is_wnid, headers)) else None
    members = tuple(field.members[0] for field in loose)
    taken = set(map(id, loose))
    axis = Field(f"{headers[0]}..{headers[-1]}", Meaning.UNKNOWN, Content.NUMBER, members, labels)
    return [field for field in fields if id(field) not in taken] + [axis]
