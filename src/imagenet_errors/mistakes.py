"""Predictions put aside on disk between reading them all and judging them, so that memory does not grow with models.

However many models there are, what stays in memory is one table of the errors that any of them made.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from imagenet_errors.tables import Annotations, Cases, Intake, Predictions, cases_of


@dataclass(frozen=True)
class Shelved:
    """One model's evaluated predictions, in a file; ``n_images`` counts the excluded ones too."""

    model: str
    n_images: int
    intake: Intake
    path: Path

    def load(self) -> Predictions:
        """Read the predictions back."""
        with np.load(self.path) as arrays:
            confidence = arrays.get("confidence")
            return Predictions(self.model, arrays["rows"].astype(np.int64), arrays["top1"], confidence, self.intake)


class Shelf:
    """Takes one model's predictions after the other and remembers which errors they made."""

    def __init__(self, folder: Path, annotations: Annotations, n_classes: int) -> None:
        self._folder = folder
        self._annotations = annotations
        self._made = np.zeros((len(annotations), n_classes), dtype=np.bool_)

    def put(self, predictions: Predictions) -> Shelved:
        """Put the predictions of evaluated images aside; may be called from several threads."""
        annotations = self._annotations
        counts = np.flatnonzero(annotations.evaluated[predictions.rows])
        rows, top1 = predictions.rows[counts], predictions.top1[counts]
        wrong = top1 != annotations.label[rows]
        self._made[rows[wrong], top1[wrong]] = True
        arrays = {"rows": rows.astype(np.int32), "top1": top1}
        if predictions.confidence is not None:
            arrays["confidence"] = predictions.confidence[counts]
        path = self._folder / f"{predictions.model}.npz"
        np.savez(path, **arrays)  # type: ignore[arg-type,unused-ignore]
        return Shelved(predictions.model, len(predictions.rows), predictions.intake, path)

    def cases(self) -> Cases:
        """Return every (image, wrong prediction) that any model made, once, ordered by image, then class."""
        rows, prediction = np.nonzero(self._made)
        return cases_of(self._annotations, rows, prediction.astype(np.int16))
