"""What stands around the value in all cells of a column: its name (``pred=65``), a spreadsheet's marks (``="65"``)."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from imagenet_errors.readers.headers import Meaning, meaning_of

_SAMPLE = 20
_KEY = re.compile(r"\s*(?P<key>[A-Za-z][\w@ -]{0,30}?)\s*[=:](?!\s*[/\\])")
"""``pred=``, ``top1 class:``; no drive and no scheme of an address."""
_MARKS = (r'^="(.*)"$', r"^'([^']*)$")
"""How spreadsheets are told that a number is a text: as a formula, or by an apostrophe in front."""


def bare_columns(headers: Sequence[str], columns: Sequence[pa.ChunkedArray], *, has_header: bool) -> pa.Table:
    """Return the columns with bare values, and their names for headers where the file has none."""
    keys = [_key(column) for column in columns]
    if has_header or not any(meaning_of(key) is not Meaning.UNKNOWN for key in keys if key):
        keys = [""] * len(keys)
    named = [key or header for key, header in zip(keys, headers, strict=True)]
    bare = [_without_marks(_without_key(column, key)) for column, key in zip(columns, keys, strict=True)]
    return pa.table(bare, names=named)


def _sample(column: pa.ChunkedArray) -> list[str]:
    return [cell for cell in column[:_SAMPLE].to_pylist() if cell] if pt.is_string(column.type) else []


def _key(column: pa.ChunkedArray) -> str:
    """Return the key that every cell begins with; empty for none, and for one before an object in braces."""
    found = [_KEY.match(cell) if "{" not in cell else None for cell in _sample(column)]
    keys = {one["key"] if one else "" for one in found}
    return keys.pop() if len(keys) == 1 and len(found) > 1 else ""


def _without_key(column: pa.ChunkedArray, key: str) -> pa.ChunkedArray:
    pattern = rf"^\s*{re.escape(key)}\s*[=:]\s*"
    return pc.replace_substring_regex(column, pattern, "") if key else column


def _without_marks(column: pa.ChunkedArray) -> pa.ChunkedArray:
    cells = _sample(column)
    for pattern in _MARKS:
        if cells and all(re.match(pattern, cell) for cell in cells):
            return pc.replace_substring_regex(column, pattern, r"\1")
    return column
