"""Models as points: accuracies and counts of every error type, from the published tables or from a run; their kinds.

What was not measured is not a zero here. A type is *open* for a model where its stage did not run, where evidence was
there for part of the cases only, or where it comes after a stage that did not run and got what that one would have
explained. Only shares that are exact are fitted, ranked or compared; the open types of a model are exact together.

Source: Peychev et al., NeurIPS 2023; their statistics of 962 models (eth-sri/automated-error-analysis).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import floor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.chain import DEFAULT_ORDER, ERROR_TYPES
from imagenet_errors.datasets import Dataset, dataset_names, load_dataset
from imagenet_errors.labels import GROUPS
from imagenet_errors.measure import IS_MULTI_LABEL_ERROR, IS_TOP1_ERROR
from imagenet_errors.problems import InputError
from imagenet_errors.report.looks import ACCURACY_RANGE, SEVERE, most_percent, touched
from imagenet_errors.runs.tables import RunTables

Floats = NDArray[np.float64]

_COUNT_COLUMNS = {
    "correct": "num_group_correct",
    "class_overlap": "num_collapsed_mappings",
    "multi_object": "num_ambiguous",
    "fine_grained": "num_same_superclass",
    "fine_grained_oov": "num_OOV_clip",
    "non_prototypical": "num_non_prototypical",
    "spurious_correlation": "num_common_co_occ",
    SEVERE: "num_not_classified",
}
FACTS = ("training_data", "arch_family", "arch_group", "extra_annotations")
EXACT, BOUNDED, UNKNOWN = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Points:
    """N models: ``counts`` int64 [N, G, T], with ``least`` and ``most`` as their bounds; ``state`` int8 [N, T].

    A type's state for a model is EXACT, BOUNDED (evidence for part of the cases) or UNKNOWN (its stage did not run, or
    an earlier one did not); the last two are open. ``mla`` and ``top1`` float64 [N, G] in percent, NaN if
    unknown; ``top1`` is over the evaluated images of the group. ``facts``: name of FACTS -> N texts, empty if unknown.
    ``groups``: the G groups of classes, all classes first.
    """

    models: tuple[str, ...]
    counts: NDArray[np.int64]
    least: NDArray[np.int64]
    most: NDArray[np.int64]
    state: NDArray[np.int8]
    mla: Floats
    top1: Floats
    facts: dict[str, tuple[str, ...]]
    groups: tuple[str, ...] = GROUPS

    @classmethod
    def measured(
        cls,
        models: tuple[str, ...],
        counts: NDArray[np.int64],
        *,
        mla: Floats,
        top1: Floats,
        facts: dict[str, tuple[str, ...]],
    ) -> Points:
        """Return models of which everything is exact."""
        state = np.full((len(models), counts.shape[2]), EXACT, dtype=np.int8)
        return cls(models, counts, counts, counts, state, mla, top1, facts)

    def __len__(self) -> int:
        """Return the number of models N."""
        return len(self.models)

    @property
    def n_images(self) -> int:
        """The number of images that the first model's figures rest on; 0 without models."""
        return int(self.counts[:1, 0].sum())

    @property
    def is_open(self) -> NDArray[np.bool_]:
        """bool [N, T]: the types whose count is not exact."""
        is_open: NDArray[np.bool_] = np.not_equal(self.state, EXACT)
        return is_open

    @property
    def open_types(self) -> tuple[str, ...]:
        """The types that are open for any of the models, least severe first."""
        return tuple(ERROR_TYPES[place] for place in np.flatnonzero(self.is_open.any(axis=0)))

    def open_types_of(self, model: int) -> tuple[str, ...]:
        """Return the types that are open for one model, least severe first."""
        return tuple(ERROR_TYPES[place] for place in np.flatnonzero(self.is_open[model]))

    def portions(self, error_types: str | Sequence[str], *, among: str, group: str = "all") -> Floats:
        """Return float64 [N]: the share in percent that the types have together of the group's errors.

        ``among``: ``top1`` or ``multi_label`` errors. NaN for a model without such errors, or of which the share is
        not exact.
        """
        chosen = self._chosen(error_types)
        total = self._totals(among, group)
        parts = 100.0 * self.counts[:, self.groups.index(group), chosen].sum(axis=1)
        is_exact = ~(self.is_open & chosen).any(axis=1) | ~(self.is_open & ~chosen).any(axis=1)
        shares: Floats = np.divide(parts, total, out=np.full(len(parts), np.nan), where=(total > 0) & is_exact)
        return shares

    def bounds(self, error_type: str, *, among: str, group: str = "all") -> tuple[Floats, Floats]:
        """Return the lowest and highest share in percent that a type may have, float64 [N] each.

        NaN for a model without such errors, or where the type is UNKNOWN.
        """
        place, total = ERROR_TYPES.index(error_type), self._totals(among, group)
        low, high = (bound[:, self.groups.index(group), place].astype(np.float64) for bound in (self.least, self.most))
        known = (total > 0) & (self.state[:, place] != UNKNOWN)
        low, high = (np.divide(100 * part, total, out=np.full(len(part), np.nan), where=known) for part in (low, high))
        return low, high

    def accuracy(self, among: str, group: str = "all") -> Floats:
        """Return float64 [N] in percent: top-1 against top-1 errors, MLA against multi-label errors."""
        values = self.mla if among == "multi_label" else self.top1
        in_group: Floats = values[:, self.groups.index(group)]
        return in_group

    def _chosen(self, error_types: str | Sequence[str]) -> NDArray[np.bool_]:
        names = (error_types,) if isinstance(error_types, str) else error_types
        return np.isin(ERROR_TYPES, list(names))

    def _totals(self, among: str, group: str) -> NDArray[np.int64]:
        """Return int64 [N]: the errors of the group; 0 where even their number is not known."""
        is_one = IS_MULTI_LABEL_ERROR if among == "multi_label" else IS_TOP1_ERROR
        totals: NDArray[np.int64] = self.counts[:, self.groups.index(group), is_one].sum(axis=1)
        crosses = (self.is_open & is_one).any(axis=1) & (self.is_open & ~is_one).any(axis=1)
        return np.where(crosses, 0, totals)


