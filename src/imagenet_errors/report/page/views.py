"""What the page's templates show of the run and of each model: numbers put in order, no markup."""

from __future__ import annotations

from collections.abc import Sequence
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
from imagenet_errors.measure import IS_MULTI_LABEL_ERROR, IS_TOP1_ERROR, Strata, class_average, strata
from imagenet_errors.problems import counted
from imagenet_errors.report.comparison import Consensus, consensus
from imagenet_errors.report.factors import FactorRates, Factors, factor_rates
from imagenet_errors.report.fits import fit_line
from imagenet_errors.report.fix_first import Excess, Lead, Severities, Situation, excesses, leads, not_worth
from imagenet_errors.report.looks import SEVERE, Look, looks
from imagenet_errors.report.page.scatter import Mark, Panel, marks
from imagenet_errors.report.points import BOUNDED, EXACT, UNKNOWN, Points, comparable, is_like_published
from imagenet_errors.runs.tables import NOT_EVALUATED, RunTables

N_CONFUSIONS = 6
N_RANKED = 8
N_BINS = 10
_CODE = 1 << 15
_NUMBERS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"),
)


class Headline(msgspec.Struct, frozen=True):
    """``claim`` continues the model's name; the counts share out its errors by what they count as.

    ``n_open`` errors are of types that depend on missing evidence, ``open_types``; then ``severe`` lies between
    ``severe_low`` and ``severe_high``, and ``minor`` and ``explained`` count the types that are exact.
    """

    claim: str
    n_images: int
    n_errors: int
    right: int
    minor: int
    explained: int
    severe: int
    severe_low: int
    severe_high: int
    open_types: tuple[str, ...] = ()
    n_open: int = 0


def headline_of(points: Points, model: int) -> Headline:
    """Sum up one model's counts over all images."""
    counts, state = points.counts[model, 0], points.state[model]
    sums = dict.fromkeys(("right", "minor", "explained", "wrong"), 0)
    for place, name in enumerate(ERROR_TYPES):
        if name != "correct" and state[place] == EXACT:
            sums[COUNTS_AS[name]] += int(counts[place])
    place = ERROR_TYPES.index(SEVERE)
    severe, high = int(counts[place]), int(points.most[model, 0, place])
    low = 0 if state[place] == UNKNOWN else int(points.least[model, 0, place])
    n_errors, is_open = int(counts[IS_TOP1_ERROR].sum()), state != EXACT
    return Headline(
        claim=_claim(severe, n_errors) if state[place] == EXACT else _open_claim(low, high, n_errors),
        n_images=int(counts.sum()),
        n_errors=n_errors,
        right=sums["right"],
        minor=sums["minor"],
        explained=sums["explained"],
        severe=severe,
        severe_low=low,
        severe_high=high,
        open_types=tuple(name for name, hangs in zip(ERROR_TYPES, is_open, strict=True) if hangs),
        n_open=int(counts[is_open].sum()),
    )


def _claim(n_severe: int, n_errors: int) -> str:
    if not n_errors:
        return "makes no error on these images"
    if n_errors == 1:
        return "makes a single error, and it is severe" if n_severe else "makes a single error, and it is not severe"
    return f"makes {counted(n_errors, 'error')}; {in_words(n_severe / n_errors)} severe"


def _open_claim(low: int, high: int, n_errors: int) -> str:
    """Return the claim where it depends on missing evidence how many errors are severe."""
    if n_errors < 2:
        return _claim(high, n_errors) if not high else "makes a single error, which may be severe"
    most = f"{high / n_errors:.0%}"
    share = f"between {low / n_errors:.0%} and {most} are" if low else f"at most {most} are"
    return f"makes {counted(n_errors, 'error')}; {share} severe"


