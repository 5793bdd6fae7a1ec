"""Where an image's neighbours come from: training images, their embeddings, or neighbours that are known already."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from imagenet_errors.images import ImageIndex
from imagenet_errors.oov.published_files import fingerprint, read_published_neighbours
from imagenet_errors.problems import InputError, counted

_FIX = "Give file_name and neighbour_classes: a list of class indices, or ints joined by spaces, nearest first."


@dataclass(frozen=True)
class NeighbourSource:
    """Exactly one of the three; ``samples``: the published names beside ``neighbours``, if they lie elsewhere."""

    train_images: Path | None = None
    train_embeddings: Path | None = None
    neighbours: Path | None = None
    samples: Path | None = None

    def check(self) -> None:
        """Refuse none, several, or what is not there.

        Raises
        ------
        InputError
            Not exactly one is given, or the path does not exist.
        """
        given = [path for path in (self.train_images, self.train_embeddings, self.neighbours) if path is not None]
        if len(given) != 1:
            raise InputError(
                "--train-images, --train-embeddings, --neighbours",
                f"{len(given)} of them given",
                fix="Pass exactly one: it is where an image's neighbours come from.",
            )
        if not given[0].exists():
            raise InputError(given[0], "no such file or folder", fix="Check the path.")


@dataclass(frozen=True, eq=False)
class KnownNeighbours:
    """Neighbours read from a file: ``row_of`` image row -> row of ``classes`` int16 [m, k], -1 past the last."""

    row_of: dict[int, int]
    classes: NDArray[np.int16]
    fingerprint: str

    def of(self, rows: Sequence[int]) -> NDArray[np.int16]:
        """Return the neighbours' classes [n, k] of the given image rows; all -1 where none are known."""
        at = np.array([self.row_of.get(row, -1) for row in rows], dtype=np.int64)
        return np.where(at[:, None] >= 0, self.classes[at], np.int16(-1))


def read_neighbours(path: Path, images: ImageIndex, *, n_classes: int, samples: Path | None = None) -> KnownNeighbours:
    """Read neighbours' classes: the published npz, or a table (Parquet or CSV), and match them to images.

    Raises
    ------
    InputError
        The file cannot be read, lacks a column, names a class that there is not, or no annotated image.
    """
    if path.suffix == ".npz":
        names, classes = read_published_neighbours(path, samples)
        print_of = fingerprint(path)
    else:
        names, classes = _read_table(path)
        print_of = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    if classes.size and (classes.max() >= n_classes or classes.min() < -1):
        wrong = np.argwhere((classes >= n_classes) | (classes < -1))
        example = f"{classes[tuple(wrong[0])]} for {names[int(wrong[0][0])]}"
        what = f"{counted(len(wrong), 'neighbour')} of a class outside 0..{n_classes - 1}"
        raise InputError(path, what, example=example, fix=_FIX)
    rows = images.rows(names, where=path)
    row_of = {int(row): at for at, row in enumerate(rows) if row >= 0}
    if not row_of:
        what = f"none of its {counted(len(names), 'image')} is annotated"
        raise InputError(path, what, example=names[0] if len(names) else None, fix="Check the names.")
    return KnownNeighbours(row_of, classes, print_of)


def _read_table(path: Path) -> tuple[pa.StringArray, NDArray[np.int16]]:
    import pyarrow.csv
    import pyarrow.parquet

    try:
        with path.open("rb") as start:
            is_parquet = start.read(4) == b"PAR1"
        if is_parquet:
            table = pyarrow.parquet.ParquetFile(path).read()
        else:
            as_text = {"file_name": pa.string(), "neighbour_classes": pa.string()}
            table = pyarrow.csv.read_csv(path, convert_options=pyarrow.csv.ConvertOptions(column_types=as_text))
        column = table["neighbour_classes"].combine_chunks()
        if pa.types.is_string(column.type):
            column = pc.split_pattern_regex(pc.utf8_trim(column, "[] \n"), r"[\s,]+")
        column = pc.cast(column, pa.list_(pa.int16()))
        names = table["file_name"].combine_chunks().cast(pa.string())
    except KeyError as error:
        raise InputError(path, f"no column {str(error)[:80]}", fix=_FIX) from None
    except (pa.ArrowException, OSError) as error:
        raise InputError(path, f"not a table of neighbours: {error}", fix=_FIX) from None
    if column.null_count or names.null_count or column.flatten().null_count:
        raise InputError(path, "empty cells", fix=_FIX)
    return names, _padded(column)


def _padded(lists: pa.ListArray) -> NDArray[np.int16]:
    """Return lists of unequal length as int16 [n, longest], filled up with -1."""
    lengths = pc.list_value_length(lists).to_numpy(zero_copy_only=False)
    padded = np.full((len(lists), int(lengths.max(initial=0))), -1, dtype=np.int16)
    padded[np.arange(padded.shape[1]) < lengths[:, None]] = lists.flatten().to_numpy(zero_copy_only=False)
    return padded
