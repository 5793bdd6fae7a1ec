"""Files that spare one the images to search: known neighbours, and embeddings that somebody published.

Of the published program: ``train_clip_embeddings.npz`` (train_files, targets, embeddings), ``valid_clip_knn.npz``
(topk_train_indices, topk_train_targets, [N, 50]) with ``samples_info.npz`` (sample_files, targets) beside it. Of
anybody: a table (Parquet or CSV) of file_name, neighbour_classes.

Source: https://github.com/eth-sri/automated-error-analysis (Apache-2.0).
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from imagenet_errors.images import ImageIndex
from imagenet_errors.oov.cosine import is_unit, normalised
from imagenet_errors.problems import InputError, counted

SAMPLES = "samples_info.npz"
_AGAIN = "Download or copy the file again."
_FIX = "Give file_name and neighbour_classes: a list of class indices, or ints joined by spaces, nearest first."


def read_member(path: Path, name: str) -> NDArray[Any]:
    """Return an array of an npz file.

    Raises
    ------
    InputError
        The file is missing or damaged, or lacks the array.
    """
    try:
        with path.open("rb") as file:  # numpy leaves a file open that it cannot read
            members = np.load(file, allow_pickle=False)
            if not isinstance(members, np.lib.npyio.NpzFile):
                raise ValueError("it holds no named arrays")
            array: NDArray[Any] = members[name]
            return array
    except KeyError:
        raise InputError(path, f"no array {name} in it", fix="Give the published program's file.") from None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(path, f"cannot be read: {error}", fix=_AGAIN) from None


def holds_neighbours(path: Path) -> bool:
    """Tell a file of known neighbours from one of embeddings: all but an npz file without neighbours in it."""
    try:
        with zipfile.ZipFile(path) as archive:
            return "topk_train_targets.npy" in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return True


def fingerprint(path: Path) -> str:
    """Return a short hash of an npz file's content, from the checksums that zip keeps of its members."""
    try:
        with zipfile.ZipFile(path) as archive:
            facts = [f"{part.filename} {part.file_size} {part.CRC}" for part in archive.infolist()]
    except (OSError, zipfile.BadZipFile) as error:
        raise InputError(path, f"cannot be read: {error}", fix=_AGAIN) from None
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]


def read_published_neighbours(path: Path, samples: Path | None = None) -> tuple[pa.StringArray, NDArray[np.int16]]:
    """Return image names [N] and their neighbours' classes int16 [N, 50], nearest first.

    Raises
    ------
    InputError
        A file is missing or damaged, or the two do not go together.
    """
    samples = samples or path.with_name(SAMPLES)
    classes = read_member(path, "topk_train_targets")
    names = read_member(samples, "sample_files")
    if classes.ndim != 2 or len(classes) != len(names):
        what = f"neighbours of shape {classes.shape} for {counted(len(names), 'image')} in {samples.name}"
        raise InputError(path, what, fix="Give files that belong together.")
    return pa.array(names.tolist(), type=pa.string()), classes.astype(np.int16)


def embedding_blocks(path: Path, n_rows: int) -> Iterator[tuple[list[str], NDArray[np.int16], NDArray[np.float32]]]:
    """Yield (file names, classes [m], unit vectors [m, d]) of so many rows at a time; the 4 GB array is never held.

    Raises
    ------
    InputError
        The file is damaged or lacks an array, or a vector is zero or not finite.
    """
    files, classes = read_member(path, "train_files"), read_member(path, "targets").astype(np.int16)
    start = 0
    for vectors in _blocks(path, "embeddings", (len(files), n_rows)):
        part = slice(start, start + len(vectors))
        units = normalised(vectors)
        bad = np.flatnonzero(~is_unit(units))
        if bad.size:
            what = f"{counted(bad.size, 'row')} without a direction (zero or not finite)"
            raise InputError(path, what, example=files[part][bad[0]], fix=_AGAIN)
        yield files[part].tolist(), classes[part], units
        start += len(vectors)


def n_embeddings(path: Path) -> int:
    """Return the number of images in published embeddings."""
    return len(read_member(path, "targets"))


def _blocks(path: Path, name: str, sizes: tuple[int, int]) -> Iterator[NDArray[Any]]:
    """Yield the rows of one array of an npz file; ``sizes``: how many there are, and how many at a time."""
    n_rows, n_at_once = sizes
    try:
        with zipfile.ZipFile(path) as archive, archive.open(f"{name}.npy") as member:
            version = np.lib.format.read_magic(member)
            read_header = (
                np.lib.format.read_array_header_1_0 if version == (1, 0) else (np.lib.format.read_array_header_2_0)
            )
            shape, fortran, dtype = read_header(member)
            if fortran or len(shape) != 2 or shape[0] != n_rows or dtype.kind != "f":
                what = f"{name} is {dtype} of shape {shape} for {counted(n_rows, 'file')}"
                raise InputError(path, what, fix="Give floats, one row a file.")
            for start in range(0, n_rows, n_at_once):
                n_here = min(n_at_once, n_rows - start)
                content = member.read(n_here * shape[1] * dtype.itemsize)
                yield np.frombuffer(content, dtype=dtype).reshape(n_here, shape[1])
    except KeyError:
        raise InputError(path, f"no array {name} in it", fix="Give the published program's file.") from None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(path, f"cannot be read: {error}", fix=_AGAIN) from None


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
