"""Which labels are right for an image: ReaL (Beyer et al. 2020), shipped; published label sets and one's own tables.

A file may state accepted labels, original ones, both, or names alone; files of one data set complete each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from imagenet_errors.images import ImageIndex, val_file_names, val_numbers
from imagenet_errors.label_sets import combined
from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import InputError, counted
from imagenet_errors.readers import read_raw
from imagenet_errors.readers.label_files import (
    MIN_PROBABILITY,
    LabelFile,
    in_name_order,
    joined_class_tables,
    read_label_file,
)
from imagenet_errors.readers.original_labels import NameRule, val_labels
from imagenet_errors.readers.raw import RawPredictions
from imagenet_errors.shipped import shipped
from imagenet_errors.tables import Annotations, Ragged

__all__ = [
    "LabelRules",
    "UnlabelledError",
    "annotations_table",
    "assembled",
    "labels_told_by",
    "labels_told_by_names",
    "labels_told_in_memory",
    "read_annotations",
    "read_real",
    "val_labels",
]

_LABEL_COLUMNS = ("label", "target", "true_label", "true", "y_true", "gt", "ground_truth", "truth", "actual")
_ENOUGH_TO_DOUBT = 20
_SHIFTED, _UNSHIFTED = 0.5, 0.02
"""A file whose accepted labels hold the original in fewer images than the second, but with every class one lower in
more than the first, counts its classes from 1."""


class UnlabelledError(InputError):
    """The files do not tell the original labels of all images, or name no image: another file must."""


@dataclass(frozen=True, eq=False)
class LabelRules:
    """How label files are understood.

    ``names`` tells labels from names; ``combine`` is one of COMBINATIONS; ``accepted_are_original``: in this data set
    all accepted labels of an image are its original ones, where nothing else tells them.
    """

    names: NameRule = field(default_factory=NameRule)
    min_probability: float = MIN_PROBABILITY
    combine: str = "union"
    accepted_are_original: bool = False


@lru_cache(maxsize=1)
def read_real(labels: LabelSpace) -> Annotations:
    """Load the ReaL labels of the validation images; images without any are not evaluated."""
    import pyarrow.parquet

    # Not read_table, which imports pyarrow.dataset: that takes longer than reading.
    table = pyarrow.parquet.ParquetFile(shipped("data", "imagenet_val.parquet")).read()
    numbers = table["image"].to_numpy()
    return Annotations(
        name="real",
        file_names=val_file_names(numbers),
        label=table["label"].to_numpy().astype(np.int16),
        accepted=Ragged.from_arrow(table["real"].combine_chunks()).ascending(),
        problematic=np.zeros(len(numbers), dtype=np.bool_),
    )


def read_annotations(path: Path, labels: LabelSpace, *, rules: LabelRules | None = None) -> Annotations:
    """Read one annotations file: the official JSON layout, another published one, or a table (Parquet, CSV).

    A table has the columns ``file_name`` and ``labels`` (a list, or class indices or wnids joined by spaces)
    and may have ``problematic`` (bool) and ``label`` (the original class, or several). Without ``label`` the
    original label comes from the image's name, as ``rules`` tell; without ``labels`` the original label is accepted.

    Raises
    ------
    InputError
        The file is of no known layout, names an unknown class or an image twice, or an original label cannot be
        found (``UnlabelledError``).
    """
    rules = rules or LabelRules()
    return assembled([read_label_file(path, labels, min_probability=rules.min_probability)], labels, rules=rules)


def annotations_table(annotations: Annotations) -> pa.Table:
    """Return the annotations in the layout of a user's own table: file_name, labels, problematic, label."""
    sets = annotations.label_sets
    return pa.table(
        {
            "file_name": annotations.file_names,
            "labels": annotations.accepted.to_arrow(),
            "problematic": pa.array(annotations.problematic),
            "label": pa.array(annotations.label) if sets is None else sets.to_arrow(),
        }
    )


def assembled(
    files: Sequence[LabelFile],
    labels: LabelSpace,
    *,
    rules: LabelRules,
    labels_from: LabelFile | None = None,
) -> Annotations:
    """Make annotations of files that may complete each other.

    Files that state accepted labels are label sets, joined as the rules say. Files that state original labels alone
    tell them for the others, and images that only they name accept these. Files about classes explain folders.
    ``labels_from``: tells original labels, and the images where no other file names any.

    Raises
    ------
    InputError
        Files contradict each other or themselves; ``UnlabelledError``: original labels or images are lacking.
    """
    tables = [file for file in files if file.is_of_classes]
    rule = replace(rules.names, classes_of_folder={**rules.names.classes_of_folder, **joined_class_tables(tables)})
    of_images = [file for file in files if not file.is_of_classes]
    if not of_images and labels_from is None:
        where = tables[0].path if tables else "--annotations"
        raise UnlabelledError(where, "names no image", fix="Pass a table of file_name and label too.")
    of_images = of_images or [file for file in (labels_from,) if file is not None]
    if rules.accepted_are_original:
        of_images = [_with_accepted_as_original(file) for file in of_images]
    stated = [file for file in of_images if file.accepted is not None]
    bare = [file for file in of_images if file.accepted is None]
    others = [*bare, *([labels_from] if labels_from is not None else [])]
    sets = [_annotations(file, others, labels, rule) for file in stated or bare]
    whole = sets[0] if len(sets) == 1 else combined(sets, rules.combine)
    for file in bare if stated else ():
        whole = _with_images_of(whole, _annotations(file, others, labels, rule))
    if labels_from is not None:
        whole = _in_order_of(whole, labels_from.names)
    notes = dict.fromkeys(note for each in sets for note in each.notes)
    return replace(whole, notes=tuple(notes), states_accepted=bool(stated))


