"""Cells of the table of agreement, shared by the page and the terminal."""

from __future__ import annotations

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.study.outcomes import COLUMNS, Outcomes

PAPERS_COLUMNS = COLUMNS[:5]


def shown_columns(outcomes: Outcomes) -> tuple[str, ...]:
    """Return the paper's columns, and class overlap and multi-object where there are any."""
    return tuple(name for name in COLUMNS if name in PAPERS_COLUMNS or outcomes.table[:, ERROR_TYPES.index(name)].any())


def bounded_cell(outcomes: Outcomes, human: str, ours: str) -> str:
    """Return ``25 (1 to 25)``: one cell, and what unknown evidence can make of it."""
    at = ERROR_TYPES.index(human), ERROR_TYPES.index(ours)
    value, low, high = (int(table[at]) for table in (outcomes.table, outcomes.low, outcomes.high))
    return str(value) if low == high else f"{value} ({low} to {high})"
