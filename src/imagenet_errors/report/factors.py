"""Error types by what is unusual about an image: ImageNet-X factors (smaller, texture, pose, ...), as rates.

A factor's ratio for an error type is the share of its images with such an error over the share of all images with a
factor annotation; 1 means that the factor makes no difference.

Source: Idrissi et al., ICLR 2023 (ImageNet-X; the error ratio of a factor); Katz et al. 1978 (interval of a ratio of
    two rates, here of a part and the whole that it belongs to).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.files import csv_text
from imagenet_errors.images import ImageIndex
from imagenet_errors.measure import NORMAL_975
from imagenet_errors.problems import InputError, refuse_absent
from imagenet_errors.report.looks import looks
from imagenet_errors.runs.tables import NOT_EVALUATED, RunTables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME_COLUMN = "file_name"
_FEWEST = 20
"""A factor with fewer images tells nothing."""


@dataclass(frozen=True, eq=False)
class Factors:
    """F factors: ``holds`` bool [F, I], which images of a run have each; ``annotated`` bool [I], which have any say."""

    names: tuple[str, ...]
    holds: NDArray[np.bool_]
    annotated: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class FactorRates:
    """One model's rates: ``ratio``, ``low`` and ``high`` float64 [F, T], NaN where nothing can be told.

    ``n_images`` and ``n_errors`` int64 [F] and [F, T] count what they rest on. ``names``: F factors, by how much they
    raise the share of all errors, most first.
    """

    model: str
    names: tuple[str, ...]
    n_images: NDArray[np.int64]
    n_errors: NDArray[np.int64]
    ratio: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def read_factors(path: Path, file_names: pa.StringArray) -> Factors:
    """Read a table of images by factor: the ImageNet-X package's JSON lines, or CSV or Parquet laid out alike.

    Every column of zeros and ones (or of true and false) beside ``file_name`` is a factor; others are left out.

    Raises
    ------
    InputError
        The file cannot be read, has no such columns, or is about none of the images.
    """
    table = _table(path)
    if NAME_COLUMN not in table.column_names:
        what = f"no column {NAME_COLUMN} among {', '.join(table.column_names[:6])}"
        raise InputError(path, what, fix="Give imagenet_x_val_top_factor.jsonl of the imagenet-x package.")
    columns = {name: flags for name in table.column_names if (flags := _flags(table[name])) is not None}
    if not columns:
        raise InputError(path, "no column of zeros and ones beside file_name", fix="Give a column for each factor.")
    rows = ImageIndex(file_names).rows(table[NAME_COLUMN].combine_chunks().cast(pa.string()), where=path)
    inside = rows >= 0
    if not inside.any():
        raise InputError(path, "is about none of the run's images", fix="Give the factors of these images.")
    holds = np.zeros((len(columns), len(file_names)), dtype=np.bool_)
    annotated = np.zeros(len(file_names), dtype=np.bool_)
    annotated[rows[inside]] = True
    for place, flags in enumerate(columns.values()):
        holds[place, rows[inside & flags]] = True
    return Factors(tuple(columns), holds, annotated)


def _table(path: Path) -> pa.Table:
    refuse_absent(path)
    try:
        if path.suffix == ".parquet":
            import pyarrow.parquet as pq

            return pq.read_table(path)
        if path.suffix == ".csv":
            import pyarrow.csv

            return pyarrow.csv.read_csv(path)
        import pyarrow.json

        return pyarrow.json.read_json(path)
    except (OSError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0]
        raise InputError(path, f"cannot be read: {reason}", fix="Give JSON lines, CSV or Parquet.") from None


def _flags(column: pa.ChunkedArray) -> NDArray[np.bool_] | None:
    """Return a column of flags as bool; None for anything else (names, classes, constants)."""
    if pa.types.is_boolean(column.type):
        return np.asarray(column.to_numpy(), dtype=np.bool_)
    if not pa.types.is_integer(column.type) or column.null_count:
        return None
    values = column.to_numpy()
    return values == 1 if len(values) and set(np.unique(values)) <= {0, 1} else None


def factor_rates(run: RunTables, model: int, factors: Factors) -> FactorRates:
    """Return one model's rates of each error type by factor over those of all annotated images."""
    error_type = run.error_type[model]
    counted = (error_type != NOT_EVALUATED) & factors.annotated
    is_type = np.stack([counted & (error_type == place) for place in range(len(ERROR_TYPES))])
    holds = (factors.holds & counted).astype(np.float64)
    n_images = holds.sum(axis=1)
    n_errors = holds @ is_type.T.astype(np.float64)
    whole, n_all = is_type.sum(axis=1), max(1, int(counted.sum()))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (n_errors / n_images[:, None]) / (whole / n_all)
        # The variance of log ratio of two rates of which one is a part of the other: only the rest varies apart.
        error = np.sqrt(np.maximum(1 / n_errors - 1 / n_images[:, None] - (1 / whole - 1 / n_all), 0))
    untold = (n_images[:, None] < _FEWEST) | (n_errors == 0) | (whole == 0)
    untold |= ~run.figures.ran
    ratio, error = np.where(untold, np.nan, ratio), np.where(untold, np.nan, error)
    is_error = np.array([name != "correct" for name in ERROR_TYPES])
    of_all = n_errors[:, is_error].sum(axis=1) / np.maximum(n_images, 1)
    order = [place for place in np.argsort(-of_all, kind="stable") if n_images[place] >= _FEWEST]
    return FactorRates(
        run.models[model],
        tuple(factors.names[place] for place in order),
        n_images[order].astype(np.int64),
        n_errors[order].astype(np.int64),
        ratio[order],
        (ratio * np.exp(-NORMAL_975 * error))[order],
        (ratio * np.exp(NORMAL_975 * error))[order],
    )


