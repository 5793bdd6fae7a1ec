"""Multi-label annotations: which labels are right for an image.

Four sources end in the same table: the ReaL labels that ship with the package (Beyer et al. 2020), or
``real.json`` itself, the expert multi-labels of Shankar et al. 2020 as corrected by Vasudevan et al. 2022
(the official JSON), and a table of the user's own."""

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

from imagenet_errors.images import N_VAL, val_file_names, val_numbers
from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import InputError, counted
from imagenet_errors.shipped import shipped
from imagenet_errors.tables import Annotations, Ragged

_BOM = b"\xef\xbb\xbf"
_TEXTS = ("file_name", "labels", "id", "proposed_labels", "unclear_multi_labels")
_NO_CLASS = np.iinfo(np.int16).max


class _ImageAnnotation(msgspec.Struct):
    correct: list[str] = []  # msgspec copies defaults
    unclear: list[str] = []


class _OfficialFile(msgspec.Struct):
    """The parts that count of human_accuracy_v3.0.0.json; all others are skipped while parsing."""

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
    """Read an annotations file: the official JSON layout, ReaL's ``real.json``, or a table (Parquet, CSV).

    A table has the columns ``file_name`` and ``labels`` (a list, or class indices or wnids joined by spaces)
    and may have ``problematic`` (bool) and ``label`` (the original class index). Without ``label`` the
    original label comes from the shipped validation labels or from the wnid folder in the name.

    Raises
    ------
    InputError
        The file is none of these, names an unknown class or an image twice, or an original label cannot be
        found.
    """
    with path.open("rb") as file:
        start = file.read(64).removeprefix(_BOM).lstrip()
    if not start:
        raise InputError(path, "the file is empty", fix="Fetch or write it again.")
    if start.startswith(b"{"):
        return _from_json(path, labels)
    if start.startswith(b"["):
        return _from_real_json(path, labels)
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
        official, problem = _decoded(text)
    if official is None:
        raise InputError(
            path,
            f"not the layout of human_accuracy_v3.0.0.json: {problem}",
            fix="It needs initial_annots: image -> {correct, wrong, unclear} and problematic_images.",
        )
    named = {**dict.fromkeys(official.problematic_images, _ImageAnnotation()), **official.initial_annots}
    names = sorted(named)
    wnids = [named[name].correct + named[name].unclear for name in names]
    accepted = Ragged.of(_indices(name, row, labels, path) for name, row in zip(names, wnids, strict=True))
    problematic = np.array([name in official.problematic_images for name in names], dtype=np.bool_)
    return _checked(path, pa.array(names, type=pa.string()), accepted, problematic, None, labels=labels)


def _decoded(text: mmap.mmap) -> tuple[_OfficialFile | None, str]:
    """Return what is in the file, or None and why not; subtle: no view of the map may outlive this call."""
    with memoryview(text) as whole, whole[len(_BOM) if text[: len(_BOM)] == _BOM else 0 :] as body:
        try:
            return msgspec.json.decode(body, type=_OfficialFile), ""
        except msgspec.MsgspecError as error:
            return None, str(error)


def _indices(name: str, wnids: list[str], labels: LabelSpace, path: Path) -> list[int]:
    try:
        return sorted({labels.index_of_wnid[wnid] for wnid in wnids})
    except KeyError as error:
        raise InputError(
            path,
            f"{name}: {error} is none of the {len(labels)} classes",
            fix="Labels are written as wnids, such as n01440764.",
        ) from None


def _from_real_json(path: Path, labels: LabelSpace) -> Annotations:
    """Read ReaL's own file: a list of classes for each validation image, in the order of their names."""
    try:
        lists = msgspec.json.decode(path.read_bytes().removeprefix(_BOM), type=list[list[int]])
    except msgspec.MsgspecError as error:
        raise InputError(
            path,
            f"not the layout of real.json: {error}",
            fix="It is a list of lists of class indices, one for each validation image, in order.",
        ) from None
    if len(lists) > N_VAL:
        raise InputError(path, f"{len(lists):,} lists for {N_VAL:,} images", fix="Fetch it again.")
    accepted = _label_lists(pa.array(lists, type=pa.list_(pa.int64())), labels)
    names = val_file_names(np.arange(1, len(lists) + 1))
    nothing = np.zeros(len(lists), dtype=np.bool_)
    return _checked(path, names, accepted, nothing, None, labels=labels)


def _from_table(path: Path, labels: LabelSpace, *, is_parquet: bool) -> Annotations:
    table = _corrections_as_annotations(_read_table(path, is_parquet=is_parquet))
    missing = [name for name in ("file_name", "labels") if name not in table.column_names]
    if missing:
        raise InputError(
            path,
            f"no column {' or '.join(missing)}; it has {', '.join(table.column_names)}",
            fix="Annotations are a table of file_name and labels, or the official JSON.",
        )
    names = _column(table, "file_name", pa.string(), path)
    order = pc.sort_indices(names)
    table, names = table.take(order), names.take(order)
    try:
        accepted = _label_lists(table["labels"].combine_chunks(), labels)
    except pa.ArrowException as error:
        raise InputError(
            path, f"a cell of labels cannot be read: {error}", fix='Write class indices or wnids: "65 795".'
        ) from None
    problematic = np.zeros(len(table), dtype=np.bool_)
    if "problematic" in table.column_names:
        problematic = _column(table, "problematic", pa.bool_(), path).to_numpy(zero_copy_only=False)
    original = None
    if "label" in table.column_names:
        original = _column(table, "label", pa.int64(), path).to_numpy()
    return _checked(path, names, accepted, problematic, original, labels=labels)


