"""What no real model does: the one place that judges whether a file says what it is taken to say.

The predictions of every reader come here once their rows are matched to images. Each check states from how much it
has power; below that a note says that it could not be made. Every limit lies between what real models do and what
the fault does, measured on 111 models on all 50,000 validation images (AlexNet, 54.5 % right, to PNASNet, 82.9 %),
64 on two selections of ImageNet-V2 (10,000 images; 44 to 84 % right), nine on ObjectNet, the adversaries of
ImageNet-A, the mistakes of all these alone, and random samples of 200 to 10,000 of them. Cheap checks come first;
only a suspicion costs more than counting.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.problems import counted
from imagenet_errors.readers.order import AS_IT_IS, ENOUGH_ROWS, Suspicion, fitting_shift, shared_ancestors
from imagenet_errors.readers.order import suspicion as order_suspicion
from imagenet_errors.readers.places import ROWS_OF_BLOCKS, inner_order, lacks_other_labels, lost_rows
from imagenet_errors.readers.reading import Reading

_ROWS_OF_TRUTH = 100
"""The best models are right in 93 %: of honest files of 100 images one in 1,400 would have no mistake."""
_CLASSES_OF_TRUTH = 50
"""With fewer classes (Imagenette, CIFAR-10) models really are right in 99 %."""
_MISTAKES = 0.01
"""Least share of mistakes, beyond the first 100 rows. Real models: 0.12 or more (0.09 by report)."""

_REPEATING = 0.01
"""Share of rows whose ranks may repeat a class. Real ranks: none; two seeds side by side: most rows."""
_MOST = 0.6
"""Share of images with the label among the k guesses from which on the first column must have half of them: AlexNet
has 57 of 79 %, columns as a partial sort leaves them share the hits."""

_ROWS_OF_CLASSES = 100
_FEW_CLASSES = 0.3
"""Predicted classes per class that the images have. Real models 0.92 or more; a head of 10 classes 0.01."""
_BEYOND = 0.1
"""Share of rows with labels beyond the largest predicted class. Real models at most 0.03; uint8: 0.74."""
_ROWS_BEYOND = 50
_CLASSES_BEYOND = 10
_HALF = 0.5
"""Predictions that number the file's own classes from 0, though half of the images have labels beyond: no accident."""
"""Real models: 5 classes at most, of 200 mistakes."""
_CLOSE_TO_THE_END = 0.9
_EXACT_IN_BFLOAT16 = 256
_ROWS_IN_BFLOAT16 = 20
"""Even numbers only, by luck: one file in a million."""

_REACH = 5
"""So many class folders may be missing one beside the other."""
_RUN_CLASSES = 3
"""Two neighbours alone may be taken for each other (638 and 639 are both maillots)."""
_RUN_SHARE = 0.3
_RUN_ROWS = (10.0, 40.0)
"""How many more rows of a run of classes are right when shifted than 0.3 of them and than as written. Real models at
most 2.8, their mistakes alone 20.8; a class folder missing in the middle of 1,300 images: 260."""
_ACCURATE = 0.2
"""From here on a file is no file of mistakes only."""
_ROWS_OF_RUNS = 10**3

_ROWS_A_CLASS = 40
_ROWS_RIGHT = 0.45
_TAKEN_FOR_KIN = 0.5
"""Real models predict every class 5 times or more on 50 images of it (AlexNet; median 15). Models without training on
the labels can lack one of two classes of the same name: then its images go to that kin."""


Finder = Callable[[Reading], Suspicion | None]


@dataclass(frozen=True)
class Check:
    """``find`` looks for a fault; where ``lacks_power`` holds, a note says that ``fault`` could not be excluded."""

    fault: str
    find: Finder
    lacks_power: Callable[[Reading], bool] = lambda _: False


@dataclass(frozen=True)
class Judgement:
    """What is wrong, or None; and what could not be checked, a sentence each."""

    doubt: Suspicion | None
    notes: tuple[str, ...] = ()


