"""Columns as fields: what the header says, what the values look like, one value a row or several."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from imagenet_errors.images import val_numbering
from imagenet_errors.problems import InputError, counted
from imagenet_errors.readers.cells import (
    first_of_boxes,
    looks_like_a_list,
    parse_list_cells,
    refuse_sets,
    scored_items,
    separating_mark,
    split_texts,
    unwrapped,
)
from imagenet_errors.readers.headers import Meaning, meaning_of, words_of
from imagenet_errors.readers.opened import refusing_damage

_FEW = 5
_SAMPLE = 200
"""Rows looked at to tell what a column holds; every row is checked when the column is read."""
POSITIONAL = "column"
"""What columns without a header are called: ``column 1``, ``column 2``, ...; they are no family."""
WIDE = 100
"""From this many on, values of one row are a class axis, fewer are ranks; no ImageNet head is narrower."""

_IMAGE_ENDING = r"\.(jpe?g|png|webp|bmp|gif|tiff?|ppm|jfif)$"
_WNID = re.compile(r"n\d{8}")
_RECORDS = re.compile(r"\s*\[?\s*\{\s*['\"\d]")
_PATHS = ("path", "file_name", "filename", "file", "name", "image")
_IMAGE_PARTS = frozenset(("bytes", "_type", "path", "sha256", "format"))
"""How structs of Hugging Face (``bytes``, ``path``) and W&B (``_type``, ``path``) say that they are an image."""
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


_CLASSES = frozenset((Content.INTEGER, Content.TEXT, Content.WNID))
_STATE_CLASSES = frozenset((Meaning.PREDICTION, Meaning.CLASS, Meaning.RANKS))
_OF_RECORDS = _STATE_CLASSES | {Meaning.CONFIDENCE, Meaning.TRUTH, Meaning.WEAK_NAME}
"""What keys of records say; a class may well be called ``file`` or ``model T``."""
_PARTS = {
    Content.IMAGE: "image",
    Content.INTEGER: "index",
    Content.WNID: "wnid",
    Content.TEXT: "label",
    Content.NUMBER: "score",
}
"""What things in lists of several kinds are called."""
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
    refuse_transposed(headers, where)
    headers = _unlike(headers) if len(headers) < WIDE else headers
    single = [
        _single(inner, array, where)
        for header, column in zip(headers, columns, strict=True)
        for inner, array in _flattened(header, column, where)
    ]
    has_class = any(field.meaning in _STATE_CLASSES for field in single)
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
        sample = [cell for cell in unwrapped(array[:_SAMPLE]).to_pylist() if cell]
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
    if field.meaning not in _STATE_CLASSES:
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
    array = _without_single_lists(array)
    is_explained = field.meaning is not Meaning.UNKNOWN or part == _PARTS[Content.IMAGE]
    header = part if part == _PARTS[Content.IMAGE] else f"{field.header}.{part}"
    return Field(header, meaning_of(header) if is_explained else Meaning.UNKNOWN, content_of(array), (array,))


def _lengths(lists: pa.ListArray) -> NDArray[np.int64]:
    lengths: NDArray[np.int64] = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    return lengths.astype(np.int64)


def _flattened(header: str, column: pa.Array | pa.ChunkedArray, where: Path | str) -> Iterator[tuple[str, pa.Array]]:
    """Yield the columns that a column stands for: those inside a struct, or the path of a struct that is an image."""
    with refusing_damage(f"{where}, column {header!r}"):
        array = _without_single_lists(_parsed(plain(column), f"{where}, column {header!r}"))
        parts = _parts(array)
        path = next((key for key in _PATHS if key in parts and _may_be_path(parts[key].type)), None)
        if path is not None and _IMAGE_PARTS & set(parts):
            parts = {"": parts[path]}
    if not parts:
        yield header, array
    for key, part in parts.items():
        yield from _flattened(f"{header}.{key}" if key else header, part, where)


def _without_single_lists(array: pa.Array) -> pa.Array:
    """Return what lists of one item each hold, as batches of one are written; null in an empty one."""
    if not pt.is_list(array.type) or pc.max(pc.list_value_length(array)).as_py() != 1:
        return array
    filled = pc.fill_null(pc.equal(pc.list_value_length(array), 1), False).to_numpy(zero_copy_only=False)
    return array.flatten().take(pa.array(filled.cumsum() - 1, mask=~filled))


def _may_be_path(kind: pa.DataType) -> bool:
    return bool(pt.is_string(kind) or pt.is_large_string(kind) or pt.is_null(kind))


def _parsed(array: pa.Array, where: str) -> pa.Array:
    """Return text cells that hold records, as ``str`` writes a pipeline's output, as what they stand for."""
    if not pt.is_string(array.type):
        return array
    sample = [cell for cell in array[:_SAMPLE].to_pylist() if cell]
    if _hold_scored_items(sample):
        return _as_maps([None if cell is None else scored_items(cell) for cell in array.to_pylist()])
    if not sample or not all(_RECORDS.match(cell) for cell in sample):
        return array
    values = [_literal(cell, where) for cell in array.to_pylist()]
    filled = [value for value in values if value]
    if not filled or not all(map(is_by_class, filled)):
        return pa.array(values)
    return _as_maps([value and [(str(name), score) for name, score in value.items()] for value in values])


