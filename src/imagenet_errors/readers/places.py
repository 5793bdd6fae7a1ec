"""Do predictions lie in the rows of their own images? Two ways in which they do not and accuracy is no chance.

From some row on they may belong to other rows; and inside each class they may belong to other images of the class.
Limits are measured as in ``plausibility``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.problems import counted
from imagenet_errors.readers.order import AS_IT_IS, MIN_DEVIATIONS, Suspicion, is_chance, kinship, shared_ancestors
from imagenet_errors.readers.reading import Reading

_LARGEST_BLOCK, _SMALLEST_BLOCK, _BLOCKS = 10**3, 50, 20
ROWS_OF_BLOCKS = 2_000
"""With fewer rows a part that slipped can be missed: with 200, it was in 4 of 28 real models, with 1,300 in none."""
_BLOCK = 0.9
"""Rows right in a block of 1,000, of those expected of its classes. Real models in the order of names: 0.933."""
_DEVIATIONS = 3.5
"""Of a small block: one real one in 4,000 by luck, and its mistakes are kin."""
_GOOD_BLOCKS = 0.9
"""What is expected is what is right in the better blocks: most of the file may be lost."""
_PRIOR_ROWS = 5
"""So much does the whole file count beside a class's own rows."""
_SORTED = 0.95
"""Where the other rows are better than any model, the file is sorted by right and wrong."""
_HARDLY_ANY = 0.25
"""Of what is expected: in such blocks all rows are lost."""
_NOT_KIN, _LEAST_LOST = 0.75, 0.35
"""Share of the rows lost by their accuracy, and of all, that must be lost by the kinship of the mistakes: lost rows are
kin by chance, mistakes on hard images are not (files may be sorted by confidence). 2,312 real files: 0.25 at most."""
_LOST_WITHOUT_KIN = 0.5
"""Where WordNet does not know the classes, so many of the rows must be lost: hard images alone can cost less."""
_KIN = 0.5
"""Kinship of mistakes; real models 0.45 to 0.65, shuffled predictions 0.0; organisms 0.8, artifacts 0.45."""
_CLOSEST = 10
_CLASS_BY_CLASS = 0.1
"""Distance of labels from row to row, of all classes; random rows 0.33. Class by class, blocks differ in kinship."""

_INNER = 1.0
"""By how much more mistakes are another label of their image than of another image of its class, in units of the
variance of that luck. Parts of real files 2.2 or more (of mistakes alone 1.3), shuffled inside classes 0.6 at most."""
_WEAK = 0.45
_INNER_WEAK = 0.25
"""Models below AlexNet were not at hand. Made-up ones (AlexNet with half of its answers replaced by a better model's
second to fifth guess, or by a neighbouring class) have 0.3 to 1.0 in all their low parts, shuffled ones 0.1 at most."""
_VARIANCE = 30.0
"""So much of it makes a part of the file, which is judged on its own; 2,000 mistakes on average."""
_LEAST_VARIANCE = 15.0
"""About 3,000 rows of validation images: the fault and real files are four deviations from the limit."""
_IMAGES_A_CLASS = 10
"""With fewer images of a class, too many of them keep their place when they are shuffled."""


