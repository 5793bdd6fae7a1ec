"""What a predictions file was taken to say, beside what is known of its images: what is judged for plausibility."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.images import ImageIndex, val_numbers
from imagenet_errors.labels import LabelSpace
from imagenet_errors.readers.annotations import read_real
from imagenet_errors.tables import Annotations

_FEW = 0.01
"""Where fewer images have several labels, the other labels tell nothing of the order."""


@dataclass(frozen=True, eq=False)
class OtherHits:
    """Mistakes ``wrong`` int64 [m]: ``is_accepted`` bool [m], and ``luck`` float64 [m], how likely by exchange."""

    wrong: NDArray[np.int64]
    is_accepted: NDArray[np.bool_]
    luck: NDArray[np.float64]

    @cached_property
    def variance(self) -> NDArray[np.float64]:
        """float64 [m]: of being accepted by luck."""
        return self.luck * (1 - self.luck)


@dataclass(frozen=True, eq=False)
class Reading:
    """What a file was taken to say of n images, in the file's order.

    ``label``, ``top1`` int64 [n]; ``rows`` int64 [n] of the annotations; ``place`` int64 [n] rows of the file;
    ``lacks`` int64: classes that the file cannot name; ``ranks`` int64 [n, k], best first, or None;
    ``in_words``: the classes are written as texts.
    """

    label: NDArray[np.int64]
    top1: NDArray[np.int64]
    rows: NDArray[np.int64]
    place: NDArray[np.int64]
    lacks: NDArray[np.int64]
    labels: LabelSpace
    annotations: Annotations
    ranks: NDArray[np.int64] | None = None
    in_words: bool = False

    def __len__(self) -> int:
        """Return the number of rows n."""
        return len(self.label)

    @cached_property
    def right(self) -> NDArray[np.bool_]:
        """bool [n]: the prediction is the original label."""
        right: NDArray[np.bool_] = self.top1 == self.label
        return right

    @cached_property
    def accuracy(self) -> float:
        """The share of rows that are right."""
        return float(self.right.mean())

    @cached_property
    def n_labelled(self) -> NDArray[np.int64]:
        """int64 [C]: rows with each original label."""
        return np.bincount(self.label, minlength=len(self.labels))

    @cached_property
    def n_predicted(self) -> NDArray[np.int64]:
        """int64 [C]: rows with each prediction."""
        return np.bincount(self.top1, minlength=len(self.labels))

    @cached_property
    def other(self) -> OtherHits:
        """The mistakes on images whose labels are known, beside what luck would give."""
        others = other_labels(self.annotations, self.labels)
        if others is None:
            return OtherHits(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.bool_), np.empty(0))
        wrong = np.flatnonzero(~self.right)
        accepted = others.accepted[self.rows[wrong]]
        known = accepted[:, 0] >= 0
        wrong, accepted = wrong[known], accepted[known]
        if 10 * len(self) < 9 * len(self.annotations):
            others = others.of(self.rows, self.label)
        label, top1 = self.label[wrong], self.top1[wrong]
        is_accepted = (accepted == top1.astype(np.int16)[:, None]).any(axis=1)
        return OtherHits(wrong, is_accepted, others.by_luck(label, top1, is_own=is_accepted))

    def called(self, index: int) -> str:
        """Return ``"65 sea snake"``."""
        return f"{index} {self.labels.names[index]}"


@dataclass(frozen=True, eq=False)
class OtherLabels:
    """What else is in the images.

    ``accepted`` int16 [N, w]: labels of each annotated image, -1 behind the last; ``n_accepting`` int32 [C, C]: images
    of each original label (row) that accept a class (column); ``n_of_label`` int64 [C].
    """

    accepted: NDArray[np.int16]
    n_accepting: NDArray[np.int32]
    n_of_label: NDArray[np.int64]

    def of(self, rows: NDArray[np.int64], label: NDArray[np.int64]) -> OtherLabels:
        """Count again for some of the images only."""
        return _counted_labels(self.accepted, self.accepted[rows], label, len(self.n_of_label))

    def by_luck(
        self, label: NDArray[np.int64], top1: NDArray[np.int64], *, is_own: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return float64 [n]: which share of the other images of its class accept each prediction."""
        having = self.n_accepting[label, top1] - is_own
        share: NDArray[np.float64] = np.maximum(having, 0) / np.maximum(self.n_of_label[label] - 1, 1)
        return share


def _counted_labels(
    whole: NDArray[np.int16], accepted: NDArray[np.int16], label: NDArray[np.int64], n_classes: int
) -> OtherLabels:
    some = accepted[:, 0] >= 0
    image, column = np.nonzero(accepted >= 0)
    code = label[image] * n_classes + accepted[image, column]
    n_accepting = np.bincount(code, minlength=n_classes**2).reshape(n_classes, n_classes).astype(np.int32)
    return OtherLabels(whole, n_accepting, np.bincount(label[some], minlength=n_classes))


@lru_cache(maxsize=2)
def other_labels(annotations: Annotations, labels: LabelSpace) -> OtherLabels | None:
    """Return what else is in the annotated images: by ReaL for validation images, else by the annotations.

    ReaL speaks of ImageNet's classes: of validation images that are sorted into others it tells nothing.
    """
    accepted = annotations.accepted
    numbers = val_numbers(annotations.file_names)
    if labels.is_imagenet and ImageIndex(annotations.file_names).is_val and len(numbers):
        real = read_real(labels)
        rows = ImageIndex(real.file_names).rows_of_numbers(numbers)
        accepted = real.accepted.take(np.maximum(rows, 0))
    if not len(accepted.values) or np.mean(accepted.lengths > 1) < _FEW:
        return None
    width = int(accepted.lengths.max())
    padded = np.full((len(accepted), width), -1, dtype=np.int16)
    padded[accepted.owners, np.arange(len(accepted.values)) - accepted.offsets[accepted.owners]] = accepted.values
    return _counted_labels(padded, padded, annotations.label.astype(np.int64), len(labels))