def judge(reading: Reading) -> Judgement:
    """Return the first suspicion, or what was too little to check."""
    for check in CHECKS:
        doubt = check.find(reading)
        if doubt is not None:
            return Judgement(doubt)
    n_rows = counted(len(reading), "row")
    if len(reading) < ENOUGH_ROWS:
        right = f"{int(reading.right.sum())} of {len(reading)} right"
        are = "is" if len(reading) == 1 else "are"
        return Judgement(None, (f"{n_rows} {are} too few to tell whether rows and classes are in order ({right})",))
    unchecked = [check.fault for check in CHECKS if check.lacks_power(reading)]
    notes = (f"{n_rows}: too few, or too few right, to check for {'; '.join(unchecked)}",) if unchecked else ()
    return Judgement(None, (*notes, *_twins(reading)))


def repeated_ranks(reading: Reading) -> Suspicion | None:
    """A class twice among the guesses of one image: the columns are no ranks of one model."""
    if reading.ranks is None:
        return None
    ordered = np.sort(reading.ranks, axis=1)
    repeats = ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any(axis=1)
    n_repeats = int(repeats.sum())
    if n_repeats <= _REPEATING * len(reading):
        return None
    first = int(np.argmax(repeats))
    guesses = ", ".join(map(str, reading.ranks[first].tolist()))
    return Suspicion(
        f"{counted(n_repeats, 'row')} of {len(reading):,} name a class twice among their {reading.ranks.shape[1]} "
        f"(first: row {reading.place[first] + 1}: {guesses}): these columns are no ranks, but several predictions",
        "Name one of them with --column index=NAME, or write one file a model.",
    )


def unsorted_ranks(reading: Reading) -> Suspicion | None:
    """Top-k columns taken as ranked, of which the first is right too seldom to be the best."""
    ranks = reading.ranks
    if ranks is None or len(reading) < ENOUGH_ROWS or fitting_shift(reading.label, reading.top1):
        return None
    right = np.mean(ranks == reading.label[:, None], axis=0)
    best, total = int(np.argmax(right)), float(right.sum())
    by_chance = 4 * np.sqrt((right[0] + right[best]) / len(reading))  # four deviations of the difference
    if right[best] <= right[0] + by_chance and (total < _MOST or right[0] >= total / 2):
        return None
    shares = ", ".join(f"{share:.1%}" for share in right)
    return Suspicion(
        f"the top-{ranks.shape[1]} columns are not sorted, best first: they are right in {shares} of the images",
        "Save them best first (argsort of the negative scores), or with their probabilities beside them.",
    )


def truth(reading: Reading) -> Suspicion | None:
    """Hardly any mistake: the original labels themselves were read."""
    n_wrong = len(reading) - int(reading.right.sum())
    if n_wrong > _MISTAKES * (len(reading) - _ROWS_OF_TRUTH) or _has_few_classes(reading):
        return None
    return Suspicion(
        f"{reading.accuracy:.2%} of {len(reading):,} predictions are the original label, which no model reaches: "
        "these are the labels, not predictions",
        f"Name the column of predictions with --column index=NAME, or give another file. {AS_IT_IS}",
    )


def _has_few_classes(reading: Reading) -> bool:
    return int(np.count_nonzero(reading.n_labelled)) < _CLASSES_OF_TRUTH


def _may_be_truth(reading: Reading) -> bool:
    """Too good, but too few rows or classes to tell."""
    return reading.accuracy >= 1 - _MISTAKES


def narrow(reading: Reading) -> Suspicion | None:
    """Classes beyond some number never occur, or hardly any: a type too small, or a head of other classes."""
    if len(reading) < _ROWS_IN_BFLOAT16:
        return None
    return _cut_off(reading) or _rounded(reading) or _few(reading)


