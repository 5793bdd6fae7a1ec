"""What the page's templates show of the run and of each model: numbers put in order, no markup."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from imagenet_errors.chain import COUNTS_AS, ERROR_TYPES
from imagenet_errors.datasets import Dataset
from imagenet_errors.evidence.superclasses import Superclasses
from imagenet_errors.labels import LabelSpace
from imagenet_errors.measure import IS_MULTI_LABEL_ERROR, IS_TOP1_ERROR, Strata, class_average, lower_bounds, strata
from imagenet_errors.report.comparison import Consensus, consensus
from imagenet_errors.report.factors import FactorRates, Factors, factor_rates
from imagenet_errors.report.fits import fit_line
from imagenet_errors.report.fix_first import Excess, Lead, Severities, Situation, excesses, leads, not_worth
from imagenet_errors.report.looks import SEVERE, Look, looks
from imagenet_errors.report.page.bars import Bar, Calibration, bars, calibration, count_texts, share_texts
from imagenet_errors.report.page.headline import Headline, headline_of
from imagenet_errors.report.page.scatter import Mark, Panel, marks
from imagenet_errors.report.points import Points, comparable, is_like_published
from imagenet_errors.runs.tables import NOT_EVALUATED, RunTables

N_CONFUSIONS = 6
N_RANKED = 8
_CODE = 1 << 15


class Row(msgspec.Struct, frozen=True):
    """One error type over all groups: counts and shares as text, with bounds where evidence was missing."""

    look: Look
    counts: tuple[str, ...]
    of_top1: str
    of_multi_label: str
    not_run: str


class Rank(msgspec.Struct, frozen=True):
    """The model's place among others: how many of ``n`` have a lower accuracy; its place from the best."""

    place: int
    n: int
    n_below: int


class GroupAccuracy(msgspec.Struct, frozen=True):
    """A group's accuracies: of images with any accepted label in it, and of those whose own label is in it."""

    group: str
    n_images: int
    mla: float | None
    n_own: int
    mla_own: float | None


class Confusion(msgspec.Struct, frozen=True):
    """``count`` images of class ``label`` were taken for ``prediction``."""

    label: int
    prediction: int
    count: int


@dataclass(frozen=True, eq=False)
class Setting:
    """What all models of a page share."""

    run: RunTables
    data_set: Dataset
    superclasses: Superclasses | None
    ours: Points
    published: Points | None
    panels: tuple[Panel, ...]
    factors: Factors | None = None
    compared: Points | None = None
    unasked: tuple[str, ...] = ()

    @property
    def beside(self) -> Points:
        """The run's models as they compare with the published: of stages that neither side asked, nothing hangs."""
        return self.ours if self.compared is None else self.compared

    @property
    def labels(self) -> LabelSpace:
        """The classes of the run."""
        return self.data_set.labels

    @property
    def is_like_published(self) -> bool:
        """True where the published models were judged on the same data set."""
        return is_like_published(self.data_set)

    @cached_property
    def severe(self) -> tuple[str, ...]:
        """The types that count as severe where groups of errors are compared within the run."""
        return comparable(SEVERE, self.ours, None)

    @cached_property
    def severities(self) -> Severities:
        """All models by how severe their errors are."""
        return Severities(self.run, self.severe, self.superclasses, len(self.labels))

    @cached_property
    def marks(self) -> tuple[tuple[Mark, ...], ...]:
        """Each model's marks in the panels that it has one in."""
        of_models = zip(*(marks(panel, self.beside) for panel in self.panels), strict=True)
        return tuple(tuple(mark for mark in of_panels if mark is not None) for of_panels in of_models)

    @cached_property
    def own_groups(self) -> NDArray[np.bool_]:
        """bool [G, I]: the groups of every image's own label."""
        return np.stack([self.labels.in_group(group)[self.run.label] for group in self.ours.groups])

    def parted(self, seen: NDArray[np.bool_]) -> tuple[NDArray[np.int64], Strata]:
        """Return the images that are seen (bool [I]) and their strata by label; models often share them."""
        key = seen.tobytes()
        if key not in self._parted:
            images = np.flatnonzero(seen)
            self._parted[key] = (images, strata(self.run.label[images], self.own_groups[:, images]))
        return self._parted[key]

    @cached_property
    def _parted(self) -> dict[bytes, tuple[NDArray[np.int64], Strata]]:
        return {}


