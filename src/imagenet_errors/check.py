"""A gate on a run: conditions on its figures, each true or false for every model."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.measure import IS_MULTI_LABEL_ERROR
from imagenet_errors.problems import InputError
from imagenet_errors.runs.tables import RunTables, load_run_tables

_CONDITION = re.compile(
    r"\s*(?P<name>[A-Za-z_][\w.]*)\s*(?P<sign><=|>=|<|>)\s*(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*"
)
_SIGNS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_MULTI_LABEL = tuple(code for code, counts in enumerate(IS_MULTI_LABEL_ERROR) if counts)
_DELTA = "delta."
_FIX = "Write NAME < NUMBER, such as 'model_failure > 0.35', 'mla < 0.88' or 'delta.mla < -0.005'; signs: < <= > >=."


@dataclass(frozen=True)
class Condition:
    """``text`` as written; it holds where the named figure compares so with the number."""

    text: str
    name: str
    sign: str
    number: float


@dataclass(frozen=True)
class Checked:
    """One condition for one model: the figure, or None and why there is none, and whether the check failed."""

    model: str
    condition: str
    value: float | None
    failed: bool
    reason: str = ""

    @property
    def line(self) -> str:
        """What is told of it."""
        return f"{self.model}: {self.condition}: {self.reason or f'{self.value:.6g}'}"


def parse_condition(text: str) -> Condition:
    """Read one condition.

    Raises
    ------
    InputError
        It is none.
    """
    found = _CONDITION.fullmatch(text)
    if found is None:
        raise InputError("--fail-if", f"cannot read {text!r}", fix=_FIX)
    return Condition(text, found["name"], found["sign"], float(found["number"]))


def check(run: Path, conditions: Sequence[Condition], *, baseline: Path | None = None) -> list[Checked]:
    """Ask every condition of every model; one that names an unknown figure fails, a share of no errors does not.

    Figures are the columns of ``summary.parquet``, each error type's share of the top-1 errors by the type's name, its
    share of the multi-label errors as ``multi_label.TYPE`` and its count as ``count.TYPE``; ``delta.`` before any: the
    difference from the baseline's model of that name, or its only one.

    Raises
    ------
    InputError
        A run cannot be read, a figure does not exist, or ``delta.`` has no baseline to be taken from.
    """
    tables = load_run_tables(run)
    before = None if baseline is None else load_run_tables(baseline)
    checked = []
    for model in tables.models:
        figures = _figures(tables, model)
        if before is not None:
            figures |= _deltas(figures, before, model)
        checked += [_ask(model, condition, figures) for condition in conditions]
    return checked


def _ask(model: str, condition: Condition, figures: Mapping[str, float | None]) -> Checked:
    if condition.name not in figures:
        needs_baseline = condition.name.startswith(_DELTA) and not any(name.startswith(_DELTA) for name in figures)
        what = f"no figure {condition.name!r}" + (" without --baseline RUN" if needs_baseline else "")
        raise InputError("--fail-if", what, fix=f"There are: {', '.join(figures)}.")
    value = figures[condition.name]
    if value is None:
        return Checked(model, condition.text, None, failed=True, reason=_why_unknown(condition.name, figures))
    if math.isnan(value):
        return Checked(model, condition.text, None, failed=False, reason="no errors to have a share of")
    return Checked(model, condition.text, value, _SIGNS[condition.sign](value, condition.number))


def _why_unknown(name: str, figures: Mapping[str, float | None]) -> str:
    if not figures["n_evaluated"]:
        return "unknown: no image was evaluated"
    if name.startswith(_DELTA):
        return "unknown, here or in the baseline"
    return "unknown: its stage did not run" if name.rpartition(".")[2] in ERROR_TYPES else "unknown"


def _figures(tables: RunTables, model: str) -> dict[str, float | None]:
    """Return the figures of a model: None where one is not known, NaN for a share where there are no errors at all."""
    place = tables.models.index(model)
    facts: dict[str, Any] = tables.figures.facts[place]
    figures: dict[str, float | None] = {
        name: value
        for name, value in facts.items()
        if value is None or (isinstance(value, int | float) and not isinstance(value, bool))
    }
    counts, ran = tables.figures.counts[place, 0], tables.figures.ran
    n_errors = {"": counts[1:].sum(), "multi_label.": sum(counts[code] for code in _MULTI_LABEL)}
    for code, name in enumerate(ERROR_TYPES):
        figures[f"count.{name}"] = int(counts[code]) if ran[code] else None
        for prefix, total in n_errors.items():
            if code and (not prefix or code in _MULTI_LABEL):
                figures[f"{prefix}{name}"] = _share(counts[code], total) if ran[code] and counts.any() else None
    return figures


def _share(count: float, total: float) -> float:
    return float(count / total) if total else math.nan


def _deltas(figures: Mapping[str, float | None], before: RunTables, model: str) -> dict[str, float | None]:
    if model not in before.models and len(before.models) > 1:
        fix = f"It has: {', '.join(before.models[:20])}."
        raise InputError("--baseline", f"no model {model!r} and several others in {before.folder}", fix=fix)
    earlier = _figures(before, model if model in before.models else before.models[0])
    return {
        f"{_DELTA}{name}": None if value is None else _difference(value, earlier.get(name))
        for name, value in figures.items()
    }


def _difference(value: float, earlier: float | None) -> float | None:
    """Return what was added; a share that is compared with a share of no errors is not known."""
    if earlier is None or (math.isnan(earlier) and not math.isnan(value)):
        return None
    return value - earlier


def junit_xml(checked: Sequence[Checked], *, name: str) -> bytes:
    """Return the checks as a JUnit test suite, a case each, for continuous integration to show."""
    failures = sum(each.failed for each in checked)
    suite = ElementTree.Element("testsuite", name=name, tests=str(len(checked)), failures=str(failures), errors="0")
    for each in checked:
        case = ElementTree.SubElement(suite, "testcase", classname=each.model, name=each.condition)
        if each.failed:
            ElementTree.SubElement(case, "failure", message=each.line)
    document: bytes = ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True)
    return document
