"""What a run looks like in the terminal: the figures at a glance, and what became of the rows that were read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from imagenet_errors.chain import COUNTS_AS, ERROR_TYPES
from imagenet_errors.evaluate import Evaluation
from imagenet_errors.labels import GROUPS
from imagenet_errors.measure import IS_MULTI_LABEL_ERROR, IS_TOP1_ERROR
from imagenet_errors.problems import counted
from imagenet_errors.report.bars import STYLE as _STYLE
from imagenet_errors.report.bars import bar_legend, severity_bar
from imagenet_errors.runs.directory import ModelResult
from imagenet_errors.tables import Intake
from imagenet_errors.why import DecisionPath

_MOST_MODELS = 25
_SHORT = {
    "class_overlap": "overlap",
    "multi_object": "multi-obj",
    "fine_grained": "fine",
    "fine_grained_oov": "OOV",
    "non_prototypical": "non-proto",
    "spurious_correlation": "spurious",
    "model_failure": "failure",
}
_ANSWER = {"yes": "green", "no": "dim", "unknown": "yellow", "not run": "yellow"}
_BAR_WIDTH, _SMALL_BAR_WIDTH = 64, 16
_WIDE = 120
"""Columns of a screen that has room for a column of each error type."""


def evaluation_view(evaluation: Evaluation, out: Path) -> RenderableType:
    """Return the whole answer to ``evaluate``."""
    parts: list[RenderableType] = [_read_view(evaluation)]
    not_run = frozenset(evaluation.chain.not_run)
    if len(evaluation.results) == 1:
        parts.append(_distribution(evaluation.results[0], not_run=not_run))
        parts.append(severity_bar(evaluation.results[0].measures.counts[0].tolist(), width=_BAR_WIDTH))
    else:
        parts.append(_Comparison(evaluation.results, not_run))
    parts.append(bar_legend())
    for stage, reason in evaluation.chain.not_run.items():
        parts.append(Text(f"Stage {stage} did not run: {reason}.", style="yellow"))
    parts += [Text(f"Not evaluated: {failure.reason}", style="red") for failure in evaluation.failures]
    parts.append(
        Text(f"Written to {out}: verdicts/, distribution.parquet, summary.parquet, accuracy.parquet, run.json")
    )
    return Group(*parts)


def _read_view(evaluation: Evaluation) -> Text:
    annotations = evaluation.basis.annotations
    excluded = ", ".join(f"{holds.sum():,} {reason}" for reason, holds in annotations.exclusions.items() if holds.any())
    lines = [
        f"Annotations: {counted(len(annotations), 'image')}, {annotations.evaluated.sum():,} evaluated, "
        f"{(~annotations.evaluated).sum():,} excluded{f' ({excluded})' if excluded else ''}",
        *(f"Evidence: {note}" for note in evaluation.basis.notes),
    ]
    many = len(evaluation.intakes) > 1
    for model, intake in evaluation.intakes.items():
        if not many or intake.notes or intake.n_repeated or intake.n_invalid or intake.n_missing:
            lines.append(f"{model}: {intake_text(intake)}")
    return Text("\n".join(lines))


def intake_text(intake: Intake) -> str:
    """Return what became of a file's rows, in one line and a line for each note."""
    counts = {
        "not annotated": intake.n_extra,
        "repeated": intake.n_repeated,
        "invalid": intake.n_invalid,
        "evaluated images missing": intake.n_missing,
        "ties": intake.n_ties,
    }
    told = "".join(f", {count:,} {what}" for what, count in counts.items() if count)
    notes = "".join(f"\n  note: {note}" for note in intake.notes)
    return f"{intake.format}, {counted(intake.n_rows, 'row')} read, {intake.n_matched:,} matched{told}{notes}"


def _distribution(result: ModelResult, *, not_run: frozenset[str]) -> RenderableType:
    """Return one model's counts by type and group, with shares of its errors, and its accuracies."""
    measures = result.measures
    table = Table(title=escape(result.model), title_justify="left")
    table.add_column("error type")
    for group in GROUPS:
        table.add_column(group, justify="right")
    table.add_column("of top-1 errors", justify="right")
    table.add_column("of multi-label errors", justify="right")
    portions = [measures.portions(among)[0] for among in (IS_TOP1_ERROR, IS_MULTI_LABEL_ERROR)]
    for place, name in enumerate(ERROR_TYPES):
        counts = ["not run" if name in not_run else f"{count:,}" for count in measures.counts[:, place]]
        shares = [
            "" if np.isnan(portion[place]) or name in not_run else f"{portion[place]:.1%}" for portion in portions
        ]
        table.add_row(Text(name, style=_STYLE[COUNTS_AS[name]]), *counts, *shares)
    table.add_section()
    for title, values in _accuracies(result):
        table.add_row(title, *("-" if np.isnan(value) else f"{value:.2%}" for value in values), "", "")
    return table


def _accuracies(result: ModelResult) -> list[tuple[str, np.ndarray]]:
    measures = result.measures
    return [
        ("top-1 accuracy", measures.top1_accuracy),
        ("multi-label accuracy (MLA)", measures.mla),
        ("MLA, fine-grained forgiven", measures.mla_minor),
        ("MLA, all but failures forgiven", measures.mla_explained),
    ]


@dataclass(frozen=True, eq=False)
class _Comparison:
    """One row a model, best multi-label accuracy first; on a narrow screen without a column for each type."""

    results: Sequence[ModelResult]
    not_run: frozenset[str]

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> RenderResult:
        types = ERROR_TYPES[1:] if options.max_width >= _WIDE else ERROR_TYPES[-1:]
        table = Table(title=f"{len(self.results)} models, by multi-label accuracy", title_justify="left")
        table.add_column("model", overflow="fold")
        for column in ("top-1", "MLA", "errors", *(_SHORT.get(name, name) for name in types)):
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
        by_type = ["-" if name in self.not_run else f"{counts[ERROR_TYPES.index(name)]:,}" for name in types]
        return [
            Text(result.model),
            f"{result.measures.top1_accuracy[0]:.2%}",
            f"{result.measures.mla[0]:.2%}",
            f"{counts[1:].sum():,}",
            *by_type,
            severity_bar(counts.tolist(), width=_SMALL_BAR_WIDTH),
        ]


def walk_view(walk: DecisionPath) -> RenderableType:
    """Return one case's way through the stages."""
    head = Text()
    head.append(f"{walk.file_name}\n", style="bold")
    head.append(f"label: {walk.label}\nprediction: {walk.prediction}\naccepted: {', '.join(walk.accepted)}\n")
    shown = [name if score is None else f"{name} ({score:.1%})" for name, score in list(walk.models.items())[:6]]
    more = f" and {len(walk.models) - 6} more" if len(walk.models) > 6 else ""
    head.append(f"predicted by: {', '.join(shown)}{more}")
    table = Table(show_edge=False, pad_edge=False)
    for column in ("stage", "explains", "evidence"):
        table.add_column(column)
    for answer in walk.answers:
        decided = answer.stage == walk.error_type
        says = Text("\n".join((answer.says, *answer.details)))
        table.add_row(
            Text(answer.stage, style="bold" if decided else ""), Text(answer.answer, style=_ANSWER[answer.answer]), says
        )
    verdict = Text(f"verdict: {walk.error_type}", style=f"bold {_STYLE[COUNTS_AS[walk.error_type]]}")
    return Group(head, table, verdict, Text())
