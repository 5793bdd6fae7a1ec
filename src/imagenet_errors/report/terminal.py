"""What a run looks like in the terminal: the figures at a glance, and what became of the rows that were read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from imagenet_errors.chain import COUNTS_AS, DEFAULT_ORDER, ERROR_TYPES
from imagenet_errors.evaluation import Evaluation
from imagenet_errors.measure import IS_MULTI_LABEL_ERROR, IS_TOP1_ERROR, lower_bounds
from imagenet_errors.mistakes import Tally, reasons
from imagenet_errors.problems import counted
from imagenet_errors.report.looks import SEVERE, touched
from imagenet_errors.runs.directory import ModelResult
from imagenet_errors.tables import Intake

if TYPE_CHECKING:
    from imagenet_errors.why import DecisionPath

_MOST_MODELS = 25
_MOST_PREDICTORS = 6
SHORT_NAMES = {
    "class_overlap": "overlap",
    "multi_object": "multi-obj",
    "fine_grained": "fine",
    "fine_grained_oov": "OOV",
    "non_prototypical": "non-proto",
    "spurious_correlation": "spurious",
    "model_failure": "failure",
}
"""What error types are called where there is little room."""
_NOT_RUN = "not run"
_BAR_WIDTH, _SMALL_BAR_WIDTH = 64, 16
_WIDE = 120
"""Columns of a screen that has room for a column of each error type."""

# Denser means worse, so that the bar reads in a file or without colours as well.
_SIGN = {"right": "░", "minor": "▒", "explained": "▓", "wrong": "█"}
_STYLE = {"right": "green", "minor": "yellow", "explained": "dark_orange", "wrong": "red"}
_LEGEND = {
    "right": "an accepted label",
    "minor": "fine-grained",
    "explained": "hard image or co-occurrence",
    "wrong": "severe",
}
_ANSWER = {"yes": "green", "no": "dim", "unknown": "yellow", _NOT_RUN: "yellow"}


def evaluation_view(evaluation: Evaluation, out: Path) -> RenderableType:
    """Return the whole answer to ``evaluate``."""
    scope = _Scope(evaluation)
    parts: list[RenderableType] = [_read_view(evaluation)]
    if len(evaluation.results) == 1:
        (result,) = evaluation.results
        parts.append(_distribution(result, scope))
        parts.append(severity_bar(result.measures.counts[0].tolist(), width=_BAR_WIDTH))
    else:
        parts.append(_Comparison(evaluation.results, scope))
    parts.append(bar_legend())
    parts += [Text(line, style="yellow") for line in scope.caveats]
    parts += [Text(f"Not evaluated: {reason}", style="red") for reason in reasons(evaluation.failures)]
    parts.append(
        Text(f"Written to {out}: verdicts/, distribution.parquet, summary.parquet, accuracy.parquet, run.json")
    )
    return Group(*parts)


@dataclass(frozen=True, eq=False)
class _Scope:
    """What the figures of a run rest on: which types were counted at all, and which only within bounds."""

    evaluation: Evaluation

    @property
    def not_run(self) -> dict[str, str]:
        """Stage -> why it did not run."""
        return self.evaluation.chain.not_run

    @cached_property
    def touched(self) -> frozenset[str]:
        """The types whose counts would be lower had every stage run."""
        return frozenset(touched(self.not_run, (*self.evaluation.chain.every_order, *DEFAULT_ORDER)))

    def cell(self, result: ModelResult, name: str, group: int = 0) -> str:
        """Return a count: plain where it is exact, ``60–1,274`` or ``≤ 723`` where it is not, or ``not run``."""
        if name in self.not_run:
            return _NOT_RUN
        measures, place = result.measures, ERROR_TYPES.index(name)
        count, least, most = (int(getattr(measures, key)[group, place]) for key in ("counts", "least", "most"))
        if name in self.touched:
            return f"≤ {most:,}"
        return f"{count:,}" if least == most else f"{least:,}–{most:,}"

    def is_exact(self, result: ModelResult, name: str) -> bool:
        """Tell whether a type's count is what it would be with all evidence."""
        place = ERROR_TYPES.index(name)
        bounded = result.measures.least[0, place] != result.measures.most[0, place]
        return not bounded and name not in self.touched and name not in self.not_run

    def accuracy(self, result: ModelResult, name: str, value: float) -> str:
        """Return the accuracy of this name; one that forgives types which were not fully measured is a lower bound."""
        bounds = lower_bounds(each for each in ERROR_TYPES if not self.is_exact(result, each))
        sign = "≥ " if name in bounds else ""
        return "–" if np.isnan(value) else f"{sign}{value:.2%}"

    @property
    def caveats(self) -> list[str]:
        """One line for each stage that did not run or could not judge every case that came to it."""
        lines = [f"Stage {stage} did not run: {reason}." for stage, reason in self.not_run.items()]
        lines += [self._partial(stage) for stage in self._lacking]
        if self.touched or self._lacking:
            lines.append(
                f"Counts with bounds, and {SEVERE} among them, would be lower or higher with the missing evidence: "
                "do not compare them with models that have it."
            )
        return lines

    @cached_property
    def _lacking(self) -> dict[str, int]:
        lacking = self.evaluation.judged.verdicts.lacking
        counts = {stage: int(cannot.sum()) for stage, cannot in lacking.items() if stage not in self.not_run}
        return {stage: count for stage, count in counts.items() if count}

    def _partial(self, stage: str) -> str:
        order = self.evaluation.chain.every_order
        earlier = [ERROR_TYPES.index(name) for name in order[: order.index(stage)]]
        n_came = int((~np.isin(self.evaluation.judged.verdicts.error_type, earlier)).sum())
        n_known = n_came - self._lacking[stage]
        return f"Stage {stage} has evidence for {n_known:,} of the {n_came:,} distinct cases that came to it."


