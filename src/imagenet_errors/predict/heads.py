"""From a network's outputs to the 1000 classes: by the wnids of its head, or refused with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import InputError, counted
from imagenet_errors.readers.class_axis import IMAGENET_1K, axis_names, class_axis


@dataclass(frozen=True, eq=False)
class Head:
    """Which outputs count: ``positions`` int64 [K] of the outputs, ``classes`` int16 [K] ascending.

    ``n_lacking`` of the 1000 classes have no output; such a class is never predicted.
    """

    axis: str
    n_outputs: int
    positions: NDArray[np.int64]
    classes: NDArray[np.int16]
    n_lacking: int

    @property
    def is_plain(self) -> bool:
        """True when output i is class i for all classes."""
        return self.n_lacking == 0 and self.n_outputs == len(self.positions)


def head_of(model: str, n_outputs: int, labels: LabelSpace, *, label_names: Sequence[str] | None = None) -> Head:
    """Return the mapping of a head with so many outputs; ``label_names``: wnids, where the model states them.

    Raises
    ------
    InputError
        The model has no head, or which class each output stands for is not known.
    """
    if n_outputs == 0:
        raise InputError(model, "has no classification head: it yields features", fix="Name a fine-tuned model.")
    if label_names is not None and len(label_names) == n_outputs:
        return _of_labels(model, label_names, labels)
    if n_outputs == len(labels) or str(n_outputs) in axis_names():
        axis = class_axis(IMAGENET_1K if n_outputs == len(labels) else str(n_outputs), labels)
        return _head(axis.name, axis.class_at, labels)
    raise InputError(
        model,
        f"has {counted(n_outputs, 'output')}, and which class each stands for is not known",
        fix=f"Known heads: {', '.join(axis_names())}.",
    )


def _of_labels(model: str, label_names: Sequence[str], labels: LabelSpace) -> Head:
    class_at = np.array([labels.index_of_wnid.get(name, -1) for name in label_names], dtype=np.int16)
    inside = class_at[class_at >= 0]
    if not len(inside) or len(np.unique(inside)) < len(inside):
        raise InputError(
            model,
            f"its {counted(len(class_at), 'output')} are not named by wnids of the 1000 classes, each once",
            example=label_names[0],
            fix="Only heads with ImageNet classes can be evaluated.",
        )
    return _head("the model's own wnids", class_at, labels)


def _head(axis: str, class_at: NDArray[np.int16], labels: LabelSpace) -> Head:
    positions = np.flatnonzero(class_at >= 0)
    positions = positions[np.argsort(class_at[positions], kind="stable")]
    classes = class_at[positions]
    return Head(axis, len(class_at), positions, classes, len(labels) - len(classes))
