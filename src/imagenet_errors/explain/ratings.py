"""What people said of images and labels, and how far they agree among themselves: the noise ceiling.

Source: *Non-identifiability of Explanations from Model Behavior*, arXiv 2604.07254; Spearman 1910 and Brown 1910 for
    the step from half of the raters to all of them.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.image_folder import files_of_rows
from imagenet_errors.images import ImageIndex
from imagenet_errors.problems import InputError

_N_SPLITS = 100
_ACCEPTS = 2
"""Which of ReaL's three answers (no, unsure, yes) accepts the label."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ratings:
    """What raters said of n items, an image each with a label (-1: of the image as a whole).

    ``file_names`` n; ``label`` int16 [n]; ``given`` float64 [n, R], each row's answers in any order, NaN after them.
    """

    file_names: tuple[str, ...]
    label: NDArray[np.int16]
    given: Floats

    def __len__(self) -> int:
        """Return the number of items n."""
        return len(self.label)

    @property
    def share(self) -> Floats:
        """float64 [n]: the mean answer."""
        mean: Floats = np.nanmean(self.given, axis=1)
        return mean

    def take(self, rows: NDArray[np.integer]) -> Ratings:
        """Return the chosen items."""
        return Ratings(tuple(self.file_names[row] for row in rows), self.label[rows], self.given[rows])


def read_ratings(path: Path) -> Ratings:
    """Read ReaL's raters (``raters.npz``) or a CSV file of ``file_name, rater, rating`` and perhaps ``label``.

    Raises
    ------
    InputError
        The file is neither.
    """
    if path.suffix == ".npz":
        return _read_real_raters(path)
    with path.open(encoding="utf-8", newline="") as lines:
        table = csv.DictReader(lines)
        lacking = [name for name in ("file_name", "rater", "rating") if name not in (table.fieldnames or ())]
        if lacking:
            raise InputError(path, f"no column {lacking[0]}", fix="Write the columns file_name,rater,rating.")
        return _of_rows(list(table), path)


def _read_real_raters(path: Path) -> Ratings:
    try:
        with np.load(path) as arrays:
            answers, items = arrays["tensor"], arrays["info"]
    except (OSError, ValueError, KeyError) as error:
        raise InputError(path, f"is not ReaL's raters: {error}", fix="Pass raters.npz as published.") from None
    item, _, answer = np.nonzero(answers.swapaxes(0, 1))
    n_given = np.bincount(item, minlength=len(items))
    given = np.full((len(items), n_given.max()), np.nan)
    place = np.arange(len(item)) - np.repeat(np.cumsum(n_given) - n_given, n_given)
    given[item, place] = answer == _ACCEPTS
    return Ratings(tuple(items[:, 0].tolist()), items[:, 1].astype(np.int16), given)


def _of_rows(rows: Sequence[dict[str, str]], path: Path) -> Ratings:
    by_item: dict[tuple[str, int], list[float]] = {}
    for row in rows:
        try:
            key = (row["file_name"], int(row.get("label") or -1))
            by_item.setdefault(key, []).append(float(row["rating"]))
        except ValueError:
            raise InputError(path, "holds a rating that is no number", example=row["rating"]) from None
    if not by_item:
        raise InputError(path, "holds no rating", fix="Write a row a rater and image.")
    given = np.full((len(by_item), max(map(len, by_item.values()))), np.nan)
    for place, answers in enumerate(by_item.values()):
        given[place, : len(answers)] = answers
    names, labels = zip(*by_item, strict=True)
    return Ratings(names, np.array(labels, dtype=np.int16), given)


def with_images(ratings: Ratings, images: Path) -> tuple[Ratings, tuple[Path, ...]]:
    """Return the items whose image is in the folder, and each one's file.

    Raises
    ------
    InputError
        None is.
    """
    names = tuple(dict.fromkeys(ratings.file_names))
    files = files_of_rows(images, ImageIndex(pa.array(names, type=pa.string())))
    path_of = {names[row]: images / file for row, file in files.items()}
    rows = np.flatnonzero([name in path_of for name in ratings.file_names])
    kept = ratings.take(rows)
    return kept, tuple(path_of[name] for name in kept.file_names)


def noise_ceiling(ratings: Ratings, seed: int = 0) -> float:
    """Return the highest correlation that any predictor can have with the mean answer.

    The raters of each item are halved at random many times; the halves' correlation, stepped up to all raters by
    Spearman-Brown, is the mean's reliability, and its root the ceiling.

    Raises
    ------
    InputError
        Fewer than two raters an item.
    """
    n_raters = int((~np.isnan(ratings.given)).sum(axis=1).min())
    if n_raters < 2:
        raise InputError("--ratings", "an item has a single rater", fix="Without a second there is no noise ceiling.")
    half = n_raters // 2
    random = np.random.default_rng(seed)
    correlations = []
    for _ in range(_N_SPLITS):
        order = np.where(np.isnan(ratings.given), np.inf, random.random(ratings.given.shape)).argsort(axis=1)
        mixed = np.take_along_axis(ratings.given, order, axis=1)
        correlations.append(correlation(mixed[:, :half].mean(axis=1), mixed[:, half : 2 * half].mean(axis=1)))
    r, times = float(np.mean(correlations)), n_raters / half
    return float(np.sqrt(max(0.0, times * r / (1 + (times - 1) * r))))


def correlation(one: Floats, other: Floats) -> float:
    """Return Pearson's correlation; NaN where a column is constant."""
    if one.std() == 0 or other.std() == 0:
        return float("nan")
    return float(np.corrcoef(one, other)[0, 1])