def in_words(share: float) -> str:
    """Return a share as people say it, with its verb: ``"about one in three is"``, ``"most are"``."""
    if share <= 0:
        return "none is"
    if share >= 0.995:
        return "nearly all are" if share < 1 else "all are"
    for least, words in (
        (0.8, "most are"),
        (0.7, "about three in four are"),
        (0.58, "about two in three are"),
        (0.42, "about half are"),
        (0.36, "about two in five are"),
    ):
        if share > least:
            return words
    if share < 0.05:
        return "hardly any are" if share < 0.01 else f"about {round(100 * share)} in a hundred are"
    return f"about one in {_NUMBERS[round(1 / share)]} is"


class Segment(msgspec.Struct, frozen=True):
    """A part of a bar; ``is_open``: its ``text`` gives bounds, since evidence was missing."""

    look: Look
    count: int
    share: float
    text: str
    is_open: bool = False


class Bar(msgspec.Struct, frozen=True):
    """A group's top-1 errors by type."""

    group: str
    n_images: int
    n_errors: int
    segments: tuple[Segment, ...]


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
        lower_bounds=_lower_bounds(ours.state[model]),
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


def _lower_bounds(state: NDArray[np.int8]) -> frozenset[str]:
    """Return the accuracies that forgive types which depend on missing evidence: with it they would be higher."""
    forgives = {"mla": ("right",), "mla_minor": ("right", "minor"), "mla_explained": ("right", "minor", "explained")}
    kinds = {COUNTS_AS[name] for name, how in zip(ERROR_TYPES, state, strict=True) if how != EXACT}
    return frozenset(name for name, of in forgives.items() if kinds & set(of))


def bars(points: Points, model: int) -> tuple[Bar, ...]:
    """Return a bar for each group out of one model's counts."""
    told, is_open = count_texts(points, model), points.is_open[model].tolist()
    shown = []
    for group, (row, texts) in enumerate(zip(points.counts[model].tolist(), told, strict=True)):
        parts = [(place, count) for place, count in enumerate(row) if count and looks()[place].name != "correct"]
        n_errors = sum(count for _, count in parts)
        segments = tuple(
            Segment(looks()[place], count, count / n_errors, texts[place], is_open[place]) for place, count in parts
        )
        shown.append(Bar(points.groups[group], sum(row), n_errors, segments))
    return tuple(shown)


def _rows(setting: Setting, model: int) -> tuple[Row, ...]:
    ours, not_run = setting.ours, setting.run.manifest.stages_not_run
    counts = zip(*count_texts(ours, model), strict=True)
    of_top1, of_multi_label = (_share_texts(ours, model, among) for among in (IS_TOP1_ERROR, IS_MULTI_LABEL_ERROR))
    return tuple(
        Row(look, of_groups, top1, multi_label, not_run.get(look.name, ""))
        for look, of_groups, top1, multi_label in zip(looks(), counts, of_top1, of_multi_label, strict=True)
    )


def _share_texts(points: Points, model: int, among: NDArray[np.bool_]) -> list[str]:
    """Return the share of each type in the errors of some types (bool [T]) for people, between bounds if it has any."""
    bounds = (bound[model, 0].tolist() for bound in (points.counts, points.least, points.most))
    total = int(points.counts[model, 0, among].sum())
    told = []
    for is_among, state, *numbers in zip(among.tolist(), points.state[model].tolist(), *bounds, strict=True):
        if not is_among or not total:
            told.append("–")
            continue
        count, least, most = (f"{100 * number / total:.1f}" for number in numbers)
        told.append({EXACT: f"{count}%", BOUNDED: f"{least}–{most}%", UNKNOWN: f"≤ {most}%"}[state])
    return told


def count_texts(points: Points, model: int) -> list[list[str]]:
    """Return a model's counts for people, by group and type."""
    state = points.state[model].tolist()
    counts, least, most = (bound[model].tolist() for bound in (points.counts, points.least, points.most))
    groups = zip(counts, least, most, strict=True)
    return [[_count_text(*told) for told in zip(state, *bounds, most[0], strict=True)] for bounds in groups]


def _count_text(state: int, count: int, least: int, most: int, most_of_all: int) -> str:
    """Return a count for people: ``723``, ``506–723`` between its bounds, or ``≤ 723``."""
    if not most and state == UNKNOWN:  # of a group it may be none although the stage ran
        return "0" if most_of_all else "not run"
    if state == EXACT:
        return f"{count:,}"
    if state == BOUNDED:
        return f"{least:,}–{most:,}"
    return f"≤ {most:,}"


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


