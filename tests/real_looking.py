"""Predictions of the validation images that look like a real model's, for tests on data of our own.

What makes them look real was measured on 111 models: a mistake is another label of its image in 13 to 47 % of the
cases, two to five times as often as of the class's other images, else mostly kin (7.9 to 8.6 common WordNet ancestors,
5.2 by chance); images with several labels and some classes are harder; and every class is predicted.
"""

from functools import lru_cache

import numpy as np

from imagenet_errors.labels import imagenet_1k
from imagenet_errors.readers.annotations import read_real
from imagenet_errors.readers.order import common_ancestors

_HARDER = 3.0
_ANOTHER_LABEL = 0.45
_ANYTHING = 0.1
_PARTNER = 0.35
_CLASSES_DIFFER = 0.6


@lru_cache(maxsize=1)
def _kin():
    """Cumulated shares float64 [C, C]: what a mistake on a class is likely to be."""
    shared = common_ancestors(imagenet_1k()).astype(np.float64)
    weight = np.exp(0.9 * (shared - shared.max(axis=1, keepdims=True)))
    np.fill_diagonal(weight, 0)
    share = weight / weight.sum(axis=1, keepdims=True)
    return np.cumsum((1 - _ANYTHING) * share + _ANYTHING / len(share), axis=1)


@lru_cache(maxsize=1)
def _another():
    """A label besides the original one int64 [N] that each image has by ReaL, -1 for none."""
    real = read_real(imagenet_1k())
    another = np.full(len(real), -1)
    owners, values = real.accepted.owners, real.accepted.values
    is_other = values != real.label[owners]
    another[owners[is_other]] = values[is_other]
    return another


@lru_cache(maxsize=1)
def _partner():
    """The class int64 [C] that is seen most in the images of each, or its closest kin."""
    label, another = read_real(imagenet_1k()).label.astype(np.int64), _another()
    beside = np.diff(_kin(), axis=1, prepend=0)
    np.add.at(beside, (label[another >= 0], another[another >= 0]), 1)
    return beside.argmax(axis=1)


@lru_cache(maxsize=32)
def real_looking(accuracy=0.75, seed=0):
    """Return classes int64 [50000] in the order of the images' names; do not write to them."""
    random = np.random.default_rng(seed)
    label, another = read_real(imagenet_1k()).label.astype(np.int64), _another()
    weight = np.where(another >= 0, _HARDER, 1.0) * np.exp(random.normal(0, _CLASSES_DIFFER, len(_kin())))[label]
    chance = np.minimum((1 - accuracy) * weight / weight.mean(), 0.97 if accuracy else 1)
    wrong = np.flatnonzero(random.random(len(label)) < np.where(accuracy > 0, chance, 1))
    top1 = label.copy()
    top1[wrong] = (_kin()[label[wrong]] < random.random((len(wrong), 1))).sum(axis=1).clip(max=999)
    alike = wrong[random.random(len(wrong)) < _PARTNER]
    top1[alike] = _partner()[label[alike]]
    seen = wrong[(another[wrong] >= 0) & (random.random(len(wrong)) < _ANOTHER_LABEL)]
    top1[seen] = another[seen]
    top1.flags.writeable = False
    return top1
