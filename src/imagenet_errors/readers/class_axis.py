"""Class axes: what class stands at each position of a model's outputs.

Only wnids are safe: as many outputs as classes are nearly always the wnids in ascending order, one more has a
background class in front, the ImageNet-21k heads have their own orders, and the challenge's development kit another
one again."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import InputError, counted
from imagenet_errors.readers.axis_tables import shipped_axes
from imagenet_errors.readers.formats import recognised
from imagenet_errors.readers.label_text import AMBIGUOUS, label_texts
from imagenet_errors.readers.listed_classes import classes_in_json, classes_in_lines, first_wnid
from imagenet_errors.readers.opened import opened

IMAGENET_1K = "imagenet-1k"
BACKGROUND_FIRST = "1001"
DEVKIT = "devkit"
"""The order of ids in which the development kit of ImageNet's challenge and darknet count classes (the kit from 1)."""
FILES_OWN = "the file's own"
"""The axis that a file's own headers give."""
_NAMED = 0.9
"""Share of headers that are names of classes from which on they give the axis."""
_WIDEST = 100_000
_LARGEST_LIST = 1 << 20
"""Bytes; longer files are no lists of classes."""
_WNIDS = "Write a wnid a line, in output order."


@dataclass(frozen=True, eq=False)
class ClassAxis:
    """``class_at`` int16 [width]: the class index at each position, -1 where it is none of the classes."""

    name: str
    class_at: NDArray[np.int16]

    @property
    def width(self) -> int:
        """The number of outputs."""
        return len(self.class_at)

    @property
    def positions(self) -> NDArray[np.int64]:
        """The positions that hold one of the classes, ascending."""
        return np.flatnonzero(self.class_at >= 0)

    def lacks(self, labels: LabelSpace) -> NDArray[np.int64]:
        """Return the classes that stand at no position, ascending."""
        stands = np.zeros(len(labels), dtype=np.bool_)
        stands[self.class_at[self.positions]] = True
        return np.flatnonzero(~stands)

    def classes_of(self, positions: NDArray[np.integer]) -> NDArray[np.int16]:
        """Return int16 [n]: the class at each position; -1 for none and for positions outside the axis."""
        inside = (positions >= 0) & (positions < self.width)
        return np.where(inside, self.class_at[np.where(inside, positions, 0)], np.int16(-1)).astype(np.int16)


def axis_names() -> tuple[str, ...]:
    """Return the names of the axes that are known without a file."""
    return (IMAGENET_1K, *sorted(shipped_axes()))


def class_axis(name: str, labels: LabelSpace) -> ClassAxis:
    """Return the axis of that name, or the one in the file of that name (wnids in output order).

    Raises
    ------
    InputError
        There is neither, or the file names a class twice or none at all.
    """
    if name in (IMAGENET_1K, str(len(labels))):
        return ClassAxis(IMAGENET_1K, np.arange(len(labels), dtype=np.int16))
    known = shipped_axes() if labels.is_imagenet else {}
    if name in known:
        width, places = known[name]
        class_at = np.full(width, -1, dtype=np.int16)
        class_at[places[:, 0]] = places[:, 1]
        return ClassAxis(name, class_at)
    path = Path(name)
    if not path.is_file():
        raise InputError(
            "--class-axis",
            f"no axis and no file {name!r}",
            fix=f"Known are {', '.join(axis_names())}, or FILE.",
        )
    return _read_axis(path, labels)


def axis_of_wnids(name: str, wnids: Sequence[str], labels: LabelSpace, *, where: Path) -> ClassAxis:
    """Return the axis with these wnids (or other texts, for none of the classes), one a position.

    Raises
    ------
    InputError
        None of them is a class, or one is named twice.
    """
    classes = [labels.index_of_wnid.get(wnid, -1) for wnid in wnids]
    if max(classes, default=-1) < 0:
        raise InputError(where, f"no wnid of the {len(labels):,} classes in it", fix=_WNIDS)
    return _axis_of(name, classes, labels, where=where)


def _axis_of(name: str, classes_at: Sequence[int], labels: LabelSpace, *, where: Path) -> ClassAxis:
    """Return the axis with these classes, -1 for none, refusing one that stands twice."""
    class_at = np.array(classes_at, dtype=np.int16)
    inside = class_at[class_at >= 0]
    classes, times = np.unique(inside, return_counts=True)
    double = classes[times > 1]
    if len(double):
        raise InputError(
            where,
            f"{counted(len(double), 'class', 'classes')} named more than once",
            example=labels.wnids[double[0]] or labels.names[double[0]],
            fix="Write each class once.",
        )
    return ClassAxis(name, class_at)


