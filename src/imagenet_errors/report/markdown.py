"""Pieces of Markdown pages: tables and figures in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from imagenet_errors.study.outcomes import Bounded


def md_table(header: Sequence[str], rows: Iterable[Sequence[object]], *, text_columns: int = 1) -> str:
    """Return a table; the first ``text_columns`` are set left, the others, numbers, right."""
    rule = ["---" if place < text_columns else "---:" for place in range(len(header))]
    lines = [header, rule, *([cell(value) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def cell(value: object) -> str:
    """Return text that cannot break out of its cell."""
    return str(value).replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def percent(share: float) -> str:
    """Return ``59.5 %``, or a dash where the share is undefined."""
    return "–" if math.isnan(share) else f"{share:.1%}".replace("%", " %")


def decimal(value: float) -> str:
    """Return ``0.42``, or a dash where it is undefined."""
    return "–" if math.isnan(value) else f"{value:.2f}"


def interval(bounded: Bounded, style: type[float] | None = None) -> str:
    """Return ``222 (195 to 253)``; the value alone where all is known. ``style=float``: shares in percent."""
    value, low, high = (_shown(number, style) for number in (bounded.value, bounded.low, bounded.high))
    return value if low == high == value else f"{value} ({low} to {high})"


def _shown(number: float, style: type[float] | None) -> str:
    if math.isnan(number):
        return "–"
    return f"{number:,.0f}" if style is None else percent(number)