class ModelView(msgspec.Struct, frozen=True):
    """All that the page says of one model."""

    place: int
    name: str
    headline: Headline
    facts: dict[str, Any]
    top1: float | None
    mla: float | None
    mla_minor: float | None
    mla_explained: float | None
    lower_bounds: frozenset[str]
    groups: tuple[GroupAccuracy, ...]
    bars: tuple[Bar, ...]
    rows: tuple[Row, ...]
    marks: tuple[Mark, ...]
    rank: Rank | None
    published_rank: Rank | None
    leads: list[Lead]
    not_worth: list[Lead]
    n_peers: int
    confusions: dict[str, list[Confusion]]
    classes: list[Excess]
    superclasses: list[Excess]
    calibration: Calibration | None
    factors: FactorRates | None

    @property
    def severe_mark(self) -> Mark | None:
        """Where the model stands with its severe errors, alone or with the types they can only be told with."""
        return next((mark for mark in self.marks if mark.panel.is_severe), None)

    @property
    def all_is_above(self) -> bool:
        """True where the figure of all classes is above that of every group."""
        parts = [group.mla for group in self.groups[1:] if group.mla is not None]
        return self.mla is not None and bool(parts) and self.mla > max(parts)


def model_view(setting: Setting, model: int) -> ModelView:
    """Gather what the page says of one model."""
    run, ours = setting.run, setting.ours
    situation = Situation(setting.severities, model)
    accuracies = {name: _known(values[model, 0]) for name, values in run.figures.accuracies.items()}
    mla = float(ours.mla[model, 0])
    return ModelView(
        place=model,
        name=run.models[model],
        headline=headline_of(ours, model),
        facts=run.figures.facts[model],
        top1=accuracies["top1_accuracy"],
        mla=accuracies["mla"],
        mla_minor=accuracies["mla_minor"],
        mla_explained=accuracies["mla_explained"],
        lower_bounds=lower_bounds(ours.open_types_of(model)),
        groups=_group_accuracies(setting, model),
        bars=bars(ours, model),
        rows=_rows(setting, model),
        marks=setting.marks[model],
        rank=_rank(ours, mla),
        published_rank=None if setting.published is None else _rank(setting.published, mla),
        leads=leads(situation),
        not_worth=not_worth(situation),
        n_peers=len(situation.peers),
        confusions=confusions(run, model, most=N_CONFUSIONS),
        classes=excesses(situation, "label", most=N_RANKED),
        superclasses=excesses(situation, "superclass", most=N_RANKED),
        calibration=calibration(run, model),
        factors=None if setting.factors is None else factor_rates(run, model, setting.factors),
    )


def _rows(setting: Setting, model: int) -> tuple[Row, ...]:
    ours, not_run = setting.ours, setting.run.manifest.stages_not_run
    counts = zip(*count_texts(ours, model), strict=True)
    of_top1, of_multi_label = (share_texts(ours, model, among) for among in (IS_TOP1_ERROR, IS_MULTI_LABEL_ERROR))
    return tuple(
        Row(look, of_groups, top1, multi_label, not_run.get(look.name, ""))
        for look, of_groups, top1, multi_label in zip(looks(), counts, of_top1, of_multi_label, strict=True)
    )