_MOST_LISTED = 5


def _read_view(evaluation: Evaluation) -> Text:
    annotations = evaluation.basis.annotations
    excluded = ", ".join(f"{holds.sum():,} {reason}" for reason, holds in annotations.exclusions.items() if holds.any())
    lines = [
        f"Data set: {evaluation.basis.inputs.data_set.title}",
        f"Labels: {evaluation.basis.label_set}; predictions: {evaluation.judged.class_rule}",
        f"Annotations: {counted(len(annotations), 'image')}, {annotations.evaluated.sum():,} evaluated, "
        f"{(~annotations.evaluated).sum():,} excluded{f' ({excluded})' if excluded else ''}",
        *(f"Evidence: {note}" for note in evaluation.basis.notes),
    ]
    many = len(evaluation.intakes) > 1
    told: dict[str, list[str]] = {}
    for model, intake in evaluation.intakes.items():
        if not many or intake.notes or intake.n_repeated or intake.n_invalid or intake.n_missing:
            told.setdefault(intake_text(intake), []).append(model)
    lines += [f"{_listed(models)}: {text}" for text, models in told.items()]
    return Text("\n".join(lines))


def _listed(models: Sequence[str]) -> str:
    """Return the names of models of which the same is told; of many, the first."""
    more = f" and {counted(len(models) - _MOST_LISTED, 'more model')}" if len(models) > _MOST_LISTED else ""
    return ", ".join(models[:_MOST_LISTED]) + more


def intake_text(intake: Intake) -> str:
    """Return what became of a file's rows, in one line and a line for each note."""
    counts = {
        "not annotated": intake.n_extra,
        "repeated": intake.n_repeated,
        "invalid": intake.n_invalid,
        "evaluated images missing": intake.n_missing,
        "ties": intake.n_ties,
    }
    also = "".join(f", {count:,} {what}" for what, count in counts.items() if count)
    notes = "".join(f"\n  note: {note}" for note in intake.notes)
    return f"{intake.format}, {counted(intake.n_rows, 'row')} read, {intake.n_matched:,} matched{also}{notes}"


