"""Models as points: accuracies and counts of every error type, from the published tables or from a run.

Source: Peychev et al., NeurIPS 2023; their statistics of 962 models (eth-sri/automated-error-analysis).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import floor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.labels import GROUPS
from imagenet_errors.measure import IS_MULTI_LABEL_ERROR, IS_TOP1_ERROR
from imagenet_errors.problems import InputError
from imagenet_errors.runs.tables import RunTables

SOURCE_NAME = "published"
_COUNT_COLUMNS = {
    "correct": "num_group_correct",
    "class_overlap": "num_collapsed_mappings",
    "multi_object": "num_ambiguous",
    "fine_grained": "num_same_superclass",
    "fine_grained_oov": "num_OOV_clip",
    "non_prototypical": "num_non_prototypical",
    "spurious_correlation": "num_common_co_occ",
    "model_failure": "num_not_classified",
}
FACTS = ("training_data", "arch_family", "arch_group", "extra_annotations")
N_EVALUATED_THERE = 18_692
"""Images that the published figures rest on; another number says that a run's are others."""


@dataclass(frozen=True, eq=False)
class Points:
    """N models: ``counts`` int64 [N, G, T]; ``mla`` and ``top1`` float64 [N, G] in percent, NaN if unknown.

    ``top1`` is over the evaluated images of the group. ``facts``: name of FACTS -> N texts, empty if unknown.
    """

    models: tuple[str, ...]
    counts: NDArray[np.int64]
    mla: NDArray[np.float64]
    top1: NDArray[np.float64]
    facts: dict[str, tuple[str, ...]]

    def __len__(self) -> int:
        """Return the number of models N."""
        return len(self.models)

    def portions(self, error_type: str, *, among: str, group: str = "all") -> NDArray[np.float64]:
        """Return float64 [N]: a type's share in percent of the group's ``top1`` or ``multi_label`` errors.

        NaN for a model without such errors.
        """
        counts = self.counts[:, GROUPS.index(group)]
        total = counts[:, IS_MULTI_LABEL_ERROR if among == "multi_label" else IS_TOP1_ERROR].sum(axis=1)
        part = 100.0 * counts[:, ERROR_TYPES.index(error_type)]
        shares: NDArray[np.float64] = np.divide(part, total, out=np.full(len(part), np.nan), where=total > 0)
        return shares

    def accuracy(self, among: str, group: str = "all") -> NDArray[np.float64]:
        """Return float64 [N] in percent: top-1 against top-1 errors, MLA against multi-label errors."""
        values = self.mla if among == "multi_label" else self.top1
        in_group: NDArray[np.float64] = values[:, GROUPS.index(group)]
        return in_group


def points_of_run(run: RunTables) -> Points:
    """Return the models of a run; their facts where ``summary.parquet`` has such columns."""
    figures = run.figures
    facts = {name: tuple(_fact(known, name) for known in figures.facts) for name in FACTS}
    mla, top1 = (100 * figures.accuracies[name] for name in ("mla", "top1_accuracy"))
    return Points(run.models, figures.counts, mla, top1, facts)


def _fact(known: dict[str, Any], name: str) -> str:
    """Return a fact of a run's model as the published tables write it; empty if it is not known."""
    if name == "extra_annotations":
        return ", ".join(known.get("pretraining") or ())
    told, n_images = str(known.get(name) or ""), known.get("n_training_images")
    if name == "training_data" and told and n_images:
        unit, letter = (1e9, "B") if n_images >= 1e9 else (1e6, "M")
        size = n_images / unit
        return f"{told} ({floor(size) if size >= 10 else floor(10 * size) / 10:g}{letter})"
    return told


def published_folder(given: Path | None) -> Path | None:
    """Return where the published statistics lie: the folder given, or the cache; None if not at hand.

    Raises
    ------
    InputError
        A folder was given and is not there.
    """
    from imagenet_errors.downloads import at_hand

    if given is not None and not given.is_dir():
        raise InputError(given, "no such folder", fix="Name the folder of the published stats CSV files.")
    return given or next(iter(at_hand(SOURCE_NAME)), None)


def published_points(given: Path | None) -> Points:
    """Return the published models from the folder given, or from the cache, fetched if need be.

    Raises
    ------
    InputError
        They are not to be had, or cannot be read.
    """
    from imagenet_errors.downloads import fetch

    return read_published(published_folder(given) or fetch(SOURCE_NAME)[0])


def read_published(folder: Path) -> Points:
    """Read the published tables, ``stats_imagenet_GROUP.csv``, of all four groups.

    Raises
    ------
    InputError
        A group's table is missing, lacks a column, or has other models than the first.
    """
    tables = [_table(_find(folder, group)) for group in GROUPS]
    models = tables[0]["model_dir_id"].to_pylist()
    for group, table in zip(GROUPS, tables, strict=True):
        if table["model_dir_id"].to_pylist() != models:
            raise InputError(folder, f"the table of {group} has other models", fix="Get the tables again.")
    counts = np.stack([_columns(table, _COUNT_COLUMNS.values()) for table in tables], axis=1).astype(np.int64)
    n_images = np.stack([table["num_group_samples"].to_numpy() for table in tables], axis=1)
    facts = {name: tuple(tables[0][name].to_pylist()) for name in FACTS}
    mla = np.stack([table["mla_group"].to_numpy() for table in tables], axis=1)
    return Points(tuple(models), counts, mla, 100 * counts[:, :, 0] / n_images, facts)


def _find(folder: Path, group: str) -> Path:
    # ImageNet-A's tables lie beside them and end in the same group's name.
    found = [path for path in sorted(folder.rglob(f"*{group}.csv")) if "imagenet-a" not in path.stem]
    if not found:
        raise InputError(
            folder,
            f"no stats_imagenet_{group}.csv in it",
            fix="Name the folder of the published stats CSV files.",
        )
    return found[0]


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


def _columns(table: pa.Table, names: Iterable[str]) -> NDArray[np.float64]:
    return np.stack([table[name].to_numpy() for name in names], axis=1)
