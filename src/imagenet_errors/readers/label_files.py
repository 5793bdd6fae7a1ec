"""What one file says of labels: the published layouts of label sets, each known by its content, and one's own tables.

Source of the layouts: Vasudevan et al. 2022 (human_accuracy_v3.0.0.json); Beyer et al. 2020 (real.json, scores.npz,
    raters.npz); Kisel et al., Flaws of ImageNet, ICLR 2025 (the CSVs); Anzaku et al., Multilabelfy; Recht et al. 2019
    (the lists of ImageNet-V2); Taesiri et al. 2023 (ImageNet-Hard); Borji 2021 (ObjectNetReanalysis); Northcutt et al.
    2021 (MTurk answers).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from imagenet_errors.files import sha256_of
from imagenet_errors.images import n_val, val_file_names, val_numbers
from imagenet_errors.labels import LabelSpace
from imagenet_errors.prepared import prepared, stamp
from imagenet_errors.problems import InputError, counted
from imagenet_errors.readers.class_lists import class_list_names, is_class_list
from imagenet_errors.readers.coco import coco_columns, is_coco
from imagenet_errors.readers.contents import looks_like_image
from imagenet_errors.readers.formats import columns_of
from imagenet_errors.readers.label_tables import read_labels
from imagenet_errors.readers.label_text import label_texts
from imagenet_errors.readers.opened import ARRAY_START, Opened, changed, opened, refusing_damage
from imagenet_errors.readers.original_labels import val_labels
from imagenet_errors.tables import Ragged

BOM = b"\xef\xbb\xbf"
MIN_PROBABILITY = 0.5
"""From which probability or share of answers on a label is accepted: it is rather right than wrong."""
_WORTH_PREPARING = 1 << 18
"""Bytes from which on a file's table is kept."""
_OFFICIAL = re.compile(rb'"initial_annots"')
_CORRECTION = ("new_label", "old_label")
_LAYOUTS = (
    "It needs initial_annots: image -> {correct, wrong, unclear} and problematic_images; or image -> labels; or class "
    "-> names of classes."
)

_LISTS = re.compile(rb"\[\s*\[")
_JSON_LINES = re.compile(rb"\}\s*\n\s*\{")
"""A row a line: a table, not one object."""
T = TypeVar("T")


class _ImageAnnotation(msgspec.Struct):
    correct: list[str] = []  # msgspec copies defaults
    unclear: list[str] = []


class _OfficialFile(msgspec.Struct):
    """The parts that count of human_accuracy_v3.0.0.json; all others are skipped while parsing."""

    initial_annots: dict[str, _ImageAnnotation]
    problematic_images: dict[str, Any] = {}


class _Told(msgspec.Struct):
    """What a file says beside its rows."""

    notes: tuple[str, ...]
    classes_of: dict[str, tuple[int, ...] | str]