def _distribution(result: ModelResult, scope: _Scope) -> RenderableType:
    """Return one model's counts by type and group, with shares of its errors, and its accuracies."""
    table = Table(title=escape(result.model), title_justify="left")
    table.add_column("error type")
    for group in result.measures.groups:
        table.add_column(group, justify="right")
    table.add_column("of top-1 errors", justify="right")
    table.add_column("of multi-label errors", justify="right")
    for name in ERROR_TYPES:
        counts = [scope.cell(result, name, group) for group in range(len(result.measures.groups))]
        table.add_row(Text(name, style=_STYLE[COUNTS_AS[name]]), *counts, *_shares(result, name, scope))
    table.add_section()
    for title, values in _accuracies(result, scope):
        table.add_row(title, *values, "", "")
    parts: list[RenderableType] = [
        table,
        *(Text(line) for line in _tally_lines(result.tally, scope.evaluation.intakes[result.model])),
    ]
    return Group(*parts)


def _shares(result: ModelResult, name: str, scope: _Scope) -> list[str]:
    """Return a type's share of the top-1 and of the multi-label errors: exact, at most so much, or about so much.

    The number of multi-label errors hangs itself on the stages that accept labels.
    """
    if name in scope.not_run:
        return ["", ""]
    place, shown = ERROR_TYPES.index(name), []
    for among in (IS_TOP1_ERROR, IS_MULTI_LABEL_ERROR):
        portion = result.measures.portions(among)[0, place]
        is_whole = all(scope.is_exact(result, each) for each in _errors_outside(among))
        if np.isnan(portion):
            shown.append("")
        elif is_whole and name in scope.touched:
            shown.append(f"≤ {result.measures.most[0, place] / result.measures.counts[0][among].sum():.1%}")
        else:
            shown.append(f"{'' if is_whole and scope.is_exact(result, name) else '~ '}{portion:.1%}")
    return shown


def _errors_outside(among: NDArray[np.bool_]) -> list[str]:
    return [name for name, counts in zip(ERROR_TYPES, among, strict=True) if not counts and name != "correct"]


def _accuracies(result: ModelResult, scope: _Scope) -> list[tuple[str, list[str]]]:
    """Return the accuracies by group."""
    titles = {
        "top1_accuracy": "top-1 accuracy",
        "mla": "multi-label accuracy (MLA)",
        "mla_minor": "MLA, fine-grained errors as right",
        "mla_explained": "MLA, all but failures as right",
    }
    return [
        (title, [scope.accuracy(result, name, value) for value in getattr(result.measures, name)])
        for name, title in titles.items()
    ]


def _tally_lines(tally: Tally, intake: Intake) -> list[str]:
    """Return the figures over all images that people check against numbers they know."""
    lines = []
    if tally.n_with_accepted:
        share = tally.n_accepted / tally.n_with_accepted
        lines.append(
            f"Accepted accuracy: {share:.2%} of the {tally.n_with_accepted:,} images with accepted labels "
            "got one of them."
        )
    if intake.n_labelled > tally.n_images - tally.n_rejected:
        share = intake.n_right / intake.n_labelled
        lines.append(f"Top-1 accuracy over all {intake.n_labelled:,} labelled images: {share:.2%}.")
    if tally.n_rejected:
        lines.append(
            f"Of {counted(tally.n_rejected, 'image')} whose label no annotator accepts, the model named an accepted "
            f"label in {tally.n_right_against_label:,} and the rejected one in {tally.n_rejected_label_named:,}."
        )
    return lines


