"""Counts of error types as bars and texts: of groups of images, and of answers of like confidence."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from imagenet_errors.chain import COUNTS_AS, ERROR_TYPES
from imagenet_errors.measure import IS_TOP1_ERROR
from imagenet_errors.report.looks import Look, looks
from imagenet_errors.report.points import BOUNDED, EXACT, UNKNOWN, Points
from imagenet_errors.runs.tables import NOT_EVALUATED, RunTables

N_BINS = 10


class Segment(msgspec.Struct, frozen=True):
    """A part of a bar; ``is_open``: its ``text`` gives bounds, since evidence was missing."""

    look: Look
    count: int
    share: float
    text: str
    is_open: bool = False


class Bar(msgspec.Struct, frozen=True):
    """A group's top-1 errors by type."""

    group: str
    n_images: int
    n_errors: int
    segments: tuple[Segment, ...]


def bars(points: Points, model: int) -> tuple[Bar, ...]:
    """Return a bar for each group out of one model's counts."""
    told, is_open = count_texts(points, model), points.is_open[model].tolist()
    shown = []
    for group, (row, texts) in enumerate(zip(points.counts[model].tolist(), told, strict=True)):
        parts = [(place, count) for place, count in enumerate(row) if count and looks()[place].name != "correct"]
        n_errors = sum(count for _, count in parts)
        segments = tuple(
            Segment(looks()[place], count, count / n_errors, texts[place], is_open[place]) for place, count in parts
        )
        shown.append(Bar(points.groups[group], sum(row), n_errors, segments))
    return tuple(shown)


def count_texts(points: Points, model: int) -> list[list[str]]:
    """Return a model's counts for people, by group and type."""
    state = points.state[model].tolist()
    counts, least, most = (bound[model].tolist() for bound in (points.counts, points.least, points.most))
    groups = zip(counts, least, most, strict=True)
    return [[_count_text(*told) for told in zip(state, *bounds, strict=True)] for bounds in groups]


def _count_text(state: int, count: int, least: int, most: int) -> str:
    """Return a count for people: ``723``, ``506–723`` between its bounds, or ``≤ 723``; at most none is none."""
    if state == EXACT or not most:
        return f"{count:,}"
    if state == BOUNDED:
        return f"{least:,}–{most:,}"
    return f"≤ {most:,}"


def share_texts(points: Points, model: int, among: NDArray[np.bool_]) -> list[str]:
    """Return the share of each type in the errors of some types (bool [T]) for people, between bounds if it has any.

    Where it is not known how many such errors there are, since another error may be none, the share is about so much.
    """
    is_whole = bool((points.state[model][IS_TOP1_ERROR & ~among] == EXACT).all())
    bounds = (bound[model, 0].tolist() for bound in (points.counts, points.least, points.most))
    total = int(points.counts[model, 0, among].sum())
    told = []
    for is_among, state, *numbers in zip(among.tolist(), points.state[model].tolist(), *bounds, strict=True):
        if not is_among or not total:
            told.append("–")
            continue
        count, least, most = (f"{100 * number / total:.1f}" for number in numbers)
        exact = f"{count}%" if is_whole else f"~ {count}%"
        told.append({BOUNDED: f"{least}–{most}%", UNKNOWN: f"≤ {most}%"}.get(state, exact) if is_whole else exact)
    return told


class Bin(msgspec.Struct, frozen=True):
    """Answers of like confidence: ``low`` to ``high``, how many of each error type (shares of the bin's answers)."""

    low: float
    high: float
    n_answers: int
    mean_confidence: float
    share_right: float
    segments: tuple[Segment, ...]


class Calibration(msgspec.Struct, frozen=True):
    """Confidence against being right: by bins, and the mean gap (expected calibration error) by accepted labels.

    Source: Guo et al. 2017 (expected calibration error).
    """

    bins: tuple[Bin, ...]
    gap: float


def calibration(run: RunTables, model: int) -> Calibration | None:
    """Return one model's calibration; None where it gave no confidences, or scores that are no probabilities."""
    confidence, error_type = run.confidence[model].astype(np.float64), run.error_type[model]
    known = np.isfinite(confidence) & (error_type != NOT_EVALUATED)
    confidence, error_type = confidence[known], error_type[known].astype(np.int64)
    if not len(confidence) or confidence.min() < 0 or confidence.max() > 1:
        return None
    place = np.minimum((confidence * N_BINS).astype(np.int64), N_BINS - 1)
    n_types = len(ERROR_TYPES)
    counts = np.bincount(place * n_types + error_type, minlength=N_BINS * n_types).reshape(N_BINS, n_types)
    sums = np.bincount(place, weights=confidence, minlength=N_BINS)
    is_right = np.array([COUNTS_AS[name] == "right" for name in ERROR_TYPES])
    bins = tuple(_bin(number, row, sums[number], is_right) for number, row in enumerate(counts) if row.sum())
    gap = sum(each.n_answers * abs(each.share_right - each.mean_confidence) for each in bins) / len(confidence)
    return Calibration(bins, gap)


def _bin(number: int, counts: NDArray[np.int64], total: float, is_right: NDArray[np.bool_]) -> Bin:
    n = int(counts.sum())
    parts = zip(looks(), counts.tolist(), strict=True)
    segments = tuple(
        Segment(look, count, count / n, f"{count:,}") for look, count in parts if count and look.name != "correct"
    )
    return Bin(number / N_BINS, (number + 1) / N_BINS, n, total / n, float(counts[is_right].sum() / n), segments)
