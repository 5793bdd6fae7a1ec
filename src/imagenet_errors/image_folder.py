"""The image files of a folder: in class folders (ImageFolder) or flat, in an order that never changes."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.images import ImageIndex
from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import InputError, counted

_ENDINGS = (".jpeg", ".jpg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff")
_WNID = re.compile(r"n\d{8}")


def image_files(folder: Path) -> list[str]:
    """Return the images' paths within the folder, with forward slashes, ascending.

    Raises
    ------
    InputError
        There is no such folder, or no image in it.
    """
    if not folder.is_dir():
        raise InputError(folder, "no such folder", fix="Check the path.")
    found = []
    for place, _, names in os.walk(folder, followlinks=True):
        inside = Path(place).relative_to(folder).as_posix()
        prefix = "" if inside == "." else f"{inside}/"
        found += [prefix + name for name in names if name.lower().endswith(_ENDINGS) and name[0] != "."]
    if not found:
        raise InputError(folder, "no image in this folder", fix=f"Known endings: {', '.join(_ENDINGS)}.")
    return sorted(found)


def files_of_rows(folder: Path, images: ImageIndex) -> dict[int, str]:
    """Return annotation row -> path within the folder, for the annotated images that are there.

    Raises
    ------
    InputError
        There is no such folder, or no annotated image in it.
    """
    files = image_files(folder)
    rows = images.rows(pa.array(files, type=pa.string()), where=folder)
    found = {row: file for row, file in zip(rows.tolist(), files, strict=True) if row >= 0}
    if not found:
        what = f"none of its {counted(len(files), 'image')} is annotated"
        raise InputError(folder, what, example=files[0], fix="Check --images.")
    return found


@dataclass(frozen=True, eq=False)
class TrainImages:
    """Training images: ``files`` n paths within ``folder``, ascending; ``classes`` int16 [n]."""

    folder: Path
    files: tuple[str, ...]
    classes: NDArray[np.int16]


def train_images(folder: Path, labels: LabelSpace) -> TrainImages:
    """Find training images; the wnid is the class folder's name or begins the file's (``n01440764_18.JPEG``).

    Raises
    ------
    InputError
        There is no such folder or no image in it, or a file's class cannot be told.
    """
    files = image_files(folder)
    classes = np.array([_class_of(file, labels) for file in files], dtype=np.int16)
    strangers = np.flatnonzero(classes < 0)
    if strangers.size:
        raise InputError(
            folder,
            f"{counted(strangers.size, 'image')} of no known class",
            example=files[strangers[0]],
            fix="Put images into folders named by their wnid, or let file names begin with it.",
        )
    return TrainImages(folder, tuple(files), classes)


def _class_of(file: str, labels: LabelSpace) -> int:
    *folders, name = file.split("/")
    parts = [name.partition("_")[0], *folders[-1:]]
    wnids = [part for part in reversed(parts) if _WNID.fullmatch(part)]
    return labels.index_of_wnid.get(wnids[0], -1) if wnids else -1