@dataclass(frozen=True, eq=False)
class _Comparison:
    """One row a model, best multi-label accuracy first; on a narrow screen without a column for each type."""

    results: Sequence[ModelResult]
    scope: _Scope

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> RenderResult:
        types = [name for name in ERROR_TYPES if name != "correct"] if options.max_width >= _WIDE else [SEVERE]
        table = Table(title=f"{len(self.results)} models, by multi-label accuracy", title_justify="left")
        table.add_column("model", overflow="fold")
        for column in ("top-1", "MLA", "errors", *(SHORT_NAMES.get(name, name) for name in types)):
            table.add_column(column, justify="right", no_wrap=True)
        table.add_column("errors by severity", min_width=_SMALL_BAR_WIDTH)
        ranked = sorted(self.results, key=lambda result: -result.measures.mla[0])
        for result in ranked[:_MOST_MODELS]:
            table.add_row(*self._row(result, types))
        if len(ranked) > _MOST_MODELS:
            table.add_row(f"... and {len(ranked) - _MOST_MODELS} more in summary.parquet")
        yield table

    def _row(self, result: ModelResult, types: Sequence[str]) -> list[RenderableType]:
        counts = result.measures.counts[0]
        return [
            Text(result.model),
            self.scope.accuracy(result, "top1_accuracy", result.measures.top1_accuracy[0]),
            self.scope.accuracy(result, "mla", result.measures.mla[0]),
            f"{counts[IS_TOP1_ERROR].sum():,}",
            *(self.scope.cell(result, name) for name in types),
            severity_bar(counts.tolist(), width=_SMALL_BAR_WIDTH),
        ]


def walk_view(path: DecisionPath) -> RenderableType:
    """Return one case's way through the stages."""
    head = Text()
    head.append(f"{path.file_name}\n", style="bold")
    head.append(f"label: {path.label}\nprediction: {path.prediction}\naccepted: {', '.join(path.accepted)}\n")
    first = list(path.models.items())[:_MOST_PREDICTORS]
    shown = [name if score is None else f"{name} ({score:.1%})" for name, score in first]
    n_more = len(path.models) - len(first)
    head.append(f"predicted by: {', '.join(shown)}{f' and {n_more} more' if n_more else ''}")
    table = Table(show_edge=False, pad_edge=False)
    for column in ("stage", "explains", "evidence"):
        table.add_column(column)
    for answer in path.answers:
        stage = Text(answer.stage, style="bold" if answer.stage == path.error_type else "")
        says = Text("\n".join((answer.says, *answer.details)))
        table.add_row(stage, Text(answer.answer, style=_ANSWER[answer.answer]), says)
    verdict = Text(f"verdict: {path.error_type}", style=f"bold {_STYLE[COUNTS_AS[path.error_type]]}")
    return Group(head, table, verdict, Text())


def severity_bar(counts: Sequence[int], *, width: int) -> Text:
    """Return a bar of ``width`` signs for one model's counts, one a type of ``chain.ERROR_TYPES``; empty if no errors.

    What is there at all gets at least one sign, and the lengths add up to the width.
    """
    sums = dict.fromkeys(_SIGN, 0)
    for name, count in zip(ERROR_TYPES, counts, strict=True):
        if name != "correct":
            sums[COUNTS_AS[name]] += int(count)
    bar = Text(no_wrap=True)
    for kind, length in zip(sums, _lengths(list(sums.values()), width), strict=True):
        bar.append(_SIGN[kind] * length, style=_STYLE[kind])
    return bar


def bar_legend() -> Text:
    """Return what the signs of the bars mean, in one line."""
    text = Text()
    for kind, means in _LEGEND.items():
        text.append(f"{_SIGN[kind]}{_SIGN[kind]}", style=_STYLE[kind])
        text.append(f" {means}   ")
    text.rstrip()
    return text


def _lengths(parts: list[int], width: int) -> list[int]:
    """Share out the width: each part's floor, at least 1 where there is any, the rest to the largest remainders."""
    total = sum(parts)
    if not total:
        return [0] * len(parts)
    exact = [part * width / total for part in parts]
    lengths = [max(int(share), 1 if part else 0) for share, part in zip(exact, parts, strict=True)]
    while sum(lengths) != width:
        step = 1 if sum(lengths) < width else -1
        # The part that is furthest from its share in the needed direction gives or takes one sign.
        open_ends = [place for place, length in enumerate(lengths) if parts[place] and length + step >= 1]
        if not open_ends:
            break
        place = max(open_ends, key=lambda place: step * (exact[place] - lengths[place]))
        lengths[place] += step
    return lengths
