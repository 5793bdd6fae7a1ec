"""Error types as a metric for a loop, by torchmetrics' conventions: ``update`` per batch, ``compute``, ``reset``.

It is a ``torchmetrics.Metric`` where torchmetrics is installed, gathered over distributed workers as others are;
otherwise a plain object with the same methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.evaluation import judge
from imagenet_errors.images import ImageIndex
from imagenet_errors.inputs import Basis, Inputs, load_basis
from imagenet_errors.measure import IS_MULTI_LABEL_ERROR, IS_TOP1_ERROR
from imagenet_errors.mistakes import Mistakes
from imagenet_errors.problems import InputError, counted
from imagenet_errors.readers.annotations import labels_told_by_names
from imagenet_errors.tables import Intake, Predictions, cases_of

ACCURACIES = ("top1_accuracy", "mla", "mla_minor", "mla_explained")

if TYPE_CHECKING:

    class _MetricBase:
        """What both bases have: two lists of arrays, a batch each."""

        image: list[Any]
        prediction: list[Any]

        def add_state(self, name: str, default: list[Any], dist_reduce_fx: str) -> None: ...

elif find_spec("torchmetrics") is not None and find_spec("torch") is not None:
    from torchmetrics import Metric as _MetricBase
else:

    class _MetricBase:
        """Lists of arrays that ``reset`` empties."""

        def __init__(self) -> None:
            self.reset()

        def add_state(self, name: str, default: list[Any], dist_reduce_fx: str) -> None:
            """Begin a state; nothing reduces it here."""
            setattr(self, name, default)

        def reset(self) -> None:
            """Forget all batches."""
            self.image, self.prediction = [], []


class ErrorTypes(_MetricBase):
    """How a model's errors share out, batch by batch.

    Parameters
    ----------
    annotations, dataset, classes, rejected_labels, **evidence
        As :func:`imagenet_errors.evaluate` takes them.
    images
        The names of all images, where their folders tell the labels and no annotations do (ImageNet-A, classes of
        one's own).
    mask_classes
        Of scores, take the best class that occurs in the data set.

    Example
    -------
    >>> metric = ErrorTypes(annotations="real")  # doctest: +SKIP
    >>> for images, _, names in loader:  # doctest: +SKIP
    ...     metric.update(model(images), names)
    >>> metric.compute()["mla"]  # doctest: +SKIP
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better = None

    def __init__(
        self,
        annotations: str | Path | Sequence[str | Path] = "real",
        *,
        dataset: str | Path = "imagenet",
        classes: str | Path | None = None,
        images: Sequence[str] | None = None,
        mask_classes: bool = False,
        rejected_labels: str = "exclude",
        **evidence: Any,
    ) -> None:
        super().__init__()
        inputs = Inputs.given(annotations, dataset=dataset, classes=classes, rejected_labels=rejected_labels)
        told_by = [] if images is None else [labels_told_by_names(images)]
        self.basis: Basis = load_basis(inputs.with_evidence(**evidence), told_by=told_by)
        labels = self.basis.labels
        self._chosen_from = np.array(labels.occurring if mask_classes and labels.occurring else range(len(labels)))
        self._masks = len(self._chosen_from) < len(labels)
        self._images = ImageIndex(self.basis.annotations.file_names)
        self.add_state("image", default=[], dist_reduce_fx="cat")
        self.add_state("prediction", default=[], dist_reduce_fx="cat")

    def update(self, predictions: Any, file_names: Sequence[str]) -> None:
        """Take one batch.

        Parameters
        ----------
        predictions
            Classes [n] or scores [n, C]: a tensor or array.
        file_names
            The images' names [n]; those that are not annotated count nowhere.

        Raises
        ------
        InputError
            The lengths differ, or a class is not one of the label space.
        """
        top1 = self._classes(predictions)
        if len(top1) != len(file_names):
            raise InputError(
                "update", f"{len(file_names):,} image names for {len(top1):,} predictions", fix="Give one for each."
            )
        names = pa.array([str(name) for name in file_names], type=pa.string())
        rows = self._images.rows(names, where="file_names")
        self.image.append(_as_state(rows, predictions))
        self.prediction.append(_as_state(top1.astype(np.int64), predictions))

    def compute(self) -> dict[str, float]:
        """Return the accuracies in 0..1, the number of images, and each error type's share of the errors.

        ``top1_errors/TYPE`` and ``multi_label_errors/TYPE`` are shares in 0..1; types whose stage did not run are left
        out. An image that several workers saw counts once.

        Raises
        ------
        InputError
            An image was predicted twice as different classes.
        """
        rows, top1 = self._once_each()
        annotations = self.basis.annotations
        wrong = ~annotations.is_correct(rows, top1)
        judged = judge(self.basis, Mistakes(cases_of(annotations, rows[wrong], top1[wrong]), ()))
        predictions = Predictions("metric", rows, top1, None, Intake("batches", len(rows), len(rows)))
        measures = judged.measure(predictions, judged.look_up(predictions))
        figures = {"n_evaluated": float(len(rows))}
        figures |= {name: float(getattr(measures, name)[0]) for name in ACCURACIES}
        for prefix, among in (("top1_errors", IS_TOP1_ERROR), ("multi_label_errors", IS_MULTI_LABEL_ERROR)):
            shares = measures.portions(among)[0]
            for name, share, counts in zip(ERROR_TYPES, shares, among, strict=True):
                if counts and name not in judged.chain.not_run:
                    figures[f"{prefix}/{name}"] = float(share)
        return figures

    def _classes(self, predictions: Any) -> NDArray[np.int16]:
        is_tensor = hasattr(predictions, "detach")
        values = predictions.detach().double().cpu().numpy() if is_tensor else np.asarray(predictions)
        n_classes = len(self.basis.labels)
        if values.dtype.kind not in "iuf" or not values.ndim:
            what = f"an array of {values.dtype} {list(values.shape)} is no predictions"
            raise InputError("update", what, fix="Give classes [n] or scores [n, C].")
        if values.ndim == 2 and values.shape[1] != n_classes:
            what = f"{values.shape[1]} outputs for {n_classes} classes"
            raise InputError("update", what, fix="Give a score a class.")
        useless = ~np.isfinite(values).all(axis=tuple(range(1, values.ndim)))
        if useless.any():
            what = f"NaN or infinite values for {counted(int(useless.sum()), 'image')}"
            raise InputError("update", what, fix="Such outputs name no class: leave these images out.")
        if self._masks and values.ndim == 1:
            what = "one class an image: the best of those that occur is not known"
            raise InputError("update", what, fix="Give scores, or leave mask_classes out.")
        classes = self._chosen_from[values[:, self._chosen_from].argmax(axis=1)] if values.ndim == 2 else values
        if classes.ndim != 1 or not ((classes >= 0) & (classes < n_classes) & (classes == np.trunc(classes))).all():
            what = f"predictions of shape {list(values.shape)} that are no classes 0..{n_classes - 1}"
            raise InputError("update", what, fix="Give classes [n] or scores [n, C].")
        return classes.astype(np.int16)

    def _once_each(self) -> tuple[NDArray[np.int64], NDArray[np.int16]]:
        """Return the evaluated images that were seen, each once, ascending, and their classes."""
        rows = _joined(self.image)
        top1 = _joined(self.prediction).astype(np.int16)
        counts = (rows >= 0) & self.basis.annotations.evaluated[rows]
        rows, top1 = rows[counts], top1[counts]
        pairs = np.unique(np.stack([rows, top1.astype(np.int64)], axis=1), axis=0)
        torn = np.flatnonzero(pairs[1:, 0] == pairs[:-1, 0])
        if len(torn):
            image = self.basis.annotations.file_names[int(pairs[torn[0], 0])]
            what = f"{counted(len(torn), 'image')} predicted twice, differently"
            raise InputError("compute", what, example=image, fix="Reset between epochs.")
        return pairs[:, 0], pairs[:, 1].astype(np.int16)


def _as_state(values: NDArray[np.int64], like: Any) -> Any:
    """Return the values as torchmetrics wants a state: a tensor on the predictions' device; else as they are."""
    if find_spec("torchmetrics") is None or find_spec("torch") is None:
        return values
    import torch

    return torch.as_tensor(values, device=getattr(like, "device", None))


def _joined(state: Any) -> NDArray[np.int64]:
    """Return one array of a state: a list of batches, or what torchmetrics joined over workers."""
    parts = state if isinstance(state, list) else [state]
    arrays = [part.cpu().numpy() if hasattr(part, "cpu") else np.asarray(part) for part in parts]
    return np.concatenate(arrays).astype(np.int64) if arrays else np.zeros(0, dtype=np.int64)
