"""Columns inside a column: of structs, maps and texts that hold records; every column as an array of a plain type."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from imagenet_errors.readers.cells import refuse_sets, scored_items
from imagenet_errors.readers.contents import SAMPLE, score_of
from imagenet_errors.readers.headers import STATE_CLASSES, Meaning, meaning_of
from imagenet_errors.readers.opened import refusing_damage

_FEW = 5
_RECORDS = re.compile(r"\s*\[?\s*\{\s*['\"\d]")
_PATHS = ("path", "file_name", "filename", "file", "name", "image")
_IMAGE_PARTS = frozenset(("bytes", "_type", "path", "sha256", "format"))
"""How structs of Hugging Face (``bytes``, ``path``) and W&B (``_type``, ``path``) say that they are an image."""
_OF_RECORDS = STATE_CLASSES | {Meaning.CONFIDENCE, Meaning.TRUTH, Meaning.WEAK_NAME}
"""What keys of records say; a class may well be called ``file`` or ``model T``."""


def flattened(header: str, column: pa.Array | pa.ChunkedArray, where: Path | str) -> Iterator[tuple[str, pa.Array]]:
    """Yield the columns that a column stands for: those inside a struct, or the path of a struct that is an image."""
    with refusing_damage(f"{where}, column {header!r}"):
        array = without_single_lists(_parsed(plain(column), f"{where}, column {header!r}"))
        parts = _parts(array)
        path = next((key for key in _PATHS if key in parts and _may_be_path(parts[key].type)), None)
        if path is not None and _IMAGE_PARTS & set(parts):
            parts = {"": parts[path]}
    if not parts:
        yield header, array
    for key, part in parts.items():
        yield from flattened(f"{header}.{key}" if key else header, part, where)


def without_single_lists(array: pa.Array) -> pa.Array:
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
    sample = [cell for cell in array[:SAMPLE].to_pylist() if cell]
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