def lost_rows(reading: Reading) -> Suspicion | None:
    """Somewhere in the file predictions stop to belong to their rows, so that accuracy falls to chance there."""
    size = int(np.clip(len(reading) // _BLOCKS, _SMALLEST_BLOCK, _LARGEST_BLOCK))
    n_blocks = len(reading) // size
    if n_blocks < 3 or reading.accuracy == 0:
        return None
    hits = np.bincount(reading.label[reading.right], minlength=len(reading.labels))
    usual = (hits + _PRIOR_ROWS * reading.accuracy) / (reading.n_labelled + _PRIOR_ROWS)
    start = np.arange(n_blocks) * size
    n_rows = np.diff(start, append=len(reading))
    expected, found = (
        np.add.reduceat(each, start, dtype=np.float64) / n_rows for each in (usual[reading.label], reading.right)
    )
    expected = np.minimum(expected * max(1, np.quantile(found / expected, _GOOD_BLOCKS)), _SORTED)
    slack = np.maximum((1 - _BLOCK) * expected, _DEVIATIONS * np.sqrt(expected * (1 - expected) / n_rows))
    low = found < expected - slack
    if not low.any():
        return None
    in_low = np.repeat(low, n_rows)
    if reading.right[~in_low].mean() > _SORTED:
        return None
    q = 1 - float(found[low] @ n_rows[low] / (expected[low] @ n_rows[low]))
    lost = q / (q + (1 - q) * (1 - float(expected[low].mean())))
    knows_kin = shared_ancestors(reading.labels) is not None
    share = _share_without_kin(reading, in_low) if knows_kin else float(q >= _LOST_WITHOUT_KIN)
    is_shown = not _is_class_by_class(reading) and share >= max(_NOT_KIN * lost, _LEAST_LOST)
    if not is_shown and not _at_chance(reading, np.repeat(found < _HARDLY_ANY * expected, n_rows)):
        return None
    first, last = (reading.place[at] + 1 for at in np.flatnonzero(in_low)[[0, -1]])
    return Suspicion(
        f"{reading.right[in_low].mean():.1%} are right among {counted(int(in_low.sum()), 'row')} between rows "
        f"{first:,} and {last:,}, {reading.right[~in_low].mean():.1%} elsewhere"
        f"{', and the mistakes there are no kin of their labels' if knows_kin else ''}: these predictions belong to "
        "other rows",
        f"Match the predictions to their images again, or pass --row-order FILE (a name a row). {AS_IT_IS}",
    )


def _is_class_by_class(reading: Reading) -> bool:
    return bool(np.abs(np.diff(reading.label)).mean() < _CLASS_BY_CLASS * len(reading.labels))


def _at_chance(reading: Reading, chosen: NDArray[np.bool_]) -> bool:
    """Say whether the chosen rows are as if shuffled among themselves: in class folders all that is near is kin."""
    label, top1 = reading.label[chosen], reading.top1[chosen]
    if len(label) < _SMALLEST_BLOCK or shared_ancestors(reading.labels) is None or not is_chance(label, top1):
        return False
    return kinship(label, top1, reading.labels) < MIN_DEVIATIONS


def _share_without_kin(reading: Reading, chosen: NDArray[np.bool_]) -> float:
    """Return which share of the chosen rows' mistakes are kin by chance only, where WordNet knows the classes.

    Kinship is 0 for what is as close to the label as any class is, 1 for its closest ten: animals have more ancestors
    than things. The share is 0 where mistakes elsewhere are kin no more often, but for luck."""
    shared = shared_ancestors(reading.labels)
    if shared is None:
        raise ValueError("kinship of classes that are not in WordNet")
    anything = shared @ (reading.n_predicted / len(reading))
    closest = np.sort(shared, axis=1)[:, -_CLOSEST - 1 : -1].mean(axis=1)  # without itself, which is the closest
    here, elsewhere = (
        _kinship(reading, each, shared, anything) / np.maximum(closest - anything, 1)[reading.label[each]]
        for each in (~reading.right & chosen, ~reading.right & ~chosen)
    )
    usual = float(elsewhere.mean()) if len(elsewhere) >= _SMALLEST_BLOCK else _KIN
    missing = usual - float(here.mean())
    if missing < _DEVIATIONS * float(here.std()) / len(here) ** 0.5:
        return 0.0
    return missing / max(usual, 0.1)


def _kinship(
    reading: Reading, chosen: NDArray[np.bool_], shared: NDArray[np.float32], anything: NDArray[np.float64]
) -> NDArray[np.float64]:
    label, top1 = reading.label[chosen], reading.top1[chosen]
    return shared[label, top1] - anything[label]


def inner_order(reading: Reading) -> Suspicion | None:
    """Mistakes are no more often another label of their image than of its class's other images.

    Then rows are in another order inside their classes, or one row late, which leaves the accuracy as it is."""
    other = reading.other
    total = float(other.variance.sum())
    if total < _LEAST_VARIANCE:
        return None
    n_parts = max(1, int(total / _VARIANCE))
    part = np.minimum((np.cumsum(other.variance) * n_parts / total).astype(np.int64), n_parts - 1)
    found, by_luck, spread = (
        np.bincount(part, weights=each, minlength=n_parts) for each in (other.is_accepted, other.luck, other.variance)
    )
    low = found - by_luck < _INNER * spread
    if not low.any():
        return None
    if _is_weak(reading) and (found - by_luck)[low].sum() > _INNER_WEAK * spread[low].sum():
        return None
    places = reading.place[other.wrong[low[part]]] + 1
    return Suspicion(
        f"of {np.count_nonzero(low[part]):,} mistakes between rows {places.min():,} and {places.max():,} "
        f"{found[low].sum():.0f} are another label of their image; {by_luck[low].sum():.0f} would be if images of one "
        "class were exchanged, and of real models several times as many: rows are in another order inside the classes",
        f"Pass --row-order FILE: the images' names in the order that they were predicted in, one a row. {AS_IT_IS}",
    )


def _is_weak(reading: Reading) -> bool:
    """Say whether fewer are right than of any model that the limits were measured on."""
    return reading.accuracy < _WEAK


def lacks_other_labels(reading: Reading) -> bool:
    """Return True where too little else is known of the images, or too few of them share a class."""
    some = reading.n_labelled[reading.n_labelled > 0]
    return bool(
        _is_weak(reading) or reading.other.variance.sum() < _LEAST_VARIANCE or np.median(some) < _IMAGES_A_CLASS
    )
