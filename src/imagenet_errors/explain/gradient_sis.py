"""Batched Gradient SIS: which pixels alone keep a network's answer, found by gradients instead of trials.

At every step the gradient of the target's *probability* with respect to a mask of the picture is taken, and the k
pixels (or cells) whose hiding would lower it least leave together. A hidden pixel is 0, which is the channels' mean
once a picture is normalised.

Source: Carter, Jain, Mueller, Gifford, *Overinterpretation reveals image classification model pathologies*,
    NeurIPS 2021 (arXiv 2003.08907), Batched Gradient BackSelect and FindSIS.
Differs: no noise is added to gradients, ties go to the lowest index, so that the same picture gives the same order;
    NaN raises; the target may be any class; gradients of the weights, which nothing reads, are not computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.problems import InputError, counted

Model = Callable[[Any], Any]
"""Torch, [B, C, H, W] -> logits [B, K]."""


def batched_gradient_back_select(
    model: Model, images: Any, k: int, target: Any = None
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Hide every pixel of B images, k at a step, those first that matter least for the target.

    Parameters
    ----------
    model
        Logits [B, K] of images; a module is put into evaluation mode meanwhile.
    images
        Float tensor [B, C, H, W], normalised so that 0 is the blank.
    k
        Pixels that leave at each step; the last step takes what is left.
    target
        The class, one for all or [B]; None: each image's own answer.

    Returns
    -------
    removal_order
        int64 [B, H, W]: the step, from 0, at which each pixel left.
    confidences
        float32 [B, T]: the target's probability before each step, so ``[:, t]`` is that of the pixels whose
        removal_order is t or more.

    Raises
    ------
    InputError
        k is below 1, there is another number of targets than of images, or the model gives NaN.
    """
    order, confidences = cell_back_select(model, images, k, cell=1, target=target)
    return order.numpy(), confidences.numpy()


def cell_back_select(model: Model, images: Any, k: int, *, cell: int, target: Any = None) -> tuple[Any, Any]:
    """Do the same with square cells of ``cell`` pixels a side that leave as a whole, k cells at a step.

    Returns tensors on the CPU: int64 [B, ceil(H / cell), ceil(W / cell)] and float32 [B, T].
    """
    import torch

    if k < 1:
        raise InputError("k", f"{k} pixels cannot leave at a step", fix="Pass 1 or more.")
    n_images, _, height, width = images.shape
    rows, columns = -(-height // cell), -(-width // cell)
    n_steps = -(-rows * columns // k)
    confidences = []
    with torch.inference_mode(False), torch.enable_grad(), _evaluating(model):
        images = images.clone() if images.is_inference() else images.detach()
        order = torch.full((n_images, rows * columns), n_steps, dtype=torch.int64, device=images.device)
        targets = _targets(model, images, target)
        for step in range(n_steps):
            shown = (order == n_steps).to(images.dtype).reshape(n_images, 1, rows, columns).requires_grad_()
            probability = _probability(model, images * _spread(shown, cell, (height, width)), targets)
            (slope,) = torch.autograd.grad(probability.sum(), shown)
            _refuse_nan(probability, slope)
            loss = torch.where(order == n_steps, slope.flatten(1), torch.inf)
            n_leaving = min(k, rows * columns - step * k)
            order[_lowest(loss, n_leaving)] = step
            confidences.append(probability.detach())
    return order.reshape(n_images, rows, columns).cpu(), torch.stack(confidences, dim=1).float().cpu()


@dataclass(frozen=True, eq=False)
class Sufficient:
    """B subsets: ``kept`` bool [B, H, W] (pixels or cells), ``confidence`` float32 [B] of the subset alone.

    ``status``: ``found``; ``below``: the whole picture does not reach the threshold, nothing is kept;
    ``blank``: the blank alone reaches it, nothing is kept.
    """

    kept: NDArray[np.bool_]
    confidence: NDArray[np.float32]
    status: tuple[str, ...]


def sufficient_subsets(
    removal_order: NDArray[np.int64],
    confidences: NDArray[np.float32],
    thresholds: NDArray[np.floating],
    blank: NDArray[np.floating],
) -> Sufficient:
    """Return each image's smallest end of its order that reaches its threshold (FindSIS).

    ``thresholds`` float [B]; ``blank`` float [B]: the probability with everything hidden.
    """
    whole = confidences[:, 0] >= thresholds
    empty = whole & (blank >= thresholds)
    reaches = confidences >= thresholds[:, None]
    last = confidences.shape[1] - 1 - np.argmax(reaches[:, ::-1], axis=1)
    found = whole & ~empty
    kept = (removal_order >= last[:, None, None]) & found[:, None, None]
    own = confidences[np.arange(len(last)), last]
    confidence = np.where(found, own, np.where(empty, blank, np.nan)).astype(np.float32)
    status = np.where(empty, "blank", np.where(found, "found", "below"))
    return Sufficient(kept, confidence, tuple(status.tolist()))


@contextmanager
def _evaluating(model: Model) -> Iterator[None]:
    """Put a module and its parts into evaluation mode, and each back into the mode it was in."""
    parts = list(getattr(model, "modules", tuple)())
    were_training = [part for part in parts if part.training]
    for part in were_training:
        part.training = False
    try:
        yield
    finally:
        for part in were_training:
            part.training = True


def _targets(model: Model, images: Any, target: Any) -> Any:
    """Return int64 [B, 1]."""
    import torch

    if target is None:
        with torch.no_grad():
            logits = model(images)
        _refuse_nan(logits)
        return logits.argmax(dim=1, keepdim=True)
    wanted = torch.as_tensor(target, dtype=torch.int64, device=images.device)
    if wanted.ndim > 1 or (wanted.ndim == 1 and len(wanted) != len(images)):
        raise InputError(
            "target", f"{wanted.numel()} for {counted(len(images), 'image')}", fix="Pass one, or one each."
        )
    return wanted.expand(len(images)).reshape(-1, 1)


def _probability(model: Model, images: Any, targets: Any) -> Any:
    return model(images).softmax(dim=1).gather(1, targets)[:, 0]


def _spread(shown: Any, cell: int, size: tuple[int, int]) -> Any:
    """Give every pixel its cell's value; cells at the lower and right edge may be cut."""
    if cell == 1:
        return shown
    whole = shown.repeat_interleave(cell, dim=2).repeat_interleave(cell, dim=3)
    return whole[:, :, : size[0], : size[1]]


def _lowest(values: Any, n: int) -> Any:
    """Return bool [B, P]: the n lowest values of each row; of equal ones the first."""
    import torch

    bound = values.kthvalue(n, dim=1, keepdim=True).values if n < values.shape[1] else torch.inf
    below = values < bound
    equal = values == bound
    lacking = n - below.sum(dim=1, keepdim=True)
    return below | (equal & (equal.cumsum(dim=1) <= lacking))


def _refuse_nan(*outputs: Any) -> None:
    if any(bool(output.isnan().any()) for output in outputs):
        raise InputError("model", "gives NaN", fix="Try float32: an order by NaN means nothing.")
