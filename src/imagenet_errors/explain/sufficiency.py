"""How few pixels keep an answer, and whether that says anything: Batched Gradient SIS with its controls in every row.

A subset of a tenth of the pixels that keeps an answer looks like evidence that the model needs no object. It may as
well be an artefact of the search, which optimises against the model. So each subset is set beside: random subsets of
its size; itself with the pixels' true neighbours revealed (dilation: more of the picture must not hurt); what is left
when it is taken away; the same search aimed at a class that the model ranks 500th; and the border of the picture.

Source: Carter, Jain, Mueller, Gifford, NeurIPS 2021 (arXiv 2003.08907), for the search, k = 100 and threshold 0.9.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.explain.classifier import Classifier
from imagenet_errors.explain.gradient_sis import cell_back_select, sufficient_subsets
from imagenet_errors.explain.job import ModelGroup, Row, schema_of
from imagenet_errors.explain.pictures import write_pictures
from imagenet_errors.explain.questions import Judge, Question
from imagenet_errors.predict.inference import Capacity, is_out_of_memory
from imagenet_errors.problems import InputError, refuse_below

VERDICTS = ("robust", "artefact", "inconclusive")
FAR_RANK = 500
"""The class, counted from 1, that a search should not be able to bring forth."""
_BORDER = 0.1
_SHARES_KEPT = (0.05, 0.10)


@dataclass(frozen=True)
class SufficientSubsets:
    """``pixels_per_step`` k; ``cells`` sides in pixels, 1 for single pixels; ``threshold`` of the probability.

    ``relative``: the threshold is a share of the answer's own probability, as errors that are unsure need.
    ``n_random`` subsets of the same size; ``export``: folder for masked pictures.
    """

    name: ClassVar[str] = "sis"
    schema: ClassVar[pa.Schema] = schema_of(
        ("cell", pa.int16()),
        ("per_step", pa.int32()),
        ("threshold", pa.float32()),
        ("p_before", pa.float32()),
        ("status", pa.string()),
        ("share_kept", pa.float32()),
        ("p_kept", pa.float32()),
        ("p_blank", pa.float32()),
        ("p_random", pa.float32()),
        ("random_reaches", pa.float32()),
        ("p_dilated", pa.float32()),
        ("share_dilated", pa.float32()),
        ("p_complement", pa.float32()),
        ("complement_keeps_answer", pa.bool_()),
        ("far_class", pa.int16()),
        ("p_far_before", pa.float32()),
        ("p_far_best", pa.float32()),
        ("border_share", pa.float32()),
        ("border_area", pa.float32()),
        ("kept", pa.binary()),
    )

    pixels_per_step: int = 100
    cells: tuple[int, ...] = (1, 8, 16)
    threshold: float = 0.9
    relative: bool = True
    n_random: int = 5
    seed: int = 0
    export: Path | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be.

        Raises
        ------
        InputError
            The threshold is no share above 0, or a number is too small.
        """
        if not 0 < self.threshold <= 1:
            raise InputError("--threshold", f"{self.threshold} is no share", fix="Pass a number above 0, at most 1.")
        refuse_below("--pixels-per-step", self.pixels_per_step, 1)
        refuse_below("cells", min(self.cells, default=0), 1)
        refuse_below("n_random", self.n_random, 1)
        refuse_below("--seed", self.seed, 0)

    def rows(self, group: ModelGroup, questions: Sequence[Question]) -> Iterator[list[Row]]:
        """Find each answer's sufficient subsets, several pictures in one batch; a row for each size of cell."""
        import torch

        if not questions:
            return
        classifier = group.classifier
        pixels = torch.stack([classifier.see(group.images / question.file) for question in questions])
        by_cell = [self._of_cell(classifier, pixels, questions, cell) for cell in self.cells]
        yield from ([rows[place] for rows in by_cell] for place in range(len(questions)))

    def finish(self, rows: list[Row], judge: Judge) -> None:
        """Nothing here needs the chain."""

    def _of_cell(self, classifier: Classifier, pixels: Any, questions: Sequence[Question], cell: int) -> list[Row]:
        per_step = max(1, round(self.pixels_per_step / cell**2))
        targets = np.array([question.prediction for question in questions])
        before = probabilities(classifier, pixels)
        blank = probabilities(classifier, pixels[:1] * 0)[0][targets]
        far = np.argsort(-before, axis=1, kind="stable")[:, min(FAR_RANK, before.shape[1]) - 1]
        every = np.arange(len(targets))
        p_before = before[every, targets]
        thresholds = self.threshold * p_before if self.relative else np.full(len(targets), self.threshold)
        order, confidences = back_select_all(classifier, pixels, [targets, far], per_step=per_step, cell=cell)
        found = sufficient_subsets(order[0], confidences[0], thresholds, blank)
        if self.export is not None and cell == 1:
            names = [question.file_name for question in questions]
            write_masked(self.export, classifier, dict(zip(names, pixels, strict=True)), order[0], seed=self.seed)
        rows: list[Row] = []
        for place in every:
            subset = Subset(classifier, pixels[place], spread(found.kept[place], cell, classifier.size), targets[place])
            row = {
                "cell": cell,
                "per_step": per_step,
                "threshold": thresholds[place],
                "p_before": p_before[place],
                "status": found.status[place],
                "p_kept": None if np.isnan(found.confidence[place]) else found.confidence[place],
                "p_blank": blank[place],
                "far_class": far[place],
                "p_far_before": before[place, far[place]],
                "p_far_best": confidences[1][place].max(),
                "kept": np.packbits(found.kept[place]).tobytes(),
            }
            if found.status[place] == "found":
                row |= subset.controls(thresholds[place], n_random=self.n_random, seed=self.seed)
            rows.append({**row, "verdict": verdict_of(row)})
        return rows


