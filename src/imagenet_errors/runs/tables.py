"""A run directory read back: every model's verdicts side by side, and the distinct cases behind them.

Only Parquet and ``run.json`` are read; nothing is judged or measured again.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
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
from imagenet_errors.runs.directory import TABLES, VERDICTS, read_run_table
from imagenet_errors.runs.manifest import Manifest, read_manifest
from imagenet_errors.tables import Ragged, case_codes
from imagenet_errors.workers import n_jobs

NOT_EVALUATED = -1
_NEEDED = ("file_name", "target", "prediction", "confidence", "accepted", "error_type", "explanation")
"""The columns that every version wrote."""
_WANTED = [VERDICTS.field(name) for name in _NEEDED]
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
    """Each model's explanations of its errors, in the order of its images."""

    @cached_property
    def cases(self) -> ErrorCases:
        """The distinct cases that any of the models made."""
        model, image = np.nonzero(self.error_type > 0)
        made = self.prediction[model, image]
        codes, first, of = np.unique(case_codes(image, made), return_index=True, return_inverse=True)
        order = np.argsort(of, kind="stable")
        sentences = pa.chunked_array(list(self.sentences), type=pa.string())
        return ErrorCases(
            image=image[first],
            prediction=made[first],
            error_type=self.error_type[model[first], image[first]],
            explanation=sentences.take(pa.array(first)).combine_chunks(),
            offsets=np.concatenate(([0], np.cumsum(np.bincount(of, minlength=len(codes))))),
            makers=model[order].astype(np.int16),
            confidence=self.confidence[model, image][order],
        )

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
    with ThreadPoolExecutor(n_jobs()) as pool:
        tables = list(pool.map(lambda model: _verdicts(run, model), chosen))
    return _side_by_side(run, manifest, chosen, tables=tables, figures=figures)


def _rows_of(run: Path, name: str) -> list[dict[str, Any]]:
    schema, needed = TABLES[name]
    rows: list[dict[str, Any]] = read_run_table(run / f"{name}.parquet", schema, needed=needed).to_pylist()
    return rows


def _verdicts(run: Path, model: str) -> pa.Table:
    path = run / "verdicts" / f"{model}.parquet"
    table = read_run_table(path, VERDICTS, needed=_NEEDED, only=True)
    # What another program wrote again may have another dictionary of types.
    plain = [pa.string() if pa.types.is_dictionary(column.type) else column.type for column in _WANTED]
    return table.select(_NEEDED).cast(pa.schema(zip(_NEEDED, plain, strict=True))).combine_chunks()


def _figures(run: Path, models: tuple[str, ...]) -> Figures:
    place_of = {model: place for place, model in enumerate(models)}
    rows = _rows_of(run, "distribution")
    groups = tuple(dict.fromkeys(row["group"] for row in rows))
    counts, least, most = np.zeros((3, len(models), len(groups), len(ERROR_TYPES)), dtype=np.int64)
    ran = np.zeros(len(ERROR_TYPES), dtype=np.bool_)
    for row in rows:
        if row["model"] in place_of and row["count"] is not None:
            kind = ERROR_TYPES.index(row["error_type"])
            place = (place_of[row["model"]], groups.index(row["group"]), kind)
            counts[place] = row["count"]
            least[place], most[place] = row.get("count_min", row["count"]), row.get("count_max", row["count"])
            ran[kind] = True
    accuracies = {name: np.full(counts.shape[:2], np.nan) for name in ACCURACIES}
    for row in _rows_of(run, "accuracy"):
        for name in ACCURACIES if row["model"] in place_of else ():
            if row[name] is not None:
                accuracies[name][place_of[row["model"]], groups.index(row["group"])] = row[name]
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
    tables: list[pa.Table],
    figures: Figures,
) -> RunTables:
    """Put every model's verdicts on one axis of images."""
    names = _all_names(tables)
    shape = (len(models), len(names))
    error_type = np.full(shape, NOT_EVALUATED, dtype=np.int8)
    prediction = np.full(shape, -1, dtype=np.int16)
    confidence = np.full(shape, np.nan, dtype=np.float32)
    label = np.full(len(names), -1, dtype=np.int16)
    accepted_from = np.zeros((2, len(names)), dtype=np.int64)
    sentences = []
    for place, table in enumerate(tables):
        rows = _rows(table["file_name"], names)
        error_type[place, rows] = _type_codes(table["error_type"], run)
        prediction[place, rows] = table["prediction"].to_numpy()
        confidence[place, rows] = pc.fill_null(table["confidence"], float("nan")).to_numpy()
        label[rows] = table["target"].to_numpy()
        accepted_from[0, rows], accepted_from[1, rows] = place, np.arange(len(rows))
        errors = np.flatnonzero(error_type[place, rows] > 0)
        errors = errors[np.argsort(rows[errors], kind="stable")]
        sentences.append(pc.fill_null(table["explanation"].take(pa.array(errors)), "").combine_chunks())
    return RunTables(
        folder=run,
        manifest=manifest,
        models=models,
        file_names=names,
        label=label,
        accepted=_accepted(tables, accepted_from),
        error_type=error_type,
        prediction=prediction,
        confidence=confidence,
        figures=figures,
        sentences=tuple(sentences),
    )


def _all_names(tables: list[pa.Table]) -> pa.StringArray:
    first = tables[0]["file_name"]
    if all(table["file_name"].equals(first) for table in tables[1:]):
        return first.combine_chunks()
    chunks = [chunk for table in tables for chunk in table["file_name"].chunks]
    names = pc.unique(pa.chunked_array(chunks, type=pa.string()))
    return names.take(pc.sort_indices(names))


def _rows(written: pa.ChunkedArray, names: pa.StringArray) -> NDArray[np.int64]:
    if len(written) == len(names) and written.equals(pa.chunked_array([names])):
        return np.arange(len(names))
    found = pc.index_in(written, value_set=names).to_numpy()
    return np.asarray(found, dtype=np.int64)


def _type_codes(column: pa.ChunkedArray, run: Path) -> NDArray[np.int8]:
    """Return places in ERROR_TYPES."""
    codes = pc.index_in(column, value_set=pa.array(ERROR_TYPES))
    if codes.null_count:
        raise InputError(run, "has error types that this version does not know", fix="Evaluate again.")
    return np.asarray(codes.to_numpy(), dtype=np.int8)


def _accepted(tables: list[pa.Table], accepted_from: NDArray[np.int64]) -> Ragged:
    """Return each image's accepted labels: those in the last table that has the image, all saying the same."""
    lists = [Ragged.from_arrow(table["accepted"].combine_chunks()) for table in tables]
    if (accepted_from[0] == accepted_from[0][:1]).all():
        return lists[int(accepted_from[0][0])].take(accepted_from[1]) if accepted_from.shape[1] else lists[0]
    starts = np.concatenate(([0], np.cumsum([len(rows) for rows in lists])))
    sizes = np.concatenate([rows.lengths for rows in lists])
    whole = Ragged(np.concatenate(([0], np.cumsum(sizes))), np.concatenate([rows.values for rows in lists]))
    return whole.take(starts[accepted_from[0]] + accepted_from[1])
