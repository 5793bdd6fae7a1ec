"""Class axes: what class stands at each position of a model's outputs.

Only wnids are safe: 1000 outputs are nearly always the wnids in ascending order, 1001 have a background class in
front, the ImageNet-21k heads have their own orders, and the ILSVRC development kit another one again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import InputError, counted
from imagenet_errors.shipped import shipped

IMAGENET_1K = "imagenet-1k"


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


def _read_axis(path: Path, labels: LabelSpace) -> ClassAxis:
    """Read the first wnid of every line or JSON item, in order: one a position."""
    text = path.read_text(encoding="utf-8", errors="replace")
    wnids = re.findall(r"\bn\d{8}\b", text) if text.lstrip().startswith(("[", "{")) else _first_wnids(text)
    classes = np.array([labels.index_of_wnid.get(wnid, -1) for wnid in wnids], dtype=np.int16)
    inside = classes[classes >= 0]
    if not len(inside):
        raise InputError(
            path, "no wnid of the 1000 classes in it", fix="Write a wnid a line, in output order."
        )
    if len(np.unique(inside)) < len(inside):
        first = next(wnid for place, wnid in enumerate(wnids) if wnid in wnids[:place])
        raise InputError(
            path,
            f"{counted(len(inside) - len(np.unique(inside)), 'class', 'classes')} named twice",
            example=first,
            fix="Write each wnid once.",
        )
    return ClassAxis(path.name, classes)


def _first_wnids(text: str) -> list[str]:
    found = (re.search(r"\bn\d{8}\b", line) for line in text.splitlines() if line.strip())
    return [match.group() if match else "" for match in found]
