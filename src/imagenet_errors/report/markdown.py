"""Pieces of Markdown pages: tables and figures in words, safe whatever the names in them say."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence

from imagenet_errors.problems import printable

_ESCAPES = str.maketrans({sign: f"\\{sign}" for sign in "\\|[]`*"} | {"<": "&lt;", "&": "&amp;", "\n": " "})
_LINK = re.compile(r"://|www\.|@", re.IGNORECASE)
"""What GitHub makes a link of without any brackets: addresses, ``www.`` and mail."""


def md_table(header: Sequence[str], rows: Iterable[Sequence[object]], *, text_columns: int = 1) -> str:
    """Return a table; the first ``text_columns`` are set left, the others, numbers, right."""
    rule = ["---" if place < text_columns else "---:" for place in range(len(header))]
    lines = [header, rule, *([cell(value) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def cell(value: object) -> str:
    """Return text that cannot break out of its cell, and that is no link."""
    return _LINK.sub(_unlinked, printable(str(value)).translate(_ESCAPES))


def _unlinked(found: re.Match[str]) -> str:
    return f"{found[0][:-1]}&#{ord(found[0][-1])};"


def code(value: object) -> str:
    """Return text set as code, which no backtick in it can end."""
    return f"`{' '.join(str(value).split()).replace('`', chr(39))}`"


def percent(share: float) -> str:
    """Return ``59.5 %``, or a dash where the share is undefined."""
    return "–" if math.isnan(share) else f"{share:.1%}".replace("%", " %")


def decimal(value: float) -> str:
    """Return ``0.423``, or a dash where it is undefined."""
    return "–" if math.isnan(value) else f"{value:.3f}"


def count(value: float) -> str:
    """Return ``1,234``, or a dash where it is undefined."""
    return "–" if math.isnan(value) else f"{value:,.0f}"


def interval(bounded: tuple[float, float, float], shown: Callable[[float], str] = count) -> str:
    """Return ``222 (195 to 253)`` for (value, least, most); the value alone where all is known."""
    value, low, high = (shown(number) for number in bounded)
    return value if low == high == value else f"{value} ({low} to {high})"
