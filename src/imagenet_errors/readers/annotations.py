"""Multi-label annotations: which labels are right for an image.

Three sources end in the same table: the ReaL labels that ship with the package (Beyer et al. 2020), the expert
multi-labels of Shankar et al. 2020 as corrected by Vasudevan et al. 2022 (the official JSON), and a table of the
user's own.
"""

from __future__ import annotations

import mmap
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
from imagenet_errors.shipped import shipped
from imagenet_errors.tables import Annotations, Ragged


class _ImageAnnotation(msgspec.Struct):
    correct: list[str] = []  # noqa: RUF012  (msgspec copies defaults)
    unclear: list[str] = []  # noqa: RUF012


class _OfficialFile(msgspec.Struct):
    """The parts that count of human_accuracy_v3.0.0.json; all others are skipped while parsing."""

    initial_annots: dict[str, _ImageAnnotation]
    problematic_images: dict[str, Any] = {}  # noqa: RUF012
    imagenet_m: list[str] = []  # noqa: RUF012


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


def read_annotations(path: Path, labels: LabelSpace) -> Annotations:
    """Read an annotations file: the official JSON layout, or a table (Parquet, CSV).

    A table has the columns ``file_name`` and ``labels`` (a list, or ints joined by spaces) and may have
    ``problematic`` (bool) and ``label`` (the original label). Without ``label`` the original label comes from the
    shipped validation labels or from the wnid folder in the name.

    Raises
    ------
    InputError
        The file is neither, names an unknown class or an image twice, or an original label cannot be found.
    """
    with path.open("rb") as file:
        start = file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")
    if not start:
        raise InputError(path, "the file is empty", fix="Fetch or write it again.")
    if start.startswith(b"{"):
        return _from_json(path, labels)
    if start.startswith(b"<"):
        raise InputError(path, f"a web page, not annotations: {start[:30]!r}", fix="Download the file again.")
    return _from_table(path, labels, is_parquet=start.startswith(b"PAR1"))


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


def _from_json(path: Path, labels: LabelSpace) -> Annotations:
    """Parse in place (memory-mapped): of the official file's 200 MB only the label lists are ever held."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        try:
            official = msgspec.json.decode(text, type=_OfficialFile)
        except msgspec.MsgspecError as error:
            raise InputError(
                path,
                f"not the layout of human_accuracy_v3.0.0.json: {error}",
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


def _from_table(path: Path, labels: LabelSpace, *, is_parquet: bool) -> Annotations:
    table = _read_table(path, is_parquet=is_parquet)
    missing = [name for name in ("file_name", "labels") if name not in table.column_names]
    if missing:
        raise InputError(
            path,
            f"no column {' or '.join(missing)}; it has {', '.join(table.column_names)}",
            fix="Annotations are a table of file_name and labels, or the official JSON.",
        )
    table = table.sort_by("file_name")
    try:
        accepted = _label_lists(table["labels"].combine_chunks())
        original = table["label"].cast(pa.int64()).to_numpy() if "label" in table.column_names else None
        problematic = (
            pc.fill_null(table["problematic"].cast(pa.bool_()), False).to_numpy()
            if "problematic" in table.column_names
            else np.zeros(len(table), dtype=np.bool_)
        )
    except pa.ArrowException as error:
        raise InputError(
            path, f"a cell cannot be read: {error}", fix='Write labels as class indices: "65 795".'
        ) from None
    names = table["file_name"].cast(pa.string()).combine_chunks()
    return _checked(path, names, accepted, problematic, original, labels=labels)


def _read_table(path: Path, *, is_parquet: bool) -> pa.Table:
    import pyarrow.csv
    import pyarrow.parquet

    try:
        if is_parquet:
            return pyarrow.parquet.read_table(path)
        as_text = pyarrow.csv.ConvertOptions(column_types={"file_name": pa.string(), "labels": pa.string()})
        return pyarrow.csv.read_csv(path, convert_options=as_text)
    except pa.ArrowException as error:
        raise InputError(
            path, f"cannot be read as a table: {error}", fix="Give Parquet, CSV or JSON."
        ) from None


def _label_lists(column: pa.Array) -> Ragged:
    """Return the labels of each row, ascending and once each; a missing list is an empty one."""
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        words = pc.split_pattern_regex(pc.fill_null(column.cast(pa.string()), ""), r"[^0-9]+")
        column = words
    lists = pc.fill_null(column, pa.scalar([], type=column.type))
    owners = pc.list_parent_indices(lists).to_numpy()
    values = pc.list_flatten(lists)
    if pa.types.is_string(values.type):
        spoken = pc.not_equal(values, "").to_numpy(zero_copy_only=False)
        values, owners = values.filter(pa.array(spoken)), owners[spoken]
    pairs = np.unique(owners.astype(np.int64) << 32 | values.cast(pa.int64()).to_numpy())
    lengths = np.bincount(pairs >> 32, minlength=len(lists))
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    return Ragged(offsets, (pairs & 0xFFFFFFFF).astype(np.int16))


def _checked(
    path: Path,
    names: pa.StringArray,
    accepted: Ragged,
    problematic: NDArray[np.bool_],
    original: NDArray[np.int64] | None,
    *,
    labels: LabelSpace,
) -> Annotations:
    counts = pc.value_counts(names)
    double = counts.filter(pc.greater(counts.field("counts"), 1))
    if len(double):
        raise InputError(
            path,
            f"{counted(len(double), 'image')} annotated more than once",
            example=double[0]["values"],
            fix="Keep one row an image.",
        )
    outside = np.flatnonzero((accepted.values < 0) | (accepted.values >= len(labels)))
    if len(outside):
        raise InputError(
            path,
            f"{counted(len(outside), 'label')} outside 0..{len(labels) - 1}",
            example=f"{accepted.values[outside[0]]} for {names[accepted.owners[outside[0]]]}",
            fix="Labels are class indices in the order of ascending wnids.",
        )
    label = original if original is not None else _original_labels(path, names, labels)
    return Annotations(path.stem, names, label.astype(np.int16), accepted, problematic)


def _original_labels(path: Path, names: pa.StringArray, labels: LabelSpace) -> NDArray[np.int64]:
    """Return the original label of each image: the shipped one for validation images, else the wnid folder."""
    numbers = val_numbers(names)
    known = (numbers > 0) & (numbers <= 50_000)
    label = np.where(known, read_real(labels).label[np.where(known, numbers - 1, 0)], -1).astype(np.int64)
    if not known.all():
        wnid = pc.struct_field(pc.extract_regex(names, r"(?P<wnid>n[0-9]{8})[/\\]"), "wnid")
        by_folder = pc.index_in(wnid, value_set=pa.array(labels.wnids, type=pa.string()))
        label = np.where(known, label, pc.fill_null(by_folder, -1).to_numpy(zero_copy_only=False))
    lacking = np.flatnonzero(label < 0)
    if len(lacking):
        raise InputError(
            path,
            f"the original label of {counted(len(lacking), 'image')} is not known",
            example=names[lacking[0]],
            fix="Add a column label (class index), or write names as wnid/name.",
        )
    return label
