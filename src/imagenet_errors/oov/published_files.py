"""Files of the published program that spare one the training images: embeddings and neighbours.

``train_clip_embeddings.npz`` (train_files, targets, embeddings), ``valid_clip_knn.npz`` (topk_train_indices,
topk_train_targets, [N, 50]) with ``samples_info.npz`` (sample_files, targets) beside it.

Source: https://github.com/eth-sri/automated-error-analysis (Apache-2.0).
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.oov.cosine import is_unit, normalised
from imagenet_errors.oov.shards import SUFFIX, read_shard
from imagenet_errors.oov.train_shards import SHARD_ROWS, save_train_shard, train_identity
from imagenet_errors.problems import InputError, counted

SAMPLES = "samples_info.npz"
_AGAIN = "Download or copy the file again."


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


def import_shards(path: Path, out: Path, encoder: str) -> Iterator[int]:
    """Copy published training embeddings into shards, normalised; yield the number of rows after each.

    Shards that are there and whole are left; the 4 GB array is streamed, never held.

    Raises
    ------
    InputError
        The file is damaged or lacks an array, or a vector is zero or not finite.
    """
    files, classes = read_member(path, "train_files"), read_member(path, "targets").astype(np.int16)
    for place, vectors in enumerate(_blocks(path, "embeddings", len(files))):
        part = slice(place * SHARD_ROWS, place * SHARD_ROWS + len(vectors))
        shard = out / f"{place:05}{SUFFIX}"
        if read_shard(shard, train_identity(encoder)) is None:
            units = normalised(vectors)
            bad = np.flatnonzero(~is_unit(units))
            if bad.size:
                what = f"{counted(bad.size, 'row')} without a direction (zero or not finite)"
                raise InputError(path, what, example=files[part][bad[0]], fix=_AGAIN)
            save_train_shard(shard, files[part].tolist(), classes[part], units, encoder=encoder)
        yield len(vectors)


def n_train_files(path: Path) -> int:
    """Return the number of images in published training embeddings."""
    return len(read_member(path, "targets"))


def _blocks(path: Path, name: str, n_rows: int) -> Iterator[NDArray[Any]]:
    """Yield the rows of one array of an npz file, SHARD_ROWS at a time."""
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
            for start in range(0, n_rows, SHARD_ROWS):
                n_here = min(SHARD_ROWS, n_rows - start)
                content = member.read(n_here * shape[1] * dtype.itemsize)
                yield np.frombuffer(content, dtype=dtype).reshape(n_here, shape[1])
    except KeyError:
        raise InputError(path, f"no array {name} in it", fix="Give the published program's file.") from None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(path, f"cannot be read: {error}", fix=_AGAIN) from None
