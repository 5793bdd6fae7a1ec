"""A run directory read back: every model's verdicts side by side, and the distinct cases behind them.

Only Parquet and ``run.json`` are read; nothing is judged or measured again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.problems import InputError
from imagenet_errors.runs.directory import TABLES, read_run_table
from imagenet_errors.runs.manifest import Manifest, read_manifest
from imagenet_errors.runs.verdicts import Columns, read_verdicts
from imagenet_errors.tables import Ragged, case_codes

NOT_EVALUATED = -1
_NEEDED = ("file_name", "target", "prediction", "confidence", "accepted", "error_type", "explanation")
"""The columns that every version wrote."""
ACCURACIES = ("top1_accuracy", "mla", "mla_minor", "mla_explained")


@dataclass(frozen=True, eq=False)
class Figures:
    """The models' figures: ``counts`` int64 [M, G, T]; accuracies float64 [M, G] in 0..1, NaN if unknown.

    ``least`` and ``most`` int64 [M, G, T] bound the counts where evidence was partial; ``ran`` bool [T] tells which
    types were counted at all (the counts of others are 0 here). ``facts``: one dict a model, whatever else
    ``summary.parquet`` knows of it.
    """

    groups: tuple[str, ...]
    counts: NDArray[np.int64]
    least: NDArray[np.int64]
    most: NDArray[np.int64]
    ran: NDArray[np.bool_]
    accuracies: dict[str, NDArray[np.float64]]
    facts: tuple[dict[str, Any], ...]


@dataclass(frozen=True, eq=False)
class ErrorCases:
    """The n distinct (image, wrong prediction) cases of a run, ordered by image, then class.

    ``image`` int64, ``prediction`` int16, ``error_type`` int8, all [n]; one sentence a case. ``offsets`` int64
    [n + 1] bound each case's makers: ``makers`` int16 [total] are models, ascending, with ``confidence`` float32
    [total] (NaN where not given).
    """

    image: NDArray[np.int64]
    prediction: NDArray[np.int16]
    error_type: NDArray[np.int8]
    explanation: pa.StringArray
    offsets: NDArray[np.int64]
    makers: NDArray[np.int16]
    confidence: NDArray[np.float32]

    def __len__(self) -> int:
        """Return the number of cases n."""
        return len(self.image)

    @property
    def n_makers(self) -> NDArray[np.int64]:
        """int64 [n]: how many models make each error."""
        return np.diff(self.offsets)


@dataclass(frozen=True, eq=False)
class RunTables:
    """M models on I images: ``error_type`` int8 [M, I] (-1: not evaluated), ``prediction`` int16 [M, I],
    ``confidence`` float32 [M, I]; ``label`` int16 [I] and accepted labels of the images, which are sorted by name.
    """

    folder: Path
    manifest: Manifest
    models: tuple[str, ...]
    file_names: pa.StringArray
    label: NDArray[np.int16]
    accepted: Ragged
    error_type: NDArray[np.int8]
    prediction: NDArray[np.int16]
    confidence: NDArray[np.float32]
    figures: Figures
    sentences: tuple[pa.StringArray, ...]
    """Each model's explanations, in the order of its file."""
    rows: tuple[NDArray[np.int64], ...]
    """int64 [I] a model: where its file has each image, -1 where it has not."""

    @cached_property
    def cases(self) -> ErrorCases:
        """The distinct cases that any of the models made."""
        model, image = np.nonzero(self.error_type > 0)
        codes = case_codes(image, self.prediction[model, image])
        order = np.argsort(codes, kind="stable")
        starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
        model, image = model[order], image[order]
        first = model[starts], image[starts]
        return ErrorCases(
            image=first[1],
            prediction=self.prediction[first],
            error_type=self.error_type[first],
            explanation=self._sentences(*first),
            offsets=np.append(starts, len(order)),
            makers=model.astype(np.int16),
            confidence=self.confidence[model, image],
        )

    def _sentences(self, model: NDArray[np.integer], image: NDArray[np.integer]) -> pa.StringArray:
        """Return what the verdicts say of each (model, image)."""
        starts = np.cumsum([0, *map(len, self.sentences)])
        at = starts[model]
        for number, rows in enumerate(self.rows):
            mine = np.flatnonzero(model == number)
            at[mine] += rows[image[mine]]
        said = pa.chunked_array(list(self.sentences), type=pa.string()).take(pa.array(at))
        return pc.fill_null(said, "").combine_chunks()

    @property
    def has_confidence(self) -> bool:
        """True when any model gave confidences."""
        return not np.isnan(self.confidence).all()


def load_run_tables(run: Path, *, models: Sequence[str] = ()) -> RunTables:
    """Read a run directory: all models, best multi-label accuracy first, or just those named, in that order.

    Raises
    ------
    InputError
        The folder is no whole run, or lacks a model or a column.
    """
    manifest = read_manifest(run)
    known = list(manifest.models)
    unknown = [name for name in models if name not in known]
    if unknown:
        raise InputError(run, f"no model {unknown[0]!r} in this run", fix=f"It has: {', '.join(known[:20])}.")
    figures = _figures(run, tuple(models) or tuple(known))
    chosen = tuple(models)
    if not chosen:
        order = np.argsort(-np.nan_to_num(figures.accuracies["mla"][:, 0]), kind="stable")
        chosen, figures = tuple(known[place] for place in order), _reordered(figures, order)
    return _side_by_side(run, manifest, chosen, files=read_verdicts(run, chosen, _NEEDED), figures=figures)


def _rows_of(run: Path, name: str) -> list[dict[str, Any]]:
    schema, needed = TABLES[name]
    rows: list[dict[str, Any]] = read_run_table(run / f"{name}.parquet", schema, needed=needed).to_pylist()
    return rows