def error_types(among: str) -> tuple[str, ...]:
    """Return the types that have a portion among ``top1`` or ``multi_label`` errors."""
    is_one = IS_MULTI_LABEL_ERROR if among == "multi_label" else IS_TOP1_ERROR
    return tuple(name for name, counts in zip(ERROR_TYPES, is_one, strict=True) if counts)


def comparable(severe: str, ours: Points, theirs: Points | None) -> tuple[str, ...]:
    """Return the fewest types, the severe one among them, whose merged share both sides measured exactly."""
    is_open = {*ours.open_types, *(() if theirs is None else theirs.open_types)}
    return tuple(name for name in ERROR_TYPES if name in is_open) if severe in is_open else (severe,)


def points_of_run(run: RunTables, unasked: Collection[str] = ()) -> Points:
    """Return the models of a run; their facts where ``summary.parquet`` has such columns.

    ``unasked``: stages that those beside the run asked as little (see :func:`unasked_by_all`): no figure hangs on them.
    """
    figures = run.figures
    facts = {name: tuple(_fact(known, name) for known in figures.facts) for name in FACTS}
    mla, top1 = (100 * figures.accuracies[name] for name in ("mla", "top1_accuracy"))
    least, most = figures.least, figures.most
    order = (*run.manifest.requested_stage_order, *DEFAULT_ORDER)
    state = np.where((least != most).any(axis=1), BOUNDED, EXACT).astype(np.int8)
    not_run = [name for name in run.manifest.stages_not_run if name not in unasked]
    state[:, np.isin(ERROR_TYPES, touched(not_run, order))] = UNKNOWN
    return Points(run.models, figures.counts, least, most, state, mla, top1, facts, figures.groups)


def is_like_published(data_set: Dataset) -> bool:
    """Tell whether there are published figures of the data set, for the classes in hand."""
    return bool(data_set.published) and data_set.labels.is_imagenet


def unasked_by_all(run: RunTables, data_set: Dataset, published: Points | None) -> tuple[str, ...]:
    """Return the stages that the data set has nothing for, and that explained nothing in the published figures either.

    Neither side asked them, so the shares of the types asked later compare.
    """
    if published is None:
        return ()
    ours = run.manifest.stages_not_run
    never = [name for name in data_set.not_run if name in ours and name in ERROR_TYPES]
    return tuple(name for name in never if not published.counts[:, :, ERROR_TYPES.index(name)].any())


@dataclass(frozen=True)
class Scale:
    """The axes of a plot of shares against accuracy, in percent: ``x`` from and to, ``most`` of the share from 0 on."""

    x: tuple[float, float]
    most: float


