"""Tables of labels, one's own and published ones: which column says what, and cells that hold several classes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import InputError, counted
from imagenet_errors.tables import Ragged

_NAMES = ("file_name", "id", "filename", "image", "image_name", "path", "name")
_ACCEPTED = ("labels", "proposed_labels", "accepted")
_ORIGINAL = ("label", "original_label", "target")
_WEIGHTS = ("probability", "probabilities", "prob", "weight", "weights", "share", "score", "scores")
_ANSWERS = ("given", "guessed", "says_given", "says_guessed", "says_neither", "says_both")
_TEXTS = (*_NAMES, *_ACCEPTED, *_ORIGINAL, "unclear_multi_labels", "validation")
_NO_CLASS = np.iinfo(np.int16).max

Read = tuple[pa.StringArray, Ragged | None, Ragged | None, NDArray[np.bool_] | None]
"""Names, accepted labels, original labels, which images are problematic; rows as in the file."""


def read_table(path: Path, *, is_parquet: bool) -> pa.Table:
    """Read Parquet or CSV; columns that hold names or labels stay text in CSV.

    Raises
    ------
    InputError
        It is neither.
    """
    import pyarrow.csv
    import pyarrow.parquet

    try:
        if is_parquet:
            return pyarrow.parquet.ParquetFile(path).read()
        as_text = pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(_TEXTS, pa.string()))
        return pyarrow.csv.read_csv(path, convert_options=as_text)
    except (pa.ArrowException, OSError) as error:
        raise InputError(path, f"cannot be read as a table: {error}", fix="Give Parquet, CSV or JSON.") from None


@dataclass(eq=False)
class LabelColumns:
    """One table of labels; ``notes`` grows with what there is to say of it."""

    table: pa.Table
    path: Path
    labels: LabelSpace
    min_probability: float
    notes: tuple[str, ...] = ()
    _has: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self._has = frozenset(self.table.column_names)

    def read(self) -> Read:
        """Read the columns by what they are called.

        Raises
        ------
        InputError
            There are no image names, or a cell cannot be read.
        """
        names = self._names()
        if set(_ANSWERS) <= self._has:
            return names, self._by_answers(), self._label_cells("given"), None
        weights = self._first(_WEIGHTS)
        accepted, original = self._first(_ACCEPTED), self._first(_ORIGINAL)
        if weights and (accepted or original):
            return self._weighted(names, accepted or original, weights)
        problematic = next((name for name in ("problematic", "is_problematic") if name in self._has), "")
        self._tell_marks()
        return (
            names,
            self._accepted(accepted) if accepted else None,
            self._label_cells(original) if original else None,
            self._flags(problematic) if problematic else None,
        )

    def _first(self, known: tuple[str, ...]) -> str:
        return next((name for name in known if name in self._has), "")

    def _names(self) -> pa.StringArray:
        name = self._first(_NAMES)
        if not name:
            raise InputError(
                self.path,
                f"no column file_name; it has {', '.join(self.table.column_names)}",
                fix="Annotations are a table of file_name and labels, or the official JSON.",
            )
        column = self.table[name].combine_chunks()
        if pt.is_struct(column.type) and column.type.get_field_index("path") >= 0:
            column = pc.struct_field(column, "path")  # Hugging Face: bytes and path of each image
        try:
            names = column.cast(pa.string())
        except pa.ArrowException as error:
            raise InputError(self.path, f"column {name} is no text: {error}", fix="Correct the table.") from None
        self._refuse_empty(names, name)
        return names

    def _refuse_empty(self, column: pa.Array, name: str) -> None:
        if column.null_count:
            empty = column.is_null().index(True).as_py()
            what = f"{counted(column.null_count, 'empty cell')} in column {name}"
            raise InputError(self.path, what, example=f"row {empty + 1}", fix="Fill them, or drop those rows.")

    def _flags(self, name: str) -> NDArray[np.bool_]:
        """Return bool [n]; an empty cell means no."""
        try:
            flags = pc.fill_null(self.table[name].cast(pa.bool_()), False).combine_chunks()
        except pa.ArrowException as error:
            raise InputError(self.path, f"column {name} is not bool: {error}", fix="Correct the table.") from None
        found: NDArray[np.bool_] = flags.to_numpy(zero_copy_only=False)
        return found

    def _label_cells(self, name: str) -> Ragged:
        """Return one or more original labels a row; an empty cell is refused."""
        column = self.table[name].combine_chunks()
        self._refuse_empty(column, name)
        found = self._lists(name)
        if not found.lengths.all():
            row = int(np.argmin(found.lengths))
            what = f"{counted(int((found.lengths == 0).sum()), 'empty cell')} in column {name}"
            raise InputError(self.path, what, example=f"row {row + 1}", fix="Fill them, or drop those rows.")
        return found

    def _lists(self, name: str) -> Ragged:
        try:
            return label_lists(self.table[name].combine_chunks(), self.labels)
        except pa.ArrowException as error:
            what = f"a cell of {name} cannot be read: {error}"
            raise InputError(self.path, what, fix='Write class indices or wnids: "65 795".') from None

    def _accepted(self, name: str) -> Ragged:
        """Return the accepted labels: the expert multi-labels' unclear ones are among them, as in the official file."""
        sure = self._lists(name)
        if "unclear_multi_labels" not in self._has:
            return sure
        unclear = self._lists("unclear_multi_labels")
        owners = np.concatenate([sure.owners, unclear.owners])
        return Ragged.of_pairs(owners, np.concatenate([sure.values, unclear.values]), len(sure))

    def _tell_marks(self) -> None:
        """Say what the marks of clean_validation.csv say: a plus for each source with people's answers, and a star
        where ReaL's label was never shown to a person.
        """
        if "validation" in self._has:
            marks = pc.fill_null(self.table["validation"].cast(pa.string()), "")
            n_unseen = int(pc.sum(pc.equal(marks, "*")).as_py() or 0)
            self.notes += (f"{counted(n_unseen, 'label')} of {len(marks):,} rest on models alone (marked *)",)

    def _weighted(self, names: pa.StringArray, labels: str, weights: str) -> Read:
        """Read a probability or weight for each label: lists beside lists, or a row for each image and label."""
        classes, raw = self._lists(labels), self.table[weights].combine_chunks()
        if pt.is_list(raw.type) or pt.is_large_list(raw.type):
            values, owners = pc.list_flatten(raw), pc.list_parent_indices(raw).to_numpy()
            flat = pc.list_flatten(self.table[labels].combine_chunks())
            each = label_lists(flat, self.labels)
        else:
            values, owners, each = raw, np.arange(len(names)), classes
        if len(each) != len(values) or (each.lengths != 1).any():
            what = f"columns {labels} and {weights} do not hold one weight a label"
            raise InputError(self.path, what, fix="Write one row for each image and label, or lists of equal length.")
        try:
            weight = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
        except pa.ArrowException as error:
            raise InputError(self.path, f"column {weights} holds no numbers: {error}", fix="Correct it.") from None
        encoded = pc.dictionary_encode(names)
        image = encoded.indices.to_numpy(zero_copy_only=False)[owners]
        accepted = self._at_least(image, each.values, weight, len(encoded.dictionary))
        return encoded.dictionary, accepted, None, None

    def _by_answers(self) -> Ragged:
        """Read MTurk's answers to "the given label, the guessed one, both, or neither?" as a weight for each of both."""
        given, guessed = self._label_cells("given"), self._label_cells("guessed")
        says = {name: self.table[name].cast(pa.float64()).to_numpy() for name in _ANSWERS[2:]}
        total = np.maximum(sum(says.values()), 1)
        rows = np.arange(len(given))
        shares = [(says[name] + says["says_both"]) / total for name in ("says_given", "says_guessed")]
        owners, classes = np.concatenate([rows, rows]), np.concatenate([given.values, guessed.values])
        return self._at_least(owners, classes, np.concatenate(shares), len(given))

    def _at_least(
        self, owners: NDArray[np.integer], classes: NDArray[np.integer], weight: NDArray[np.float64], n_images: int
    ) -> Ragged:
        kept = weight >= self.min_probability
        note = f"{counted(int(kept.sum()), 'label')} of {len(kept):,} accepted: weight at least {self.min_probability:g}"
        self.notes += (note,)
        return Ragged.of_pairs(owners[kept], classes[kept], n_images)


