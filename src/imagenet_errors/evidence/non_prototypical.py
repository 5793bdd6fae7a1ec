"""Images known to show their label in a way that few people would recognise.

Source: Peychev et al., NeurIPS 2023, section 3: the images that the panel of Vasudevan et al. 2022 called so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.evidence.source import Loaded, Source, Subject
from imagenet_errors.images import ImageIndex
from imagenet_errors.problems import InputError, counted
from imagenet_errors.readers.judgements import read_judgements
from imagenet_errors.readers.opened import opened
from imagenet_errors.readers.tables import read_names


@dataclass(frozen=True, eq=False)
class NonPrototypicalImages:
    """``is_listed`` bool [n]: which annotated images are listed; ``unknown``: listed names of no such image."""

    is_listed: NDArray[np.bool_]
    unknown: tuple[str, ...] = ()


def read_non_prototypical(paths: Sequence[Path], images: ImageIndex) -> NonPrototypicalImages:
    """Read lists of image names: human judgements (their non-prototypical rows), a name a line, or a JSON
    list.

    Raises
    ------
    InputError
        A file is empty, is neither form, or names no annotated image at all.
    """
    is_listed = np.zeros(len(images.file_names), dtype=np.bool_)
    unknown: list[str] = []
    for path in paths:
        names = _names(path)
        if not len(names) and not _is_judgements(path):
            raise InputError(path, "no image names in it", fix="Give an image name a line.")
        rows = images.rows(names, where=path)
        if len(names) and (rows < 0).all():
            raise InputError(
                path,
                f"none of its {len(names)} images is annotated",
                example=names[0],
                fix="Check the names.",
            )
        is_listed[rows[rows >= 0]] = True
        unknown += names.filter(pa.array(rows < 0)).to_pylist()
    return NonPrototypicalImages(is_listed, tuple(unknown))


def _names(path: Path) -> pa.StringArray:
    """Return the listed names: of human judgements those called non-prototypical, else of any list of images."""
    if _is_judgements(path):
        judged = read_judgements(path)
        chosen = [kind == "non_prototypical" for kind in judged.error_type]
        return judged.file_names.filter(pa.array(chosen, type=pa.bool_()))
    return read_names(path)


def _is_judgements(path: Path) -> bool:
    with opened(path) as file:
        return b'"failure category"' in file.head


def _load(paths: tuple[Path, ...], subject: Subject) -> Loaded:
    if not paths:
        return Loaded(None, reason="no list of non-prototypical images was given: pass --non-prototypical FILE")
    images = read_non_prototypical(paths, subject.images)
    listed = f"{counted(int(images.is_listed.sum()), 'annotated image')} listed as non-prototypical"
    if images.unknown:
        listed += f"; {counted(len(images.unknown), 'listed name')} of no annotated image (first: {images.unknown[0]})"
    return Loaded(images, (listed,))


SOURCE = Source(
    "non_prototypical",
    _load,
    option="non_prototypical",
    help="Human judgements, or an image name a line. May be given several times.",
    many=True,
)
