"""Pairs of classes that are two names for the same thing, so that either is a right answer.

Source: Vasudevan et al. 2022 (arXiv 2205.04596), collapsed mappings;
    Peychev et al., NeurIPS 2023, section 3 (class overlap).
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.evidence.source import Loaded, Source, Subject
from imagenet_errors.labels import LabelSpace
from imagenet_errors.shipped import shipped
from imagenet_errors.tables import Cases


@dataclass(frozen=True, eq=False)
class Overlaps:
    """Directed: ``reason_of[label, prediction]`` int16 [C, C] is a row of ``reasons``, or -1."""

    reason_of: NDArray[np.int16]
    reasons: pa.StringArray

    def accepts(self, label: NDArray[np.integer], prediction: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return bool [n]: where the prediction is an accepted name for the original label."""
        accepted: NDArray[np.bool_] = self.reason_of[label, prediction] >= 0
        return accepted

    def label_beside(self, cases: Cases) -> NDArray[np.int16]:
        """Return int16 [n]: the original label to hold each prediction against, of several one that it names too."""
        if cases.originals is None:
            return cases.label
        held = cases.originals
        names_it = self.accepts(held.values, cases.prediction[held.owners])
        found = held.best_of(names_it.astype(np.int64))
        return np.where(found >= 0, found, cases.label).astype(np.int16)


def load_overlaps(labels: LabelSpace, path: Path | None = None) -> Overlaps:
    """Load ``data/overlaps.csv``; every index in it is checked against the name beside it."""
    path = path or shipped("data", "overlaps.csv")
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    reason_of = np.full((len(labels), len(labels)), -1, dtype=np.int16)
    for number, row in enumerate(rows):
        label = labels.find(f"{row['label']} {row['label_name']}", where=path)
        also = labels.find(f"{row['also_accepted']} {row['also_name']}", where=path)
        reason_of[label, also] = number
    return Overlaps(reason_of, pa.array([row["reason"] for row in rows], type=pa.string()))


def _load(_paths: tuple[Path, ...], subject: Subject) -> Loaded:
    if not subject.labels.is_imagenet:
        return Loaded(None, reason="no pairs of overlapping classes are known for these classes")
    return Loaded(load_overlaps(subject.labels))


SOURCE = Source("overlaps", _load)