def label_lists(column: pa.Array, labels: LabelSpace) -> Ragged:
    """Return the labels of each row, ascending and once each; a missing list is an empty one.

    Classes that are no class keep a value outside 0..C-1; text that is neither a number nor a wnid (nor, of classes of
    one's own, a class's name) raises pyarrow's own error, which shows it.
    """
    names_count = not labels.is_imagenet
    if not (pt.is_list(column.type) or pt.is_large_list(column.type) or pt.is_fixed_size_list(column.type)):
        text = pc.fill_null(column.cast(pa.string()), "")
        whole = pc.index_in(text, value_set=pa.array(labels.names, type=pa.string())) if names_count else None
        if whole is not None:
            text = pc.coalesce(pc.cast(whole, pa.string()), text)
        column = pc.split_pattern_regex(pc.utf8_trim(text, " []()"), r"[\s,;|]+")
    owners, values = pc.list_parent_indices(column).to_numpy(), pc.list_flatten(column)
    if pt.is_string(values.type) or pt.is_large_string(values.type):
        spoken = pc.not_equal(values, "").to_numpy(zero_copy_only=False)
        values, owners = values.filter(pa.array(spoken)), owners[spoken]
        values = pc.coalesce(pc.cast(_index_of_wnid(values, labels), pa.string()), values)
        if names_count:
            by_name = pc.index_in(values, value_set=pa.array(labels.names, type=pa.string()))
            values = pc.coalesce(pc.cast(by_name, pa.string()), values)
    classes = np.clip(values.cast(pa.int64()).to_numpy(zero_copy_only=False), -1, _NO_CLASS)
    pairs = np.unique(owners.astype(np.int64) << 16 | (classes + 1))
    offsets = np.searchsorted(pairs, np.arange(len(column) + 1) << 16)
    return Ragged(offsets.astype(np.int64), ((pairs & 0xFFFF) - 1).astype(np.int16))


def _index_of_wnid(values: pa.Array, labels: LabelSpace) -> pa.Array:
    """Return each text's class by wnid, null for others; classes without a wnid have the empty text for one."""
    known = pa.array([wnid or None for wnid in labels.wnids], type=pa.string())
    return pc.index_in(values, value_set=known, skip_nulls=True)
