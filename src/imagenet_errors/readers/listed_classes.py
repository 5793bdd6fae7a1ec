"""Lists of classes as people keep them: a class a line, or JSON; what is written of each class, by its index."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from imagenet_errors.problems import InputError, counted
from imagenet_errors.readers.json_text import Repeats, parse_json
from imagenet_errors.readers.opened import Opened

_NUMBERED = re.compile(r"[\"']?(?P<index>\d{1,9})[\"']?(?:\s*[,;:\t|]\s*|\s+)(?P<name>\S.*)")
_NUMBERED_LAST = re.compile(r"(?P<name>.*\S)(?:\s*[,;:\t|]\s*|\s+)[\"']?(?P<index>\d{1,9})[\"']?")
_HEADERS = frozenset(
    ("wnid", "wnids", "synset", "synsets", "index", "idx", "id", "label", "labels", "class", "classes", "name", "names")
)
"""What a first line consists of that is no class."""
_BESIDE = frozenset(("description", "definition", "group", "number", "text"))
"""What it may hold beside, though not alone: these may be classes."""
_MOST_DIGITS = 18
_BELOW = ("id2label", "names", "classes", "class_names")
"""Keys that a list of classes lies below: of a Hugging Face configuration, of Ultralytics' data sets, of one's own."""


def classes_in_lines(file: Opened) -> dict[int, str]:
    """Return the lines, without a header, by the whole numbers beside them if those are an order, else by place."""
    text = bytes(file.content).decode("utf-8", "replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    lines = lines[bool(lines) and _is_header(lines[0]) :]
    found = [_NUMBERED.match(line) or _NUMBERED_LAST.match(line) for line in lines]
    at = {int(one["index"]): one["name"].strip("\"' ") for one in found if one is not None}
    are_names = 2 * len(set(at.values())) > len(at)  # of "digit 0", "digit 1", ... the numbers belong to the names
    if are_names and len(at) == len(lines) and min(at, default=-1) in (0, 1) and max(at) - min(at) == len(at) - 1:
        return at
    return dict(enumerate(line.strip("\"', ") for line in lines))


def _is_header(line: str) -> bool:
    """Say whether a line only speaks of columns; ``class clown`` is a class."""
    words = set(re.findall(r"[^\W_]+", line.lower()))
    return bool(words & _HEADERS) and words <= _HEADERS | _BESIDE


def classes_in_json(file: Opened, *, fix: str) -> dict[int, str]:
    """Return the items of a list, of {index: class}, {class: index}, or {wnid: name} with ascending wnids.

    Raises
    ------
    InputError
        It is none of these.
    """
    items = _below(parse_json(file.text.decode("utf-8"), Repeats(file.path))[0])
    if isinstance(items, dict) and all(isinstance(value, int) for value in items.values()):
        items = {str(index): name for name, index in items.items()}
    if isinstance(items, dict) and items and all(first_wnid(key) == key for key in items):
        refuse_two_orders(list(items), file.path, fix)
        items = [f"{wnid} {_written(name)}" for wnid, name in items.items()]
    if isinstance(items, list):
        items = {str(place): item for place, item in enumerate(items)}
    keys = list(items) if isinstance(items, dict) else []
    odd = next((key for key in keys if not key.isdecimal() or len(key) > _MOST_DIGITS), None)
    if not keys or odd is not None:
        raise InputError(file.path, "no list of classes, nor classes by index", example=odd, fix=fix)
    return {int(index): _written(item) for index, item in items.items()}


def refuse_two_orders(wnids: list[str], path: Path, fix: str) -> None:
    """Refuse wnids that do not ascend: classes count in their order, or in that of the file.

    Raises
    ------
    InputError
        They do not.
    """
    if wnids != sorted(wnids):
        what = f"{counted(len(wnids), 'wnid')} without an index that do not ascend: which class is 0 is not known"
        raise InputError(path, what, example=wnids[0], fix=fix)


def _below(items: Any) -> Any:
    """Return the list itself, where an object names it."""
    if not isinstance(items, dict):
        return items
    return next((items[key] for key in _BELOW if isinstance(items.get(key), list | dict) and items[key]), items)


def _written(item: Any) -> str:
    return " ".join(map(str, item)) if isinstance(item, list) else str(item)


def first_wnid(text: str) -> str:
    """Return the first WordNet id in a text; empty for none."""
    found = re.search(r"(?<![0-9A-Za-z])n\d{8}(?!\d)", text)
    return found.group() if found else ""
