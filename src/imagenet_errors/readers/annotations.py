"""Multi-label annotations: which labels are right for an image.

Four sources end in the same table: the ReaL labels that ship with the package (Beyer et al. 2020), or
``real.json`` itself, the expert multi-labels of Shankar et al. 2020 as corrected by Vasudevan et al. 2022
(the official JSON), and a table of the user's own."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from imagenet_errors.images import val_file_names, val_numbers
from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import InputError, counted
from imagenet_errors.readers.assemble import Columns
from imagenet_errors.readers.formats import recognised
from imagenet_errors.readers.opened import Opened, opened
from imagenet_errors.readers.tables import Column, Kind, conformed
from imagenet_errors.shipped import shipped
from imagenet_errors.tables import Annotations, Ragged

_SCHEMA = (
    Column("file_name", also=("filename", "image", "image_name", "file", "path", "name")),
    Column("labels", Kind.CLASSES, also=("accepted", "accepted_labels", "multi_labels", "real", "prediction")),
    Column("problematic", Kind.FLAG, needed=False, also=("is_problematic",)),
    Column("label", Kind.CLASS, needed=False, also=("original_label",)),
)
_ENOUGH_IMAGES = 20
_MOSTLY, _SELDOM = 0.5, 0.25
"""ReaL accepts the original label in 90 % of its images, experts in nearly all."""


class _ImageAnnotation(msgspec.Struct):
    correct: list[str] = []  # msgspec copies defaults
    unclear: list[str] = []


class _OfficialFile(msgspec.Struct):
    """The parts that count of human_accuracy_v3.0.0.json; all others are skipped while parsing.

    The file also annotates images of ImageNetV2; those are outside the validation set.
    """

    initial_annots: dict[str, _ImageAnnotation]
    problematic_images: dict[str, Any] = {}


@lru_cache(maxsize=1)
def read_real(labels: LabelSpace) -> Annotations:
    """Load the ReaL labels of the 50,000 validation images; images without any are not evaluated."""
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(shipped("data", "imagenet_val.parquet"))
    numbers = table["image"].to_numpy()
    return Annotations(
        name="real",
        file_names=val_file_names(numbers),
        label=table["label"].to_numpy().astype(np.int16),
        accepted=Ragged.from_arrow(table["real"].combine_chunks()).ascending(),
        problematic=np.zeros(len(numbers), dtype=np.bool_),
    )


@lru_cache(maxsize=1)
def val_labels() -> NDArray[np.int16]:
    """Return int16 [50000]: the original labels of the validation images, in the order of their names."""
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(shipped("data", "imagenet_val.parquet"), columns=["label"])
    label: NDArray[np.int16] = table["label"].to_numpy().astype(np.int16)
    label.flags.writeable = False
    return label


def read_annotations(path: Path, labels: LabelSpace) -> Annotations:
    """Read an annotations file; what it is, its content tells.

    The official JSON layout; ReaL's ``real.json``, a list of classes for each validation image in the order of their
    names; or a table in any format, with the columns ``file_name`` and ``labels`` (a list, or class indices or wnids
    in one cell) and perhaps ``problematic`` (yes or no) and ``label`` (the original class). Without ``label`` the
    original label comes from the shipped validation labels or from the wnid folder in the name; images for which
    neither tells are not of the data set: they are counted and left out.

    Raises
    ------
    InputError
        The file is none of these, names an unknown class or an image twice, counts its classes from 1, or tells no
        original label at all.
    """
    with opened(path) as file:
        found, content = recognised(file)
        if found.name == "JSON":
            special = _from_real_json(content, labels) or _from_official_json(content, labels)
            if special is not None:
                return special
        read = found.read(content, {})
    if not isinstance(read, Columns):
        raise InputError(path, f"{found.name} with an array, not annotations", fix="Give JSON, Parquet or CSV.")
    return _from_table(conformed(read, _SCHEMA, labels=labels), path, labels)


def annotations_table(annotations: Annotations) -> pa.Table:
    """Return the annotations in the layout of a user's own table: file_name, labels, problematic, label."""
    return pa.table(
        {
            "file_name": annotations.file_names,
            "labels": annotations.accepted.to_arrow(),
            "problematic": pa.array(annotations.problematic),
            "label": pa.array(annotations.label),
        }
    )


