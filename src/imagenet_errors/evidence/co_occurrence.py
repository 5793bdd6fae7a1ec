"""Pairs of classes that appear together in images often enough for one to suggest the other.

Source: Peychev et al., NeurIPS 2023 (spurious correlations); Beyer et al. 2020 (ReaL labels).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.evidence.source import Loaded, Source, Subject
from imagenet_errors.images import ImageIndex
from imagenet_errors.labels import LabelSpace
from imagenet_errors.prepared import content, prepared, stamp
from imagenet_errors.problems import InputError, counted
from imagenet_errors.readers.annotations import read_real
from imagenet_errors.readers.tables import Column, Kind, read_table
from imagenet_errors.shipped import shipped
from imagenet_errors.tables import Annotations, Cases, Ragged, row_codes

MIN_IMAGES = 2
"""A pair counts from this many images on (Peychev et al., NeurIPS 2023)."""
_LEAST_OTHERS = 0.1
"""The share of ReaL's images with several labels that must lie outside the annotations for pairs to be learnt there
alone: the others hold no pair."""
_SCHEMA = (
    Column("a", Kind.CLASS, also=("class_a", "first")),
    Column("b", Kind.CLASS, also=("class_b", "second")),
    Column("n_images", Kind.WHOLE, needed=False),
)
_ENOUGH_PAIRS = 20


@dataclass(frozen=True, eq=False)
class CoOccurrence:
    """Which pairs of classes count, and how often they are seen together.

    ``pairs`` bool [C, C] symmetric; ``n_images`` int32 [C, C]: images that show both (0: not known); ``own``: the
    classes that each annotated image itself added to the counts, where it is among the images counted; else None.
    """

    pairs: NDArray[np.bool_]
    n_images: NDArray[np.int32]
    source: str
    own: Ragged | None = None
    n_least: int = MIN_IMAGES

    def at_least(self, n_least: int) -> CoOccurrence:
        """Return the pairs seen together in at least so many images, kin among them."""
        return replace(self, pairs=self.n_images >= n_least, n_least=n_least)

    def without(self, shares: NDArray[np.bool_]) -> CoOccurrence:
        """Drop the pairs that share a superclass: confusing kin is no spurious correlation."""
        return replace(self, pairs=self.pairs & ~shares)

    def support(self, cases: Cases) -> tuple[NDArray[np.bool_], NDArray[np.int32]]:
        """Return for each accepted label of each case whether it makes a pair with the prediction, and from how
        many *other* images: bool and int32 [total accepted labels].
        """
        pair = (cases.prediction_of_accepted, cases.accepted.values)
        counts, n_images = self.pairs[pair], self.n_images[pair]
        if self.own is None:
            return counts, n_images
        own = self.own.take(cases.rows)
        held = row_codes(own.owners, own.values)
        owners = cases.accepted.owners
        is_own = np.isin(row_codes(owners, pair[0]), held) & np.isin(row_codes(owners, pair[1]), held)
        n_images = np.maximum(n_images - is_own.astype(np.int32), 0)
        return counts & (n_images >= self.n_least), n_images


def count_together(accepted: Ragged, n_classes: int) -> NDArray[np.int32]:
    """Return int32 [C, C]: in how many of the images (rows) both classes are accepted; diagonal 0.

    Every row must hold each class at most once.
    """
    together = np.zeros((n_classes, n_classes), dtype=np.int32)
    values, owners = accepted.values, accepted.owners
    for distance in range(1, int(accepted.lengths.max(initial=0))):
        same_image = owners[distance:] == owners[:-distance]
        first, second = values[:-distance][same_image], values[distance:][same_image]
        np.add.at(together, (first, second), 1)
    return together + together.T


def co_occurrence(accepted: Ragged, n_classes: int, *, source: str, own: Ragged | None = None) -> CoOccurrence:
    """Find the pairs seen together in at least ``MIN_IMAGES`` of the images (rows of ``accepted``)."""
    n_images = count_together(accepted, n_classes)
    return CoOccurrence(n_images >= MIN_IMAGES, n_images, source, own)


def with_labels(annotations: Annotations) -> Ragged:
    """Return each image's accepted labels plus the original one, each once; none where nothing is accepted."""
    accepted, original = annotations.accepted, annotations.originals
    owners = np.concatenate([accepted.owners, original.owners])
    described = (accepted.lengths > 0)[owners]
    values = np.concatenate([accepted.values, original.values])
    return Ragged.of_pairs(owners[described], values[described], len(accepted))


def learnt(annotations: Annotations, labels: LabelSpace) -> CoOccurrence:
    """Learn the pairs from ReaL labels of images outside the annotations, problematic ones counting as named.

    Where the annotations name nearly all ReaL images, all of those are counted, and where ReaL does not describe
    these classes, the annotations themselves are; an image never supports its own error then.

    Source: Peychev et al., NeurIPS 2023 (co-occurrence is learnt outside the evaluated images); Beyer et al. 2020.
    Differs: the published program knows the case of the expert labels alone.
    """
    if not labels.is_imagenet:
        sets = with_labels(annotations)
        return co_occurrence(
            sets, len(labels), source=_told(sets, "annotated images, an image never supporting its own error"), own=sets
        )
    code = stamp([Path(__file__), shipped("data", "imagenet_val.parquet")])
    kept = prepared(
        ["co-occurrence", code, content(annotations.file_names)], lambda: _as_table(_of_real(annotations, labels))
    )
    return _from_table(kept, len(labels))