def rates_of_run(run: RunTables, path: Path) -> tuple[FactorRates, ...]:
    """Return the rates of each model of a run by the factors of a file.

    Raises
    ------
    InputError
        The file cannot be read, or is about none of the run's images.
    """
    factors = read_factors(path, run.file_names)
    return tuple(factor_rates(run, model, factors) for model in range(len(run.models)))


def factors_csv(rates: Sequence[FactorRates]) -> str:
    """Return the rates of several models as CSV, a row for each model, factor and error type."""
    rows: list[Sequence[object]] = [["model", "factor", "error_type", "n_images", "n_errors", "ratio", "low", "high"]]
    for model in rates:
        for row, factor in enumerate(model.names):
            for place, error_type in enumerate(ERROR_TYPES):
                bounds = [getattr(model, key)[row, place] for key in ("ratio", "low", "high")]
                cells = ["" if np.isnan(value) else f"{value:.4g}" for value in bounds]
                rows.append([model.model, factor, error_type, model.n_images[row], model.n_errors[row, place], *cells])
    return csv_text(rows)


def factor_figure(rates: FactorRates) -> Figure:
    """Return one model's ratios: a row for each factor, a dot with its interval for each error type."""
    from matplotlib.figure import Figure

    shown = [
        (place, look)
        for place, look in enumerate(looks())
        if look.name != "correct" and np.isfinite(rates.ratio[:, place]).any()
    ]
    figure = Figure(figsize=(7.0, 0.6 + 0.42 * len(rates.names)), layout="constrained")
    axis = figure.subplots()
    axis.axvline(1, color="#77736a", linewidth=0.8)
    step = 0.8 / max(1, len(shown))
    for turn, (place, look) in enumerate(shown):
        y = np.arange(len(rates.names)) + (turn - (len(shown) - 1) / 2) * step
        ratio = rates.ratio[:, place]
        spread: Any = np.abs(np.stack([rates.low[:, place], rates.high[:, place]]) - ratio)
        axis.errorbar(ratio, y, xerr=spread, fmt="o", color=look.light, markersize=3, linewidth=0.8, label=look.name)
    axis.set_xscale("log")
    axis.set_xticks([0.25, 0.5, 1, 2, 4, 8], ["1/4", "1/2", "1", "2", "4", "8"])
    axis.minorticks_off()
    names = [f"{name.replace('_', ' ')} ({n:,})" for name, n in zip(rates.names, rates.n_images, strict=True)]
    axis.set_yticks(range(len(names)), names)
    axis.invert_yaxis()
    axis.set_xlabel(f"share of the factor's images with the error, over that of all images ({rates.model})")
    figure.legend(loc="outside lower center", ncols=4, fontsize=6.5)
    return figure