def scale_of(names: Sequence[str], *, among: str, ours: Points, published: Points | None) -> Scale:
    """Return the fixed scale, so that figures compare; the whole one where it leaves the published models out.

    Without published models, the accuracy's whole range is for runs most of whose models lie below the fixed one.
    """
    fixed, most = ACCURACY_RANGE[among], min(100.0, sum(most_percent(name) for name in names))
    x = (ours if published is None else published).accuracy(among)
    n_below, n_known = int((x < fixed[0]).sum()), int(np.isfinite(x).sum())
    is_low = 2 * n_below > n_known if published is None else n_below > 0
    shares = [] if published is None else [published.portions(names, among=among, group=g) for g in published.groups]
    is_high = any(bool((share > most).any()) for share in shares) and is_low
    return Scale((0.0, 100.0) if is_low else fixed, 100.0 if is_high else most)


def _fact(known: dict[str, Any], name: str) -> str:
    """Return a fact of a run's model as the published tables write it; empty if it is not known."""
    if name == "extra_annotations":
        return ", ".join(known.get("pretraining") or ())
    text, n_images = str(known.get(name) or ""), known.get("n_training_images")
    if name == "training_data" and text and n_images:
        unit, letter = (1e9, "B") if n_images >= 1e9 else (1e6, "M")
        size = n_images / unit
        return f"{text} ({floor(size) if size >= 10 else floor(10 * size) / 10:g}{letter})"
    return text


def published_folder(given: Path | None, data_set: Dataset) -> Path | None:
    """Return where a data set's published statistics lie: the folder given, or the cache; None if not at hand.

    Raises
    ------
    InputError
        A folder was given and is not there.
    """
    from imagenet_errors.downloads import at_hand

    if given is not None and not given.is_dir():
        raise InputError(given, "no such folder", fix="Name the folder of the published stats CSV files.")
    return given or next(iter(at_hand(data_set.published)), None)


def published_points(given: Path | None, data_set: Dataset | None = None) -> Points:
    """Return the published models of a data set (ImageNet's own unless named), from the folder given or the cache.

    They are fetched if need be.

    Raises
    ------
    InputError
        They are not to be had, or cannot be read.
    """
    from imagenet_errors.downloads import fetch

    data_set = data_set or load_dataset()
    return read_published(published_folder(given, data_set) or fetch(data_set.published)[0], data_set)


def read_published(folder: Path, data_set: Dataset | None = None) -> Points:
    """Read the published tables, ``stats_imagenet_GROUP.csv``, of all four groups.

    ``data_set``: whose tables they are to be, where a folder has several: ``stats_imagenet-a_GROUP.csv``.

    Raises
    ------
    InputError
        A group's table is missing, lacks a column, or has other models than the first.
    """
    source = (data_set or load_dataset()).published
    tables = [_table(_find(folder, group, source)) for group in GROUPS]
    models = tables[0]["model_dir_id"].to_pylist()
    for group, table in zip(GROUPS, tables, strict=True):
        if table["model_dir_id"].to_pylist() != models:
            raise InputError(folder, f"the table of {group} has other models", fix="Get the tables again.")
    counts, state = _counts(tables)
    n_images = np.stack([table["num_group_samples"].to_numpy() for table in tables], axis=1)
    facts = {name: tuple(readable(text) for text in tables[0][name].to_pylist()) for name in FACTS}
    mla = np.stack([table["mla_group"].to_numpy() for table in tables], axis=1)
    top1 = 100 * counts[:, :, ERROR_TYPES.index("correct")] / n_images
    return Points(tuple(models), counts, counts, counts, state, mla, top1, facts)


def _counts(tables: Sequence[pa.Table]) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """Return counts int64 [N, G, T] and states [N, T] by name; what the published program did not ask is UNKNOWN."""
    shape = (len(tables[0]), len(tables), len(ERROR_TYPES))
    counts, state = np.zeros(shape, dtype=np.int64), np.full((shape[0], shape[2]), EXACT, dtype=np.int8)
    unknown = [name for name in DEFAULT_ORDER if name not in _COUNT_COLUMNS]
    state[:, np.isin(ERROR_TYPES, touched(unknown, DEFAULT_ORDER))] = UNKNOWN
    for place, name in enumerate(ERROR_TYPES):
        for group, table in enumerate(tables) if name in _COUNT_COLUMNS else ():
            counts[:, group, place] = table[_COUNT_COLUMNS[name]].to_numpy()
    return counts, state