def _from_official_json(file: Opened, labels: LabelSpace) -> Annotations | None:
    """Parse in place: of the official file's 200 MB only the label lists are ever held. None for another layout."""
    path = file.path
    try:
        official = msgspec.json.decode(file.content, type=_OfficialFile)
    except (msgspec.MsgspecError, RecursionError) as problem:
        if b'"initial_annots"' not in file.head:
            return None
        raise InputError(
            path,
            f"not the layout of human_accuracy_v3.0.0.json: {problem}",
            fix="It needs initial_annots: image -> {correct, wrong, unclear} and problematic_images.",
        ) from None
    named = {**dict.fromkeys(official.problematic_images, _ImageAnnotation()), **official.initial_annots}
    names = sorted(named)
    wnids = [named[name].correct + named[name].unclear for name in names]
    accepted = Ragged.of(_indices(name, row, labels, path) for name, row in zip(names, wnids, strict=True))
    problematic = np.array([name in official.problematic_images for name in names], dtype=np.bool_)
    return _checked(path, pa.array(names, type=pa.string()), accepted, problematic, None, labels=labels)


def _indices(name: str, wnids: list[str], labels: LabelSpace, path: Path) -> list[int]:
    try:
        return sorted({labels.index_of_wnid[wnid] for wnid in wnids})
    except KeyError as error:
        raise InputError(
            path,
            f"{name}: {error} is none of the {len(labels)} classes",
            fix="Labels are written as wnids, such as n01440764.",
        ) from None


def _from_real_json(file: Opened, labels: LabelSpace) -> Annotations | None:
    """Read ReaL's own file: a list of classes for each image, in the order of their names. None for another layout."""
    try:
        lists = msgspec.json.decode(file.content, type=list[list[int]])
    except (msgspec.MsgspecError, RecursionError):
        return None
    n_images = len(val_labels())
    if len(lists) > n_images:
        raise InputError(file.path, f"{len(lists):,} lists for {n_images:,} images", fix="Fetch it again.")
    names = val_file_names(np.arange(1, len(lists) + 1))
    found = Columns(file.path, "JSON", ("file_name", "labels"), (names, pa.array(lists, type=pa.list_(pa.int64()))))
    return _from_table(conformed(found, _SCHEMA, labels=labels), file.path, labels)


def _from_table(table: pa.Table, path: Path, labels: LabelSpace) -> Annotations:
    names = table["file_name"].combine_chunks()
    order = pc.sort_indices(names)
    table, names = table.take(order), names.take(order)
    problematic = np.zeros(len(table), dtype=np.bool_)
    if "problematic" in table.column_names:
        problematic = table["problematic"].to_numpy()
    original = table["label"].to_numpy().astype(np.int64) if "label" in table.column_names else None
    accepted = Ragged.from_arrow(table["labels"].combine_chunks())
    return _checked(path, names, accepted, problematic, original, labels=labels)


def _checked(
    path: Path,
    names: pa.StringArray,
    accepted: Ragged,
    problematic: NDArray[np.bool_],
    original: NDArray[np.int64] | None,
    *,
    labels: LabelSpace,
) -> Annotations:
    notes: tuple[str, ...] = ()
    if original is None:
        original = _original_labels(path, names, labels)
        inside = np.flatnonzero(original >= 0)
        if len(inside) < len(original):
            outside = names.filter(pa.array(original < 0))
            notes = (_outside(outside, len(names)),)
            names, problematic = names.take(pa.array(inside)), problematic[inside]
            accepted, original = accepted.take(inside), original[inside]
    _refuse_doubles(path, names)
    annotations = Annotations(path.stem, names, original.astype(np.int16), accepted, problematic, notes=notes)
    return replace(annotations, notes=(*notes, *_compared_with_labels(annotations, path)))


