"""Sufficient input subsets of any function: the few entries whose values alone keep it above a threshold.

Only NumPy and a callable are needed. Entries are numbered in row-major order of the mask, which has the input's
shape with 1 along ``mask_axes``: for an image [C, H, W] and ``mask_axes=0`` entry i is the pixel
``divmod(i, W)`` in all channels at once.

Source: Carter, Mueller, Jain, Gifford, *What made you do this?*, AISTATS 2019 (arXiv 1810.03805), algorithms
    BackSelect, FindSIS and SIScollection.
Differs: a blank that suffices by itself ends the collection with one empty subset; the published program would
    search for ever. NaN is refused; the published program would hide the entry that caused it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from imagenet_errors.problems import InputError

Function = Callable[[NDArray[Any]], ArrayLike]
"""[B, ...] -> [B]: the value of each of B inputs."""
Axes = int | tuple[int, ...] | None

_AT_ONCE = 1024
"""Inputs handed to the function in one call, so that memory does not grow with the square of the entries."""


def back_select(
    f: Function, x: ArrayLike, blank: ArrayLike, mask_axes: Axes = None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Hide one entry after the other, each time the one whose loss leaves ``f`` highest; of ties the lowest.

    Parameters
    ----------
    f
        [B, ...] -> [B].
    x, blank
        The input and what stands in its place where it is hidden; of one shape.
    mask_axes
        Axes along which one entry of the mask decides; None: every element has its own.

    Returns
    -------
    order
        int64 [n], the entries in the order hidden.
    values
        float64 [n], ``f`` after each hiding; the last is that of the blank.

    Raises
    ------
    InputError
        ``f`` gives NaN or another number of values; shapes differ.

    Example
    -------
    >>> order, values = back_select(lambda b: np.linalg.norm(b, axis=1), [0.1, 10, 5, 1], [0.0] * 4)
    >>> order.tolist(), values.round(4).tolist()
    ([0, 3, 2, 1], [11.225, 11.1803, 10.0, 0.0])
    """
    hiding = _hiding(f, x, blank, mask_axes)
    return hiding.back_select(hiding.all_shown())


def find_sis(f: Function, threshold: float, x: ArrayLike, blank: ArrayLike, mask_axes: Axes = None) -> list[int] | None:
    """Return a minimal subset that keeps ``f`` at the threshold or above, the entry hidden last first.

    None: ``f(x)`` is below the threshold. An empty list: the blank suffices. Raises as :func:`back_select`.
    """
    hiding = _hiding(f, x, blank, mask_axes)
    return hiding.find_sis(threshold, hiding.all_shown())


def sis_collection(
    f: Function, threshold: float, x: ArrayLike, blank: ArrayLike, mask_axes: Axes = None
) -> list[list[int]]:
    """Return disjoint sufficient subsets: each is found with the earlier ones hidden, until ``f`` falls below.

    An empty list: ``f(x)`` is below the threshold. One empty subset: the blank suffices. Raises as
    :func:`back_select`.

    Example
    -------
    >>> sis_collection(lambda b: np.linalg.norm(b, axis=1), 1.0, [0.9, 0.9, 10, 5], [0.0] * 4)
    [[2], [3], [1, 0]]
    """
    hiding = _hiding(f, x, blank, mask_axes)
    shown = hiding.all_shown()
    found: list[list[int]] = []
    while (subset := hiding.find_sis(threshold, shown)) is not None:
        found.append(subset)
        if not subset:
            break
        shown[subset] = False
    return found


@dataclass(frozen=True, eq=False)
class _Hiding:
    """``f`` of ``x`` with entries replaced by the blank's; ``mask_shape`` as ``x`` with 1 along shared axes."""

    f: Function
    x: NDArray[Any]
    blank: NDArray[Any]
    mask_shape: tuple[int, ...]

    def all_shown(self) -> NDArray[np.bool_]:
        """Return bool [n], all True."""
        return np.ones(int(np.prod(self.mask_shape)), dtype=np.bool_)

    def values(self, shown: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return float64 [m]: ``f`` where only the entries shown (bool [m, n]) keep their values."""
        masks = shown.reshape(len(shown), *self.mask_shape)
        values = np.asarray(self.f(np.where(masks, self.x, self.blank)), dtype=np.float64)
        if values.shape != (len(shown),):
            what = f"gives an array of shape {values.shape} for {len(shown)} inputs"
            raise InputError("f", what, fix="Return one value an input.")
        if np.isnan(values).any():
            raise InputError("f", "gives NaN", fix="An order by NaN means nothing: mend the function.")
        return values

    def without_each(self, shown: NDArray[np.bool_], entries: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return float64 [m]: ``f`` with one more entry hidden, for each of the m given."""
        parts = []
        for start in range(0, len(entries), _AT_ONCE):
            some = entries[start : start + _AT_ONCE]
            masks = np.repeat(shown[None], len(some), axis=0)
            masks[np.arange(len(some)), some] = False
            parts.append(self.values(masks))
        return np.concatenate(parts)

    def back_select(self, shown: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Hide what is shown, one entry after the other."""
        shown = shown.copy()
        n_steps = int(shown.sum())
        order, values = np.empty(n_steps, dtype=np.int64), np.empty(n_steps)
        for step in range(n_steps):
            entries = np.flatnonzero(shown)
            after = self.without_each(shown, entries)
            best = int(np.argmax(after))  # the first of equal ones: the lowest index
            order[step], values[step] = entries[best], after[best]
            shown[entries[best]] = False
        return order, values

    def find_sis(self, threshold: float, shown: NDArray[np.bool_]) -> list[int] | None:
        """Return the shortest end of the order that suffices; None where all that is shown does not."""
        if not shown.any() or self.values(shown[None])[0] < threshold:
            return None
        order, values = self.back_select(shown)
        reached = np.flatnonzero(values >= threshold)
        n_hidden = 0 if not len(reached) else int(reached[-1]) + 1
        return [int(entry) for entry in order[n_hidden:][::-1]]


def _hiding(f: Function, x: ArrayLike, blank: ArrayLike, mask_axes: Axes) -> _Hiding:
    whole, hidden = np.asarray(x), np.asarray(blank)
    if whole.shape != hidden.shape:
        raise InputError("blank", f"has shape {hidden.shape}, the input {whole.shape}", fix="Pass one of its shape.")
    axes = () if mask_axes is None else (mask_axes,) if isinstance(mask_axes, int) else tuple(mask_axes)
    shared = {axis % whole.ndim for axis in axes} if whole.ndim else set()
    shape = tuple(1 if axis in shared else size for axis, size in enumerate(whole.shape))
    return _Hiding(f, whole, hidden, shape)
