"""What a model confuses most, and where its severe errors are: short rankings out of the verdicts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.evidence.superclasses import Superclasses
from imagenet_errors.report.looks import SEVERE
from imagenet_errors.runs.tables import NOT_EVALUATED, RunTables

_CODE = 1 << 15


@dataclass(frozen=True)
class Confusion:
    """``count`` images of class ``label`` were taken for ``prediction``."""

    label: int
    prediction: int
    count: int


@dataclass(frozen=True)
class Severity:
    """``n_severe`` of the ``n_images`` whose label is in this class or superclass (its row) are severe errors."""

    place: int
    n_severe: int
    n_images: int


def confusions(run: RunTables, model: int, *, most: int) -> dict[str, list[Confusion]]:
    """Return each error type's most frequent (label, prediction) pairs, those of equal count by class index."""
    found = {}
    for place, name in enumerate(ERROR_TYPES[1:], start=1):
        of_type = run.error_type[model] == place
        codes = run.label[of_type].astype(np.int64) * _CODE + run.prediction[model][of_type]
        pairs, counts = np.unique(codes, return_counts=True)
        order = np.argsort(-counts, kind="stable")[:most]
        found[name] = [
            Confusion(int(pair // _CODE), int(pair % _CODE), int(count))
            for pair, count in zip(pairs[order], counts[order], strict=True)
        ]
    return found


def severe_classes(run: RunTables, model: int, *, most: int, n_classes: int) -> list[Severity]:
    """Return the classes (of the original label) with the most severe errors."""
    n_images, n_severe = _by_class(run, model, n_classes)
    return _ranking(n_severe, n_images, most)


def severe_superclasses(run: RunTables, model: int, *, most: int, superclasses: Superclasses) -> list[Severity]:
    """Return the superclasses whose classes (of the original label) have the most severe errors together."""
    n_images, n_severe = _by_class(run, model, superclasses.n_classes)
    sums = [np.array([counts[members].sum() for members in superclasses.members]) for counts in (n_severe, n_images)]
    return _ranking(sums[0], sums[1], most)


def _by_class(run: RunTables, model: int, n_classes: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    error_type = run.error_type[model]
    seen, severe = error_type != NOT_EVALUATED, error_type == ERROR_TYPES.index(SEVERE)
    return (
        np.bincount(run.label[seen], minlength=n_classes),
        np.bincount(run.label[severe], minlength=n_classes),
    )


def _ranking(n_severe: NDArray[np.int64], n_images: NDArray[np.int64], most: int) -> list[Severity]:
    """Return the places with the most severe errors; of equal counts, the fewer images (the higher rate) first."""
    order = np.lexsort((n_images, -n_severe))[:most]
    return [Severity(int(place), int(n_severe[place]), int(n_images[place])) for place in order if n_severe[place]]