def _cut_off(reading: Reading) -> Suspicion | None:
    largest = int(reading.top1.max())
    beyond = reading.n_labelled[largest + 1 :]
    n_beyond = int(beyond.sum())
    if n_beyond < max(_BEYOND * len(reading), _ROWS_BEYOND) or np.count_nonzero(beyond) < _CLASSES_BEYOND:
        return _numbered_anew(reading, largest, n_beyond)
    what = f"no class above {largest} is predicted, though {n_beyond:,} of {len(reading):,} images have such a label"
    for kind, end in (("int8", 127), ("uint8", 255)):
        if _CLOSE_TO_THE_END * end < largest <= end:
            return Suspicion(
                f"{what}: {kind} cannot hold the classes", f"Save the classes as int16 or wider. {AS_IT_IS}"
            )
    fix = "Pass --class-axis (imagenet-a, imagenet-r or FILE: a wnid a line, in output order)."
    return Suspicion(f"{what}: the model has a head of other classes", f"{fix} {AS_IT_IS}")


def _numbered_anew(reading: Reading, largest: int, n_beyond: int) -> Suspicion | None:
    """Say that a few classes' images are called by the first numbers: a head of these classes alone."""
    n_labels = int(np.count_nonzero(reading.n_labelled))
    if n_labels < 2 or largest >= n_labels or n_beyond <= _HALF * len(reading):
        return None
    return Suspicion(
        f"images of {n_labels:,} classes, and only classes 0 to {largest} are predicted, though {n_beyond:,} of "
        f"{len(reading):,} images have a larger label: the model has a head of these classes alone",
        f"Pass --class-axis FILE (a wnid a line, in output order). {AS_IT_IS}",
    )


def _rounded(reading: Reading) -> Suspicion | None:
    large = reading.top1 > _EXACT_IN_BFLOAT16
    expected = reading.label > _EXACT_IN_BFLOAT16
    if np.count_nonzero(large) < _ROWS_IN_BFLOAT16 or (reading.top1[large] & 1).any():
        return None
    if np.count_nonzero(reading.label[expected] & 1) < _ROWS_IN_BFLOAT16:
        return None
    return Suspicion(
        f"above class {_EXACT_IN_BFLOAT16} only even ones are predicted: class indices went through bfloat16, which "
        "cannot hold the others",
        f"Save the classes as whole numbers (argmax before any cast). {AS_IT_IS}",
    )


def _few(reading: Reading) -> Suspicion | None:
    n_labels, n_classes = (int(np.count_nonzero(each)) for each in (reading.n_labelled, reading.n_predicted))
    if len(reading) < _ROWS_OF_CLASSES or n_labels < ENOUGH_ROWS or n_classes >= _FEW_CLASSES * n_labels:
        return None
    return Suspicion(
        f"only {counted(n_classes, 'class', 'classes')} are predicted for images of {n_labels:,}",
        f"Pass --class-axis FILE (a wnid a line, in output order) if the model's classes are others. {AS_IT_IS}",
    )


def in_order(reading: Reading) -> Suspicion | None:
    """Accuracy at chance, or high when all classes are shifted; see ``order``."""
    return order_suspicion(reading.label, reading.top1, reading.labels)


def shifted_run(reading: Reading) -> Suspicion | None:
    """From some class on, a neighbour is commoner than the class itself: a class folder was missing or added."""
    n_classes, width = len(reading.labels), 2 * _REACH + 1
    away = reading.top1 - reading.label
    near = np.abs(away) <= _REACH
    found = np.bincount(reading.label[near] * width + away[near] + _REACH, minlength=width * n_classes)
    hits = found.reshape(n_classes, width)
    gain = hits - hits[:, _REACH : _REACH + 1] - _RUN_SHARE * reading.n_labelled[:, None]
    total = np.vstack([np.zeros(width), np.cumsum(gain, axis=0)])
    rise = total - np.minimum.accumulate(total, axis=0)
    rise[:, _REACH] = 0
    stop, column = (int(at) for at in np.unravel_index(int(np.argmax(rise)), rise.shape))
    start = int(np.argmin(total[: stop + 1, column]))
    classes = start + np.flatnonzero(reading.n_labelled[start:stop])
    if rise[stop, column] < _RUN_ROWS[reading.accuracy < _ACCURATE] or len(classes) < _RUN_CLASSES:
        return None
    run = slice(start, stop)
    n_rows, as_written, moved = reading.n_labelled[run].sum(), hits[run, _REACH].sum(), hits[run, column].sum()
    return Suspicion(
        f"from class {reading.called(int(classes[0]))} to {reading.called(int(classes[-1]))} {as_written:,} of "
        f"{n_rows:,} are right as written, {moved:,} with every class index {_REACH - column:+d}: a class folder was "
        "missing or one too many",
        f"Pass --class-axis FILE (a wnid a line, in output order). {AS_IT_IS}",
    )


