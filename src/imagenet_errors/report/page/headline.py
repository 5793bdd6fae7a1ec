"""The sentence that the page opens with: how many errors a model makes, and what they count as."""

from __future__ import annotations

import msgspec

from imagenet_errors.chain import COUNTS_AS, ERROR_TYPES
from imagenet_errors.measure import IS_TOP1_ERROR
from imagenet_errors.problems import counted
from imagenet_errors.report.looks import SEVERE
from imagenet_errors.report.points import EXACT, UNKNOWN, Points

_NUMBERS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"),
)


class Headline(msgspec.Struct, frozen=True):
    """``claim`` continues the model's name; the counts share out its errors by what they count as.

    ``n_open`` errors are of types that depend on missing evidence, ``open_types``; then ``severe`` lies between
    ``severe_low`` and ``severe_high``, and ``minor`` and ``explained`` count the types that are exact.
    """

    claim: str
    n_images: int
    n_errors: int
    right: int
    minor: int
    explained: int
    severe: int
    severe_low: int
    severe_high: int
    open_types: tuple[str, ...] = ()
    n_open: int = 0


def headline_of(points: Points, model: int) -> Headline:
    """Sum up one model's counts over all images."""
    counts, state = points.counts[model, 0], points.state[model]
    sums = dict.fromkeys(("right", "minor", "explained", "wrong"), 0)
    for place, name in enumerate(ERROR_TYPES):
        if name != "correct" and state[place] == EXACT:
            sums[COUNTS_AS[name]] += int(counts[place])
    place = ERROR_TYPES.index(SEVERE)
    severe, high = int(counts[place]), int(points.most[model, 0, place])
    low = 0 if state[place] == UNKNOWN else int(points.least[model, 0, place])
    n_errors, is_open = int(counts[IS_TOP1_ERROR].sum()), state != EXACT
    n_images = int(counts.sum())
    claim = _claim(severe, n_errors) if state[place] == EXACT else _open_claim(low, high, n_errors)
    return Headline(
        claim=claim if n_images else "was evaluated on no image",
        n_images=n_images,
        n_errors=n_errors,
        right=sums["right"],
        minor=sums["minor"],
        explained=sums["explained"],
        severe=severe,
        severe_low=low,
        severe_high=high,
        open_types=points.open_types_of(model),
        n_open=int(counts[is_open].sum()),
    )


def _claim(n_severe: int, n_errors: int) -> str:
    if not n_errors:
        return "makes no error on these images"
    if n_errors == 1:
        return "makes a single error, and it is severe" if n_severe else "makes a single error, and it is not severe"
    return f"makes {counted(n_errors, 'error')}; {in_words(n_severe / n_errors)} severe"


def _open_claim(low: int, high: int, n_errors: int) -> str:
    """Return the claim where it depends on missing evidence how many errors are severe."""
    if n_errors < 2:
        return _claim(high, n_errors) if not high else "makes a single error, which may be severe"
    most = f"{high / n_errors:.0%}"
    share = f"between {low / n_errors:.0%} and {most} are" if low else f"at most {most} are"
    return f"makes {counted(n_errors, 'error')}; {share} severe"


def in_words(share: float) -> str:
    """Return a share as people say it, with its verb: ``"about one in three is"``, ``"most are"``."""
    if share <= 0:
        return "none is"
    if share >= 0.995:
        return "nearly all are" if share < 1 else "all are"
    for least, words in (
        (0.8, "most are"),
        (0.7, "about three in four are"),
        (0.58, "about two in three are"),
        (0.42, "about half are"),
        (0.36, "about two in five are"),
    ):
        if share > least:
            return words
    if share < 0.05:
        return "hardly any are" if share < 0.01 else f"about {round(100 * share)} in a hundred are"
    return f"about one in {_NUMBERS[round(1 / share)]} is"