class Bin(msgspec.Struct, frozen=True):
    """Answers of like confidence: ``low`` to ``high``, how many of each error type (shares of the bin's answers)."""

    low: float
    high: float
    n_answers: int
    mean_confidence: float
    share_right: float
    segments: tuple[Segment, ...]


class Calibration(msgspec.Struct, frozen=True):
    """Confidence against being right: by bins, and the mean gap (expected calibration error) by accepted labels.

    Source: Guo et al. 2017 (expected calibration error).
    """

    bins: tuple[Bin, ...]
    gap: float


def calibration(run: RunTables, model: int) -> Calibration | None:
    """Return one model's calibration; None where it gave no confidences, or scores that are no probabilities."""
    confidence, error_type = run.confidence[model].astype(np.float64), run.error_type[model]
    known = np.isfinite(confidence) & (error_type != NOT_EVALUATED)
    confidence, error_type = confidence[known], error_type[known].astype(np.int64)
    if not len(confidence) or confidence.min() < 0 or confidence.max() > 1:
        return None
    place = np.minimum((confidence * N_BINS).astype(np.int64), N_BINS - 1)
    n_types = len(ERROR_TYPES)
    counts = np.bincount(place * n_types + error_type, minlength=N_BINS * n_types).reshape(N_BINS, n_types)
    sums = np.bincount(place, weights=confidence, minlength=N_BINS)
    is_right = np.array([COUNTS_AS[name] == "right" for name in ERROR_TYPES])
    bins = tuple(_bin(number, row, sums[number], is_right) for number, row in enumerate(counts) if row.sum())
    gap = sum(each.n_answers * abs(each.share_right - each.mean_confidence) for each in bins) / len(confidence)
    return Calibration(bins, gap)


def _bin(number: int, counts: NDArray[np.int64], total: float, is_right: NDArray[np.bool_]) -> Bin:
    n = int(counts.sum())
    parts = zip(looks(), counts.tolist(), strict=True)
    segments = tuple(
        Segment(look, count, count / n, f"{count:,}") for look, count in parts if count and look.name != "correct"
    )
    return Bin(number / N_BINS, (number + 1) / N_BINS, n, total / n, float(counts[is_right].sum() / n), segments)


class RunView(msgspec.Struct, frozen=True):
    """What the page says of all models together.

    ``slope`` is how the share of ``severe`` among multi-label errors changes, in percentage points a point of MLA, over
    the ``n_fitted`` models whose share is exact.
    """

    n_models: int
    mla_low: float
    mla_high: float
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
    if len(ours) < 2:
        return None
    mla, shares = ours.mla[:, 0], ours.portions(setting.severe, among="multi_label")
    n_errors = ours.counts[:, 0][:, IS_TOP1_ERROR].sum(axis=1)
    fit = fit_line(mla, shares) if len(ours) >= 5 else None
    agreed = consensus(setting.run)
    known = shares[np.isfinite(shares)]
    return RunView(
        n_models=len(ours),
        mla_low=float(np.nanmin(mla)),
        mla_high=float(np.nanmax(mla)),
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


MODEL_COLUMNS = ("top-1", "MLA", "errors")


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
        cells = [_percent_cell(top1), _percent_cell(mla), (f"{n_errors[model]:,}", float(n_errors[model]))]
        told, counts = count_texts(points, model)[0], points.counts[model, 0].tolist()
        cells += [(told[place], float(counts[place])) for place in map(ERROR_TYPES.index, types)]
        bar = bars(points, model)[0]
        rows.append(ModelRow(name, model if places else None, tuple(cells), facts[model], bar))
    return sorted(rows, key=lambda row: -row.cells[MODEL_COLUMNS.index("MLA")][1])


def _percent_cell(value: float) -> tuple[str, float]:
    return (f"{value:.1f}%", value) if np.isfinite(value) else ("–", -1.0)
