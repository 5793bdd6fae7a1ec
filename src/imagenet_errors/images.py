"""Which annotated image a written name means, however people write it.

ImageNet's validation images are known by their number (``data/datasets/imagenet.toml`` says how it is written),
wherever the name carries it: with folders, backslashes, another extension or a wnid behind it. Images of other sets
are known by folder and name, since their base names repeat.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from imagenet_errors.problems import InputError, counted
from imagenet_errors.recent import remembered
from imagenet_errors.shipped import shipped

_EXTENSION = r"(?i)\.(jpe?g|png|webp|bmp|tiff?|gif)$"


@dataclass(frozen=True)
class Numbering:
    """How images are known by a number from 1 to ``n_images``: prefix, so many digits, ending.

    ``beside``: how names of other images of the same kind begin.
    """

    prefix: str
    n_digits: int
    ending: str
    n_images: int
    beside: Sequence[str] = ()

    @cached_property
    def looks(self) -> str:
        """A regular expression that finds such a name, or one of those beside, in a text; or the digits alone."""
        prefixes = "|".join(map(re.escape, (self.prefix, *self.beside)))
        return rf"(?:{prefixes})|^[0-9]{{{self.n_digits}}}$"

    @cached_property
    def pattern(self) -> str:
        """A regular expression that finds the number in a name with folders, a wnid behind it or other endings.

        Names may be addresses (``...%2FILSVRC2012_val_00000001.JPEG?sig=1``) or shortened (``val_00000001``).
        """
        prefix = re.escape(self.prefix)
        number = f"(?P<number>[0-9]{{{self.n_digits}}})"
        before = rf"(?:(?:^|[/\\]|%2F)(?:(?:imagenet[_-])?val[_-])?|{prefix})"
        return rf"(?i){before}{number}(?:_n[0-9]{{8}})?(?:\.[a-z][a-z0-9]*)*(?:[?#].*)?$"

    @cached_property
    def example(self) -> str:
        """The name whose digits are all 0."""
        return f"{self.prefix}{'0' * self.n_digits}{self.ending}"


@lru_cache(maxsize=1)
def val_numbering() -> Numbering:
    """Return how ImageNet's validation images are numbered, from ``data/datasets/imagenet.toml``."""
    told = tomllib.loads(shipped("data", "datasets", "imagenet.toml").read_text(encoding="utf-8"))
    return Numbering(**told["numbering"])


def n_val() -> int:
    """Return the number of ImageNet's validation images."""
    return val_numbering().n_images


def val_file_names(numbers: NDArray[np.integer]) -> pa.StringArray:
    """Return the names of validation images by their numbers, from 1."""
    numbering = val_numbering()
    example = np.frombuffer(numbering.example.encode(), dtype=np.uint8)
    text = np.tile(example, (len(numbers), 1))
    digits = np.asarray(numbers)[:, None] // 10 ** np.arange(numbering.n_digits)[::-1] % 10
    text[:, len(numbering.prefix) :][:, : numbering.n_digits] += digits.astype(np.uint8)
    offsets = np.arange(len(numbers) + 1, dtype=np.int32) * len(example)
    return pa.StringArray.from_buffers(len(numbers), pa.py_buffer(offsets), pa.py_buffer(text))


def val_numbers(names: pa.StringArray) -> NDArray[np.int64]:
    """Return int64 [n]: the number of the validation image that each name means, 0 where it means none."""
    fixed = _fixed_width_numbers(names)
    if fixed is not None:
        return fixed
    found = pc.struct_field(pc.extract_regex(names, val_numbering().pattern), "number")
    numbers: NDArray[np.int64] = pc.fill_null(pc.cast(found, pa.int64()), 0).to_numpy(zero_copy_only=False)
    return numbers


def _fixed_width_numbers(names: pa.StringArray) -> NDArray[np.int64] | None:
    """Read the numbers straight from memory when every name is written as the images' own."""
    if not len(names) or names.null_count:
        return None
    numbering = val_numbering()
    n_letters = len(numbering.example)
    wide = pa.types.is_large_string(names.type)
    offsets = np.frombuffer(names.buffers()[1], dtype=np.int64 if wide else np.int32)
    offsets = offsets[names.offset : names.offset + len(names) + 1]
    if not (np.diff(offsets) == n_letters).all():
        return None
    text = np.frombuffer(names.buffers()[2], dtype=np.uint8)[offsets[0] : offsets[-1]].reshape(-1, n_letters)
    pattern = np.frombuffer(numbering.example.encode(), dtype=np.uint8)
    digit = np.zeros(n_letters, dtype=np.bool_)
    digit[len(numbering.prefix) :][: numbering.n_digits] = True
    digits = text[:, digit] - ord("0")
    if not ((text[:, ~digit] == pattern[~digit]).all() and (digits <= 9).all()):
        return None
    numbers: NDArray[np.int64] = digits.astype(np.int64) @ (10 ** np.arange(numbering.n_digits)[::-1])
    return numbers


