"""What a column's cells hold, told from the first of them: image names, wnids, whole numbers, numbers, text."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from imagenet_errors.images import val_numbering
from imagenet_errors.readers.cells import unwrapped

SAMPLE = 200
"""Rows looked at to tell what a column holds; every row is checked when the column is read."""
_IMAGE_ENDING = r"\.(jpe?g|png|webp|bmp|gif|tiff?|ppm|jfif)$"
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


def content_of(array: pa.Array) -> Content:
    """Tell what an array (of lists: their values) holds, from its type and its first values."""
    if pt.is_list(array.type):
        array = array[:SAMPLE].flatten()
    kind = array.type
    if array.null_count == len(array):
        return Content.EMPTY
    if pt.is_integer(kind):
        return Content.INTEGER
    if pt.is_floating(kind) or pt.is_decimal(kind):
        return _of_numbers([float(value) for value in array[:SAMPLE].to_pylist() if value is not None])
    return _of_texts(array) if pt.is_string(kind) else Content.OTHER


def _of_numbers(values: list[float]) -> Content:
    """Tell class indices that became floats (65.0) from probabilities and scores."""
    finite = [value for value in values if value == value and abs(value) != float("inf")]
    whole = all(value.is_integer() for value in finite)
    return Content.INTEGER if whole and any(value > 1 for value in finite) else Content.NUMBER


def _of_texts(array: pa.StringArray) -> Content:
    cells = unwrapped(array[:SAMPLE]).to_pylist()
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


def score_of(value: Any) -> float | None:
    """Return a number, or the number that a text such as ``87.3%`` is; None for anything else."""
    if isinstance(value, str):
        return _number(value.strip())
    return value if isinstance(value, float | int) and not isinstance(value, bool) else None


def looks_like_image(text: str) -> bool:
    """Say whether a text is an image's name: by its ending, or as ImageNet's are called."""
    return _image_name().search(text) is not None


@lru_cache(maxsize=1)
def _image_name() -> re.Pattern[str]:
    return re.compile(f"{_IMAGE_ENDING}|{val_numbering().looks}", re.IGNORECASE)


def is_wnid(text: str) -> bool:
    """Say whether a text is a WordNet id such as ``n01440764``."""
    return _WNID.fullmatch(text) is not None