def _hold_scored_items(sample: Sequence[str]) -> bool:
    """Say whether cells hold several classes, each with its probability behind."""
    items = [scored_items(cell) for cell in sample[:_FEW]]
    return max(map(len, items), default=0) > 1 and all(map(scored_items, sample))


def _as_maps(rows: list[Any]) -> pa.MapArray:
    """Return (class, score) pairs as maps; of rows that differ in length only the best pair, or one without a score."""
    if len({len(pairs) for pairs in rows if pairs}) > 1:
        rows = [pairs and [max(pairs, key=lambda pair: (pair[1] != pair[1], pair[1]))] for pairs in rows]
    return pa.array(rows, type=pa.map_(pa.string(), pa.float64()))


def _literal(cell: str | None, where: str) -> Any:
    if cell is None or not cell.strip():
        return None
    try:
        return json.loads(cell)
    except ValueError:
        tree = ast.parse(re.sub(r"\bnan\b", "None", cell.strip()), mode="eval")
    refuse_sets(tree, where)
    return ast.literal_eval(tree)


def is_by_class(value: Any) -> bool:
    """Say whether an object is {class: score}: numbers below keys that are no headers."""
    if not isinstance(value, dict) or not value:
        return False
    meanings = [meaning_of(str(key)) for key in value]
    return (
        all(score_of(one) is not None for one in value.values())
        and not _OF_RECORDS & set(meanings)
        and any(meaning is not Meaning.IGNORED for meaning in meanings)
        and any(isinstance(one, float) or (isinstance(one, str) and not one.isdecimal()) for one in value.values())
    )


def score_of(value: Any) -> float | None:
    """Return a number, or the number that a text such as ``87.3%`` is; None for anything else."""
    if isinstance(value, str):
        return _number(value.strip())
    return value if isinstance(value, float | int) and not isinstance(value, bool) else None


def _parts(array: pa.Array) -> dict[str, pa.Array]:
    """Return the columns inside structs, lists of structs, and maps (the classes and values of each row)."""
    kind = array.type
    if pt.is_struct(kind):
        return {kind.field(i).name: pc.struct_field(array, [i]) for i in range(kind.num_fields)}
    if pt.is_map(kind):
        inside = {"label": array.keys, "score": array.items}
    elif pt.is_list(kind) and pt.is_struct(kind.value_type):
        inner = kind.value_type
        inside = {inner.field(i).name: pc.struct_field(array.values, [i]) for i in range(inner.num_fields)}
    else:
        return {}
    lists = {key: pa.ListArray.from_arrays(array.offsets, values) for key, values in inside.items()}
    return {key: pc.if_else(array.is_valid(), part, pa.scalar(None, part.type)) for key, part in lists.items()}


def plain(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a column as one array of a plain type: no dictionary, no large or view or fixed-size variant."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pt.is_dictionary(array.type):
        array = array.dictionary_decode()
    kind = array.type
    if pt.is_large_string(kind) or pt.is_string_view(kind) or pt.is_binary(kind) or pt.is_large_binary(kind):
        return _text(array)
    if pt.is_list(kind) and pt.is_struct(kind.value_type):
        return pa.concat_arrays([array])  # which leaves out what a slice has passed over
    if pt.is_large_list(kind) or pt.is_fixed_size_list(kind) or pt.is_list(kind):
        inside = pa.string() if _holds_text(kind.value_type) else kind.value_type
        return array.cast(pa.list_(inside))
    return array


def _text(array: pa.Array) -> pa.Array:
    """Return texts as plain strings; bytes that are no text, such as pictures, stay what they are."""
    try:
        return array.cast(pa.string())
    except pa.ArrowInvalid:
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
    for content, pattern in ((Content.IMAGE, _image_name()), (Content.WNID, _WNID)):
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
    bare = text.removesuffix("%").rstrip()
    if re.fullmatch(r"[+-]?\d*,\d+(e[+-]?\d+)?", bare, re.IGNORECASE):  # a decimal comma
        bare = bare.replace(",", ".")
    try:
        return float(bare) / (100 if text.endswith("%") else 1)
    except ValueError:
        return None


def looks_like_image(text: str) -> bool:
    """Say whether a text is an image's name: by its ending, or as ImageNet's are called."""
    return _image_name().search(text) is not None


@lru_cache(maxsize=1)
def _image_name() -> re.Pattern[str]:
    return re.compile(f"{_IMAGE_ENDING}|{val_numbering().looks}", re.IGNORECASE)


def is_positional(field: Field) -> bool:
    """Say whether a field has a made-up header, for want of one in the file."""
    return field.header.startswith(f"{POSITIONAL} ")


def is_wnid(text: str) -> bool:
    """Say whether a text is a WordNet id such as ``n01440764``."""
    return _WNID.fullmatch(text) is not None


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
    values = [number for field in whole for cell in _sampled(field) if (number := _number(cell)) is not None]
    return len(values) >= _ENOUGH_TO_TELL and max(values) > 1


def _sampled(field: Field) -> list[str]:
    return _cells(field.members[0][:_SAMPLE])


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
    numbers = [[_number(cell) for cell in row] for row in rows]
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
        cells = [pc.cast(field.members[0][:_SAMPLE], pa.float64()).to_numpy(zero_copy_only=False) for field in fields]
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
