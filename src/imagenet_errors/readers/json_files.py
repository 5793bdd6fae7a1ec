"""JSON in the shapes that people save predictions in: by name, records, split, lines, pipeline output."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from imagenet_errors.images import val_file_names
from imagenet_errors.problems import InputError
from imagenet_errors.readers.assemble import MOST_COLUMNS, Columns
from imagenet_errors.readers.coco import coco_columns, is_coco
from imagenet_errors.readers.contents import looks_like_image
from imagenet_errors.readers.headers import STATE_CLASSES, Meaning, meaning_of
from imagenet_errors.readers.json_rows import (
    PREDICTION,
    accuracy_log_columns,
    are_columns,
    are_images,
    are_parallel,
    begins_with_headers,
    best_by_class,
    by_row,
    decoded_columns,
    is_batch_of_one,
    ranked_columns,
    record_columns,
    unbatched,
    unnamed_columns,
)
from imagenet_errors.readers.json_text import Repeats, parse_json
from imagenet_errors.readers.nested import is_by_class
from imagenet_errors.readers.opened import Opened

_NAME = "file_name"
_WRAPPERS = frozenset(("predictions", "preds", "results", "outputs", "data", "labels", "records", "items", "samples"))
_SUMMARY = frozenset(("top1", "top1_err", "top5", "top5_err", "param_count"))


@dataclass(frozen=True)
class _Table:
    """Columns out of JSON: header -> one value a row."""

    shape: str
    columns: Mapping[str, Sequence[Any]]
    notes: tuple[str, ...] = ()

    def saying(self, note: str) -> _Table:
        """Return the table with one more note."""
        return replace(self, notes=(*self.notes, note))


def read_json(file: Opened, _stated: Mapping[str, str]) -> Columns:
    """Read JSON or JSON lines.

    Raises
    ------
    InputError
        It cannot be parsed, holds a key twice, or has no known shape.
    """
    path, text = file.path, file.text
    repeats = Repeats(path)
    parsed, container = parse_json(text.decode("utf-8"), repeats)
    table = _table_of(parsed, path)
    if table is None:
        raise InputError(
            path,
            "no rows in any known shape in this JSON",
            example=text[:60].decode("utf-8", "replace"),
            fix=f'Write an object such as {{"{val_file_names(np.array([1]))[0]}": 65, ...}}.',
        )
    if len(table.columns) > MOST_COLUMNS:
        raise InputError(path, f"{len(table.columns):,} columns; at most {MOST_COLUMNS:,} are read")
    arrays = tuple(_array(values) for values in table.columns.values())
    headers = tuple(_written(header) for header in table.columns)
    return Columns(path, f"{container}, {table.shape}", headers, arrays, (*repeats.notes, *table.notes))


def _table_of(parsed: Any, path: Path) -> _Table | None:
    if isinstance(parsed, dict):
        return _of_object(parsed, path)
    return _of_list(parsed) if isinstance(parsed, list) and parsed else None


def _of_object(parsed: dict[str, Any], path: Path) -> _Table | None:
    _refuse_other_files(parsed, path)
    if isinstance(parsed.get("columns"), list) and isinstance(parsed.get("data"), list):
        return _split(parsed, path)
    if not parsed:
        return None
    if is_coco(parsed):
        return _Table("COCO's layout", coco_columns(parsed, path))
    own = parsed.get("classes")
    if len(parsed) > 1 and isinstance(own, list) and own and all(isinstance(name, str) for name in own):
        rest = {key: value for key, value in parsed.items() if key != "classes"}
        return _with_own_classes(_of_object(rest, path), own)
    return _by_column(parsed) or _inside(parsed, path) or _by_name(parsed)


def _by_name(parsed: dict[str, Any]) -> _Table | None:
    values = list(parsed.values())
    if all(isinstance(value, dict) and value and are_images(value) for value in values):
        return _below_folders(parsed)
    if all(isinstance(value, list) and are_images(value) for value in values) and any(values):
        pairs = [(name, key) for key, names in parsed.items() for name in names]
        return _Table("images by class", {_NAME: [name for name, _ in pairs], PREDICTION: [key for _, key in pairs]})
    inner = _of_list(list(parsed.values()))
    if inner is None:
        return None
    others = {header: values for header, values in inner.columns.items() if header != _NAME}
    return _Table(f"by image name: {inner.shape}", {_NAME: list(parsed), **others}, inner.notes)


def _below_folders(parsed: dict[str, dict[str, Any]]) -> _Table | None:
    """Read {folder: {image: class}}, or, where the images repeat, {model: {image: class}}: a column a model."""
    names = [name for inner in parsed.values() for name in inner]
    if len(set(names)) == len(names):
        return _by_name(
            {f"{folder}/{name}": value for folder, inner in parsed.items() for name, value in inner.items()}
        )
    every = list(dict.fromkeys(names))
    columns = {model: [inner.get(name) for name in every] for model, inner in parsed.items()}
    return _Table("by model and image name", {_NAME: every, **columns})


def _inside(parsed: dict[str, Any], path: Path) -> _Table | None:
    """Return the table that lies below one key of an object, beside what else the object says; None without one."""
    if sum(map(looks_like_image, parsed)) * 2 > len(parsed):
        return None
    known = [
        key for key, value in parsed.items() if key.lower() in _WRAPPERS and value and isinstance(value, list | dict)
    ]
    lists = [key for key, value in parsed.items() if isinstance(value, list) and value and isinstance(value[0], dict)]
    by_name = [
        key
        for key, value in parsed.items()
        if isinstance(value, dict) and value and sum(map(looks_like_image, value)) * 2 > len(value)
    ]
    nested = [
        key
        for key, value in parsed.items()
        if isinstance(value, dict) and any(isinstance(one, list | dict) for one in value.values())
    ]
    is_mixed = len(parsed) > 1 and len({type(value) for value in parsed.values()}) > 1
    for keys in (known, lists, by_name, nested):
        if len(keys) == 1 and (is_mixed or len(parsed) == 1 or keys == by_name):
            table = _table_of(parsed[keys[0]], path)
            others = [key for key in parsed if key != keys[0]]
            return table if table is None or not others else table.saying(_ignored(keys[0], others))
    return None


def _ignored(taken: str, others: Sequence[str]) -> str:
    listed = ", ".join(map(repr, others[:6])) + (", ..." if len(others) > 6 else "")
    return f"The predictions lie below {taken!r}; not used: {listed}."


def _with_own_classes(table: _Table | None, own: Sequence[str]) -> _Table | None:
    """Replace indices by the names at their places in the file's own list of classes, as FiftyOne writes them."""
    if table is None:
        return None

    def name(value: Any) -> Any:
        if isinstance(value, list):
            return [name(one) for one in value]
        is_place = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(own)
        return own[value] if is_place else value

    columns = {
        header: [name(value) for value in values] if meaning_of(header) in STATE_CLASSES else values
        for header, values in table.columns.items()
    }
    note = f"Class indices are places in the file's own list of {len(own):,} classes."
    return replace(table, columns=columns).saying(note)


