"""What the page's templates show of each model: numbers put in order, no markup."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.evidence.superclasses import Superclasses
from imagenet_errors.labels import GROUPS, LabelSpace
from imagenet_errors.measure import IS_MULTI_LABEL_ERROR, IS_TOP1_ERROR
from imagenet_errors.report.looks import SEVERE, Look, looks
from imagenet_errors.report.page.headline import Headline, headline_of
from imagenet_errors.report.page.scatter import Mark, Panel, mark
from imagenet_errors.report.page.tables import Confusion, Severity, confusions, severe_classes, severe_superclasses
from imagenet_errors.report.published import Points
from imagenet_errors.runs.tables import RunTables

N_CONFUSIONS = 6
N_SEVERE = 10
_LABELLED_FROM = 0.05
"""Segments narrower than this share of their bar have no room for their count; the table has it."""


@dataclass(frozen=True)
class Segment:
    """A part of a bar."""

    look: Look
    count: int
    share: float

    @property
    def is_labelled(self) -> bool:
        """True where the count fits in."""
        return self.share >= _LABELLED_FROM


@dataclass(frozen=True)
class Bar:
    """A group's top-1 errors by type."""

    group: str
    n_images: int
    n_errors: int
    segments: tuple[Segment, ...]


@dataclass(frozen=True)
class Row:
    """One error type over all groups; shares in 0..1, None where undefined."""

    look: Look
    counts: tuple[int, ...]
    of_top1: float | None
    of_multi_label: float | None
    not_run: str


@dataclass(frozen=True)
class Rank:
    """The model's place among others: how many of ``n`` have a lower accuracy; its place from the best."""

    place: int
    n: int
    n_below: int


@dataclass(frozen=True)
class ModelView:
    """All that the page says of one model."""

    place: int
    name: str
    headline: Headline
    top1: float | None
    mla: float | None
    mla_minor: float | None
    mla_explained: float | None
    bars: tuple[Bar, ...]
    rows: tuple[Row, ...]
    marks: tuple[Mark, ...]
    n_without_oov_evidence: int
    rank: Rank | None
    published_rank: Rank | None
    confusions: dict[str, list[Confusion]]
    classes: list[Severity]
    superclasses: list[Severity]

    @property
    def severe_mark(self) -> Mark | None:
        """Where the model stands with its severe errors."""
        return next((mark for mark in self.marks if mark.panel.error_type == SEVERE), None)


@dataclass(frozen=True, eq=False)
class Setting:
    """What all models of a page share."""

    run: RunTables
    labels: LabelSpace
    superclasses: Superclasses | None
    ours: Points
    published: Points | None
    panels: tuple[Panel, ...]


def model_view(setting: Setting, model: int) -> ModelView:
    """Gather what the page says of one model."""
    run, superclasses = setting.run, setting.superclasses
    counts = run.figures.counts[model]
    accuracies = {name: _known(values[model, 0]) for name, values in run.figures.accuracies.items()}
    ran = (panel for panel in setting.panels if panel.error_type not in run.manifest.stages_not_run)
    found = (mark(panel, setting.ours, model, published=setting.published) for panel in ran)
    return ModelView(
        place=model,
        name=run.models[model],
        headline=headline_of(counts[0]),
        top1=accuracies["top1_accuracy"],
        mla=accuracies["mla"],
        mla_minor=accuracies["mla_minor"],
        mla_explained=accuracies["mla_explained"],
        bars=bars(counts),
        rows=_rows(counts, run.manifest.stages_not_run),
        marks=tuple(one for one in found if one is not None),
        n_without_oov_evidence=int(run.figures.facts[model].get("n_without_oov_evidence") or 0),
        rank=_rank(setting.ours, setting.ours.mla[model, 0]),
        published_rank=None if setting.published is None else _rank(setting.published, setting.ours.mla[model, 0]),
        confusions=confusions(run, model, most=N_CONFUSIONS),
        classes=severe_classes(run, model, most=N_SEVERE, n_classes=len(setting.labels)),
        superclasses=[]
        if superclasses is None
        else severe_superclasses(run, model, most=N_SEVERE, superclasses=superclasses),
    )


def bars(counts: np.ndarray) -> tuple[Bar, ...]:
    """Return a bar for each group out of one model's counts, int64 [G, T]."""
    made = []
    for group, row in zip(GROUPS, counts, strict=True):
        n_errors = int(row[1:].sum())
        parts = zip(looks()[1:], row[1:].tolist(), strict=True)
        segments = tuple(Segment(look, count, count / n_errors) for look, count in parts if count)
        made.append(Bar(group, int(row.sum()), n_errors, segments))
    return tuple(made)


def _rows(counts: np.ndarray, not_run: dict[str, str]) -> tuple[Row, ...]:
    totals = [int(counts[0, among].sum()) for among in (IS_TOP1_ERROR, IS_MULTI_LABEL_ERROR)]
    rows = []
    for place, look in enumerate(looks()):
        count = int(counts[0, place])
        shares = [
            count / total if total and among[place] else None
            for total, among in zip(totals, (IS_TOP1_ERROR, IS_MULTI_LABEL_ERROR), strict=True)
        ]
        reason = not_run.get(ERROR_TYPES[place], "")
        rows.append(Row(look, tuple(counts[:, place].tolist()), shares[0], shares[1], reason))
    return tuple(rows)


def _rank(among: Points, mla: float) -> Rank | None:
    others = among.mla[:, 0]
    if not np.isfinite(mla) or len(others) < 2:
        return None
    return Rank(1 + int((others > mla).sum()), len(others), int((others < mla).sum()))


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