@dataclass(frozen=True, eq=False)
class LabelFile:
    """What one file says of n images, rows as in the file.

    ``accepted`` and ``original`` have n rows each, or are None where the file does not speak of them; classes that are
    no class keep a value outside 0..C-1. ``classes_of``: class or folder in lower case -> classes, or the texts that
    another file explains, of a file that is about classes and names no image.
    """

    path: Path
    names: pa.StringArray
    accepted: Ragged | None = None
    original: Ragged | None = None
    problematic: NDArray[np.bool_] | None = None
    classes_of: Mapping[str, tuple[int, ...] | str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def is_of_classes(self) -> bool:
        """Whether the file tells what classes or folders are called, and nothing of images."""
        return bool(self.classes_of)


def read_label_file(path: Path, labels: LabelSpace, *, min_probability: float = MIN_PROBABILITY) -> LabelFile:
    """Read one file of labels, whatever its layout; of one that was read before, its prepared table.

    Raises
    ------
    InputError
        The file is empty, damaged or of no known layout, names a class that is none, or changed while it was read.
    """
    if path.stat().st_size < _WORTH_PREPARING:
        return _parsed(path, labels, min_probability)
    sha256 = sha256_of(path)

    def make() -> pa.Table:
        table = _as_table(_parsed(path, labels, min_probability))
        if sha256_of(path) != sha256:
            raise changed(path)
        return table

    code = stamp(Path(__file__).parent.glob("*.py"))
    classes = "\n".join((*labels.wnids, *labels.names, *labels.descriptions))
    return _from_table(prepared([sha256, path.suffix, classes, str(min_probability), code], make), path)


def _as_table(file: LabelFile) -> pa.Table:
    """Return all that a file says; a file about classes is a table without images."""
    columns = {"file_name": file.names}
    for name, lists in (("labels", file.accepted), ("label", file.original)):
        if lists is not None:
            columns[name] = lists.to_arrow()
    if file.problematic is not None:
        columns["problematic"] = pa.array(file.problematic)
    told = {"notes": file.notes, "classes_of": file.classes_of}
    return pa.table(columns).replace_schema_metadata({"told": msgspec.json.encode(told)})


def _from_table(table: pa.Table, path: Path) -> LabelFile:
    told = msgspec.json.decode((table.schema.metadata or {})[b"told"], type=_Told)
    columns = {name: table[name].combine_chunks() for name in table.column_names}
    accepted, original = (Ragged.from_arrow(columns[name]) if name in columns else None for name in ("labels", "label"))
    problematic = columns["problematic"].to_numpy(zero_copy_only=False) if "problematic" in columns else None
    return LabelFile(path, columns["file_name"], accepted, original, problematic, told.classes_of, told.notes)


def _parsed(path: Path, labels: LabelSpace, min_probability: float) -> LabelFile:
    with opened(path) as file:
        start = file.head[:256].removeprefix(BOM).lstrip()
        if start.startswith(b"{") and not _JSON_LINES.search(file.head):
            return _from_object(file, labels)
        if _LISTS.match(start):
            return _from_lists(file, labels)
        if start.startswith((b"PK", ARRAY_START)):
            return _from_arrays(file, min_probability)
        if is_class_list(start):
            return LabelFile(path, class_list_names(file.text, path))
        told = read_labels(columns_of(file), labels, min_probability=min_probability)
        return LabelFile(path, told.names, told.accepted, told.original, told.problematic, notes=told.notes)


def _from_object(file: Opened, labels: LabelSpace) -> LabelFile:
    """Parse in place: beside the official file's 200 MB only its label lists are held."""
    path, body = file.path, _without_mark(file.content)
    if _OFFICIAL.search(body):
        return _of_official(_decoded(body, path, _OfficialFile), path, labels)
    parsed = _decoded(body, path, dict[str, Any])
    images = parsed.get("image_filenames")
    if isinstance(images, list):
        return _of_candidates(images, path, labels)
    if not parsed:
        raise _no_layout(path, "Object missing required field `initial_annots`")
    if is_coco(parsed):
        return _of_coco(parsed, path, labels)
    return _of_keys(parsed, path, labels)


def _no_layout(path: Path, problem: str) -> InputError:
    return InputError(path, f"not the layout of human_accuracy_v3.0.0.json: {problem}", fix=_LAYOUTS)


def _without_mark(text: memoryview) -> memoryview:
    return text[len(BOM) :] if text[: len(BOM)] == BOM else text


def _decoded(body: memoryview, path: Path, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _no_layout(path, str(error)) from None


def _of_official(official: _OfficialFile, path: Path, labels: LabelSpace) -> LabelFile:
    named = {**dict.fromkeys(official.problematic_images, _ImageAnnotation()), **official.initial_annots}
    wnids = [each.correct + each.unclear for each in named.values()]
    accepted = Ragged.of(_of_wnids(name, row, labels, path) for name, row in zip(named, wnids, strict=True))
    problematic = np.array([name in official.problematic_images for name in named], dtype=np.bool_)
    return LabelFile(path, pa.array(named, type=pa.string()), accepted, problematic=problematic)


def _of_wnids(name: str, wnids: Sequence[str], labels: LabelSpace, path: Path) -> list[int]:
    try:
        return sorted({labels.index_of_wnid[wnid] for wnid in wnids})
    except KeyError as error:
        raise InputError(
            path,
            f"{name}: {error} is none of the {len(labels)} classes",
            fix="Labels are written as wnids, such as n01440764.",
        ) from None


def _of_candidates(images: list[Any], path: Path, labels: LabelSpace) -> LabelFile:
    """Read ImageNet-V2's own list: name and wnid of every image, in the order of its published arrays."""
    try:
        pairs = msgspec.convert(images, list[tuple[str, str]])
    except msgspec.ValidationError as error:
        raise InputError(path, f"image_filenames is no list of name and wnid: {error}", fix="Fetch it again.") from None
    original = Ragged.of(_of_wnids(name, [wnid], labels, path) for name, wnid in pairs)
    return LabelFile(path, pa.array([name for name, _ in pairs], type=pa.string()), None, original)


def _of_coco(parsed: dict[str, Any], path: Path, labels: LabelSpace) -> LabelFile:
    """Read COCO's layout: the classes of an image's annotations are accepted, each by its category's name."""
    columns = coco_columns(parsed, path)
    classes: dict[str, list[Any]] = {}
    for name, category in zip(
        columns["file_name"], columns.get("category_name") or columns["category_id"], strict=True
    ):
        classes.setdefault(name, []).append(category)
    return LabelFile(path, pa.array(classes, type=pa.string()), _ragged_of(classes.values(), labels, path))


def _of_keys(parsed: dict[str, Any], path: Path, labels: LabelSpace) -> LabelFile:
    """Read image -> labels (Multilabelfy), image -> {old_label, new_label}, or class -> names of classes."""
    names, values = pa.array(parsed, type=pa.string()), list(parsed.values())
    if all(isinstance(value, dict) and {*_CORRECTION} <= value.keys() for value in values):
        new, old = (_ragged_of([_several(value[key]) for value in values], labels, path) for key in _CORRECTION)
        return LabelFile(path, names, new, old)
    if all(isinstance(value, list) for value in values):
        return LabelFile(path, names, _ragged_of(values, labels, path))
    texts = [value for value in values if isinstance(value, str)]
    if len(texts) == len(values) and not all(map(looks_like_image, parsed)) and not _are_wnids(texts, labels):
        return LabelFile(path, pa.array([], type=pa.string()), classes_of=_class_table(parsed, labels))
    if all(isinstance(value, int | str) and not isinstance(value, bool) for value in values):
        return LabelFile(path, names, None, _ragged_of([[value] for value in values], labels, path))
    raise _no_layout(path, "Object missing required field `initial_annots`")


def _are_wnids(texts: Iterable[str], labels: LabelSpace) -> bool:
    return all(text in labels.index_of_wnid for text in texts)


def _several(value: Any) -> list[Any]:
    """Return one label, several or none as a list."""
    return value if isinstance(value, list) else [] if value is None else [value]


def _class_table(parsed: Mapping[str, str], labels: LabelSpace) -> dict[str, tuple[int, ...] | str]:
    """Return what each class of another set is called here: ``Chair`` -> classes, or a folder -> ``Chair``.

    Where every part between semicolons describes a class, these are the classes; another text is a name that a second
    table explains.
    """
    of_description = {text.casefold(): index for index, text in enumerate(labels.descriptions)}
    table: dict[str, tuple[int, ...] | str] = {}
    for key, text in parsed.items():
        found = [of_description.get(part.strip().casefold(), -1) for part in text.split(";")]
        exact = [
            labels.descriptions.index(part.strip()) for part in text.split(";") if part.strip() in labels.descriptions
        ]
        classes = exact if len(exact) == len(found) else found
        value = tuple(sorted(classes)) if min(classes) >= 0 else text.casefold()
        for written in (key.casefold(), key.casefold().replace("/", "_")):  # no folder has a slash in its name
            table[written] = value
    return table


def joined_class_tables(files: Iterable[LabelFile]) -> dict[str, tuple[int, ...]]:
    """Return folder or class in lower case -> classes, of tables that may explain each other.

    Raises
    ------
    InputError
        No entry of a table leads to a class.
    """
    files = list(files)
    every: dict[str, tuple[int, ...] | str] = {}
    for file in files:
        for key, value in file.classes_of.items():
            if not isinstance(every.get(key), tuple):  # a class that is called as a folder is
                every[key] = value
    resolved = {}
    for key, value in every.items():
        target = every.get(value) if isinstance(value, str) else value
        if isinstance(target, tuple):
            resolved[key] = target
    if files and not resolved:
        what = f"{counted(len(every), 'class', 'classes')} of another set, none of which is described by one of ours"
        raise InputError(files[0].path, what, fix="Give the table from these classes to ours too.")
    return resolved


def _ragged_of(rows: Iterable[Iterable[Any]], labels: LabelSpace, path: Path) -> Ragged:
    """Return rows of classes written as ints, digits, wnids or names."""
    written = [[str(value) for value in row] for row in rows]
    known = {**{str(index): index for index in range(len(labels))}, **labels.index_of_wnid}
    others = {value for row in written for value in row} - known.keys()
    meant = label_texts(labels).classes_of(value for value in others if not value.lstrip("+-").isdecimal())
    known.update({value: index for value, index in meant.items() if index >= 0})
    try:
        return Ragged.of(sorted({known[value] for value in row}) for row in written)
    except KeyError as error:
        what = f"a label {error} is none of the {len(labels)} classes"
        raise InputError(path, what, fix=f"Labels are {labels.ways_to_write}.") from None


def _from_lists(file: Opened, labels: LabelSpace) -> LabelFile:
    """Read ReaL's own file: a list of classes for each validation image, in the order of their names."""
    path = file.path
    try:
        lists = msgspec.json.decode(_without_mark(file.content), type=list[list[int]])
    except msgspec.MsgspecError as error:
        raise InputError(
            path,
            f"not the layout of real.json: {error}",
            fix="It is a list of lists of class indices, one for each validation image, in order.",
        ) from None
    if len(lists) > n_val():
        raise InputError(path, f"{len(lists):,} lists for {n_val():,} images", fix="Fetch it again.")
    outside = next((value for row in lists for value in row if not 0 <= value < len(labels)), None)
    if outside is not None:
        raise InputError(path, f"a label {outside} outside 0..{len(labels) - 1}", fix="Fetch it again.")
    return LabelFile(path, val_file_names(np.arange(1, len(lists) + 1)), Ragged.of(sorted({*row}) for row in lists))


def _from_arrays(file: Opened, min_probability: float) -> LabelFile:
    """Read ReaL's fused scores or its raters' answers: the labels that are probable enough.

    ``info`` [m, 2] names image and class; ``tensor`` [m] holds probabilities, or [raters, m, 3] each rater's answer
    (no, unsure, yes), 0 where one was not asked. Images whose label all models agreed with were shown to nobody.

    Source: google-research/reassessed-imagenet, README.
    """
    path = file.path
    with refusing_damage(path), np.load(file.stream(), allow_pickle=False) as arrays:
        found = {key: arrays[key] for key in arrays.files} if hasattr(arrays, "files") else {}
    info, tensor = found.get("info"), found.get("tensor")
    if info is None or tensor is None or info.ndim != 2 or tensor.ndim not in (1, 3):
        raise InputError(
            path, f"no arrays info and tensor; it has {', '.join(found) or 'one array'}", fix="Fetch it again."
        )
    answers = tensor.sum(axis=0) if tensor.ndim == 3 else None
    share = tensor if answers is None else answers[:, -1] / np.maximum(answers.sum(axis=1), 1)
    kept = np.flatnonzero(share >= min_probability)
    unasked = np.setdiff1d(np.arange(1, n_val() + 1), val_numbers(pa.array(info[:, 0].tolist(), type=pa.string())))
    every = np.concatenate([info[:, 0], val_file_names(unasked).to_numpy(zero_copy_only=False).astype(info.dtype)])
    names, image = np.unique(every, return_inverse=True)
    owners = np.concatenate([image[: len(info)][kept], image[len(info) :]])
    classes = np.concatenate([info[kept, 1].astype(np.int64), val_labels()[unasked - 1]])
    kind = "probability" if answers is None else "share of raters saying yes"
    notes = (
        f"{counted(len(kept), 'label')} of {len(share):,} accepted: {kind} at least {min_probability:g}",
        f"{counted(len(unasked), 'image')} that no rater was asked about keep their label",
    )
    return LabelFile(
        path, pa.array(names.tolist(), type=pa.string()), Ragged.of_pairs(owners, classes, len(names)), notes=notes
    )


def in_name_order(file: LabelFile) -> tuple[LabelFile, NDArray[np.int64]]:
    """Return the file with its rows sorted by name, and int64 [n]: where each row of the file went."""
    if pc.all(pc.less_equal(file.names[:-1], file.names[1:])).as_py() is not False:
        return file, np.arange(len(file.names))
    order = pc.sort_indices(file.names).to_numpy()
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    moved = replace(
        file,
        names=file.names.take(pa.array(order)),
        accepted=None if file.accepted is None else file.accepted.take(order),
        original=None if file.original is None else file.original.take(order),
        problematic=None if file.problematic is None else file.problematic[order],
    )
    return moved, place