def never_predicted(reading: Reading) -> Suspicion | None:
    """A class that the model can name, has many images of, and never names: another was read in its place."""
    lost = _never(reading)
    strange = [index for index in lost if not _goes_to_kin(reading, index)]
    if not strange or reading.in_words:
        return None
    first = strange[0]
    usual, share = _usual(reading, first)
    return Suspicion(
        f"{counted(len(strange), 'class', 'classes')} of {len(reading.labels):,} never predicted (first: "
        f"{reading.called(first)}; {share:.0%} of its {reading.n_labelled[first]:,} images are called "
        f"{reading.called(usual)}), which no real model does: classes are missing or have the same index",
        f"Pass --class-axis FILE (a wnid a line, in output order; a class left out is known to be missing). {AS_IT_IS}",
    )


def _never(reading: Reading) -> NDArray[np.int64]:
    if reading.accuracy < _ROWS_RIGHT:
        return np.empty(0, dtype=np.int64)
    never = np.flatnonzero((reading.n_predicted == 0) & (reading.n_labelled >= _ROWS_A_CLASS))
    return np.setdiff1d(never, reading.lacks)


def _usual(reading: Reading, index: int) -> tuple[int, float]:
    """Return what a class's images are mostly called, and their share."""
    called = np.bincount(reading.top1[reading.label == index], minlength=len(reading.labels))
    return int(np.argmax(called)), float(called.max() / called.sum())


def _goes_to_kin(reading: Reading, index: int) -> bool:
    usual, share = _usual(reading, index)
    shared = shared_ancestors(reading.labels)
    if shared is None or share < _TAKEN_FOR_KIN:
        return False
    return bool(2 * shared[index, usual] > min(shared[index, index], shared[usual, usual]))


def _twins(reading: Reading) -> tuple[str, ...]:
    """Tell of classes that are never predicted where that is no proof."""
    return tuple(
        f"class {reading.called(index)} is never predicted; {share:.0%} of its images are {reading.called(usual)}"
        for index in _never(reading).tolist()
        for usual, share in [_usual(reading, index)]
    )


def _lacks_rows_a_class(reading: Reading) -> bool:
    some = reading.n_labelled[reading.n_labelled > 0]
    return bool(np.median(some) < _ROWS_A_CLASS) or reading.accuracy < _ROWS_RIGHT


CHECKS = (
    Check("the labels given as predictions", truth, _may_be_truth),
    Check("several models' columns read as ranks", repeated_ranks),
    Check("unsorted ranks", unsorted_ranks),
    Check("classes cut off", narrow, lambda reading: len(reading) < _ROWS_OF_CLASSES),
    Check("another order", in_order),
    Check("classes shifted from some class on", shifted_run, lambda reading: len(reading) < _ROWS_OF_RUNS),
    Check("classes that have no index of their own", never_predicted, _lacks_rows_a_class),
    Check("rows that slipped from some row on", lost_rows, lambda reading: len(reading) < ROWS_OF_BLOCKS),
    Check("another order inside the classes", inner_order, lacks_other_labels),
)
"""In the order in which they are asked: what is cheap, or explains the others, first."""
