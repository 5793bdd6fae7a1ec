"""By what models are told apart in a figure: training data, family, group of architectures, or pretraining method."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.report.published import Points

GROUPINGS = {
    "data": "training_data",
    "family": "arch_family",
    "group": "arch_group",
    "pretraining": "extra_annotations",
}
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "*", "d", "8")
# Okabe and Ito 2008: told apart by people of every colour vision; then darker ones, for more categories.
_COLOURS = (
    *("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#8a7a00", "#555555"),
    *("#004166", "#8f6300", "#005f45", "#7f3800", "#7a4964", "#2f7fa8"),
)
_SIZE = re.compile(r"\(([\d.]+)([KMB])\)")
_UNIT = {"K": 1e3, "M": 1e6, "B": 1e9}
# Light to dark with the number of training images, on a logarithmic scale.
_LEAST_IMAGES, _MOST_IMAGES = 1.2e6, 3.6e9
_RAMP = ((0.55, 0.76, 0.90), (0.13, 0.44, 0.70), (0.24, 0.07, 0.38))


@dataclass(frozen=True, eq=False)
class Category:
    """A kind of models: name, look, and bool [N], which models are of it."""

    name: str
    colour: str
    marker: str
    holds: NDArray[np.bool_]


def categories(points: Points, grouping: str) -> list[Category]:
    """Return the kinds of models by one of GROUPINGS, most models first; one kind if nothing is known of them.

    By ``data``, the marker tells the data set and the colour its size; otherwise both tell the kind.
    """
    written = [readable(text) for text in points.facts[GROUPINGS[grouping]]]
    if not any(written):
        return [Category("models of this run", "#3b6f9c", "o", np.ones(len(points), dtype=np.bool_))]
    values = np.array([text or "unknown" for text in written])
    names, counts = np.unique(values, return_counts=True)
    ranked = [str(names[place]) for place in np.argsort(-counts, kind="stable")]
    if grouping == "data":
        ranked.sort(key=lambda name: n_training_images(name) or 0.0)
    return [
        Category(name, _colour(name, place, grouping), _MARKERS[place % len(_MARKERS)], values == name)
        for place, name in enumerate(ranked)
    ]


def _colour(name: str, place: int, grouping: str) -> str:
    n_images = n_training_images(name) if grouping == "data" else None
    return _COLOURS[place % len(_COLOURS)] if n_images is None else _by_size(n_images)


def n_training_images(name: str) -> float | None:
    """Return the number of images in a name such as ``"ImageNet-21k (14M)"``; None if it tells none."""
    found = _SIZE.search(name)
    return None if found is None else float(found[1]) * _UNIT[found[2]]


def _by_size(n_images: float) -> str:
    span = np.log(_MOST_IMAGES / _LEAST_IMAGES)
    along = float(np.clip(np.log(n_images / _LEAST_IMAGES) / span, 0, 1))
    knots: Sequence[float] = (0.0, 0.5, 1.0)
    mixed = [np.interp(along, knots, channel) for channel in zip(*_RAMP, strict=True)]
    return "#" + "".join(f"{round(255 * part):02x}" for part in mixed)


def readable(text: str) -> str:
    """Return ``"Distillation, CLIP Training"`` for ``"['Distillation', 'CLIP Training']"``.

    ``[]``, nothing beyond labels, is ``supervised``.
    """
    if not text.startswith("["):
        return text
    return ", ".join(re.findall(r"'([^']*)'", text)) or "supervised"