def _of_real(annotations: Annotations, labels: LabelSpace) -> CoOccurrence:
    """Learn the pairs from ReaL labels; what comes of it depends on the annotated images' names alone."""
    real = read_real(labels)
    sets = with_labels(real)
    rows = ImageIndex(real.file_names).rows(annotations.file_names, where=annotations.name)
    is_other = np.ones(len(real), dtype=np.bool_)
    is_other[rows[rows >= 0]] = False
    others = sets.take(np.flatnonzero(is_other))
    if (others.lengths > 1).sum() >= _LEAST_OTHERS * (sets.lengths > 1).sum():
        return co_occurrence(others, len(labels), source=_told(others, "ReaL images outside the annotations"))
    own = Ragged.of([()]).take(np.zeros(0, dtype=np.int64)) if not len(rows) else _own(sets, rows)
    source = _told(sets, "ReaL images, an image never supporting its own error")
    return co_occurrence(sets, len(labels), source=source, own=own)


def _as_table(learnt: CoOccurrence) -> pa.Table:
    """Return counts [C, C] and own classes as one row of lists."""
    first, second = np.nonzero(np.triu(learnt.n_images))
    parts: dict[str, NDArray[np.integer]]
    parts = {"a": first.astype(np.int16), "b": second.astype(np.int16), "n_images": learnt.n_images[first, second]}
    if learnt.own is not None:
        parts.update(own_offsets=learnt.own.offsets, own_values=learnt.own.values)
    lists = {name: _one_row(values) for name, values in parts.items()}
    return pa.table({"source": [learnt.source], **lists})


def _one_row(values: NDArray[np.integer]) -> pa.ListArray:
    return pa.array([values], type=pa.list_(pa.from_numpy_dtype(values.dtype)))


def _from_table(table: pa.Table, n_classes: int) -> CoOccurrence:
    lists = {name: table[name].chunk(0).values.to_numpy() for name in table.column_names if name != "source"}
    n_images = np.zeros((n_classes, n_classes), dtype=np.int32)
    n_images[lists["a"], lists["b"]] = n_images[lists["b"], lists["a"]] = lists["n_images"]
    own = Ragged(lists["own_offsets"], lists["own_values"]) if "own_values" in lists else None
    return CoOccurrence(n_images >= MIN_IMAGES, n_images, table["source"][0].as_py(), own)


def _own(sets: Ragged, rows: NDArray[np.int64]) -> Ragged:
    """Return the sets of the given rows; an empty one for row -1."""
    inside = np.flatnonzero(rows >= 0)
    taken = sets.take(rows[inside])
    return Ragged.of_pairs(inside[taken.owners], taken.values, len(rows))


def _told(sets: Ragged, what: str) -> str:
    return f"{int((sets.lengths > 0).sum()):,} {what}"


def read_co_occurrence(path: Path, labels: LabelSpace) -> CoOccurrence:
    """Read a table of class pairs: columns ``a,b`` (indices, wnids or names) and, optionally, ``n_images``.

    Raises
    ------
    InputError
        A column or cell is missing, a class is not one of the label space, or classes count from 1.
    """
    table = read_table(path, _SCHEMA, labels=labels)
    first, second = (table[name].to_numpy() for name in ("a", "b"))
    _refuse_from_1(path, first, second, labels)
    shape = (len(labels), len(labels))
    pairs, n_images = np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.int32)
    pairs[first, second] = pairs[second, first] = True
    if "n_images" in table.column_names:
        n_images[first, second] = n_images[second, first] = np.nan_to_num(table["n_images"].to_numpy())
    return CoOccurrence(pairs, n_images, str(path))


def _refuse_from_1(path: Path, first: NDArray[np.int16], second: NDArray[np.int16], labels: LabelSpace) -> None:
    """Refuse pairs that ReaL images seldom show as written and mostly with every class -1."""
    if len(first) < _ENOUGH_PAIRS or not labels.is_imagenet:
        return
    seen = count_together(with_labels(read_real(labels)), len(labels)) > 0
    as_written, less = (int(seen[first - by, second - by].sum()) for by in (0, 1))
    if less > len(first) / 2 and less > 2 * as_written:
        raise InputError(
            path,
            f"classes count from 1: of {len(first):,} pairs ReaL images show {as_written:,} as written, {less:,} with "
            "every class -1",
            fix="Write class indices from 0 on (subtract 1), or wnids.",
        )


def _load(paths: tuple[Path, ...], subject: Subject) -> Loaded:
    made = read_co_occurrence(paths[0], subject.labels) if paths else learnt(subject.annotations, subject.labels)
    superclasses = subject.parts.get("superclasses")
    pairs = made if superclasses is None else made.without(superclasses.shares)
    n_pairs = int(np.triu(pairs.pairs, 1).sum())
    if not n_pairs:
        seen = f"seen together in at least {MIN_IMAGES} of the {pairs.source}"
        reason = f"no two classes without a common superclass are {f'listed in {pairs.source}' if paths else seen}"
        return Loaded(None, reason=f"{reason}: pass --co-occurrence FILE")
    return Loaded(pairs, (f"{counted(n_pairs, 'pair')} of classes from {pairs.source}",))


SOURCE = Source(
    "co_occurrence",
    _load,
    option="co_occurrence",
    help="CSV of class pairs a,b instead of those computed from ReaL labels.",
)
