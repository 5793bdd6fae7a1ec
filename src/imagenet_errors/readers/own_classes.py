"""Classes of one's own: a table of index, name and, optionally, wnid and group, or a plain list of names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import InputError, counted
from imagenet_errors.readers.formats import columns_of, recognised, yaml_problem
from imagenet_errors.readers.json_text import Repeats, parse_json
from imagenet_errors.readers.listed_classes import classes_in_json, classes_in_lines, first_wnid, refuse_two_orders
from imagenet_errors.readers.opened import Opened, opened
from imagenet_errors.readers.tables import Column, Kind, conformed

_MOST_CLASSES = 32_767
"""Class indices are stored in 16 bits."""
_WAYS = "Give a CSV with columns index,name[,wnid][,group], a name a line, or JSON: a list of names, or index -> name."
_SCHEMA = (
    Column("index", Kind.WHOLE, needed=False, also=("idx", "id", "class_id", "class_index", "class_idx", "label_id")),
    Column("name", also=("class_name", "label_name", "class", "label")),
    Column("wnid", needed=False, also=("synset", "synset_id", "wordnet_id")),
    Column("group", needed=False),
)
_YAML = re.compile(rb"(?m)^(?:names|classes)[ \t]*:|\A\s*- ")


@dataclass(frozen=True)
class _Class:
    """What is told of one class."""

    name: str
    wnid: str = ""
    group: str = ""


def read_classes(path: Path) -> LabelSpace:
    """Read classes of one's own.

    Raises
    ------
    InputError
        No list of classes can be made out, indices are not 0, 1, 2, ..., each once, or a name or wnid stands twice.
    """
    with opened(path) as file:
        classes = _in_order(_classes_in(file), path)
    for what, values in (("name", [one.name for one in classes]), ("wnid", [one.wnid for one in classes if one.wnid])):
        twice = sorted(value for value, n_times in Counter(values).items() if n_times > 1)
        if twice or "" in values:
            text = f"the {what} {twice[0]!r} stands more than once" if twice else f"a class without a {what}"
            raise InputError(path, text, fix=f"Give each class a {what} of its own.")
    names = tuple(one.name for one in classes)
    return LabelSpace(tuple(one.wnid for one in classes), names, names, tuple(one.group for one in classes))


def _classes_in(file: Opened) -> list[tuple[int, _Class]]:
    """Return (index, class) pairs in the order of the file."""
    found, content = recognised(file)
    if found.name == "JSON":
        return _of_table(content) if _holds_records(content) else _of_list(classes_in_json(content, fix=_WAYS))
    if not found.is_text or _names_columns(content):
        return _of_table(content)
    if _YAML.search(content.text):
        raise yaml_problem(content.path)
    return _of_list(classes_in_lines(content))


def _holds_records(content: Opened) -> bool:
    parsed, _ = parse_json(content.text.decode("utf-8"), Repeats(content.path))
    return isinstance(parsed, list) and bool(parsed) and isinstance(parsed[0], dict)


def _names_columns(content: Opened) -> bool:
    """Say whether the first line is a header with a name and another column."""
    first = content.head.decode("utf-8", "replace").lstrip().partition("\n")[0]
    cells = {re.sub(r"[ -]", "_", cell.strip("\"' \r").casefold()) for cell in re.split(r"[,;\t|]", first)}
    called = [column for column in _SCHEMA if cells & {column.name, *column.also}]
    return len(called) > 1


def _of_table(content: Opened) -> list[tuple[int, _Class]]:
    table = conformed(columns_of(content), _SCHEMA)
    n_classes = table.num_rows
    names, wnids, groups = (
        table[key].to_pylist() if key in table.column_names else [None] * n_classes for key in ("name", "wnid", "group")
    )
    classes = [_Class(*((text or "").strip() for text in texts)) for texts in zip(names, wnids, groups, strict=True)]
    return list(zip(_indices(table, wnids, content.path), classes, strict=True))


def _indices(table: pa.Table, wnids: Sequence[str | None], path: Path) -> list[int]:
    """Return the column of indices; without one the places of the rows, where wnids do not ask for another order."""
    if "index" in table.column_names:
        return [-1 if index is None else index for index in table["index"].to_pylist()]
    refuse_two_orders([wnid for wnid in wnids if wnid], path, _WAYS)
    return list(range(table.num_rows))


def _of_list(at: Mapping[int, str]) -> list[tuple[int, _Class]]:
    return [(index, _of_text(text)) for index, text in at.items()]


def _of_text(text: str) -> _Class:
    """Return the class of ``n01440764 tench``; one that only a wnid stands for is called by it."""
    wnid = first_wnid(text)
    name = text.replace(wnid, "", 1).strip(" \t,;:|_-\"'") if wnid else text.strip()
    return _Class(name or wnid, wnid)


def _in_order(classes: Sequence[tuple[int, _Class]], path: Path) -> list[_Class]:
    by_index = dict(classes)
    lacking = [index for index in range(len(classes)) if index not in by_index]
    if lacking or not 0 < len(classes) <= _MOST_CLASSES:
        what = (
            f"no class {lacking[0]} among its {len(classes):,}"
            if lacking
            else counted(len(classes), "class", "classes")
        )
        raise InputError(path, what, fix=f"Number the classes 0, 1, 2, ..., each once, at most {_MOST_CLASSES:,}.")
    return [by_index[index] for index in range(len(classes))]