@dataclass(frozen=True, eq=False)
class Subset:
    """Some pixels of one picture, ``kept`` bool [H, W], for which a classifier keeps its answer ``target``."""

    classifier: Classifier
    pixels: Any
    kept: NDArray[np.bool_]
    target: int

    def controls(self, threshold: float, *, n_random: int, seed: int) -> Row:
        """Return what speaks for or against the subset: see the module."""
        border = border_of(self.kept.shape)
        wider = dilated(self.kept)
        chance = np.random.default_rng(seed).random((n_random, *self.kept.shape))
        shown = np.concatenate(([wider, ~self.kept], last_share(chance, float(self.kept.mean()))))
        found = self.answers(shown)
        p = found[:, self.target]
        return {
            "share_kept": float(self.kept.mean()),
            "p_random": float(p[2:].mean()),
            "random_reaches": float((p[2:] >= threshold).mean()),
            "p_dilated": float(p[0]),
            "share_dilated": float(wider.mean()),
            "p_complement": float(p[1]),
            "complement_keeps_answer": bool(found[1].argmax() == self.target),
            "border_share": float((self.kept & border).sum() / self.kept.sum()),
            "border_area": float(border.mean()),
        }

    def answers(self, shown: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return float64 [m, C]: the probabilities with only the pixels shown, bool [m, H, W]."""
        import torch

        return probabilities(self.classifier, self.pixels * torch.from_numpy(shown)[:, None])


def verdict_of(row: Row) -> str:
    """Name what the controls say of a subset.

    ``artefact``: the search brings a far class up to the threshold too, a random subset of the size reaches it, or
    revealing the neighbours of the kept pixels brings the answer below half of it. ``robust``: none of these, and
    with the neighbours revealed the threshold still holds. ``inconclusive``: else, or no subset was found.
    """
    if row["status"] != "found":
        return "inconclusive"
    threshold = row["threshold"]
    if row["p_far_best"] >= threshold or row["random_reaches"] > 0 or row["p_dilated"] < threshold / 2:
        return "artefact"
    return "robust" if row["p_dilated"] >= threshold else "inconclusive"


def back_select_all(
    classifier: Classifier, pixels: Any, targets: Sequence[NDArray[np.int64]], *, per_step: int, cell: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Search for several targets of the same B pictures in common batches, halved when memory runs out.

    ``targets``: T times int64 [B]. Returns int64 [T, B, rows, columns] and float32 [T, B, steps].
    """
    import torch

    whole = torch.cat([pixels] * len(targets))
    wanted = torch.from_numpy(np.concatenate(targets).astype(np.int64))
    capacity = Capacity(min(classifier.settings.batch_size, len(whole)), classifier.device)
    orders, confidences, start = [], [], 0
    while start < len(whole):
        part = slice(start, start + capacity.n_images)
        try:
            batch = classifier.on_device(whole[part])
            order, confidence = cell_back_select(classifier.model, batch, per_step, cell=cell, target=wanted[part])
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            capacity.halve(error, where=classifier.name)
            continue
        orders.append(order)
        confidences.append(confidence)
        start += len(order)
    order, confidence = torch.cat(orders).numpy(), torch.cat(confidences).numpy()
    return order.reshape(len(targets), -1, *order.shape[1:]), confidence.reshape(len(targets), len(pixels), -1)


def probabilities(classifier: Classifier, pixels: Any) -> NDArray[np.float64]:
    """Return float64 [m, C]."""
    logits = classifier.logits(pixels).astype(np.float64)
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares: NDArray[np.float64] = powers / powers.sum(axis=1, keepdims=True)
    return shares


def spread(kept: NDArray[np.bool_], cell: int, size: tuple[int, int]) -> NDArray[np.bool_]:
    """Return bool [H, W]: each pixel as its cell."""
    return kept.repeat(cell, axis=0).repeat(cell, axis=1)[: size[0], : size[1]]


def dilated(kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return bool [H, W]: the pixels kept and their 3 x 3 neighbours."""
    height, width = kept.shape
    padded = np.pad(kept, 1)
    moves = [padded[row : row + height, column : column + width] for row in range(3) for column in range(3)]
    wider: NDArray[np.bool_] = np.any(moves, axis=0)
    return wider


def last_share(ranks: NDArray[Any], share: float) -> NDArray[np.bool_]:
    """Return bool [B, H, W]: the share of each picture's pixels with the highest ranks; of ties the later ones."""
    flat = ranks.reshape(len(ranks), -1)
    n_kept = round(share * flat.shape[1])
    places = np.argsort(flat, axis=1, kind="stable")[:, flat.shape[1] - n_kept :]
    shown = np.zeros(flat.shape, dtype=np.bool_)
    np.put_along_axis(shown, places, True, axis=1)
    return shown.reshape(ranks.shape)


def write_masked(
    folder: Path, classifier: Classifier, pixels: Mapping[str, Any], order: NDArray[np.int64], *, seed: int
) -> None:
    """Write pictures of which 5 or 10 % of the pixels are left: those that left last, and as many at random.

    ``pixels``: by file name, in the order of ``order`` int64 [B, H, W]. Folders: ``chosen_5%``, ``random_5%``, ...
    """
    import torch

    random = np.random.default_rng(seed).random(order.shape)
    for share in _SHARES_KEPT:
        for kind, ranks in (("chosen", order), ("random", random)):
            shown = torch.from_numpy(last_share(ranks, share))[:, None]
            left = zip(pixels.items(), shown, strict=True)
            pictures = {name: classifier.colours(picture * mask) for (name, picture), mask in left}
            write_pictures(folder / f"{kind}_{share:.0%}", pictures)


def border_of(size: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return bool [H, W]: the outer tenth on each side."""
    height, width = size
    border = np.ones(size, dtype=np.bool_)
    top, left = round(_BORDER * height), round(_BORDER * width)
    border[top : height - top, left : width - left] = False
    return border
