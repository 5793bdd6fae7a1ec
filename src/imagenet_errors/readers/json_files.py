"""JSON in the shapes that people save predictions in: by name, records, split, lines, pipeline output."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from imagenet_errors.problems import InputError, counted
from imagenet_errors.readers.assemble import Source, read_columns
from imagenet_errors.readers.headers import Meaning, meaning_of
from imagenet_errors.readers.raw import RawPredictions

_NAME = "file_name"
_PREDICTION = "prediction"
_WRAPPERS = frozenset(("predictions", "preds", "results", "outputs", "data"))
_SUMMARY = frozenset(("top1", "top1_err", "top5", "top5_err", "param_count"))


@dataclass
class _Repeats:
    """Keys that an object repeats with the same value; json would keep the last value without a word."""

    path: Path
    keys: list[str] = field(default_factory=list)

    def without(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """Make a dict of pairs; refuse a key with two different values."""
        unique = dict(pairs)
        if len(unique) == len(pairs):
            return unique
        seen: dict[str, Any] = {}
        for key, value in pairs:
            if key in seen:
                self._note(key, same=seen[key] == value)
            seen[key] = value
        return seen

    def _note(self, key: str, *, same: bool) -> None:
        if not same:
            raise InputError(
                self.path,
                "a key occurs twice with different values",
                example=key,
                fix="Name images by folder and file, so that no two share a name.",
            )
        self.keys.append(key)

    @property
    def notes(self) -> tuple[str, ...]:
        """One sentence, if there are any."""
        if not self.keys:
            return ()
        n = counted(len(self.keys), "key")
        return (f"{n} repeated with the same value (first: {self.keys[0]}); one was kept.",)


@dataclass(frozen=True)
class _Table:
    """Columns out of JSON: header -> one value a row."""

    shape: str
    columns: Mapping[str, Sequence[Any]]


def read_json(text: bytes, path: Path, *, columns: Mapping[str, str] | None = None) -> RawPredictions:
    """Read JSON or JSON lines.

    Raises
    ------
    InputError
        It cannot be parsed, holds a key twice, has no known shape, or see
        :func:`imagenet_errors.readers.assemble.read_columns`.
    """
    repeats = _Repeats(path)
    parsed, container = _parse(text.decode("utf-8"), repeats)
    table = _table_of(parsed, path)
    if table is None:
        raise InputError(
            path,
            "no predictions in any known shape in this JSON",
            example=text[:60].decode("utf-8", "replace"),
            fix='Write an object such as {"ILSVRC2012_val_00000001.JPEG": 65, ...}.',
        )
    arrays = [_array(values) for values in table.columns.values()]
    source = Source(path, f"{container}, {table.shape}", repeats.notes)
    return read_columns(list(table.columns), arrays, source, columns=columns)


def _parse(text: str, repeats: _Repeats) -> tuple[Any, str]:
    try:
        return json.loads(text, object_pairs_hook=repeats.without), "JSON"
    except RecursionError:
        raise InputError(repeats.path, "the JSON is nested too deeply", fix="Write it again.") from None
    except json.JSONDecodeError as problem:
        if problem.msg != "Extra data":
            raise _broken(repeats.path, problem, problem.lineno) from None
    repeats.keys.clear()
    return [_parse_line(line, i, repeats) for i, line in enumerate(text.split("\n")) if line.strip()], "JSON lines"


def _parse_line(line: str, i: int, repeats: _Repeats) -> Any:
    try:
        return json.loads(line, object_pairs_hook=repeats.without)
    except json.JSONDecodeError as problem:
        raise _broken(repeats.path, problem, i + 1) from None
    except RecursionError:
        raise InputError(repeats.path, "the JSON is nested too deeply", fix="Write it again.") from None


def _broken(path: Path, problem: json.JSONDecodeError, line: int) -> InputError:
    return InputError(
        path,
        f"the JSON breaks off or is wrong in line {line}: {problem.msg}",
        example=problem.doc[max(0, problem.pos - 30) : problem.pos + 10].strip() or None,
        fix="Copy it again, or write it again.",
    )


def _table_of(parsed: Any, path: Path) -> _Table | None:
    if isinstance(parsed, dict):
        return _of_object(parsed, path)
    return _of_list(parsed) if isinstance(parsed, list) and parsed else None


def _of_object(parsed: dict[str, Any], path: Path) -> _Table | None:
    _refuse_other_files(parsed, path)
    if isinstance(parsed.get("columns"), list) and isinstance(parsed.get("data"), list):
        return _split(parsed, path)
    only = next(iter(parsed.items()), ("", None))
    if len(parsed) == 1 and only[0] in _WRAPPERS and isinstance(only[1], list | dict):
        return _table_of(only[1], path)
    if _is_by_column(parsed):
        rows = [list(values.values()) if isinstance(values, dict) else values for values in parsed.values()]
        return _Table("by column", dict(zip(parsed, rows, strict=True)))
    if not parsed:
        return None
    inner = _of_list(list(parsed.values()))
    if inner is None:
        return None
    others = {header: values for header, values in inner.columns.items() if header != _NAME}
    return _Table(f"by image name: {inner.shape}", {_NAME: list(parsed), **others})


def _refuse_other_files(parsed: dict[str, Any], path: Path) -> None:
    if "initial_annots" in parsed:
        raise InputError(path, "this file holds annotations, not predictions", fix="Pass it with --annotations.")
    if "model" in parsed and _SUMMARY & set(parsed):
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


def _is_by_column(parsed: dict[str, Any]) -> bool:
    """Say whether the keys are headers, with equally long lists or objects keyed by row below them."""
    values = list(parsed.values())
    if not all(isinstance(value, list) for value in values):
        same_rows = all(isinstance(value, dict) and value.keys() == values[0].keys() for value in values)
        if not same_rows or not all(key.isdecimal() for key in values[0]):
            return False
    meanings = {meaning_of(key) for key in parsed}
    has_class = meanings & {Meaning.PREDICTION, Meaning.CLASS, Meaning.RANKS, Meaning.CONFIDENCE}
    return bool(has_class) and len({len(value) for value in values}) == 1


def _of_list(rows: list[Any]) -> _Table | None:
    """Make a table of one value a row, by what the first rows are."""
    first = next((row for row in rows if row not in (None, [], {})), None)
    if isinstance(first, dict):
        return _Table("records", _records(rows))
    if not isinstance(first, list):
        shape = "labels" if isinstance(first, str) else "one class a row"
        return None if first is None else _Table(shape, {_PREDICTION: rows})
    if isinstance(first[0], dict):
        return _Table("pipeline output", _ranked_records(rows))
    if isinstance(first[0], list):
        return _Table("decoded predictions", _decoded(rows))
    if len({type(value) is str for value in first}) == 2:
        return _Table("rows", _unnamed(rows))
    shape = "ranked classes" if isinstance(first[0], str | int) else "scores"
    return _Table(shape, {_PREDICTION: rows})


def _records(rows: list[Any]) -> dict[str, list[Any]]:
    """Make columns of records: the union of their keys, since a failed image's record may have others."""
    records = [row if isinstance(row, dict) else {} for row in rows]
    headers = dict.fromkeys(key for record in records for key in record)
    return {header: [record.get(header) for record in records] for header in headers}


