"""The table of models: a row each, the figures as text with what they sort by."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.measure import IS_TOP1_ERROR, lower_bounds
from imagenet_errors.report.page.bars import Bar, bars, count_texts
from imagenet_errors.report.points import UNKNOWN, Points

MODEL_COLUMNS = ("top-1", "MLA", "errors")


class ModelRow(msgspec.Struct, frozen=True):
    """One row of the table of models: figures as text with what they sort by, facts, and a bar."""

    name: str
    place: int | None
    cells: tuple[tuple[str, float], ...]
    facts: dict[str, str]
    bar: Bar

    @property
    def told_facts(self) -> str:
        """The facts in a line; a family beside a group of its own adds nothing (cnn: ResNet, CNN)."""
        told = [text for name, text in self.facts.items() if name != "arch_family" or "arch_group" not in self.facts]
        return ", ".join(dict.fromkeys(told))


def told_types(points: Points) -> tuple[str, ...]:
    """Return the error types that have a column in the table of models: those of which anything is known."""
    is_known = (points.most[:, 0] > 0).any(axis=0) | (points.state != UNKNOWN).any(axis=0)
    return tuple(name for name, known in zip(ERROR_TYPES, is_known, strict=True) if known and name != "correct")


def model_rows(points: Points, facts: Sequence[dict[str, str]], *, places: bool) -> list[ModelRow]:
    """Return a row for each model, the highest MLA first: top-1, MLA, errors, and the count of each of ``told_types``
    (-1: not known).
    """
    n_errors = points.counts[:, 0][:, IS_TOP1_ERROR].sum(axis=1)
    types = told_types(points)
    rows = []
    for model, name in enumerate(points.models):
        top1, mla = float(points.top1[model, 0]), float(points.mla[model, 0])
        sign = "≥ " if "mla" in lower_bounds(points.open_types_of(model)) else ""
        cells = [_percent_cell(top1), _percent_cell(mla, sign), (f"{n_errors[model]:,}", float(n_errors[model]))]
        told, counts = count_texts(points, model)[0], points.counts[model, 0].tolist()
        cells += [(told[place], float(counts[place])) for place in map(ERROR_TYPES.index, types)]
        bar = bars(points, model)[0]
        rows.append(ModelRow(name, model if places else None, tuple(cells), facts[model], bar))
    return sorted(rows, key=lambda row: -row.cells[MODEL_COLUMNS.index("MLA")][1])


def _percent_cell(value: float, sign: str = "") -> tuple[str, float]:
    return (f"{sign}{value:.1f}%", value) if np.isfinite(value) else ("–", -1.0)
