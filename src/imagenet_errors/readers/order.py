"""Is a file's row order, or its class axis, the one it is taken for?

A wrong order always looks like chance: the prediction says nothing about the image. So does a permuted class
axis; a shifted one is nearly always right once it is shifted back. Both are recognised here, before any
figure is given, and told from files that hold only mistakes: those are no better than chance either, but a
mistake is kin of what the image shows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import InputError
from imagenet_errors.readers.class_axis import BACKGROUND_FIRST, DEVKIT, class_axis

ENOUGH_ROWS = 20
"""Below this many rows, an all-wrong file and a misordered one cannot be told apart."""
_CHANCE = 0.02
_CLEARLY_RIGHT = 0.2
_CLEARLY_BETTER = 3
"""How many times as often right a shift must be as no shift, and as the shift the other way: mistakes between
neighbouring classes (wnids sort kin together) are as frequent in either direction."""
MIN_DEVIATIONS = 4.0
"""Of 2,000 shuffled files of 20 to 200 rows one exceeded this; mistakes fall short in 1 of 40 files of 20."""
_CLEARLY_NOT_SHUFFLED = 2.5
_SAME_LABEL = 0.3
"""How often two predictions of one class have the same label. A model of accuracy a with its classes renamed:
a squared (AlexNet 0.35, the best 0.7); mistakes only: 0.05 to 0.3, above that only where they are close
kin."""
_CLOSE_KIN = 1.3
"""Deviations per root of the row count: mistakes 1.15 to 2; classes mixed up among animals and things 0.9."""
_ENOUGH_CLASSES = 20
_NO_DIFFERENCE = 1e-6

AS_IT_IS = "If the file is right as it is, pass --no-check-order."
ALL_MISTAKES = "If the file holds mistakes only, pass --no-check-order."


@dataclass(frozen=True)
class Suspicion:
    """What is wrong, and the flag that would settle it."""

    what: str
    fix: str


def suspicion(label: NDArray[np.integer], top1: NDArray[np.integer], labels: LabelSpace) -> Suspicion | None:
    """Return what makes predictions (int [n], beside the original labels int [n]) implausible, or None.

    Files that hold only mistakes are plausible: a mistaken class is still kin of what the image shows (their
    common WordNet ancestors are many), while a wrong order gives kinship by chance alone.
    """
    if len(label) < ENOUGH_ROWS:
        return None
    right = float(np.mean(top1 == label))
    shift = fitting_shift(label, top1)
    if shift:
        return _shifted(right, float(np.mean(top1 + shift == label)), shift, labels)
    if not is_chance(label, top1) or _beats_few_classes(label, top1):
        return None
    deviations = kinship(label, top1, labels) if _are_synsets(labels) else 0.0
    n_classes, agreement = _agreement(label, top1)
    if n_classes >= _ENOUGH_CLASSES and agreement > _SAME_LABEL and deviations < _CLOSE_KIN * len(label) ** 0.5:
        return _relabelled(right, agreement, axis_that_fits(label, top1, labels))
    if deviations > MIN_DEVIATIONS:
        return None
    return Suspicion(
        f"accuracy is at chance ({right:.2%}): the rows are in another order than the names or labels they "
        "are matched to, or the classes are",
        f"Pass --row-order (name, imagefolder or a file of names) or --class-axis. {ALL_MISTAKES}",
    )


def is_chance(label: NDArray[np.integer], top1: NDArray[np.integer]) -> bool:
    """Return True when no more predictions are right than luck may give.

    That is 2 % (a permutation of the classes leaves some in place), or what shuffling these predictions
    gives: about one right in a file of distinct labels, however short it is, and four deviations more."""
    expected, deviation = _by_shuffling(label, top1)
    return bool(np.sum(top1 == label) <= max(_CHANCE * len(label), expected + 4 * deviation + 1))


def _by_shuffling(label: NDArray[np.integer], top1: NDArray[np.integer]) -> tuple[float, float]:
    """Return how many predictions would be right in another order, and the deviation, as if rows were drawn."""
    n_classes = 1 + int(max(label.max(initial=0), top1.max(initial=0)))
    counts = (np.bincount(side, minlength=n_classes).astype(np.float64) for side in (label, top1))
    expected = float(np.dot(*counts)) / max(1, len(label))
    return expected, (expected * (1 - expected / max(1, len(label)))) ** 0.5


def _beats_few_classes(label: NDArray[np.integer], top1: NDArray[np.integer]) -> bool:
    """Say whether few rows of few classes are right more often than shuffled ones, if not by far.

    Chance alone makes many right there: 24 images of 4 classes would have to be right in two thirds, which models need
    not be. Of 100 shuffled files less than one is taken for a model's.
    """
    expected, deviation = _by_shuffling(label, top1)
    is_few = expected > _CHANCE * len(label)
    return is_few and bool(np.sum(top1 == label) > expected + _CLEARLY_NOT_SHUFFLED * deviation)


def fits_clearly(label: NDArray[np.integer], top1: NDArray[np.integer]) -> bool:
    """Return True when predictions are right far more often than luck gives; there must be some."""
    return len(label) > 0 and not is_chance(label, top1)


def fitting_shift(label: NDArray[np.integer], top1: NDArray[np.integer]) -> int:
    """Return -1 or 1 where adding that to every class index makes far more predictions right, else 0."""
    if not len(label):
        return 0
    by_shift = {shift: float(np.mean(top1 + shift == label)) for shift in (-1, 0, 1)}
    best = max(by_shift, key=lambda shift: by_shift[shift])
    others = max(share for shift, share in by_shift.items() if shift != best)
    return best if by_shift[best] > max(_CLEARLY_RIGHT, _CLEARLY_BETTER * others) else 0


def _shifted(right: float, shifted: float, shift: int, labels: LabelSpace) -> Suspicion:
    found = f"{right:.2%} are right as written, {shifted:.2%} with every class index {shift:+d}"
    if shift < 0 and labels.is_imagenet:
        flag = f"Pass --class-axis {BACKGROUND_FIRST} (a background class in front)."
    else:
        flag = f"Write indices 0..{len(labels) - 1}, or pass --class-axis FILE (a wnid a line, in output order)."
    return Suspicion(f"class indices are shifted: {found}", f"{flag} {ALL_MISTAKES}")


def kinship(label: NDArray[np.integer], top1: NDArray[np.integer], labels: LabelSpace) -> float:
    """Return by how many deviations predictions are closer kin of their labels than shuffled ones are.

    Kinship is the number of common ancestors, averaged over rows; its mean and deviation over all ways to
    shuffle the predictions are known exactly. Where all shuffles are alike (one label in all rows, say) the
    comparison is with labels and predictions drawn at random.

    Source: Hoeffding 1951, "A combinatorial central limit theorem", theorem 2.
    """
    n, n_classes = len(label), len(labels)
    shared = common_ancestors(labels)
    found = float(shared[label, top1].mean())
    own = [np.bincount(side, minlength=n_classes) / n for side in (label, top1)]
    mean, deviation = _shuffled_mean(shared, *own, n_rows=n)
    if deviation < _NO_DIFFERENCE:
        anything = np.full(n_classes, 1 / n_classes)
        mean, deviation = _shuffled_mean(shared, anything, anything, n_rows=n)
    return (found - mean) / deviation


def _shuffled_mean(
    shared: NDArray[np.float32], of_labels: NDArray[np.float64], of_top1: NDArray[np.float64], *, n_rows: int
) -> tuple[float, float]:
    """Return mean and deviation of the mean of ``shared`` over shuffles, given the shares of classes [C]."""
    by_label, by_top1 = shared @ of_top1, of_labels @ shared
    mean = float(of_labels @ by_label)
    centred = shared - by_label[:, None] - by_top1[None, :] + mean
    return mean, float(np.sqrt(of_labels @ (centred**2) @ of_top1 / (n_rows - 1)))


def _are_synsets(labels: LabelSpace) -> bool:
    """Say whether WordNet knows every class: only then is kinship known."""
    return shared_ancestors(labels) is not None


@lru_cache(maxsize=1)
def shared_ancestors(labels: LabelSpace) -> NDArray[np.float32] | None:
    """Return what common_ancestors returns, None where a class is no WordNet synset."""
    try:
        return common_ancestors(labels)
    except InputError:
        return None


def common_ancestors(labels: LabelSpace) -> NDArray[np.float32]:
    """Return float32 [C, C]: how many WordNet hypernyms two classes have in common, themselves included."""
    from imagenet_errors.wordnet import load_wordnet

    wordnet = load_wordnet()
    owners, ancestors = wordnet.ancestor_pairs(wordnet.rows(labels.wnids))
    seen, column = np.unique(ancestors, return_inverse=True)
    is_ancestor = np.zeros((len(labels), len(seen)), dtype=np.float32)
    is_ancestor[owners, column] = 1
    shared: NDArray[np.float32] = is_ancestor @ is_ancestor.T
    return shared


def _agreement(label: NDArray[np.integer], top1: NDArray[np.integer]) -> tuple[int, float]:
    """Return how many classes are predicted twice or more, and how often two of such rows have one label."""
    beside = np.zeros((int(top1.max()) + 1, int(label.max()) + 1), dtype=np.int64)
    np.add.at(beside, (top1, label), 1)
    total = beside.sum(axis=1)
    several = total > 1
    if not several.any():
        return 0, 0.0
    pairs, alike = total * (total - 1), (beside * (beside - 1)).sum(axis=1)
    return int(several.sum()), float(np.mean(alike[several] / pairs[several]))


def relabelled(label: NDArray[np.integer], top1: NDArray[np.integer]) -> str:
    """Return how often images of one predicted class have the same label, if that tells of renamed classes; else ""."""
    n_classes, agreement = _agreement(label, top1)
    is_told = len(label) >= ENOUGH_ROWS and n_classes >= _ENOUGH_CLASSES and agreement > _SAME_LABEL
    return f"{agreement:.0%}" if is_told else ""


def folders_moved(label: NDArray[np.integer], top1: NDArray[np.integer], labels: LabelSpace) -> bool:
    """Say whether whole classes of rows are in another place, rather than the classes renamed.

    Both look alike but for the mistakes, which are kin of what the images show in the right one of the two readings.
    """
    beside = np.zeros((len(labels), len(labels)), dtype=np.int64)
    np.add.at(beside, (label, top1), 1)
    usual, named = beside.argmax(axis=1), beside.argmax(axis=0)
    wrong = top1 != usual[label]
    if np.count_nonzero(wrong) < ENOUGH_ROWS:
        return False
    return kinship(usual[label[wrong]], top1[wrong], labels) > kinship(label[wrong], named[top1[wrong]], labels)


def axis_that_fits(label: NDArray[np.integer], top1: NDArray[np.integer], labels: LabelSpace) -> str:
    """Return the known order of classes in which most predictions are right; empty for none."""
    if not labels.is_imagenet:
        return ""
    axis = class_axis(DEVKIT, labels)
    return axis.name if np.mean(axis.classes_of(top1) == label) > _CLEARLY_RIGHT else ""


def _relabelled(right: float, agreement: float, axis: str) -> Suspicion:
    flag = axis or "FILE (a wnid a line, in the order of the model's outputs)"
    return Suspicion(
        f"accuracy is at chance ({right:.2%}), yet images of one predicted class often have the same label "
        f"({agreement:.0%} of pairs): the classes are in another order than ascending wnids",
        f"Pass --class-axis {flag}. {ALL_MISTAKES}",
    )


def refuse(doubt: Suspicion | None, *, where: object) -> None:
    """Raise what was found.

    Raises
    ------
    InputError
        There is a suspicion.
    """
    if doubt is not None:
        raise InputError(str(where), doubt.what, fix=doubt.fix)
