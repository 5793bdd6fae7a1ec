"""Two models set beside each other: what changed, in which types, and whether it is more than chance.

Source: McNemar 1947 (paired test of two classifiers on the same images), in its exact form.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.chain import COUNTS_AS, ERROR_TYPES
from imagenet_errors.datasets import IMAGENET
from imagenet_errors.measure import sign_test
from imagenet_errors.problems import InputError
from imagenet_errors.runs.tables import RunTables, load_run_tables

LAYOUT = 1
"""Version of the JSON object that a comparison becomes."""
_FAILURE = ERROR_TYPES.index("model_failure")
_IS_RIGHT = np.array([COUNTS_AS[name] == "right" for name in ERROR_TYPES])
RATES = ("top1_accuracy", "mla", "mla_minor", "mla_explained")


@dataclass(frozen=True)
class PairedTest:
    """On how many common images only the first, or only the second model is wrong in this sense; exact p-value."""

    only_first: int
    only_second: int
    p_value: float


@dataclass(frozen=True)
class Side:
    """One of the two: its run's folder name, model, labels, number of images, and rates in 0..1 by group.

    ``dataset`` and ``class_rule``: which images they are, and what the model chose from.
    """

    run: str
    model: str
    annotations: str
    n_evaluated: int
    rates: dict[str, dict[str, float | None]]
    counts: dict[str, int | None]
    dataset: str = IMAGENET
    class_rule: str = ""


@dataclass(frozen=True)
class ModelComparison:
    """Two models; all but the two sides rests on the ``n_common`` images that both were evaluated on.

    ``gained`` and ``lost``: error type -> errors that only the second, only the first model makes;
    ``same_error_share``: of the images that both get wrong, the share on which they name the same class (None without
    such images). A type is None where its stage did not run in both.
    """

    first: Side
    second: Side
    n_common: int
    n_changed_predictions: int
    gained: dict[str, int | None]
    lost: dict[str, int | None]
    same_error_share: float | None
    severe: PairedTest
    multi_label: PairedTest
    notes: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Return plain objects."""
        return {"layout": LAYOUT, **asdict(self)}


def mcnemar(only_first: int, only_second: int) -> PairedTest:
    """Return the exact two-sided test that both kinds of discordant images are equally likely."""
    return PairedTest(only_first, only_second, sign_test(only_first, only_second))


def parse_side(text: str) -> tuple[Path, str | None]:
    """Return run directory and model of ``RUN`` or ``RUN:MODEL``; a path with a colon is a path if it is there."""
    if Path(text).exists() or ":" not in text:
        return Path(text), None
    run, _, model = text.rpartition(":")
    return Path(run), model


def compare(first: tuple[Path, str | None], second: tuple[Path, str | None]) -> ModelComparison:
    """Compare two models, each (run directory, model or None where the run has one).

    Raises
    ------
    InputError
        A run cannot be read, or a model is not in it or not named where there are several.
    """
    one, other = _load(*first), _load(*second)
    rows_one, rows_other = _common(one, other)
    types = one.error_type[0][rows_one], other.error_type[0][rows_other]
    classes = one.prediction[0][rows_one], other.prediction[0][rows_other]
    ran = one.figures.ran & other.figures.ran
    both_wrong = (types[0] > 0) & (types[1] > 0)
    same = int((classes[0] == classes[1])[both_wrong].sum())
    return ModelComparison(
        first=_side(one),
        second=_side(other),
        n_common=len(rows_one),
        n_changed_predictions=int((classes[0] != classes[1]).sum()),
        gained=_only(types[1], types[0], classes, ran),
        lost=_only(types[0], types[1], classes, ran),
        same_error_share=same / int(both_wrong.sum()) if both_wrong.any() else None,
        severe=_paired(types[0] == _FAILURE, types[1] == _FAILURE),
        multi_label=_paired(~_IS_RIGHT[types[0]], ~_IS_RIGHT[types[1]]),
        notes=_notes(one, other, len(rows_one)),
    )


def _load(run: Path, model: str | None) -> RunTables:
    if model is not None:
        return load_run_tables(run, models=(model,))
    tables = load_run_tables(run)
    if len(tables.models) > 1:
        fix = f"Write {run}:MODEL, MODEL one of {', '.join(tables.models[:10])}."
        raise InputError(run, f"has {len(tables.models)} models", fix=fix)
    return tables


def _common(one: RunTables, other: RunTables) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows, in each run, of the images that both evaluated."""
    import pyarrow.compute as pc

    place = pc.fill_null(pc.index_in(one.file_names, value_set=other.file_names), -1).to_numpy(zero_copy_only=False)
    rows = np.flatnonzero(place >= 0)
    others = place[rows].astype(np.int64)
    counts = (one.error_type[0][rows] >= 0) & (other.error_type[0][others] >= 0)
    return rows[counts], others[counts]


def _side(run: RunTables) -> Side:
    figures = run.figures
    rates = {
        group: {
            name: None if np.isnan(figures.accuracies[name][0, place]) else float(figures.accuracies[name][0, place])
            for name in RATES
        }
        for place, group in enumerate(figures.groups)
    }
    counts = {
        name: int(figures.counts[0, 0, code]) if figures.ran[code] else None for code, name in enumerate(ERROR_TYPES)
    }
    n_evaluated = int((run.error_type[0] >= 0).sum())
    return Side(
        run.folder.name,
        run.models[0],
        run.manifest.labels_used,
        n_evaluated,
        rates,
        counts,
        dataset=run.manifest.images_of,
        class_rule=run.manifest.class_rule,
    )


def _only(
    mine: NDArray[np.int8], theirs: NDArray[np.int8], classes: tuple[NDArray[np.int16], ...], ran: NDArray[np.bool_]
) -> dict[str, int | None]:
    """Count by type the errors of ``mine`` that are not made alike by ``theirs``."""
    changed = (mine > 0) & ((theirs == 0) | (classes[0] != classes[1]))
    counts = np.bincount(mine[changed], minlength=len(ERROR_TYPES))
    return {name: int(counts[code]) if ran[code] else None for code, name in enumerate(ERROR_TYPES) if code}


def _paired(first_wrong: NDArray[np.bool_], second_wrong: NDArray[np.bool_]) -> PairedTest:
    return mcnemar(int((first_wrong & ~second_wrong).sum()), int((second_wrong & ~first_wrong).sum()))


def _notes(one: RunTables, other: RunTables, n_common: int) -> tuple[str, ...]:
    notes = []
    if one.manifest.images_of != other.manifest.images_of:
        mine, theirs = (run.manifest.images_of for run in (one, other))
        notes.append(f"The runs are of different data sets: {mine} and {theirs}.")
    if one.manifest.labels_used != other.manifest.labels_used:
        mine, theirs = (run.manifest.labels_used for run in (one, other))
        notes.append(f"The runs were judged by different annotations: {mine} and {theirs}.")
    if one.manifest.class_rule != other.manifest.class_rule:
        mine, theirs = (run.manifest.class_rule or "not known" for run in (one, other))
        notes.append(f"The models chose differently: {mine}, and {theirs}.")
    if one.manifest.stage_order != other.manifest.stage_order:
        notes.append(
            "The runs asked different stages: types that did not run in both are not compared, and those after them, "
            "model failures too, hold what such a stage would have explained."
        )
    if not n_common:
        notes.append("The runs have no image in common: only rates can be compared.")
    return tuple(notes)
