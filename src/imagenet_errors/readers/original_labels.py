"""How an image's name tells its original label: a validation image's number, or the folder that the image lies in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from imagenet_errors.images import n_val, val_numbers
from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import InputError, counted
from imagenet_errors.shipped import shipped
from imagenet_errors.tables import Annotations, Ragged

NUMBER, WNID_FOLDER, INDEX_FOLDER, CLASS_FOLDER = "number", "wnid_folder", "index_folder", "class_folder"
RULES = (NUMBER, WNID_FOLDER, INDEX_FOLDER, CLASS_FOLDER)
"""The validation image's number; the folder ``n01440764``; ``0``; or a folder named as a table says."""


@lru_cache(maxsize=1)
def val_labels() -> NDArray[np.int16]:
    """Return int16 [n]: the original labels of ImageNet's validation images, in the order of their numbers."""
    import pyarrow.parquet

    table = pyarrow.parquet.ParquetFile(shipped("data", "imagenet_val.parquet")).read(["label"])
    label: NDArray[np.int16] = table["label"].to_numpy().astype(np.int16)
    label.flags.writeable = False
    return label


def has_val_labels(annotations: Annotations) -> bool:
    """Say whether annotated images are numbered as ImageNet's validation images and mostly labelled as these are.

    Images of other sets may happen to be numbered so.
    """
    numbers = val_numbers(annotations.file_names)
    if not len(numbers) or numbers.min() < 1 or numbers.max() > n_val():
        return False
    return bool(2 * np.sum(annotations.is_label(np.arange(len(numbers)), val_labels()[numbers - 1])) > len(numbers))


@dataclass(frozen=True, eq=False)
class NameRule:
    """The ways in which a data set's names tell labels, asked in this order: some of RULES.

    ``classes_of_folder``: folder in lower case -> its classes, for ``class_folder``.
    """

    ways: tuple[str, ...] = (NUMBER, WNID_FOLDER)
    classes_of_folder: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def labels(self, names: pa.StringArray, labels: LabelSpace, *, where: Path | str) -> Ragged:
        """Return the original labels of each name, an empty row where it tells none.

        Raises
        ------
        InputError
            A validation image lies in the folder of another class.
        """
        told = {way: self._by(way, names, labels) for way in self.ways}
        if NUMBER in told and WNID_FOLDER in told:
            _refuse_torn(told[NUMBER], told[WNID_FOLDER], names, where)
        owners, values = [], []
        is_open = np.ones(len(names), dtype=np.bool_)
        for found in told.values():
            takes = is_open[found.owners]
            owners.append(found.owners[takes])
            values.append(found.values[takes])
            is_open &= found.lengths == 0
        if not owners:
            return Ragged(np.zeros(len(names) + 1, dtype=np.int64), np.empty(0, dtype=np.int16))
        return Ragged.of_pairs(np.concatenate(owners), np.concatenate(values), len(names))

    def _by(self, way: str, names: pa.StringArray, labels: LabelSpace) -> Ragged:
        if way == NUMBER:
            numbers = val_numbers(names)
            known = (numbers > 0) & (numbers <= n_val())
            return _single(np.where(known, val_labels()[np.where(known, numbers - 1, 0)], -1))
        if not _may_have_folders(names):
            return _single(np.full(len(names), -1))
        folders = pc.struct_field(pc.extract_regex(names, r"(?P<folder>[^/\\]+)[/\\][^/\\]*$"), "folder")
        if way == WNID_FOLDER:
            found = pc.fill_null(pc.index_in(folders, value_set=pa.array(labels.wnids, type=pa.string())), -1)
            return _single(found.to_numpy(zero_copy_only=False))
        if way == INDEX_FOLDER:
            is_index = pc.match_substring_regex(pc.fill_null(folders, ""), r"^[0-9]{1,6}$")
            index = pc.cast(pc.if_else(is_index, folders, "-1"), pa.int64()).to_numpy(zero_copy_only=False)
            return _single(np.where(index < len(labels), index, -1))
        lower = pc.utf8_lower(pc.fill_null(folders, "")).to_pylist()
        return Ragged.of(sorted(self.classes_of_folder.get(folder, ())) for folder in lower)


def _may_have_folders(names: pa.StringArray) -> bool:
    """Look through the letters of all names at once; those of a slice are among them."""
    letters = names.buffers()[2]
    text = b"" if letters is None else letters.to_pybytes()
    return b"/" in text or b"\\" in text


def _single(classes: NDArray[np.integer]) -> Ragged:
    """Return rows of one class each, empty ones for -1."""
    rows = np.flatnonzero(classes >= 0)
    return Ragged.of_pairs(rows, classes[rows], len(classes))


def _refuse_torn(by_number: Ragged, by_folder: Ragged, names: pa.StringArray, where: Path | str) -> None:
    both = np.flatnonzero((by_number.lengths > 0) & (by_folder.lengths > 0))
    torn = both[by_number.take(both).values != by_folder.take(both).values]
    if len(torn):
        raise InputError(
            where,
            f"{counted(len(torn), 'name')} of a validation image in the folder of another class",
            example=names[int(torn[0])],
            fix="Add a column label (class index) to say what the original labels are.",
        )
