"""The tables that pass from one part to the next: frozen dataclasses of equally long arrays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Array = NDArray[Any]
Ints = NDArray[Any]
"""Whole numbers of any width."""


@dataclass(frozen=True, eq=False)
class Ragged:
    """A list of ints a row: row i is ``values[offsets[i]:offsets[i + 1]]``.

    ``offsets`` int64 [n + 1], ``values`` ints [total]: int16 for classes, int32 for synsets.
    """

    offsets: NDArray[np.int64]
    values: Ints

    @classmethod
    def of(cls, rows: Iterable[Iterable[int]]) -> Ragged:
        """Build from nested sequences of ints."""
        lists = [list(row) for row in rows]
        lengths = np.array([len(row) for row in lists], dtype=np.int64)
        flat = [value for row in lists for value in row]
        return cls(np.concatenate(([0], np.cumsum(lengths))).astype(np.int64), np.array(flat, dtype=np.int16))

    @classmethod
    def of_pairs(cls, owners: NDArray[np.integer], values: NDArray[np.integer], n_rows: int) -> Ragged:
        """Build n_rows rows from (row, class) pairs in any order: values ascending, each once in a row."""
        pairs = distinct(row_codes(owners, values))
        offsets = np.searchsorted(pairs, np.arange(n_rows + 1, dtype=np.int64) << 16).astype(np.int64)
        return cls(offsets, (pairs & 0xFFFF).astype(np.int16))

    @classmethod
    def from_arrow(cls, lists: pa.ListArray) -> Ragged:
        """Build from an Arrow list array without nulls; a slice of a longer array is fine."""
        offsets = lists.offsets.to_numpy().astype(np.int64)
        return cls(offsets - offsets[0], lists.flatten().to_numpy(zero_copy_only=False).astype(np.int16))

    def to_arrow(self) -> pa.ListArray:
        """Return the rows as an Arrow ``list<int16>`` array."""
        return pa.ListArray.from_arrays(pa.array(self.offsets.astype(np.int32)), pa.array(self.values))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> Ints:
        """Return one row's values."""
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of values in each row, int64 [n]."""
        return np.diff(self.offsets)

    @cached_property
    def owners(self) -> NDArray[np.int64]:
        """The row that each value belongs to, int64 [total]."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def take(self, rows: NDArray[np.integer]) -> Ragged:
        """Return the given rows, in the given order."""
        lengths = self.lengths[rows]
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
        return Ragged(offsets, self.values[np.repeat(self.offsets[rows], lengths) + within])

    def ascending(self) -> Ragged:
        """Return the rows with their values ascending and each once."""
        return Ragged.of_pairs(self.owners, self.values, len(self))

    @cached_property
    def _codes(self) -> NDArray[np.int64]:
        return row_codes(self.owners, self.values)

    def holds(self, rows: NDArray[np.integer], values: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return bool [m]: where the row has the value; all rows must be ascending."""
        codes, wanted = self._codes, row_codes(rows, values)
        if not len(codes):
            return np.zeros(len(wanted), dtype=np.bool_)
        found: NDArray[np.bool_] = codes[np.minimum(np.searchsorted(codes, wanted), len(codes) - 1)] == wanted
        return found

    def any_of(self, claim: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return bool [n]: in which rows the claim (bool [total], one a value) holds for any value."""
        found = np.zeros(len(self), dtype=np.bool_)
        found[self.owners[claim]] = True
        return found

    def best_of(self, score: NDArray[np.integer]) -> Ints:
        """Return ints [n]: each row's value of highest positive score (int [total]); -1 without one.

        Of equal scores the first value wins.
        """
        best = np.full(len(self), -1, dtype=self.values.dtype)
        scored = np.flatnonzero(score > 0)[::-1]
        rising = scored[np.argsort(score[scored], kind="stable")]
        best[self.owners[rising]] = self.values[rising]  # subtle: the last write stays: the best, the first
        return best


REJECTED_LABELS = ("exclude", "judge", "trust")
"""What to do with images whose original label no annotator accepts."""


@dataclass(frozen=True, eq=False)
class Annotations:
    """What is known of every annotated image, rows sorted by file name.

    ``label`` int16 [n] is the original label, the first one where ``label_sets`` holds several (ascending), each of
    them right; ``accepted`` holds the accepted labels, ascending. ``rejected_labels`` is one of REJECTED_LABELS: images
    whose label is not accepted are excluded, or judged (a prediction is right only if it is accepted), or their label
    is trusted. ``file_order`` int64 [n]: the rows in the order of the file they came from, where it has one.
    """

    name: str
    file_names: pa.StringArray
    label: NDArray[np.int16]
    accepted: Ragged
    problematic: NDArray[np.bool_]
    rejected_labels: str = "exclude"
    label_sets: Ragged | None = None
    file_order: NDArray[np.int64] | None = None
    notes: tuple[str, ...] = ()
    """What there is to say of the labels, a sentence each."""
    states_accepted: bool = True
    """Whether a file says which labels are accepted; else the original ones are, and no other is known."""

    def __len__(self) -> int:
        """Return the number of annotated images n."""
        return len(self.label)

    @cached_property
    def exclusions(self) -> dict[str, NDArray[np.bool_]]:
        """Why images count in no figure: reason -> bool [n], each image under the first that holds for it."""
        reasons = {"problematic": self.problematic, "no accepted label": self.accepted.lengths == 0}
        if self.rejected_labels == "exclude":
            reasons["original label rejected"] = self.label_is_rejected
        left = np.ones(len(self), dtype=np.bool_)
        exclusions = {}
        for reason, holds in reasons.items():
            exclusions[reason] = holds & left
            left = left & ~holds
        return exclusions

    @cached_property
    def label_is_rejected(self) -> NDArray[np.bool_]:
        """bool [n]: images with accepted labels among which no original one is."""
        accepts = self.accepted.any_of(self.is_label(self.accepted.owners, self.accepted.values))
        return ~accepts & (self.accepted.lengths > 0)

    @property
    def originals(self) -> Ragged:
        """Every image's original labels, mostly one."""
        if self.label_sets is not None:
            return self.label_sets
        return Ragged(np.arange(len(self) + 1, dtype=np.int64), self.label)

    @cached_property
    def accepts_originals_alone(self) -> bool:
        """Whether no image has another accepted label than its original ones: then only these can be named."""
        return bool(self.is_label(self.accepted.owners, self.accepted.values).all())

    @cached_property
    def evaluated(self) -> NDArray[np.bool_]:
        """bool [n]: images that count."""
        excluded = np.zeros(len(self), dtype=np.bool_)
        for holds in self.exclusions.values():
            excluded |= holds
        return ~excluded

    def accepts(self, rows: NDArray[np.integer], classes: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return bool [m]: where the class is one of the image's accepted labels."""
        return self.accepted.holds(rows, classes)

    def is_label(self, rows: NDArray[np.integer], classes: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return bool [m]: where the class is the image's original label, or one of several."""
        if self.label_sets is not None:
            return self.label_sets.holds(rows, classes)
        same: NDArray[np.bool_] = self.label[rows] == classes
        return same

    def label_beside(self, rows: NDArray[np.integer], classes: NDArray[np.integer]) -> NDArray[np.int16]:
        """Return int16 [m]: the label to compare each class with: itself where it is one of the image's."""
        label: NDArray[np.int16] = self.label[rows]
        if self.label_sets is None:
            return label
        return np.where(self.is_label(rows, classes), classes, label).astype(np.int16)

    def is_correct(self, rows: NDArray[np.integer], classes: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return bool [m]: where the class is an original label of the image that counts.

        Where rejected labels are judged, of several originals those count that are accepted.
        """
        same = self.is_label(rows, classes)
        return same & self.accepts(rows, classes) if self.rejected_labels == "judge" else same


@dataclass(frozen=True, eq=False)
class Predictions:
    """One model's predictions, matched to the annotated images.

    ``rows`` int64 [m] ascending rows of the annotations, ``top1`` int16 [m], ``confidence`` float32 [m]
    (NaN where not given) or None.
    """

    model: str
    rows: NDArray[np.int64]
    top1: NDArray[np.int16]
    confidence: NDArray[np.float32] | None
    intake: Intake


@dataclass(frozen=True)
class Intake:
    """What became of a predictions file's rows: every one is counted in exactly one way.

    ``sha256`` is that of the bytes that were read; empty for predictions in memory. ``n_right`` of the ``n_labelled``
    images that have a label, annotated or not, were predicted as labelled.
    """

    format: str
    n_rows: int
    n_matched: int
    n_extra: int = 0
    n_repeated: int = 0
    n_invalid: int = 0
    n_missing: int = 0
    n_ties: int = 0
    notes: tuple[str, ...] = ()
    sha256: str = ""
    n_labelled: int = 0
    n_right: int = 0


@dataclass(frozen=True, eq=False)
class Cases:
    """Distinct (image, predicted class) pairs; what a case is depends on no model.

    ``rows`` int64 [n] rows of the annotations, ``prediction`` and ``label`` int16 [n], ``accepted`` n rows;
    ``originals``: all original labels, n rows, where images may have several.
    """

    rows: NDArray[np.int64]
    prediction: NDArray[np.int16]
    label: NDArray[np.int16]
    accepted: Ragged
    originals: Ragged | None = None

    def __len__(self) -> int:
        """Return the number of cases n."""
        return len(self.rows)

    def take(self, chosen: NDArray[np.integer]) -> Cases:
        """Return the chosen cases."""
        originals = None if self.originals is None else self.originals.take(chosen)
        return Cases(
            self.rows[chosen], self.prediction[chosen], self.label[chosen], self.accepted.take(chosen), originals
        )

    @cached_property
    def prediction_of_accepted(self) -> NDArray[np.int16]:
        """int16 [total]: beside every accepted label, the class that was predicted."""
        return self.prediction[self.accepted.owners]

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """int64 [n]: one number a case, by which evidence tables are searched."""
        return case_codes(self.rows, self.prediction)

    def find(self, rows: NDArray[np.integer], prediction: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return int64 [m]: the case of each (image row, class); all must be among these, which are in order."""
        return np.searchsorted(self.codes, case_codes(rows, prediction))


def distinct(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the codes (none negative) ascending and each once."""
    ordered = np.sort(codes)
    return ordered[np.flatnonzero(np.diff(ordered, prepend=-1))]


def row_codes(rows: NDArray[np.integer], classes: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return a number for every (row, class) pair, ordered by row, then class."""
    codes: NDArray[np.int64] = rows.astype(np.int64) << 16 | classes
    return codes


_CLASS_BITS = 15


def case_codes(rows: NDArray[np.integer], prediction: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return a number for every (image row, predicted class), ordered by row, then class."""
    return (rows.astype(np.int64) << _CLASS_BITS) + prediction


def split_codes(codes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the image rows and the predicted classes that ``case_codes`` made numbers of."""
    return codes >> _CLASS_BITS, codes & ((1 << _CLASS_BITS) - 1)


def cases_of(annotations: Annotations, rows: NDArray[np.int64], prediction: NDArray[np.int16]) -> Cases:
    """Return the cases (rows[i], prediction[i]) with what the annotations say of their images."""
    originals = None if annotations.label_sets is None else annotations.label_sets.take(rows)
    return Cases(rows, prediction, annotations.label[rows], annotations.accepted.take(rows), originals)


@dataclass(frozen=True, eq=False)
class Finding:
    """A stage's answer for n cases.

    ``explains`` bool [n]; ``evidence`` columns [n] that the explanation and ``why`` are written from;
    ``lacks_evidence`` bool [n] where the stage could not tell for want of evidence.
    """

    explains: NDArray[np.bool_]
    evidence: dict[str, Array] = field(default_factory=dict)
    lacks_evidence: NDArray[np.bool_] | None = None

    def take(self, chosen: NDArray[np.integer]) -> Finding:
        """Return the finding for the chosen cases."""
        lacks = None if self.lacks_evidence is None else self.lacks_evidence[chosen]
        return Finding(self.explains[chosen], {key: column[chosen] for key, column in self.evidence.items()}, lacks)


@dataclass(frozen=True, eq=False)
class Verdicts:
    """The chain's answer for n cases.

    ``error_type`` int8 [n] into ``chain.ERROR_TYPES``; one sentence a case; ``lacking``: stage name ->
    bool [n], the cases that reached the stage and that it could not judge for want of evidence. ``steps`` int16 [n]:
    how far failures are from the nearest accepted label in WordNet (-1: no failure, or not known), once graded.
    """

    error_type: NDArray[np.int8]
    explanation: pa.StringArray
    lacking: dict[str, NDArray[np.bool_]] = field(default_factory=dict)
    steps: NDArray[np.int16] | None = None
