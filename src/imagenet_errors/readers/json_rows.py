"""Rows of JSON: what they are, and the columns that they make (header -> one value a row)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from imagenet_errors.readers.contents import looks_like_image, score_of
from imagenet_errors.readers.headers import Meaning, meaning_of
from imagenet_errors.readers.nested import is_by_class

PREDICTION = "prediction"
"""What a column of classes is called that has no header in the file."""
_MOST_LISTS = 10
"""Columns that are written as a list each."""
_CLASSES_AND_SCORES = 2
_BEYOND_ANY_CLASS = 1 << 20


def are_images(names: Iterable[Any]) -> bool:
    """Say whether every one is the name of an image."""
    return all(isinstance(name, str) and looks_like_image(name) for name in names)


def are_columns(lists: Any) -> bool:
    """Say whether lists hold the names of images, and what belongs to each, in a list of its own: [names, classes]."""
    if not isinstance(lists, list) or not all(isinstance(one, list) and len(one) > 1 for one in lists):
        return False
    are_names = [are_images(one) for one in lists]
    return 1 < len(lists) <= _MOST_LISTS and len(set(map(len, lists))) == 1 and sum(are_names) == 1


def by_row(columns: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Return a list a row, the image first."""
    ordered = sorted(columns, key=lambda one: not are_images(one))
    return [list(row) for row in zip(*ordered, strict=True)]


def record_columns(rows: list[Any]) -> dict[str, list[Any]]:
    """Make columns of records: the union of their keys, since a failed image's record may have others."""
    records = [row if isinstance(row, dict) else {} for row in rows]
    headers = dict.fromkeys(key for record in records for key in record)
    columns: dict[str, list[Any]] = {}
    for header in headers:
        values = unbatched([record.get(header) for record in records])
        first = next((value for value in values if value), None)
        if is_by_class(first):
            columns |= best_by_class(header, values)
        elif _holds_pairs(first):
            decoded = decoded_columns([value or [] for value in values])
            columns |= {f"{header}.{'class' if inner == 'wnid' else inner}": lists for inner, lists in decoded.items()}
        else:
            columns |= {header: values}
    return columns


def _holds_pairs(value: Any) -> bool:
    """Say whether a value is ranks of (class, score) or (wnid, name, score), as Keras decodes them."""
    return isinstance(value, list) and all(
        isinstance(one, list | tuple)
        and len(one) in (2, 3)
        and isinstance(one[0], str | int)
        and isinstance(one[-1], float)
        for one in value
    )


def best_by_class(header: str, rows: Sequence[Any]) -> dict[str, list[Any]]:
    """Return the class of the largest score in each {class: score}, and the score; none where one is NaN."""
    prefix = f"{header}." if header else ""
    scores = [{key: score_of(one) for key, one in row.items()} if isinstance(row, dict) else {} for row in rows]
    best = [max(row.items(), key=lambda pair: pair[1] or 0) if row else (None, None) for row in scores]
    broken = [any(score != score for score in row.values()) for row in scores]
    return {
        f"{prefix}label": [None if nan else label for nan, (label, _) in zip(broken, best, strict=True)],
        f"{prefix}score": [score for _, score in best],
    }


def accuracy_log_columns(rows: list[Any]) -> dict[str, list[Any]]:
    """Read MLPerf LoadGen's accuracy log: ``qsl_idx`` is the image's place, ``data`` its class in hexadecimal.

    Source: the accuracy scripts of mlcommons/inference (vision/classification_and_detection/tools), which read int32,
    int64 and float32 alike, as the submitter states.
    """
    records = [row for row in rows if isinstance(row, dict)]
    texts = [str(record.get("data") or "") for record in records]
    return {"image_id": [record.get("qsl_idx") for record in records], PREDICTION: _from_hexadecimal(texts)}