def _group_accuracies(setting: Setting, model: int) -> tuple[GroupAccuracy, ...]:
    run = setting.run
    seen = run.error_type[model] != NOT_EVALUATED
    is_right = np.array([COUNTS_AS[name] == "right" for name in ERROR_TYPES])[run.error_type[model]] & seen
    images, parted = setting.parted(seen)
    by_label = parted.by_label(parted.counts(is_right[images].astype(np.int8), 2))
    averages = class_average(by_label, np.array([False, True]))
    mla, counts = run.figures.accuracies["mla"][model], setting.ours.counts[model].sum(axis=1)
    columns = (counts.tolist(), map(_known, mla), by_label.sum(axis=(1, 2)).tolist(), map(_known, averages))
    return tuple(GroupAccuracy(*told) for told in zip(setting.ours.groups, *columns, strict=True))


def _rank(among: Points, mla: float) -> Rank | None:
    others = among.mla[:, 0]
    if not np.isfinite(mla) or len(others) < 2:
        return None
    return Rank(1 + int((others > mla).sum()), len(others), int((others < mla).sum()))


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def confusions(run: RunTables, model: int, *, most: int) -> dict[str, list[Confusion]]:
    """Return each error type's most frequent (label, prediction) pairs, those of equal count by class index."""
    errors = np.flatnonzero(run.error_type[model] > 0)
    codes = run.error_type[model][errors].astype(np.int64)
    for part in (run.label, run.prediction[model]):
        codes = codes * _CODE + part[errors]
    pairs, counts = np.unique(codes, return_counts=True)
    kinds = pairs // _CODE**2
    ranked = np.lexsort((-counts, kinds))  # stable: those of equal count stay by class
    starts = np.searchsorted(kinds, np.arange(len(ERROR_TYPES)))
    found: dict[str, list[Confusion]] = {}
    for place, name in enumerate(ERROR_TYPES):
        chosen = ranked[starts[place] : starts[place] + most]
        chosen = chosen[kinds[chosen] == place]
        label, prediction = pairs[chosen] // _CODE % _CODE, pairs[chosen] % _CODE
        rows = zip(label.tolist(), prediction.tolist(), counts[chosen].tolist(), strict=True)
        found[name] = [Confusion(*row) for row in rows]
    return found


class RunView(msgspec.Struct, frozen=True):
    """What the page says of all models together.

    ``slope`` is how the share of ``severe`` among multi-label errors changes, in percentage points a point of MLA, over
    the ``n_fitted`` models whose share is exact.
    """

    n_models: int
    mla_low: float | None
    mla_high: float | None
    n_errors_low: int
    n_errors_high: int
    severe: tuple[str, ...]
    share_low: float | None
    share_high: float | None
    slope: float | None
    n_fitted: int
    consensus: Consensus
    n_nearly_all: int


def run_view(setting: Setting) -> RunView | None:
    """Gather what the page says of all models; None for a single one."""
    ours = setting.ours
    mla = ours.mla[:, 0]
    if len(ours) < 2:
        return None
    shares = ours.portions(setting.severe, among="multi_label")
    n_errors = ours.counts[:, 0][:, IS_TOP1_ERROR].sum(axis=1)
    fit = fit_line(mla, shares) if len(ours) >= 5 else None
    agreed = consensus(setting.run)
    known, known_mla = (values[np.isfinite(values)] for values in (shares, mla))
    return RunView(
        n_models=len(ours),
        mla_low=float(known_mla.min()) if len(known_mla) else None,
        mla_high=float(known_mla.max()) if len(known_mla) else None,
        n_errors_low=int(n_errors.min()),
        n_errors_high=int(n_errors.max()),
        severe=setting.severe,
        share_low=float(known.min()) if len(known) else None,
        share_high=float(known.max()) if len(known) else None,
        slope=None if fit is None else fit.slope,
        n_fitted=0 if fit is None else fit.n,
        consensus=agreed,
        n_nearly_all=len(agreed.nearly_all) if agreed.n_models >= 3 else 0,
    )