def _outside(names: pa.StringArray, n_all: int) -> str:
    return (
        f"{counted(len(names), 'annotated name')} of {n_all:,} are no images of the data set and were left out "
        f"(first: {names[0]})"
    )


def _compared_with_labels(annotations: Annotations, path: Path) -> tuple[str, ...]:
    """Refuse accepted labels, or original ones, that count from 1; tell where the original one is seldom accepted."""
    accepted, label = annotations.accepted, annotations.label
    n_described = int((accepted.lengths > 0).sum())
    if n_described < _ENOUGH_IMAGES:
        return ()
    numbers = val_numbers(annotations.file_names)
    known = np.flatnonzero((numbers > 0) & (numbers <= len(val_labels())))
    ours, own = val_labels()[numbers[known] - 1].astype(np.int64), label[known].astype(np.int64)
    if len(known) >= _ENOUGH_IMAGES and np.mean(own - 1 == ours) > _MOSTLY:
        _refuse_from_1(path, "original labels are those of the validation images", (own == ours, own - 1 == ours))
    holds = [
        accepted.any_of(accepted.values - less == label[accepted.owners]) & (accepted.lengths > 0) for less in (0, 1)
    ]
    if holds[1].sum() > _MOSTLY * n_described and holds[0].sum() < _SELDOM * n_described:
        described = accepted.lengths > 0
        _refuse_from_1(path, "accepted labels hold the original label", (holds[0][described], holds[1][described]))
    if holds[0].sum() >= _MOSTLY * n_described:
        return ()
    return (f"the original label is accepted in {int(holds[0].sum()):,} of {n_described:,} annotated images only",)


def _refuse_from_1(path: Path, claim: str, right: tuple[NDArray[np.bool_], NDArray[np.bool_]]) -> None:
    as_written, less = (int(one.sum()) for one in right)
    raise InputError(
        path,
        f"classes count from 1: the {claim} in {as_written:,} of {len(right[0]):,} images as written, in {less:,} with "
        "every class -1",
        fix="Write class indices from 0 on (subtract 1), or wnids.",
    )


def _refuse_doubles(path: Path, names: pa.StringArray) -> None:
    """One row an image, also where its name is written in several ways."""
    numbers = val_numbers(names)
    keys = pa.array(numbers) if len(numbers) and numbers.all() else names
    counts = pc.value_counts(keys)
    double = counts.filter(pc.greater(counts.field("counts"), 1))
    if len(double):
        raise InputError(
            path,
            f"{counted(len(double), 'image')} annotated more than once",
            example=names[pc.index(keys, double[0]["values"]).as_py()],
            fix="Keep one row an image.",
        )


def _original_labels(path: Path, names: pa.StringArray, labels: LabelSpace) -> NDArray[np.int64]:
    """Return each image's original label: the shipped one for validation images, else the wnid folder."""
    numbers = val_numbers(names)
    known = (numbers > 0) & (numbers <= len(val_labels()))
    label = np.where(known, val_labels()[np.where(known, numbers - 1, 0)], -1).astype(np.int64)
    wnid = pc.struct_field(pc.extract_regex(names, r"(?P<wnid>n[0-9]{8})[/\\][^/\\]*$"), "wnid")
    by_folder = pc.index_in(wnid, value_set=pa.array(labels.wnids, type=pa.string()))
    by_folder = pc.fill_null(by_folder, -1).to_numpy(zero_copy_only=False)
    torn = np.flatnonzero(known & (by_folder >= 0) & (by_folder != label))
    if len(torn):
        raise InputError(
            path,
            f"{counted(len(torn), 'name')} of a validation image in the folder of another class",
            example=names[torn[0]],
            fix="Add a column label (class index) to say what the original labels are.",
        )
    label = np.where(known, label, by_folder)
    if len(label) and (label < 0).all():
        raise InputError(
            path,
            f"the original label of {counted(len(label), 'image')} is not known",
            example=names[0],
            fix="Add a column label (class index), or write names as wnid/name.",
        )
    return label