def _refuse_other_files(parsed: dict[str, Any], path: Path) -> None:
    if "initial_annots" in parsed:
        raise InputError(path, "this file holds annotations, not predictions", fix="Pass it with --annotations.")
    if "model" in parsed and _SUMMARY & set(parsed) and not any(isinstance(it, list | dict) for it in parsed.values()):
        raise InputError(
            path,
            "this is a model's accuracy, without a prediction for each image",
            fix="Give the per-image file: timm's inference.py or 'imagenet-errors predict' writes it.",
        )


def _split(parsed: dict[str, Any], path: Path) -> _Table:
    """Read pandas' orient="split"; an index that holds texts is a column too."""
    headers, rows = [str(header) for header in parsed["columns"]], parsed["data"]
    odd = next((i for i, row in enumerate(rows) if not isinstance(row, list) or len(row) != len(headers)), None)
    if odd is not None:
        raise InputError(path, f"row {odd + 1} does not have {len(headers)} values", fix="Write it again.")
    columns = {header: [row[i] for row in rows] for i, header in enumerate(headers)}
    index = parsed.get("index")
    if isinstance(index, list) and len(index) == len(rows) and all(isinstance(key, str) for key in index):
        columns = {_NAME: index, **columns}
    return _Table("split", columns)


def _by_column(parsed: dict[str, Any]) -> _Table | None:
    """Read headers with equally long lists, or objects keyed by row, below them; single values beside are ignored."""
    many = {key: value for key, value in parsed.items() if isinstance(value, list | dict) and not looks_like_image(key)}
    rows = [_values_by_row(value) for value in many.values()]
    meanings = set(map(meaning_of, many))
    has_class = meanings & {*STATE_CLASSES, Meaning.CONFIDENCE}
    if not has_class or None in rows or len({len(values) for values in rows if values is not None}) != 1:
        return None
    if all(isinstance(value, list) and value and isinstance(value[0], dict) for value in many.values()):
        return None  # a list of records below one key
    table = _Table("by column", {key: values or [] for key, values in zip(many, rows, strict=True)})
    others = [key for key in parsed if key not in many]
    return table.saying(f"Not used: {', '.join(map(repr, others[:6]))}.") if others else table


