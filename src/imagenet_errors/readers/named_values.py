"""Logs that name every value they print: ``image: a.JPEG``, ``predicted class: tabby``, on one line or on several."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from imagenet_errors.readers.assemble import Columns
from imagenet_errors.readers.contents import looks_like_image
from imagenet_errors.readers.headers import STATE_CLASSES, meaning_of

_SAYS = r"\s*[:=](?!\S*//)"
_WORD = rf"[A-Za-z]\w*{_SAYS}"
_WORDS = rf"[A-Za-z]\w*(?: [A-Za-z]\w*)?{_SAYS}"
_PAIR = re.compile(
    rf"""(?P<key>{_WORDS})\s*(?P<value>"[^"\n]*"|'[^'\n]*'|[^\s"'][^\n]*?)"""
    rf"(?:\s*[,;|]\s*(?={_WORDS})|\s+(?={_WORD})|[\s,;|]*$)"
)
"""One named value; a name of two words begins a line or stands behind a comma, else the first belongs to the value."""
_SEVERAL = re.compile(r"[,;|]\s")
"""What a name of an image does not hold."""
_SAMPLE_LINES = 200
_NEARLY_ALL = 0.9

Record = dict[str, str]


def is_named_values(head: bytes) -> bool:
    """Say whether lines consist of named values, among them an image and its class, alike for every image."""
    lines = [line for line in head.decode("utf-8", "replace").splitlines()[:_SAMPLE_LINES] if re.search(r"\w", line)]
    if sum(bool(_pairs(line)) for line in lines) < _NEARLY_ALL * len(lines):
        return False
    records = list(_records("\n".join(lines)))[:-1]  # the last one may be cut
    keys = set(records[0]) if records else set()
    is_alike = sum(set(record) == keys for record in records) >= _NEARLY_ALL * len(records)
    return is_alike and any(meaning_of(key) in STATE_CLASSES for key in keys)


def read_named_values(text: bytes, path: Path) -> Columns:
    """Read a row an image, a column a name; an image that lacks a value has none there."""
    records = list(_records(text.decode("utf-8")))
    headers = dict.fromkeys(key for record in records for key in record)
    columns = [pa.array([record.get(header) for record in records], type=pa.string()) for header in headers]
    return Columns(path, "a log of named values", tuple(headers), tuple(columns))


def _records(text: str) -> Iterator[Record]:
    """Yield the named values from one image to the next; what stands before the first image is left out."""
    record: Record = {}
    image_key = ""
    for line in text.splitlines():
        for key, value in _pairs(line):
            if looks_like_image(value) and not _SEVERAL.search(value) and key == (image_key := image_key or key):
                if record:
                    yield record
                record = {}
            if record or key == image_key:
                record.setdefault(key, value)
    if record:
        yield record


def _pairs(line: str) -> list[tuple[str, str]]:
    """Return the named values of a line; none if it holds anything else."""
    pairs, at = [], len(line) - len(line.lstrip(" \t-*"))
    while at < len(line):
        found = _PAIR.match(line, at)
        if found is None:
            return []
        pairs.append((found["key"].rstrip(" :="), found["value"].strip("\"'")))
        at = found.end()
    return pairs
