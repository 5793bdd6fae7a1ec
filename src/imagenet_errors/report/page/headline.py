"""One model's errors in a few sentences that a newcomer understands."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.chain import COUNTS_AS, ERROR_TYPES
from imagenet_errors.problems import counted

_NUMBERS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"),
)


@dataclass(frozen=True)
class Headline:
    """``claim`` continues the model's name; ``right``, ``minor``, ``explained``, ``severe`` count its errors."""

    claim: str
    n_images: int
    n_errors: int
    right: int
    minor: int
    explained: int
    severe: int

    @property
    def n_multi_label_errors(self) -> int:
        """Errors that are wrong by every accepted label."""
        return self.n_errors - self.right


def headline_of(counts: NDArray[np.int64]) -> Headline:
    """Sum up one model's counts, int64 [T], over all images."""
    sums = dict.fromkeys(("right", "minor", "explained", "wrong"), 0)
    for name, count in zip(ERROR_TYPES[1:], counts[1:].tolist(), strict=True):
        sums[COUNTS_AS[name]] += count
    n_errors = int(counts[1:].sum())
    return Headline(
        claim=_claim(sums["wrong"], n_errors),
        n_images=int(counts.sum()),
        n_errors=n_errors,
        right=sums["right"],
        minor=sums["minor"],
        explained=sums["explained"],
        severe=sums["wrong"],
    )


def _claim(n_severe: int, n_errors: int) -> str:
    if not n_errors:
        return "makes no error on these images"
    if n_errors == 1:
        return "makes a single error, and it is severe" if n_severe else "makes a single error, and it is not severe"
    return f"makes {counted(n_errors, 'error')}; {in_words(n_severe / n_errors)} severe"


def in_words(share: float) -> str:
    """Return a share as people say it, with its verb: ``"about one in three is"``, ``"most are"``."""
    if share <= 0:
        return "none is"
    if share >= 0.995:
        return "nearly all are" if share < 1 else "all are"
    if share > 0.8:
        return "most are"
    if share > 0.7:
        return "about three in four are"
    if share > 0.58:
        return "about two in three are"
    if share > 0.42:
        return "about half are"
    if share > 0.36:
        return "about two in five are"
    if share < 0.05:
        return "hardly any are" if share < 0.01 else f"about {round(100 * share)} in a hundred are"
    return f"about one in {_NUMBERS[round(1 / share)]} is"