def _values_by_row(value: Any) -> list[Any] | None:
    if isinstance(value, list):
        return value
    return list(value.values()) if all(key.isdecimal() for key in value) else None


def _of_list(rows: list[Any]) -> _Table | None:
    """Make a table of one value a row, by what the first rows are."""
    first = next((row for row in rows if row not in (None, [], {})), None)
    if isinstance(first, dict):
        if {"qsl_idx", "data"} <= first.keys():
            return _Table("MLPerf accuracy log", accuracy_log_columns(rows))
        if all(isinstance(row, dict) and row and all(map(looks_like_image, row)) for row in rows):
            return _by_name({key: value for row in rows for key, value in row.items()})
        if is_by_class(first):
            return _Table("scores by class", best_by_class("", rows))
        return _Table("records", record_columns(rows))
    if not isinstance(first, list):
        shape = "labels" if isinstance(first, str) else "one class a row"
        return None if first is None else _Table(shape, {PREDICTION: rows})
    if isinstance(first[0], dict):
        return _Table("pipeline output", ranked_columns(rows))
    return _of_lists(rows, first)


def _of_lists(rows: list[Any], first: list[Any]) -> _Table | None:
    """Make a table of a list a row: columns under headers, ranks, or scores."""
    if begins_with_headers(rows):
        return _Table("rows", {str(header): [row[i] for row in rows[1:]] for i, header in enumerate(first)})
    if all(map(is_batch_of_one, rows)):
        return _of_list(unbatched(rows))
    if are_columns(rows):
        return _of_list(by_row(rows))
    if all(map(are_columns, rows)):  # batches one behind another
        return _of_list([row for batch in rows for row in by_row(batch)])
    if all(map(are_parallel, rows)):
        rows = [list(zip(*row, strict=True)) for row in rows]
    if isinstance(first[0], list):
        return _Table("decoded predictions", decoded_columns(rows))
    if are_images(row[0] for row in rows if isinstance(row, list) and row):
        return _Table("rows", unnamed_columns(rows))
    if len({type(value) is str for value in first}) == 2:
        return _Table("rows", unnamed_columns(rows))
    shape = "ranked classes" if isinstance(first[0], str | int) else "scores"
    return _Table(shape, {PREDICTION: rows})


def _array(values: Sequence[Any]) -> pa.Array:
    """Return an Arrow array; values of several types become text, as they were written."""
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, UnicodeError):
        return pa.array([None if value is None else _written(value) for value in values], type=pa.string())


def _written(value: Any) -> str:
    """Return a value as text; half of a surrogate pair, which no text may hold, becomes a question mark."""
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode("utf-8", "replace").decode("utf-8")