@lru_cache(maxsize=1)
def _sets_with_published() -> dict[str, str]:
    """Return data set -> source of its published figures; longer names first, which hold shorter ones."""
    sources = {name: load_dataset(name).published for name in dataset_names()}
    return {name: sources[name] for name in sorted(sources, key=len, reverse=True) if sources[name]}


def _find(folder: Path, group: str, source: str) -> Path:
    """Return a group's table by the data set that its path below the folder names; else one that names none."""
    found: dict[str | None, Path] = {}
    for path in sorted(folder.rglob(f"*{group}.csv"), reverse=True):
        place = f"{folder.name}/{path.relative_to(folder).as_posix()}"
        found[next((of for name, of in _sets_with_published().items() if name in place), None)] = path
    table = found.get(source, found.get(None))
    if table is None:
        name = next(name for name, of in _sets_with_published().items() if of == source)
        raise InputError(
            folder,
            f"no stats_{name}_{group}.csv in it",
            fix="Name the folder of the published stats CSV files.",
        )
    return table


def _table(path: Path) -> pa.Table:
    import pyarrow.csv

    counts = dict.fromkeys(("num_group_samples", *_COUNT_COLUMNS.values()), pa.int64())
    types = counts | dict.fromkeys(("model_dir_id", *FACTS), pa.string()) | {"mla_group": pa.float64()}
    try:
        table = pyarrow.csv.read_csv(path, convert_options=pyarrow.csv.ConvertOptions(column_types=types))
    except pa.ArrowException as error:
        raise InputError(path, f"not a CSV table: {error}", fix="Get it again.") from None
    missing = [name for name in types if name not in table.column_names]
    if missing:
        raise InputError(path, f"no column {', '.join(missing)}", fix="Get the published table.")
    return table


GROUPINGS = {
    "data": "training_data",
    "family": "arch_family",
    "group": "arch_group",
    "pretraining": "extra_annotations",
}
MOST_KINDS = {"data": 6, "family": 6, "group": 14, "pretraining": 10}
"""Kinds told apart in a figure; the smallest are drawn together as ``other``."""
_OTHER = "other"
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "*", "d", "8")
# Okabe and Ito 2008: told apart by people of every colour vision; then darker ones, for more categories.
_COLOURS = (
    *("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#8a7a00", "#555555"),
    *("#004166", "#8f6300", "#005f45", "#7f3800", "#7a4964", "#2f7fa8"),
)
_SIZE = re.compile(r"\(([\d.]+)([KMB])\)")
_UNIT = {"K": 1e3, "M": 1e6, "B": 1e9}


@dataclass(frozen=True, eq=False)
class Category:
    """A kind of models: name, look, and bool [N], which models are of it."""

    name: str
    colour: str
    marker: str
    holds: NDArray[np.bool_]


def categories(points: Points, grouping: str) -> list[Category]:
    """Return the kinds of models by one of GROUPINGS, most models first; one kind if nothing is known of them.

    By ``data`` they are in order of the data's size. No more than MOST_KINDS, the rest as ``other``.
    """
    values = np.array([text or "unknown" for text in points.facts.get(GROUPINGS[grouping], ())])
    if not len(values) or (values == "unknown").all():
        return [Category("models of this run", "#3b6f9c", "o", np.ones(len(points), dtype=np.bool_))]
    names, counts = np.unique(values, return_counts=True)
    ranked = [str(names[place]) for place in np.argsort(-counts, kind="stable")]
    most = MOST_KINDS[grouping]
    if len(ranked) > most:
        values = np.where(np.isin(values, ranked[: most - 1]), values, _OTHER)
        ranked = [*(name for name in ranked[: most - 1] if name != _OTHER), _OTHER]
    if grouping == "data":
        ranked.sort(key=lambda name: (name == _OTHER, n_training_images(name) or 0.0))
    return [
        Category(name, _COLOURS[place % len(_COLOURS)], _MARKERS[place % len(_MARKERS)], values == name)
        for place, name in enumerate(ranked)
    ]


def n_training_images(name: str) -> float | None:
    """Return the number of images in a name such as ``"ImageNet-21k (14M)"``; None if it tells none."""
    found = _SIZE.search(name)
    return None if found is None else float(found[1]) * _UNIT[found[2]]


def readable(text: str) -> str:
    """Return ``"Distillation, CLIP Training"`` for ``"['Distillation', 'CLIP Training']"``.

    ``[]``, nothing beyond labels, is ``supervised``.
    """
    if not text.startswith("["):
        return text
    return ", ".join(re.findall(r"'([^']*)'", text)) or "supervised"