def _from_hexadecimal(texts: Sequence[str]) -> list[Any]:
    """Return the first number of each text; the texts themselves where they are no bytes of numbers."""
    try:
        raw = [bytes.fromhex(text) for text in texts]
    except ValueError:
        return list(texts)
    size = 8 if all(len(data) % 8 == 0 and data for data in raw) else 4
    if not all(len(data) >= size for data in raw):
        return list(texts)
    first = b"".join(data[:size] for data in raw)
    whole = np.frombuffer(first, dtype="<i8" if size == 8 else "<i4")
    if ((whole >= 0) & (whole < _BEYOND_ANY_CLASS)).all():
        return list(whole.tolist())
    if size == 8:
        return _from_hexadecimal([text[:8] for text in texts])
    return [float(value) for value in np.frombuffer(first, dtype="<f4")]


def begins_with_headers(rows: list[Any]) -> bool:
    """Say whether the first of several equally long rows only names the columns."""
    headers = rows[0]
    are_headers = isinstance(headers, list) and any(
        isinstance(one, str) and meaning_of(one) is Meaning.NAME and not looks_like_image(one) for one in headers
    )
    if not are_headers or not all(isinstance(one, str) for one in headers) or len(rows) == 1:
        return False
    return all(isinstance(row, list) and len(row) == len(headers) for row in rows)


def unbatched(values: list[Any]) -> list[Any]:
    """Return what batches of one image hold, where every value is such a batch or missing."""
    filled = [value for value in values if value]
    if not filled or not all(map(is_batch_of_one, filled)):
        return values
    return [value[0] if value else None for value in values]


def is_batch_of_one(value: Any) -> bool:
    """Say whether a value is the output for a batch of one image: its only list holds scores, lists or objects."""
    inner = value[0] if isinstance(value, list) and len(value) == 1 else None
    return isinstance(inner, list) and bool(inner) and all(isinstance(one, float | list | dict) for one in inner)


def ranked_columns(rows: list[Any]) -> dict[str, list[Any]]:
    """Make list columns of rows of ranked records, as pipelines return them: [{label, score}, ...]."""
    lists = [row if isinstance(row, list) else [] for row in rows]
    headers = dict.fromkeys(key for row in lists for record in row if isinstance(record, dict) for key in record)
    return {
        header: [[record.get(header) for record in row if isinstance(record, dict)] for row in lists]
        for header in headers
    }


def decoded_columns(rows: list[Any]) -> dict[str, list[Any]]:
    """Make list columns of rows of ranked (class, score) or, as Keras' decode_predictions, (wnid, name, score).

    The score is what is no whole number; mostly it comes last.
    """
    lists = [row if isinstance(row, list) else [] for row in rows]
    first = next(row for row in lists if row)[0]
    score = next((i for i, part in enumerate(first) if isinstance(part, float)), max(1, len(first) - 1))
    places = {"wnid": int(score == 0), "score": score}  # a name behind the wnid says less
    return {
        header: [
            [item[i] if isinstance(item, list | tuple) and len(item) > i else None for item in row] for row in lists
        ]
        for header, i in places.items()
    }


def are_parallel(row: Any) -> bool:
    """Say whether a row holds its classes in one list and their scores in another: [[65, 9], [0.8, 0.1]]."""
    if not isinstance(row, list) or len(row) != _CLASSES_AND_SCORES or not all(isinstance(it, list) for it in row):
        return False
    kinds = [{type(value) for value in it} for it in row]
    return len(row[0]) == len(row[1]) and all(len(kind) == 1 for kind in kinds) and kinds.count({float}) == 1


def unnamed_columns(rows: list[Any]) -> dict[str, list[Any]]:
    """Make columns of rows that mix texts and numbers: [name, class, ...] without headers."""
    lists = [row if isinstance(row, list) else [] for row in rows]
    width = max(map(len, lists))
    return {f"column {i + 1}": [row[i] if i < len(row) else None for row in lists] for i in range(width)}
