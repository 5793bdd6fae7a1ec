"""Dense scores, a value for every class: their top-1, its confidence, and the rows that have none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike, NDArray

from imagenet_errors.problems import InputError, counted
from imagenet_errors.readers.raw import RawPredictions, ScoreSource

CHUNK_BYTES = 1 << 21
"""Size of a block of rows as it is stored; the first block is also what is looked at to tell what the columns are."""
PIECE_BYTES = 1 << 20
"""Size of the rows that are worked on at once: with what becomes of them they should stay in a core's cache."""
_FEW = 8
"""Columns looked at first: of logits nearly every row has a negative value among so many."""
SUM_TOLERANCE = 1e-2
"""How far from 1 a row of probabilities may add up to: bfloat16 keeps 8 bits, so errors stay under 0.4 %."""

OUTPUT_IS_NAN = "an output is NaN"
OUTPUT_IS_INFINITE = "an output is infinite"


def rows_a_chunk(n_outputs: int, itemsize: int) -> int:
    """Return how many rows make a block of about :data:`CHUNK_BYTES`."""
    return max(1, CHUNK_BYTES // max(1, n_outputs * itemsize))


def as_floats(block: NDArray[Any]) -> NDArray[np.floating[Any]]:
    """Return the block as float32, or float64 where float32 could merge different values."""
    if block.dtype in (np.float32, np.float64):
        return block.astype(block.dtype.newbyteorder("="), copy=False)
    if block.dtype.kind == "V":  # bfloat16, which numpy stores as two nameless bytes: the upper half of a float32
        return (np.ascontiguousarray(block).view("<u2").astype(np.uint32) << 16).view(np.float32)
    narrow = block.dtype.itemsize <= 2
    return block.astype(np.float32 if narrow else np.float64)


@dataclass(frozen=True, eq=False)
class ArrayScores:
    """Scores in an array [n, C] of any number type, perhaps memory-mapped."""

    values: NDArray[Any]
    where: str

    @property
    def shape(self) -> tuple[int, int]:
        """Rows n and outputs C."""
        return self.values.shape[0], self.values.shape[1]

    def chunks(self) -> Iterator[NDArray[np.floating[Any]]]:
        """Yield blocks of rows as floats."""
        step = rows_a_chunk(self.shape[1], self.values.dtype.itemsize)
        for start in range(0, self.shape[0], step):
            yield as_floats(self.values[start : start + step])


@dataclass(frozen=True, eq=False)
class InnerScores:
    """Some neighbouring columns of other scores."""

    whole: ScoreSource
    first: int
    stop: int

    @property
    def shape(self) -> tuple[int, int]:
        """Rows n and outputs C."""
        return self.whole.shape[0], self.stop - self.first

    @property
    def where(self) -> str:
        """The file that it lies in."""
        return self.whole.where

    def chunks(self) -> Iterator[NDArray[np.floating[Any]]]:
        """Yield blocks of rows as floats."""
        for block in self.whole.chunks():
            yield block[:, self.first : self.stop]


def without_labels(raw: RawPredictions) -> RawPredictions:
    """Leave out a first or last column of whole numbers beside scores that are none: labels saved with them."""
    source = raw.scores
    if source is None or raw.axis_labels is not None or not source.shape[0]:
        return raw
    head = next(iter(source.chunks()))
    n_outputs = source.shape[1]
    with np.errstate(invalid="ignore"):
        is_whole = (np.trunc(head) == head).all(axis=0) & (head >= 0).all(axis=0) & (head < n_outputs + 1).all(axis=0)
        is_label = is_whole & (head > 1).any(axis=0) & (head.min(axis=0) < head.max(axis=0))
    if is_label.sum() != 1 or not (is_label[0] or is_label[-1]) or 2 * is_whole.sum() > n_outputs:
        return raw  # where most outputs are whole numbers, one more is nothing strange
    kept = InnerScores(source, int(is_label[0]), n_outputs - int(is_label[-1]))
    place = "first" if is_label[0] else "last"
    note = f"The {place} of {n_outputs:,} columns holds whole numbers, as labels are; it was not taken for an output."
    return replace(raw, scores=kept, n_outputs=kept.shape[1], notes=(*raw.notes, note))


@dataclass(frozen=True, eq=False)
class Top1:
    """The best of each row of a block, m rows.

    ``index`` int64 [m], -1 where the row is unusable; ``largest`` [m] of the whole row; ``is_tied``, ``is_nan``,
    ``is_infinite`` bool [m].
    """

    index: NDArray[np.int64]
    largest: NDArray[np.floating[Any]]
    is_tied: NDArray[np.bool_]
    is_nan: NDArray[np.bool_]
    is_infinite: NDArray[np.bool_]


class Scratch:
    """Memory for what is computed of a block and not kept: the next block writes to the same.

    Fresh memory for each would come from the system a page at a time, and cost as much as what is computed in it.
    """

    def __init__(self) -> None:
        self._held: dict[np.dtype[Any], tuple[object, NDArray[Any]]] = {}

    def like(self, block: NDArray[Any], dtype: DTypeLike | None = None) -> NDArray[Any]:
        """Return an array laid out as the block, of its type or another; what it held before is lost."""
        wanted = block.dtype if dtype is None else np.dtype(dtype)
        layout = block.shape, block.strides
        held, array = self._held.get(wanted, (None, block))
        if held != layout:
            array = np.empty_like(block, dtype=wanted)
            self._held[wanted] = layout, array
        return array


def top1_from_scores(
    scores: NDArray[np.floating[Any]],
    *,
    axis_positions: NDArray[np.int64] | None = None,
    scratch: Scratch | None = None,
) -> Top1:
    """Find the top-1 of each row of scores [m, C], among the columns ``axis_positions`` [K] if given.

    The lowest index wins a tie. A NaN or +inf anywhere in a row makes it unusable (numpy's argmax would
    return the NaN's place, and 0, a tench, for a row of NaN); -inf is a masked class, fine beside others.
    ``index`` is the position within ``axis_positions``.
    """
    kept = scores if axis_positions is None else np.take(scores, axis_positions, axis=1)
    every = np.arange(len(kept))
    index = np.argmax(kept, axis=1).astype(np.int64)
    best = kept[every, index]
    largest = best if axis_positions is None else scores.max(axis=1)  # NaN where any is: argmax gives its place
    is_nan = np.isnan(largest)
    is_infinite = ~is_nan & (np.isposinf(largest) | np.isneginf(best))
    usable = ~(is_nan | is_infinite)
    others = kept
    if axis_positions is None:  # then it is no copy of ours
        others = (scratch or Scratch()).like(scores)
        np.copyto(others, scores)
    others[every, index] = -np.inf
    is_tied = usable & (others[every, np.argmax(others, axis=1)] == best)
    return Top1(np.where(usable, index, -1), largest, is_tied, is_nan, is_infinite)


def _confidence(
    scores: NDArray[np.floating[Any]], at: NDArray[np.int64], largest: NDArray[np.floating[Any]], scratch: Scratch
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return the probability float32 [m] of column ``at`` [m] (-1: NaN); bool [m]: rows of probabilities.

    ``largest`` [m]: of each row.
    """
    value = scores[np.arange(len(scores)), np.maximum(at, 0)].astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        is_probability = _are_probabilities(scores)
        logits = np.flatnonzero(~is_probability & (at >= 0))
        if logits.size:
            outputs = scores if logits.size == len(scores) else scores[logits]
            shares = np.subtract(outputs, largest[logits, None], out=scratch.like(outputs))
            exact = scratch.like(shares, np.float64)
            np.copyto(exact, np.exp(shares, out=shares))
            value[logits] = np.exp(value[logits] - largest[logits]) / exact.sum(axis=1)
    return np.where(at >= 0, value, np.nan).astype(np.float32), is_probability


def _are_probabilities(scores: NDArray[np.floating[Any]]) -> NDArray[np.bool_]:
    """Return bool [m]: rows without negative values that add up to 1; most others show in the first few columns."""
    found: NDArray[np.bool_] = np.all(scores[:, :_FEW] >= 0, axis=1)
    rows = np.flatnonzero(found)
    if rows.size:
        left = scores if rows.size == len(scores) else scores[rows]
        found[rows] = (left.min(axis=1) >= 0) & (np.abs(left.sum(axis=1) - 1) <= SUM_TOLERANCE)
    return found


def _stated_within(raw: RawPredictions, source: ScoreSource, columns: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Return the classes that the file states as positions within ``columns``; -1 where not among them."""
    if raw.index is None:
        return None
    n_outputs = source.shape[1]
    outside = np.flatnonzero(raw.index >= n_outputs)
    if outside.size:
        raise InputError(
            source.where,
            f"{counted(outside.size, 'stated class', 'stated classes')} outside the {n_outputs:,} outputs",
            example=f"class {raw.index[outside[0]]} in row {outside[0] + 1}",
            fix="Give a file whose stated classes and outputs share one class axis.",
        )
    place = np.full(n_outputs + 1, -1, dtype=np.int64)  # the last one is for rows that state none, -1
    place[columns] = np.arange(columns.size)
    return place[raw.index]


@dataclass(frozen=True, eq=False)
class _Reduced:
    """All blocks put together: a row each."""

    best: Top1
    chosen: NDArray[np.int64]
    confidence: NDArray[np.float32]
    is_probability: NDArray[np.bool_]


def _pieces(source: ScoreSource) -> Iterator[NDArray[np.floating[Any]]]:
    for block in source.chunks():
        step = max(1, PIECE_BYTES // max(1, block.shape[1] * block.itemsize))
        yield from (block[start : start + step] for start in range(0, len(block), step))


def _reduce(source: ScoreSource, columns: NDArray[np.int64], *, stated: NDArray[np.int64] | None) -> _Reduced:
    keep = None if np.array_equal(columns, np.arange(source.shape[1])) else columns
    blocks: list[tuple[NDArray[Any], ...]] = []
    scratch = Scratch()
    start = 0
    for scores in _pieces(source):
        best = top1_from_scores(scores, axis_positions=keep, scratch=scratch)
        chosen = best.index
        if stated is not None:
            said = stated[start : start + len(scores)]
            chosen = np.where((said >= 0) & (best.index >= 0), said, best.index)
        at = np.where(chosen >= 0, columns[chosen], -1)
        facts = (best.index, best.largest, best.is_tied, best.is_nan, best.is_infinite)
        blocks.append((*facts, chosen, *_confidence(scores, at, best.largest, scratch)))
        start += len(scores)
    index, largest, tied, nan, infinite, *rest = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    return _Reduced(Top1(index, largest, tied, nan, infinite), *rest)


def reduce_scores(raw: RawPredictions, columns: NDArray[np.int64] | None = None) -> RawPredictions:
    """Reduce dense scores to one top-1 a row, among the given columns of the class axis.

    Parameters
    ----------
    raw
        What a reader returned; without ``scores`` it is returned as it is.
    columns
        int64 [K], distinct positions on the class axis, in the order of the label space; None for all C.
        ``index`` of the result is the position *within* ``columns``.

    A class that the file states itself is kept where it is among ``columns``; disagreements are counted in a
    note. The confidence is the value itself in rows of probabilities (not negative, adding up to 1), else
    the softmax; both over all C outputs, whatever the columns.

    Raises
    ------
    InputError
        A stated class lies outside the class axis, or the file breaks off.
    """
    source = raw.scores
    if source is None:
        return raw
    every = np.arange(source.shape[1], dtype=np.int64)
    columns = every if columns is None else np.asarray(columns, dtype=np.int64)
    stated = _stated_within(raw, source, columns)
    found = _reduce(source, columns, stated=stated)
    labels = raw.axis_labels
    return replace(
        raw,
        index=found.chosen,
        text=raw.text if labels is None else _labels_at(labels, columns, found.chosen),
        confidence=found.confidence if raw.confidence is None else raw.confidence,
        n_outputs=source.shape[1],
        n_ties=raw.n_ties + int(found.best.is_tied.sum()),
        invalid=raw.invalid | _unusable(found.best),
        notes=(*raw.notes, *_notes(raw, found, n_columns=columns.size, stated=stated)),
        scores=None,
        axis_labels=None,
        sha256=raw.sha256 if raw.unread is None else raw.unread.sha256,
        unread=None,
    )


def _labels_at(labels: tuple[str, ...], columns: NDArray[np.int64], chosen: NDArray[np.int64]) -> pa.StringArray:
    at = pa.array(columns[np.maximum(chosen, 0)], mask=chosen < 0)
    return pa.array(labels, type=pa.string()).take(at)


def _unusable(best: Top1) -> dict[str, NDArray[np.int64]]:
    rows = {OUTPUT_IS_NAN: best.is_nan, OUTPUT_IS_INFINITE: best.is_infinite}
    return {reason: np.flatnonzero(mask) for reason, mask in rows.items() if mask.any()}


def _notes(raw: RawPredictions, found: _Reduced, *, n_columns: int, stated: NDArray[np.int64] | None) -> list[str]:
    n_outputs = raw.scores.shape[1] if raw.scores else 0
    notes = []
    usable = found.best.index >= 0
    if stated is not None:
        n_differ = int((usable & (stated >= 0) & (stated != found.best.index)).sum())
        if n_differ:
            notes.append(
                f"The stated class is not the one with the largest value in {counted(n_differ, 'row')} of "
                f"{raw.n_rows:,}; the stated class was kept."
            )
        n_elsewhere = int((usable & (stated < 0)).sum())
        if n_elsewhere:
            notes.append(
                f"No class among the {n_columns:,} used is stated in {counted(n_elsewhere, 'row')}; "
                "the one with the largest value was taken."
            )
    if raw.confidence is None:
        n_softmax = int((usable & ~found.is_probability).sum())
        if n_softmax:
            notes.append(f"The confidence is the softmax of all {n_outputs:,} outputs in {counted(n_softmax, 'row')}.")
        elif n_columns < n_outputs:
            notes.append(
                f"The confidence is the probability among all {n_outputs:,} outputs; "
                f"it was not renormalised to the {n_columns:,} used."
            )
    return notes
