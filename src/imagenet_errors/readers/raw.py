"""What a predictions file says, before its rows are matched to images and its classes to the label space."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.readers.array_files import ArrayFile


class ScoreSource(Protocol):
    """A value for every class in every row, handed out in blocks so that nobody holds them all."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows n and outputs C."""
        ...

    @property
    def where(self) -> str:
        """The file (and member) it lies in, for messages."""
        ...

    def chunks(self) -> Iterator[NDArray[np.floating[Any]]]:
        """Yield float [m, C] blocks of consecutive rows, n rows in all; do not write to them.

        What is needed of a block after the next must be copied: they may share their memory.
        """
        ...


@dataclass(frozen=True, eq=False)
class Candidate:
    """A column that may state the prediction: ``index`` int64 [n] and ``text`` [n] as of RawPredictions.

    ``is_named``: its header says that it is a class (``label``), if not whose; others may be models of that name.
    """

    header: str
    index: NDArray[np.int64] | None
    text: pa.StringArray | None
    is_named: bool


@dataclass(frozen=True, eq=False)
class RawPredictions:
    """One top-1 prediction a row, as written; nothing is guessed and no row is dropped.

    At least one of ``index``, ``text``, ``scores`` and ``candidates`` is given. Where ``scores`` is, call
    :func:`imagenet_errors.readers.scores.reduce_scores` once it is known which outputs count.
    """

    format: str
    """The format in a few words, for people: ``"timm CSV, top-5"``."""
    n_rows: int
    names: pa.StringArray | None = None
    """[n] image names as written; None when the file holds rows without names."""
    index: NDArray[np.int64] | None = None
    """[n] position of the predicted class on the file's class axis; -1 in a row without one."""
    text: pa.StringArray | None = None
    """[n] the predicted label as text: wnid, name, description; null in a row without one."""
    confidence: NDArray[np.float32] | None = None
    """[n] probability of the prediction in 0..1; NaN where the row gives none."""
    ranks: NDArray[np.int64] | None = None
    """[n, k] classes that were taken as ranked, best first, though nothing in the file says so; -1 for none."""
    n_outputs: int | None = None
    """Length of the class axis, where the file holds a value for every class."""
    invalid: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    """Reason -> rows [m] whose prediction cannot be used, such as ``"an output is NaN"``."""
    n_ties: int = 0
    """Rows whose largest value is shared by several classes (the lowest index was taken)."""
    notes: tuple[str, ...] = ()
    """What the reader decided by itself, one sentence each, to be shown."""
    scores: ScoreSource | None = None
    """The values for every class, not yet reduced; ``index`` then is what the file states, if it does."""
    candidates: tuple[Candidate, ...] = ()
    """Who may state the class, where several columns may; ``index`` and ``text`` are None then."""
    sha256: str = ""
    """Of the bytes that were read; empty as long as they are still ``unread``."""
    unread: ArrayFile | None = None
    """The file of ``scores``, where it is read and hashed only as they are gone through."""
    stored_as: str = ""
    """The type that the classes are stored in, where it cannot hold all of them: ``"uint8"``."""
    axis_labels: tuple[str, ...] | None = None
    """[C] labels of the class axis, where the file's own headers give them (wnids)."""