def _corrections_as_annotations(table: pa.Table) -> pa.Table:
    """Return a table of corrected labels in the layout of a user's own table; any other as it is.

    Source: Kisel et al., Flaws of ImageNet (ICLR 2025), github.com/klarajanouskova/ImageNet: ``id``,
        ``original_label``, ``proposed_labels`` and, in the expert multi-labels, ``unclear_multi_labels``
        (accepted too, as in the official file) and ``is_problematic``.
    """
    if not {"id", "original_label", "proposed_labels"} <= set(table.column_names):
        return table
    sure = pc.fill_null(table["proposed_labels"].cast(pa.string()), "")
    columns = {"file_name": table["id"], "labels": sure, "label": table["original_label"]}
    if "unclear_multi_labels" in table.column_names:
        unclear = pc.fill_null(table["unclear_multi_labels"].cast(pa.string()), "")
        columns["labels"] = pc.binary_join_element_wise(sure, unclear, " ")
    if "is_problematic" in table.column_names:
        columns["problematic"] = table["is_problematic"]
    return pa.table(columns)


def _column(table: pa.Table, name: str, kind: pa.DataType, path: Path) -> pa.Array:
    """Return a column as its type; an empty cell of ``problematic`` means no, any other is refused."""
    try:
        column = table[name].cast(kind).combine_chunks()
    except pa.ArrowException as error:
        raise InputError(path, f"column {name} is not {kind}: {error}", fix="Correct the table.") from None
    if name == "problematic":
        return pc.fill_null(column, False)
    if column.null_count:
        empty = column.is_null().index(True).as_py()
        what = f"{counted(column.null_count, 'empty cell')} in column {name}"
        raise InputError(path, what, example=f"row {empty + 1}", fix="Fill them, or drop those rows.")
    return column


def _read_table(path: Path, *, is_parquet: bool) -> pa.Table:
    import pyarrow.csv
    import pyarrow.parquet

    try:
        if is_parquet:
            return pyarrow.parquet.ParquetFile(path).read()
        as_text = pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(_TEXTS, pa.string()))
        return pyarrow.csv.read_csv(path, convert_options=as_text)
    except (pa.ArrowException, OSError) as error:
        raise InputError(path, f"cannot be read as a table: {error}", fix="Give Parquet, CSV or JSON.") from None


def _label_lists(column: pa.Array, labels: LabelSpace) -> Ragged:
    """Return the labels of each row, ascending and once each; a missing list is an empty one.

    Classes that are no class keep a value outside 0..C-1; text that is neither a number nor a wnid raises
    pyarrow's own error, which shows it.
    """
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        text = pc.fill_null(column.cast(pa.string()), "")
        column = pc.split_pattern_regex(pc.utf8_trim(text, " []()"), r"[\s,;|]+")
    owners, values = pc.list_parent_indices(column).to_numpy(), pc.list_flatten(column)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        spoken = pc.not_equal(values, "").to_numpy(zero_copy_only=False)
        values, owners = values.filter(pa.array(spoken)), owners[spoken]
        of_wnid = pc.index_in(values, value_set=pa.array(labels.wnids, type=pa.string()))
        values = pc.coalesce(pc.cast(of_wnid, pa.string()), values)
    classes = np.clip(values.cast(pa.int64()).to_numpy(), -1, _NO_CLASS)
    pairs = np.unique(owners.astype(np.int64) << 16 | (classes + 1))
    offsets = np.searchsorted(pairs, np.arange(len(column) + 1) << 16)
    return Ragged(offsets.astype(np.int64), ((pairs & 0xFFFF) - 1).astype(np.int16))


def _checked(
    path: Path,
    names: pa.StringArray,
    accepted: Ragged,
    problematic: NDArray[np.bool_],
    original: NDArray[np.int64] | None,
    *,
    labels: LabelSpace,
) -> Annotations:
    _refuse_doubles(path, names)
    outside = np.flatnonzero((accepted.values < 0) | (accepted.values >= len(labels)))
    if len(outside):
        raise InputError(
            path,
            f"{counted(len(outside), 'label')} outside 0..{len(labels) - 1}",
            example=f"in the row of {names[accepted.owners[outside[0]]]}",
            fix="Labels are class indices in the order of ascending wnids, or wnids.",
        )
    if original is None:
        original = _original_labels(path, names, labels)
    strange = np.flatnonzero((original < 0) | (original >= len(labels)))
    if len(strange):
        raise InputError(
            path,
            f"{counted(len(strange), 'original label')} outside 0..{len(labels) - 1}",
            example=f"{original[strange[0]]} for {names[strange[0]]}",
            fix="The column label holds class indices in the order of ascending wnids.",
        )
    return Annotations(path.stem, names, original.astype(np.int16), accepted, problematic)


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
    known = (numbers > 0) & (numbers <= N_VAL)
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
    lacking = np.flatnonzero(label < 0)
    if len(lacking):
        raise InputError(
            path,
            f"the original label of {counted(len(lacking), 'image')} is not known",
            example=names[lacking[0]],
            fix="Add a column label (class index), or write names as wnid/name.",
        )
    return label
