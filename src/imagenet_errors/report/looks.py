"""How each error type looks and what it means, and the axes it is drawn on: the same in page, figures and tables.

Everything goes by the type's name and by what it counts as, so that a new stage needs nothing here. Its sentence is
the first line of the stage's docstring. Colours run from least to most severe: teal, gold, orange, red; types of one
kind share out the span between that kind's two shades.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import msgspec

from imagenet_errors.chain import COUNTS_AS, ERROR_TYPES, STAGES

SEVERE = "model_failure"
# Kinds in order of severity. The dark shades are chosen so that neighbours are as far apart for colour-blind readers
# as the light ones are (tests/report/test_looks.py computes it).
_LIGHT = {
    "right": ("#0f766e", "#4fae9f"),
    "minor": ("#e0b43c", "#f0d78c"),
    "explained": ("#d9772b", "#eda66a"),
    "wrong": ("#b4233c", "#b4233c"),
}
_DARK = {
    "right": ("#16a394", "#82e3d8"),
    "minor": ("#e5b943", "#f8e5af"),
    "explained": ("#ee8d43", "#ffd3a8"),
    "wrong": ("#d6304f", "#d6304f"),
}
_CORRECT = ("#8b949e", "#6e7681")
_MEANING = {
    "correct": "The prediction is the original label.",
    SEVERE: "Nothing explains the error: it is severe.",
}
_IN_PROSE = {
    "class_overlap": "class overlaps",
    "multi_object": "multi-object images",
    "fine_grained": "fine-grained errors",
    "fine_grained_oov": "fine-grained OOV errors",
    "non_prototypical": "non-prototypical images",
    "spurious_correlation": "spurious correlations",
    SEVERE: "model failures",
}

ACCURACY_RANGE = {"multi_label": (50.0, 100.0), "top1": (50.0, 95.0)}
"""Axes that never change, so that figures of different models, groups and days compare: wide enough for the 962
published models in every group, and round."""
ACCURACY_NAME = {"multi_label": "multi-label accuracy (MLA)", "top1": "top-1 accuracy"}
ERRORS_NAME = {"multi_label": "multi-label errors", "top1": "top-1 errors"}
_MOST_PERCENT = {
    "class_overlap": 12.0,
    "multi_object": 100.0,
    "fine_grained": 100.0,
    "fine_grained_oov": 32.0,
    "non_prototypical": 2.5,
    "spurious_correlation": 24.0,
    SEVERE: 80.0,
}


class Look(msgspec.Struct, frozen=True):
    """One error type: its name (the one spelling), meaning, colours on a light and on a dark ground.

    ``is_hatched``: drawn with a hatch, so that it differs from its neighbour of the same kind without colour too.
    """

    name: str
    means: str
    counts_as: str
    light: str
    dark: str
    is_hatched: bool

    @property
    def light_ink(self) -> str:
        """The colour that is readable on ``light``."""
        return readable_on(self.light)

    @property
    def dark_ink(self) -> str:
        """The colour that is readable on ``dark``."""
        return readable_on(self.dark)


@lru_cache(maxsize=4)
def looks(error_types: tuple[str, ...] = ERROR_TYPES) -> tuple[Look, ...]:
    """Return the look of every type of ``chain.ERROR_TYPES``, in that order."""
    sentences = {stage.name: (stage.__doc__ or "").strip().splitlines()[0] for stage in STAGES} | _MEANING
    shades = {"correct": (*_CORRECT, False)}
    for kind in _LIGHT:
        members = [name for name in error_types if COUNTS_AS[name] == kind and name != "correct"]
        for position, name in enumerate(members):
            along = position / max(1, len(members) - 1)
            shades[name] = (mixed(*_LIGHT[kind], along), mixed(*_DARK[kind], along), position % 2 == 1)
    return tuple(Look(name, sentences[name], COUNTS_AS[name], *shades[name]) for name in error_types)


def look_of(error_type: str) -> Look:
    """Return the look of one type."""
    return next(look for look in looks() if look.name == error_type)


def in_prose(error_type: str) -> str:
    """Return a type in the words of the paper: ``"model failures"``; its name with spaces if it has no such words."""
    return _IN_PROSE.get(error_type, error_type.replace("_", " "))


def most_percent(error_type: str) -> float:
    """Return the upper end of the axis for a type's portion, in percent; 100 for a type not known here."""
    return _MOST_PERCENT.get(error_type, 100.0)


def mixed(first: str, second: str, along: float) -> str:
    """Return the colour ``along`` (0..1) the way from ``#rrggbb`` to another."""
    pairs = zip(_channels(first), _channels(second), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * along):02x}" for a, b in pairs)


def readable_on(colour: str) -> str:
    """Return black or white, whichever stands out more on ``#rrggbb``.

    Source: WCAG 2.2, relative luminance; the two inks have equal contrast at a luminance of 0.179.
    """
    return "#000000" if luminance(colour) > 0.179 else "#ffffff"


def luminance(colour: str) -> float:
    """Return the relative luminance, 0..1, of ``#rrggbb``. Source: WCAG 2.2."""
    parts = [channel / 255 for channel in _channels(colour)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _channels(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[start : start + 2], 16) for start in (1, 3, 5))


def touched(not_run: Iterable[str], order: Sequence[str]) -> list[str]:
    """Return the types whose counts hang on stages that did not run: these, all asked for later, and the severe."""
    stages = list(dict.fromkeys(order))
    first = min((stages.index(name) for name in not_run if name in stages), default=len(stages))
    return [*stages[first:], SEVERE] if first < len(stages) else []