def _figures(run: Path, models: tuple[str, ...]) -> Figures:
    place_of = {model: place for place, model in enumerate(models)}
    rows = _rows_of(run, "distribution")
    groups = tuple(dict.fromkeys(row["group"] for row in rows))
    group_of, kind_of = ({name: place for place, name in enumerate(names)} for names in (groups, ERROR_TYPES))
    counts, least, most = np.zeros((3, len(models), len(groups), len(ERROR_TYPES)), dtype=np.int64)
    ran = np.zeros(len(ERROR_TYPES), dtype=np.bool_)
    for row in rows:
        if row["model"] in place_of and row["count"] is not None:
            kind = kind_of[row["error_type"]]
            place = (place_of[row["model"]], group_of[row["group"]], kind)
            counts[place] = row["count"]
            least[place], most[place] = row.get("count_min", row["count"]), row.get("count_max", row["count"])
            ran[kind] = True
    accuracies = {name: np.full(counts.shape[:2], np.nan) for name in ACCURACIES}
    for row in _rows_of(run, "accuracy"):
        for name in ACCURACIES if row["model"] in place_of else ():
            if row[name] is not None:
                accuracies[name][place_of[row["model"]], group_of[row["group"]]] = row[name]
    facts = {row["model"]: row for row in _rows_of(run, "summary")}
    return Figures(groups, counts, least, most, ran, accuracies, tuple(facts.get(model, {}) for model in models))


def _reordered(figures: Figures, order: NDArray[np.integer]) -> Figures:
    return Figures(
        figures.groups,
        figures.counts[order],
        figures.least[order],
        figures.most[order],
        figures.ran,
        {name: values[order] for name, values in figures.accuracies.items()},
        tuple(figures.facts[place] for place in order),
    )


def _side_by_side(
    run: Path,
    manifest: Manifest,
    models: tuple[str, ...],
    *,
    files: list[Columns],
    figures: Figures,
) -> RunTables:
    """Put every model's verdicts on one axis of images."""
    names = _all_names([file["file_name"] for file in files])
    shape = (len(models), len(names))
    error_type = np.full(shape, NOT_EVALUATED, dtype=np.int8)
    prediction = np.full(shape, -1, dtype=np.int16)
    confidence = np.full(shape, np.nan, dtype=np.float32)
    label = np.full(len(names), -1, dtype=np.int16)
    accepted_from = np.zeros((2, len(names)), dtype=np.int64)
    whole = np.arange(len(names))
    rows = []
    for model, file in enumerate(files):
        has_all = file["file_name"] is names
        images: Any = slice(None) if has_all else _images(file["file_name"], names)
        error_type[model, images] = _type_codes(file["error_type"], run)
        prediction[model, images] = file["prediction"].to_numpy()
        confidence[model, images] = pc.fill_null(file["confidence"], float("nan")).to_numpy()
        label[images] = file["target"].to_numpy()
        accepted_from[0, images], accepted_from[1, images] = model, whole[: len(file["target"])]
        rows.append(whole if has_all else _turned(images, len(names)))
    return RunTables(
        folder=run,
        manifest=manifest,
        models=models,
        file_names=names,
        label=label,
        accepted=_accepted([file["accepted"] for file in files], accepted_from),
        error_type=error_type,
        prediction=prediction,
        confidence=confidence,
        figures=figures,
        sentences=tuple(file["explanation"] for file in files),
        rows=tuple(rows),
    )


def _all_names(written: list[pa.StringArray]) -> pa.StringArray:
    first = written[0]
    if all(names is first or names.equals(first) for names in written[1:]):
        return first
    names = pc.unique(pa.chunked_array(written, type=pa.string()))
    return names.take(pc.sort_indices(names))


def _images(written: pa.StringArray, names: pa.StringArray) -> NDArray[np.int64]:
    """Return where each of a file's images is among all."""
    return np.asarray(pc.index_in(written, value_set=names).to_numpy(), dtype=np.int64)


def _turned(images: NDArray[np.int64], n_images: int) -> NDArray[np.int64]:
    """Return the row of each image of all; -1 for those without."""
    rows = np.full(n_images, -1, dtype=np.int64)
    rows[images] = np.arange(len(images))
    return rows


def _type_codes(written: pa.DictionaryArray, run: Path) -> NDArray[np.int8]:
    """Return places in ERROR_TYPES."""
    places = pc.fill_null(pc.index_in(written.dictionary, value_set=pa.array(ERROR_TYPES)), -1).to_numpy()
    codes: NDArray[np.int8] = places.astype(np.int8)[pc.fill_null(written.indices, 0).to_numpy()]
    if written.null_count or (codes < 0).any():
        raise InputError(run, "has error types that this version does not know", fix="Evaluate again.")
    return codes


def _accepted(written: list[pa.ListArray], accepted_from: NDArray[np.int64]) -> Ragged:
    """Return each image's accepted labels: those in the last file that has the image, all saying the same."""
    if (accepted_from[0] == accepted_from[0][:1]).all():
        return Ragged.from_arrow(written[int(accepted_from[0][:1].sum())]).take(accepted_from[1])
    lists = [Ragged.from_arrow(rows) for rows in written]
    starts = np.concatenate(([0], np.cumsum([len(rows) for rows in lists])))
    sizes = np.concatenate([rows.lengths for rows in lists])
    whole = Ragged(np.concatenate(([0], np.cumsum(sizes))), np.concatenate([rows.values for rows in lists]))
    return whole.take(starts[accepted_from[0]] + accepted_from[1])
