"""Class axes: what class stands at each position of a model's outputs.

Only wnids are safe: 1000 outputs are nearly always the wnids in ascending order, 1001 have a background class
in front, the ImageNet-21k heads have their own orders, and the ILSVRC development kit another one again."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import InputError, counted
from imagenet_errors.shipped import shipped

IMAGENET_1K = "imagenet-1k"
BACKGROUND_FIRST = "1001"
DEVKIT = "devkit"
"""The order of ILSVRC2012_ID, in which the development kit and darknet count classes (the kit from 1)."""
_HEADERS = {"wnid", "wnids", "synset", "synsets", "index", "idx", "id", "label", "class", "name"}


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

    def classes_of(self, positions: NDArray[np.integer]) -> NDArray[np.int16]:
        """Return int16 [n]: the class at each position; -1 for none and for positions outside the axis."""
        inside = (positions >= 0) & (positions < self.width)
        return np.where(inside, self.class_at[np.where(inside, positions, 0)], np.int16(-1)).astype(np.int16)


def axis_names() -> tuple[str, ...]:
    """Return the names of the axes that are known without a file."""
    return (IMAGENET_1K, *sorted(_shipped_axes()))


def class_axis(name: str, labels: LabelSpace) -> ClassAxis:
    """Return the axis of that name, or the one in the file of that name (wnids in output order).

    Raises
    ------
    InputError
        There is neither, or the file names a class twice or none at all.
    """
    if name in (IMAGENET_1K, str(len(labels))):
        return ClassAxis(IMAGENET_1K, np.arange(len(labels), dtype=np.int16))
    known = _shipped_axes()
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


def _shipped_axes() -> dict[str, tuple[int, NDArray[np.int64]]]:
    """Return name -> (width, [m, 2] of position and class) out of ``data/class_axes.csv``."""
    import pyarrow as pa
    import pyarrow.csv

    as_text = pyarrow.csv.ConvertOptions(column_types={"axis": pa.string()})
    table = pyarrow.csv.read_csv(shipped("data", "class_axes.csv"), convert_options=as_text)
    axis = np.array(table["axis"].to_pylist())
    width, position, index = (table[key].to_numpy() for key in ("width", "position", "index"))
    return {
        str(name): (int(width[axis == name][0]), np.stack([position, index], axis=1)[axis == name])
        for name in np.unique(axis)
    }


def axis_of_wnids(name: str, wnids: Sequence[str], labels: LabelSpace, *, where: Path) -> ClassAxis:
    """Return the axis with these wnids (or other texts, for none of the classes), one a position.

    Raises
    ------
    InputError
        None of them is a class, or one is named twice.
    """
    class_at = np.array([labels.index_of_wnid.get(wnid, -1) for wnid in wnids], dtype=np.int16)
    inside = class_at[class_at >= 0]
    if not len(inside):
        raise InputError(where, "no wnid of the 1000 classes in it", fix="Write a wnid a line, in output order.")
    classes, times = np.unique(inside, return_counts=True)
    double = classes[times > 1]
    if len(double):
        raise InputError(
            where,
            f"{counted(len(double), 'class', 'classes')} named more than once",
            example=labels.wnids[double[0]],
            fix="Write each wnid once.",
        )
    return ClassAxis(name, class_at)


def _read_axis(path: Path, labels: LabelSpace) -> ClassAxis:
    """Read wnids in output order: the first of every line, or JSON."""
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    try:
        wnids = _json_wnids(json.loads(text)) if text.lstrip().startswith(("[", "{")) else _line_wnids(text)
    except (ValueError, TypeError) as error:
        raise InputError(path, f"no list of wnids: {error}", fix="Write a wnid a line, in output order.") from None
    return axis_of_wnids(path.name, wnids, labels, where=path)


def _json_wnids(items: Any) -> list[str]:
    """Read a list, index -> wnid (keras: index -> [wnid, name]), or wnid -> index; written in any order."""
    if isinstance(items, dict):
        if all(isinstance(value, int) for value in items.values()):
            items = {index: wnid for wnid, index in items.items()}
        at = {int(index): item for index, item in items.items()}
        items = [at.get(index, "") for index in range(max(at, default=-1) + 1)]
    return [_first_wnid(str(item)) for item in items]


def _line_wnids(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if line.strip()]
    if lines and not _HEADERS.isdisjoint(re.split(r"\W+", lines[0].lower())) and not _first_wnid(lines[0]):
        lines = lines[1:]
    return [_first_wnid(line) for line in lines]


def _first_wnid(text: str) -> str:
    found = re.search(r"\bn\d{8}\b", text)
    return found.group() if found else ""