def axis_of_headers(headers: Sequence[str], labels: LabelSpace, *, where: Path) -> ClassAxis | None:
    """Return the axis of columns that are called like classes; None where they are not.

    Raises
    ------
    InputError
        The columns are in an order of their own, and several are called like one class.
    """
    names = [re.sub(r"\.\d$", "", header) for header in headers]  # pandas numbers repeated headers
    meant = label_texts(labels).classes_of(dict.fromkeys(names))
    classes = np.array([meant[name] for name in names])
    known = classes >= 0
    if known.mean() < _NAMED:
        return None
    if len(classes) == len(labels) and (classes == np.arange(len(labels)))[known].all():
        return ClassAxis(IMAGENET_1K, np.arange(len(labels), dtype=np.int16))
    times = np.bincount(classes[known], minlength=len(labels))
    doubtful = [i for i, index in enumerate(classes) if index == AMBIGUOUS or (index >= 0 and times[index] > 1)]
    if doubtful:
        raise InputError(
            where,
            f"{counted(len(doubtful), 'column')} of scores called by a name that is not one class's alone",
            example=headers[doubtful[0]],
            fix="Call the columns by wnid, or pass --class-axis FILE (a wnid a line, in the columns' order).",
        )
    return ClassAxis("the headers'", np.where(known, classes, -1).astype(np.int16))


def _read_axis(path: Path, labels: LabelSpace) -> ClassAxis:
    """Read wnids or names in output order: one a line, a column of a table, JSON.

    In a table the column that counts 0, 1, ... in any order is the position. JSON is a list, index -> wnid (Keras:
    index -> [wnid, name]), wnid -> index, or wnid -> name, ascending.
    """
    lines = _lines(path)
    wnids = [first_wnid(line) for line in lines]
    if sum(map(bool, wnids)) * 2 >= len(wnids):
        return axis_of_wnids(path.name, wnids, labels, where=path)
    return _axis_of_names(path, lines, labels)


def _lines(path: Path) -> list[str]:
    """Return what a list of classes says of each, in its order."""
    with opened(path) as file:
        found, content = recognised(file)
        if found.name == "JSON":
            return _in_order(classes_in_json(content, fix=_WNIDS), path)
        return [line for _, line in sorted(classes_in_lines(content).items())]


def refuse_class_list(path: Path, labels: LabelSpace) -> None:
    """Refuse a file that names each class once, given for predictions.

    Raises
    ------
    InputError
        It is such a list; what is no list at all is left to others.
    """
    if not path.is_file() or path.stat().st_size > _LARGEST_LIST:
        return
    try:
        lines = _lines(path)
    except InputError:
        return
    meant = label_texts(labels).classes_of(dict.fromkeys(lines))
    n_classes = len({index for index in meant.values() if index >= 0})
    if n_classes >= _NAMED * max(len(lines), len(labels)):
        raise InputError(
            path,
            f"this is a list of {counted(len(lines), 'class', 'classes')}, without an image",
            example=lines[0],
            fix="Give the file of predictions instead. Where the list is the order of a model's outputs, pass it with "
            "--class-axis beside them; a list of other classes than ImageNet's goes to --classes.",
        )


def _axis_of_names(path: Path, names: Sequence[str], labels: LabelSpace) -> ClassAxis:
    """Return the axis of a list of class names; one that two classes have stands for none."""
    meant = label_texts(labels).classes_of(dict.fromkeys(names))
    classes = [max(meant[name], -1) for name in names]  # below -1: several classes have the name
    n_known = sum(index >= 0 for index in classes)
    if 2 * n_known < len(classes):
        unknown = next((name for name, index in zip(names, classes, strict=True) if index < 0), "")
        what = f"{len(classes) - n_known:,} of {counted(len(classes), 'line')} name no class"
        raise InputError(path, what, example=unknown[:80], fix=_WNIDS)
    return _axis_of(path.name, classes, labels, where=path)


def _in_order(at: Mapping[int, str], path: Path) -> list[str]:
    """Return the items by their positions, empty where there is none."""
    last = max(at, default=-1)
    if last >= _WIDEST or min(at, default=0) < 0:
        what = f"position {last:,}; an axis has at most {_WIDEST:,}"
        raise InputError(path, what, fix="Write positions from 0 on, one for each output.")
    return [at.get(place, "") for place in range(last + 1)]