def _with_accepted_as_original(file: LabelFile) -> LabelFile:
    has_labels = file.original is not None or file.accepted is None or not file.accepted.lengths.all()
    return file if has_labels else replace(file, original=file.accepted)


def labels_told_by(path: Path, labels: LabelSpace) -> LabelFile:
    """Return what a predictions file (or a list of images) tells of original labels: names, and perhaps a column.

    A column ``label`` counts beside whole-number columns of models that are not always the same; else it may be the
    prediction.

    Raises
    ------
    UnlabelledError
        It has no image names.
    """
    with path.open("rb") as file:
        start = file.read(4096)
    if b'"image_filenames"' in start:
        return read_label_file(path, labels)
    try:
        raw = read_raw(path)
    except InputError as error:
        raise UnlabelledError(error.where, error.what, example=error.example, fix=error.fix) from None
    label = _stated_label(raw)
    if label is None and raw.index is not None and not raw.candidates:
        label = next(_columns_beside(path, raw.index), None)
    return _told(path, raw, label)


def _columns_beside(path: Path, predicted: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield the columns called as labels are, but for one that holds the predictions."""
    for header in _LABEL_COLUMNS:
        with suppress(InputError):
            beside = read_raw(path, columns={"index": header}).index
            if beside is not None and not np.array_equal(beside, predicted):
                yield beside


def labels_told_in_memory(model: str, raw: RawPredictions) -> LabelFile:
    """Return what predictions in memory tell of original labels, as :func:`labels_told_by` does of a file.

    Raises
    ------
    UnlabelledError
        They have no image names.
    """
    return _told(Path(model), raw, _stated_label(raw))


def labels_told_by_names(names: Sequence[str]) -> LabelFile:
    """Return a list of images, whose names may tell their labels."""
    return LabelFile(Path("images"), pa.array(list(map(str, names)), type=pa.string()))


def _told(path: Path, raw: RawPredictions, label: NDArray[np.int64] | None) -> LabelFile:
    if raw.names is None:
        raise UnlabelledError(path, "has no image names", fix="Pass --annotations with a table of file_name and label.")
    if label is None:
        return LabelFile(path, raw.names)
    rows = np.flatnonzero(label >= 0)
    return LabelFile(path, raw.names, None, Ragged.of_pairs(rows, label[rows], raw.n_rows))


def _stated_label(raw: RawPredictions) -> NDArray[np.int64] | None:
    """Return int64 [n]: the labels in a column of their own beside columns of models; None without one."""
    label = next((one.index for one in raw.candidates if one.header in _LABEL_COLUMNS), None)
    models = [one.index for one in raw.candidates if one.header not in _LABEL_COLUMNS and one.index is not None]
    if label is None or not models or any(np.array_equal(label, one) for one in models):
        return None
    return label


def _annotations(file: LabelFile, others: Sequence[LabelFile], labels: LabelSpace, rule: NameRule) -> Annotations:
    """Make annotations of one file, with the original labels that itself, other files or the names tell."""
    file, place = in_name_order(file)
    _refuse_doubles(file)
    original = _originals(file, [other for other in others if other.path != file.path], labels, rule)
    _refuse_outside(original, labels, file, "original label")
    accepted = original if file.accepted is None else file.accepted
    _refuse_outside(accepted, labels, file, "label")
    first = original.values[original.offsets[:-1]]
    _refuse_counted_from_1(accepted, first, file)
    n = len(file.names)
    return Annotations(
        name=file.path.stem,
        file_names=file.names,
        label=first.astype(np.int16),
        accepted=accepted,
        problematic=np.zeros(n, dtype=np.bool_) if file.problematic is None else file.problematic,
        label_sets=original if (original.lengths > 1).any() else None,
        file_order=None if np.array_equal(place, np.arange(n)) else place,
        notes=file.notes,
    )


def _originals(file: LabelFile, others: Sequence[LabelFile], labels: LabelSpace, rule: NameRule) -> Ragged:
    """Return every image's original labels, or refuse with the first image that has none."""
    found = file.original if file.original is not None else rule.labels(file.names, labels, where=file.path)
    for other in others:
        if found.lengths.all():
            return found
        told = other.original if other.original is not None else rule.labels(other.names, labels, where=other.path)
        rows = ImageIndex(other.names).rows(file.names, where=file.path)
        takes = np.flatnonzero((found.lengths == 0) & (rows >= 0))
        more = told.take(rows[takes])
        owners = np.concatenate([found.owners, takes[more.owners]])
        found = Ragged.of_pairs(owners, np.concatenate([found.values, more.values]), len(file.names))
    lacking = np.flatnonzero(found.lengths == 0)
    if len(lacking):
        raise UnlabelledError(
            file.path,
            f"the original label of {counted(len(lacking), 'image')} is not known",
            example=file.names[int(lacking[0])],
            fix="Add a column label (class index), write names as wnid/name, or pass a second --annotations file that "
            "tells it.",
        )
    return found


def _with_images_of(whole: Annotations, other: Annotations) -> Annotations:
    """Add the images that only the other names."""
    is_new = np.flatnonzero(ImageIndex(whole.file_names).rows(other.file_names, where=other.name) < 0)
    if not len(is_new):
        return _in_order_of(whole, _as_in_file(other))
    names = pa.concat_arrays([whole.file_names, other.file_names.take(pa.array(is_new))])
    order = pc.sort_indices(names).to_numpy()
    sets = None
    if whole.label_sets is not None or other.label_sets is not None:
        sets = _stacked(whole.originals, other.originals.take(is_new)).take(order)
    joined = replace(
        whole,
        file_names=names.take(pa.array(order)),
        label=np.concatenate([whole.label, other.label[is_new]])[order],
        accepted=_stacked(whole.accepted, other.accepted.take(is_new)).take(order),
        problematic=np.concatenate([whole.problematic, other.problematic[is_new]])[order],
        label_sets=sets,
        file_order=None,
    )
    return _in_order_of(joined, _as_in_file(other))


def _as_in_file(annotations: Annotations) -> pa.StringArray:
    """Return the names in the order of their file."""
    names, order = annotations.file_names, annotations.file_order
    return names if order is None else names.take(pa.array(order))


def _in_order_of(whole: Annotations, names: pa.StringArray) -> Annotations:
    """Return the annotations with the order of a list that names all their images, if it does."""
    if len(names) != len(whole):
        return whole
    rows = ImageIndex(whole.file_names).rows(names, where=whole.name)
    return replace(whole, file_order=rows) if (rows >= 0).all() else whole


def _stacked(above: Ragged, below: Ragged) -> Ragged:
    return Ragged(
        np.concatenate([above.offsets, above.offsets[-1] + below.offsets[1:]]),
        np.concatenate([above.values, below.values]),
    )


def _refuse_outside(classes: Ragged, labels: LabelSpace, file: LabelFile, noun: str) -> None:
    outside = np.flatnonzero((classes.values < 0) | (classes.values >= len(labels)))
    if len(outside):
        name = file.names[int(classes.owners[outside[0]])]
        raise InputError(
            file.path,
            f"{counted(len(outside), noun)} outside 0..{len(labels) - 1}",
            example=f"{classes.values[outside[0]]} in the row of {name}",
            fix=f"Labels are {labels.ways_to_write}.",
        )


def _refuse_counted_from_1(accepted: Ragged, label: NDArray[np.integer], file: LabelFile) -> None:
    """Refuse label sets that fit the original labels only with every class one lower."""
    n_labelled = int((accepted.lengths > 0).sum())
    if n_labelled < _ENOUGH_TO_DOUBT:
        return
    beside = label[accepted.owners]
    n_fit, n_shifted = (int(accepted.any_of(accepted.values - shift == beside).sum()) for shift in (0, 1))
    if n_fit <= _UNSHIFTED * n_labelled and n_shifted > _SHIFTED * n_labelled:
        raise InputError(
            file.path,
            f"the accepted labels hold the original one in {n_fit:,} of {n_labelled:,} images, and in {n_shifted:,} "
            "with every class -1",
            fix="Count classes from 0.",
        )


def _refuse_doubles(file: LabelFile) -> None:
    """One row an image, also where its name is written in several ways."""
    numbers = val_numbers(file.names)
    keys = pa.array(numbers) if len(numbers) and numbers.all() else file.names
    counts = pc.value_counts(keys)
    double = counts.filter(pc.greater(counts.field("counts"), 1))
    if len(double):
        raise InputError(
            file.path,
            f"{counted(len(double), 'image')} annotated more than once",
            example=file.names[pc.index(keys, double[0]["values"]).as_py()],
            fix="Write one row an image, with all of its labels in it: 65 66.",
        )
