"""Tables of the user's own (annotations, evidence, pairs, lists of names): any format, one set of checks and messages.

What a table must hold is stated as :class:`Column`; :func:`read_table` gives exactly those columns, or says what is
missing, of a wrong type, or empty, with the first row."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import InputError, counted
from imagenet_errors.readers.assemble import Columns
from imagenet_errors.readers.columns import image_names
from imagenet_errors.readers.contents import Content, looks_like_image
from imagenet_errors.readers.fields import fields_of, is_positional
from imagenet_errors.readers.formats import columns_of, recognised
from imagenet_errors.readers.headers import Meaning, is_unlabelled, meaning_of, words_of
from imagenet_errors.readers.label_text import label_texts
from imagenet_errors.readers.nested import plain
from imagenet_errors.readers.opened import Opened, opened
from imagenet_errors.readers.values import class_indices, has_no_value, numbers, to_numpy

_SEPARATED = re.compile(rb"[,;|\t\[{]")
_ORDER = frozenset(("index", "idx", "id", "row", "position", "order", "place", "number", "no"))
"""Words in the header of a column that numbers the rows."""
_MOST_DIGITS = 18
_SEVERAL = 20
_NAME_WITH_BLANKS = r"[A-Za-z][^,;|]*\s+[^\s,;|]*[A-Za-z]"
_WNID = r"\bn[0-9]{8}\b"
_YES = ("true", "t", "yes", "y", "1", "1.0", "x")
_NO = ("false", "f", "no", "n", "0", "0.0", "", "null", "none", "nan")


class Kind(StrEnum):
    """What a column holds, and so what it comes out as."""

    TEXT = "text"
    WHOLE = "whole numbers"
    NUMBER = "numbers"
    FLAG = "truth value"
    CLASS = "class"
    CLASSES = "class list"
    ANY = "anything"


@dataclass(frozen=True)
class Column:
    """One column of a table: its name, what it holds, other names it goes by; one that is not needed may be absent.

    Text comes out as string, a flag as bool (an empty cell means no), whole numbers and numbers as int64 and float64
    (null where empty), a class as int16, classes as list<int16> (ascending, each once; empty where the cell is).
    """

    name: str
    kind: Kind = Kind.TEXT
    needed: bool = True
    also: tuple[str, ...] = ()


def read_table(path: Path, schema: Sequence[Column], *, labels: LabelSpace | None = None) -> pa.Table:
    """Read the columns of ``schema`` from a table in any format; ``labels``: whose classes it names.

    Raises
    ------
    InputError
        The file cannot be read as a table, a needed column is missing or has empty cells, or a cell is not what its
        column holds.
    """
    with opened(path) as file:
        return conformed(columns_of(file), schema, labels=labels)


def conformed(found: Columns, schema: Sequence[Column], *, labels: LabelSpace | None = None) -> pa.Table:
    """Return the columns of ``schema``, each as its kind.

    Raises
    ------
    InputError
        See :func:`read_table`.
    """
    at = {_key(header): place for place, header in reversed(list(enumerate(found.headers)))}
    places = {
        column.name: next((at[_key(name)] for name in (column.name, *column.also) if _key(name) in at), None)
        for column in schema
    }
    missing = [column.name for column in schema if column.needed and places[column.name] is None]
    if missing:
        listed = ", ".join(map(repr, found.headers[:12])) + (", ..." if len(found.headers) > 12 else "")
        needed = ", ".join(column.name for column in schema if column.needed)
        raise InputError(found.path, f"no column {' or '.join(missing)}; it has {listed}", fix=f"It needs {needed}.")
    reader = _Cells(found.path, labels)
    columns = {
        column.name: reader.read(column, plain(found.arrays[place]))
        for column in schema
        if (place := places[column.name]) is not None
    }
    return pa.table(columns)


def _key(header: str) -> str:
    return header.strip().lower().replace(" ", "_").replace("-", "_")


@dataclass(frozen=True, eq=False)
class _Cells:
    """Reads the cells of one table; ``labels`` is None where it names no classes."""

    path: Path
    labels: LabelSpace | None

    def read(self, column: Column, array: pa.Array) -> pa.Array:
        if column.kind is Kind.ANY:
            return array
        if column.kind is Kind.CLASSES:
            return self._classes(column, array)
        if column.needed or column.kind is Kind.CLASS:
            self._refuse_empty(column, array)
        if column.kind is Kind.FLAG:
            return self._flags(column, array)
        if column.kind is Kind.TEXT:
            return pc.utf8_trim_whitespace(self._text(column, array))
        if column.kind is Kind.CLASS:
            return pa.array(self._class(column, array))
        values = numbers(array, where=self.path, header=column.name)
        return values if column.kind is Kind.NUMBER else self._whole(column, values)

    def _refuse_empty(self, column: Column, array: pa.Array) -> None:
        empty = has_no_value(array)
        if empty.any():
            raise InputError(
                self.path,
                f"{counted(int(empty.sum()), 'empty cell')} in column {column.name}",
                example=f"row {int(np.argmax(empty)) + 1}",
                fix="Fill them, or drop those rows.",
            )

    def _refuse(self, column: Column, wrong: NDArray[np.bool_], array: pa.Array, fix: str) -> None:
        row = int(np.argmax(wrong))
        raise InputError(
            self.path,
            f"no {column.kind} in {counted(int(wrong.sum()), 'cell')} of column {column.name}",
            example=f"row {row + 1}: {str(array[row].as_py())[:80]!r}",
            fix=fix,
        )

    def _text(self, column: Column, array: pa.Array) -> pa.StringArray:
        if pt.is_nested(array.type) or pt.is_binary(array.type):
            self._refuse(column, np.ones(len(array), dtype=np.bool_), array, "Write plain text.")
        return array.cast(pa.string())

    def _whole(self, column: Column, values: pa.DoubleArray) -> pa.Array:
        found = to_numpy(values)
        wrong = ~np.isnan(found) & ((np.trunc(found) != found) | (np.abs(found) >= 2**53))
        if wrong.any():
            self._refuse(column, wrong, values, "Write whole numbers.")
        empty = np.isnan(found)
        return pa.array(np.where(empty, 0, found).astype(np.int64), mask=empty)

    def _flags(self, column: Column, array: pa.Array) -> pa.BooleanArray:
        if pt.is_boolean(array.type):
            return pc.fill_null(array, False)
        texts = pc.utf8_lower(pc.utf8_trim_whitespace(pc.fill_null(self._text(column, array), "")))
        is_yes = pc.is_in(texts, value_set=pa.array(_YES))
        known = pc.or_(is_yes, pc.is_in(texts, value_set=pa.array(_NO)))
        wrong = np.asarray(pc.invert(known).to_numpy(zero_copy_only=False), dtype=np.bool_)
        if wrong.any():
            self._refuse(column, wrong, array, "Write true or false, yes or no, 1 or 0.")
        return is_yes

    def _class(self, column: Column, array: pa.Array) -> NDArray[np.int16]:
        """Return int16 [n] class indices of indices, wnids, or names that only one class has."""
        index = self._indices(column, array)
        self._refuse_outside(column, index, np.arange(len(index)))
        return index.astype(np.int16)

    def _indices(self, column: Column, array: pa.Array) -> NDArray[np.int64]:
        if not pt.is_string(array.type):
            return class_indices(array, where=self.path, header=column.name)
        texts = pc.utf8_trim_whitespace(array)
        is_number = pc.match_substring_regex(texts, r"^[+-]?\d+(\.0*)?$")
        if pc.all(is_number).as_py():
            return class_indices(texts, where=self.path, header=column.name)
        labels = self._label_space()
        encoded = pc.dictionary_encode(texts)
        distinct = encoded.dictionary.to_pylist()
        meant = label_texts(labels).classes_of([text for text in distinct if not _is_number(text)])
        by_code = np.array([meant[text] if text in meant else _number(text) for text in distinct], dtype=np.int64)
        codes = encoded.indices.to_numpy()
        index: NDArray[np.int64] = by_code[codes]
        named = np.array([text in meant and meant[text] < 0 for text in distinct])[codes]
        if named.any():
            self._refuse(column, named, array, f"Write {labels.ways_to_write}.")
        return index

    def _label_space(self) -> LabelSpace:
        if self.labels is None:
            raise ValueError("a column of classes needs the label space")
        return self.labels

    def _refuse_outside(self, column: Column, index: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
        n_classes = len(self._label_space())
        outside = np.flatnonzero((index < 0) | (index >= n_classes))
        if not outside.size:
            return
        from_1 = (
            " They seem to count from 1: subtract 1."
            if index.size >= _SEVERAL and index.min() >= 1 and index.max() == n_classes
            else ""
        )
        raise InputError(
            self.path,
            f"{counted(outside.size, 'class', 'classes')} outside 0..{n_classes - 1} in column {column.name}",
            example=f"row {int(rows[outside[0]]) + 1}: {index[outside[0]]}",
            fix=f"Write {self._label_space().ways_to_write}.{from_1}",
        )

    def _classes(self, column: Column, array: pa.Array) -> pa.ListArray:
        """Return list<int16> [n] of lists, or of classes in a text cell, between blanks, commas, semicolons or bars."""
        if not pt.is_list(array.type):
            array = self._split(pc.utf8_trim(pc.fill_null(self._text(column, array), ""), " []()"))
        owners = np.asarray(pc.list_parent_indices(array).to_numpy(), dtype=np.int64)
        values = pc.list_flatten(array)
        if pt.is_string(values.type):
            values = pc.utf8_trim(values, "'\" ")
            filled = np.asarray(pc.not_equal(pc.fill_null(values, ""), "").to_numpy(zero_copy_only=False), np.bool_)
            values, owners = values.filter(pa.array(filled)), owners[filled]
        index = self._indices(column, values) if len(values) else np.zeros(0, dtype=np.int64)
        self._refuse_outside(column, index, owners)
        pairs = np.unique(owners << 16 | index)
        offsets = np.searchsorted(pairs, np.arange(len(array) + 1) << 16).astype(np.int32)
        return pa.ListArray.from_arrays(pa.array(offsets), pa.array((pairs & 0xFFFF).astype(np.int16)))

    def _split(self, cells: pa.StringArray) -> pa.ListArray:
        """Divide cells where all parts are classes: nowhere, or at marks alone, for names hold blanks; else at both."""
        has_blanks, has_wnids = (pc.any(pc.match_substring_regex(cells, one)) for one in (_NAME_WITH_BLANKS, _WNID))
        if has_blanks.as_py() and not has_wnids.as_py():
            for divided in (pa.array([[cell] for cell in cells.to_pylist()]), pc.split_pattern_regex(cells, "[,;|]")):
                parts = pc.unique(pc.utf8_trim(pc.list_flatten(divided), "'\" ")).to_pylist()
                meant = label_texts(self._label_space()).classes_of([part for part in parts if not _is_number(part)])
                if all(index >= 0 or not part for part, index in meant.items()):
                    return divided
        return pc.split_pattern_regex(cells, r"[\s,;|]+")


def _is_number(text: str) -> bool:
    return text.lstrip("+-").isdecimal()


def _number(text: str) -> int:
    """Return a whole number; one of more digits than int64 holds is outside of every class axis anyway."""
    return int(text) if len(text) <= _MOST_DIGITS else 10**_MOST_DIGITS


def read_names(path: Path) -> pa.StringArray:
    """Read a list of image names, in its order: a name a line, a column of any table, a JSON list, or a numpy array.

    Where whole numbers 0..n-1 or 1..n stand beside the names, they are the order.

    Raises
    ------
    InputError
        The file holds no list of names.
    """
    with opened(path) as file:
        return _names_in(file)


def _names_in(file: Opened) -> pa.StringArray:
    found, content = recognised(file)
    if found.name in ("npy", "npz"):
        from imagenet_errors.readers.npz_files import texts_of_arrays

        return texts_of_arrays(content)
    if found.is_text and not _SEPARATED.search(content.head):
        return _lines(bytes(content.content))
    table = found.read(content, {})
    if not isinstance(table, Columns):
        raise InputError(file.path, "no list of image names", fix="Give a name a line.")
    fields = fields_of(table.headers, table.arrays, where=file.path)
    name = image_names(fields, file.path)
    if name is None:
        headers = ", ".join(map(repr, table.headers[:8]))
        raise InputError(file.path, f"no column of image names among {headers}", fix="Give a name a line.")
    names = pc.utf8_trim_whitespace(name.members[0].cast(pa.string()).fill_null(""))
    for field in fields[: fields.index(name) + 1] if is_positional(name) else fields:
        is_order = is_positional(field) or is_unlabelled(field.header) or _ORDER & set(words_of(field.header))
        place = _places(field.members[0]) if is_order and field.content is Content.INTEGER else None
        if place is not None:
            return names.take(pa.array(np.argsort(place, kind="stable")))
    return names.filter(pc.not_equal(names, ""))


def _lines(text: bytes) -> pa.StringArray:
    """Return a name a line; caffe writes a class number behind it, and a name may hold blanks."""
    lines = [line.strip("\"' \t\r") for line in text.decode("utf-8").splitlines() if line.strip()]
    names = [re.sub(r"\s+\d+$", "", line).strip("\"' ") for line in lines]
    is_header = bool(names) and meaning_of(names[0]) is Meaning.NAME and not looks_like_image(names[0])
    return pa.array(names[is_header:], type=pa.string())


def _places(array: pa.Array) -> NDArray[np.int64] | None:
    """Return the numbers of a column that holds each of 0..n-1, or of 1..n, once; else None."""
    try:
        values: NDArray[np.int64] = array.cast(pa.int64()).to_numpy(zero_copy_only=False)
        is_order = bool(np.array_equal(np.sort(values) - values.min(), np.arange(len(values)))) and values.min() in (
            0,
            1,
        )
    except (pa.ArrowInvalid, ValueError):
        return None
    return values if is_order else None