numbers_of_column = remembered(val_numbers)
"""As val_numbers, found out once for a column that comes again."""


@dataclass(frozen=True, eq=False)
class ImageIndex:
    """Finds the row of an image by its name. ``file_names``: one row an image, none double."""

    file_names: pa.StringArray

    @cached_property
    def _row_of_number(self) -> NDArray[np.int64] | None:
        """int64 [largest number + 1]; None unless every name is another validation image's."""
        numbers = val_numbers(self.file_names)
        if not len(numbers) or numbers.min() < 1 or numbers.max() > n_val():
            return None
        rows = np.full(numbers.max() + 1, -1, dtype=np.int64)
        rows[numbers] = np.arange(len(numbers))
        return rows if np.count_nonzero(rows >= 0) == len(numbers) else None

    @property
    def is_val(self) -> bool:
        """True when every image is one of ImageNet's validation set."""
        return self._row_of_number is not None

    def rows(self, names: pa.StringArray, *, where: object) -> NDArray[np.int64]:
        """Return int64 [n]: the row of the image that each name means, -1 where it is none of them.

        Raises
        ------
        InputError
            A name fits several images, for want of its folder.
        """
        if self._row_of_number is not None:
            return self.rows_of_numbers(val_numbers(names))
        paths = _paths(names)
        rows = np.full(len(paths), -1, dtype=np.int64)
        for part in (_whole, _folder_and_stem, _stem):
            open_rows = np.flatnonzero(rows < 0)
            if len(open_rows):
                chosen = paths.take(pa.array(open_rows))
                rows[open_rows] = _match(chosen, self._paths, part, where=where)
        return rows

    @cached_property
    def _paths(self) -> pa.StringArray:
        return _paths(self.file_names)

    def rows_of_numbers(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return int64 [n]: the rows of validation images given by number, from 1; -1 where there is none."""
        rows = self._row_of_number
        if rows is None:
            return np.full(len(numbers), -1, dtype=np.int64)
        inside = (numbers > 0) & (numbers < len(rows))
        return np.where(inside, rows[np.where(inside, numbers, 0)], -1)


index_of = remembered(ImageIndex)
"""The index of a column of names, made once."""


@remembered
def rows_of_names(images: ImageIndex, names: pa.StringArray, *, where: object) -> NDArray[np.int64]:
    """Return what :meth:`ImageIndex.rows` returns, found out once for a column that comes again; do not change it."""
    return images.rows(names, where=where)


def _match(
    given: pa.StringArray, ours: pa.StringArray, part: Callable[[pa.Array], pa.Array], *, where: object
) -> NDArray[np.int64]:
    """Match by a part of the path; the folder is left out of account only where one side has none."""
    keys, known = part(given), part(ours)
    rows = _lookup(keys, known)
    if part is _stem:
        ours_are_bare = pc.all(pc.equal(known, _folder_and_stem(ours))).as_py()
        is_bare = pc.fill_null(pc.equal(keys, _folder_and_stem(given)), False)
        rows = rows if ours_are_bare else np.where(is_bare.to_numpy(zero_copy_only=False), rows, -1)
    counts = pc.value_counts(known)
    double = pc.filter(counts.field("values"), pc.greater(counts.field("counts"), 1))
    clash = pc.is_in(keys, value_set=double).to_numpy(zero_copy_only=False) & (rows >= 0)
    if clash.any():
        raise InputError(
            str(where),
            f"{counted(int(clash.sum()), 'name')} by which several annotated images are called",
            example=given[int(np.argmax(clash))],
            fix="Write the images' names as the annotations do, with their folders.",
        )
    return rows


def _paths(names: pa.StringArray) -> pa.StringArray:
    """Return the names with forward slashes only, and none in front."""
    slashes = pc.replace_substring(pc.cast(names, pa.string()), "\\", "/")
    return pc.replace_substring_regex(slashes, r"^(\.?/)+", "")


def _whole(paths: pa.StringArray) -> pa.StringArray:
    return paths


def _folder_and_stem(paths: pa.StringArray) -> pa.StringArray:
    bare = pc.replace_substring_regex(paths, _EXTENSION, "")
    return pc.replace_substring_regex(bare, r"^.*/([^/]*/[^/]*)$", r"\1")


def _stem(paths: pa.StringArray) -> pa.StringArray:
    return pc.replace_substring_regex(_folder_and_stem(paths), r"^.*/", "")


def _lookup(keys: pa.StringArray, values: pa.StringArray) -> NDArray[np.int64]:
    found = pc.fill_null(pc.index_in(keys, value_set=values), -1)
    rows: NDArray[np.int64] = found.to_numpy(zero_copy_only=False).astype(np.int64)
    return rows