def _ranked_records(rows: list[Any]) -> dict[str, list[Any]]:
    """Make list columns of rows of ranked records, as pipelines return them: [{label, score}, ...]."""
    lists = [row if isinstance(row, list) else [] for row in rows]
    headers = dict.fromkeys(key for row in lists for record in row if isinstance(record, dict) for key in record)
    return {
        header: [[record.get(header) for record in row if isinstance(record, dict)] for row in lists]
        for header in headers
    }


def _decoded(rows: list[Any]) -> dict[str, list[Any]]:
    """Make list columns of Keras' decode_predictions: rows of ranked (wnid, name, score)."""
    lists = [row if isinstance(row, list) else [] for row in rows]
    n_parts = len(next(row for row in lists if row)[0])
    headers = ("wnid", "score") if n_parts == 2 else ("wnid", "description", "score")
    return {
        header: [[item[i] if isinstance(item, list) and len(item) > i else None for item in row] for row in lists]
        for i, header in enumerate(headers)
        if header != "description"  # the wnid is exact
    }


def _unnamed(rows: list[Any]) -> dict[str, list[Any]]:
    """Make columns of rows that mix texts and numbers: [name, class, ...] without headers."""
    lists = [row if isinstance(row, list) else [] for row in rows]
    width = max(map(len, lists))
    return {f"column {i + 1}": [row[i] if i < len(row) else None for row in lists] for i in range(width)}


def _array(values: Sequence[Any]) -> pa.Array:
    """Return an Arrow array; values of several types become text, as they were written."""
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError):
        return pa.array([None if value is None else _written(value) for value in values], type=pa.string())


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
