"""Hiding parts of a picture: a grid of cells, and what stands in a hidden cell's place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.explain.classifier import Classifier, Pixels
from imagenet_errors.problems import InputError

BASELINES = ("blur", "mean")
FEWEST_CELLS = 2
"""A side: of fewer, none is a part of the picture."""
_BLUR_SHARE = 0.1
"""Standard deviation of the blur as a share of the picture's side: three quarters of a cell of an 8 x 8 grid."""


def blank_of(pixels: Pixels, baseline: str) -> Pixels:
    """Return what stands in the place of hidden pixels, [3, H, W]: the picture blurred, or the channels' mean.

    Raises
    ------
    InputError
        There is no such baseline.
    """
    refuse_baseline(baseline)
    if baseline == "mean":
        return pixels.new_zeros(pixels.shape)
    from torchvision.transforms.functional import gaussian_blur

    side = min(pixels.shape[-2:])
    deviation = _BLUR_SHARE * side
    radius = min(int(3 * deviation), side - 1)
    return gaussian_blur(pixels, [2 * radius + 1, 2 * radius + 1], [deviation, deviation])


def refuse_baseline(baseline: str) -> None:
    """Refuse what is none of BASELINES.

    Raises
    ------
    InputError
        There is no such baseline.
    """
    if baseline not in BASELINES:
        raise InputError("--baseline", f"no baseline {baseline!r}", fix=f"Known: {', '.join(BASELINES)}.")


def cell_of_pixels(size: tuple[int, int], grid: int) -> NDArray[np.int64]:
    """Return int64 [H, W]: the cell of each pixel, numbered row by row; cells differ by a pixel at most.

    Raises
    ------
    InputError
        The grid has fewer than 2 cells a side, or more cells than pixels.
    """
    if not FEWEST_CELLS <= grid <= min(size):
        raise InputError("--grid", f"{grid} cells a side cannot be", fix=f"Pass {FEWEST_CELLS} to {min(size)}.")
    row, column = (np.arange(side) * grid // side for side in size)
    return row[:, None] * grid + column


@dataclass(frozen=True, eq=False)
class Maskable:
    """One picture for one classifier: ``pixels`` and ``blank`` [3, H, W], ``cells`` int64 [H, W] of n cells."""

    classifier: Classifier
    pixels: Pixels
    blank: Pixels
    cells: NDArray[np.int64]

    @classmethod
    def of(cls, classifier: Classifier, pixels: Pixels, *, grid: int, baseline: str) -> Maskable:
        """Lay a grid over a picture."""
        return cls(classifier, pixels, blank_of(pixels, baseline), cell_of_pixels(classifier.size, grid))

    @property
    def n_cells(self) -> int:
        """The number of cells n."""
        return int(self.cells[-1, -1]) + 1

    def masked(self, hidden: NDArray[np.bool_]) -> Any:
        """Return the pictures [m, 3, H, W] with the cells hidden as bool [m, n] says."""
        import torch

        where = torch.from_numpy(hidden)[:, torch.from_numpy(self.cells)]
        return torch.where(where[:, None], self.blank, self.pixels)

    def logits(self, hidden: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Return float32 [m, C] of the pictures with the cells hidden as bool [m, n] says; built batch by batch."""
        at_once = self.classifier.settings.batch_size
        parts = [
            self.classifier.logits(self.masked(hidden[start : start + at_once]))
            for start in range(0, len(hidden), at_once)
        ]
        return np.concatenate(parts)

    def one_by_one(self) -> NDArray[np.float32]:
        """Return float32 [1 + n, C]: the logits with nothing hidden, then with each cell alone."""
        return self.logits(np.eye(self.n_cells + 1, self.n_cells, -1, dtype=np.bool_))


def masking_map(
    classifier: Classifier, pixels: Pixels, target: int, *, grid: int, baseline: str = "mean"
) -> NDArray[np.float32]:
    """Return float32 [grid, grid]: by how much the target's logit falls when a cell is hidden (occlusion).

    Equal to captum's ``FeatureAblation`` of the logits with the cells as its feature mask.
    """
    logits = Maskable.of(classifier, pixels, grid=grid, baseline=baseline).one_by_one()[:, target]
    drops: NDArray[np.float32] = (logits[0] - logits[1:]).reshape(grid, grid)
    return drops
