"""How each error type looks and what it means in one sentence, the same in page, figures and tables.

The sentence is the first line of the stage's docstring, so a new stage needs nothing here; colours follow from
what an error type counts as, least severe to most: teal, gold, orange, red.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from imagenet_errors.chain import COUNTS_AS, ERROR_TYPES, STAGES

_LIGHT = {
    "right": ("#0f766e", "#4fae9f"),
    "minor": ("#e0b43c", "#f0d78c"),
    "explained": ("#d9772b", "#eda66a"),
    "wrong": ("#b4233c",),
}
_DARK = {
    "right": ("#2bb3a3", "#7fd0c2"),
    "minor": ("#e3b94a", "#f3dd9b"),
    "explained": ("#ee8d43", "#f5b98a"),
    "wrong": ("#f0566e",),
}
_MEANING = {
    "correct": "The prediction is the original label.",
    "model_failure": "Nothing explains the mistake: it is severe.",
}
SEVERE = "model_failure"


@dataclass(frozen=True)
class Look:
    """One error type: its name (the one spelling), meaning, colours on a light and on a dark ground."""

    name: str
    means: str
    counts_as: str
    light: str
    dark: str

    @property
    def light_ink(self) -> str:
        """The colour that is readable on ``light``."""
        return readable_on(self.light)

    @property
    def dark_ink(self) -> str:
        """The colour that is readable on ``dark``."""
        return readable_on(self.dark)


@lru_cache(maxsize=1)
def looks() -> tuple[Look, ...]:
    """Return the look of every type of ``chain.ERROR_TYPES``, in that order."""
    told = {stage.name: (stage.__doc__ or "").strip().splitlines()[0] for stage in STAGES} | _MEANING
    kinds = [COUNTS_AS[name] for name in ERROR_TYPES]
    shades = {"correct": ("#8b949e", "#6e7681")}
    for kind in _LIGHT:
        members = [name for name in ERROR_TYPES[1:] if COUNTS_AS[name] == kind]
        for place, name in enumerate(members):
            light, dark = _LIGHT[kind], _DARK[kind]
            shades[name] = (light[place % len(light)], dark[place % len(dark)])
    return tuple(Look(name, told[name], kind, *shades[name]) for name, kind in zip(ERROR_TYPES, kinds, strict=True))


def readable_on(colour: str) -> str:
    """Return black or white, whichever stands out more on ``#rrggbb``.

    Source: WCAG 2.2, relative luminance; the two inks have equal contrast at a luminance of 0.179.
    """
    return "#000000" if luminance(colour) > 0.179 else "#ffffff"


def luminance(colour: str) -> float:
    """Return the relative luminance, 0..1, of ``#rrggbb``. Source: WCAG 2.2."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
