"""Embeddings of the training images: shards on disk, float16, each made by one task that can run anywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.image_folder import TrainImages
from imagenet_errors.oov import encoder as encoders
from imagenet_errors.oov.cosine import check_unit
from imagenet_errors.oov.encoder import EncoderSpec
from imagenet_errors.oov.shards import (
    SUFFIX,
    identity_of,
    key_hash,
    matrix,
    matrix_column,
    read_shard,
    write_shard,
)
from imagenet_errors.problems import InputError, counted

SHARD_ROWS = 4096
"""Images a shard: what a kill can lose, about a minute of one GPU."""


@dataclass(frozen=True, eq=False)
class EmbedTask:
    """One shard to make: which images, of which classes, by which encoder, and where it goes."""

    spec: EncoderSpec
    path: Path
    folder: Path
    files: tuple[str, ...]
    classes: NDArray[np.int16]


def embed_tasks(spec: EncoderSpec, images: TrainImages, out: Path) -> list[EmbedTask]:
    """Return the tasks that make all shards of a training set; a shard's name tells its place and its files."""
    tasks = []
    for place, start in enumerate(range(0, len(images.files), SHARD_ROWS)):
        part = slice(start, start + SHARD_ROWS)
        files = images.files[part]
        path = out / f"{place:05}-{key_hash(files)}{SUFFIX}"
        tasks.append(EmbedTask(spec, path, images.folder, files, images.classes[part]))
    return tasks


def train_identity(encoder: str) -> dict[str, Any]:
    """Return what is pinned into a shard of training embeddings."""
    return {"kind": "train", "encoder": encoder}


def embed_shard(task: EmbedTask) -> int:
    """Embed a task's images and write the shard; return the number of images. Images that fail are listed in it.

    Raises
    ------
    InputError
        The encoder cannot be loaded, or the disk is full.
    """
    encoder = encoders.load_encoder(task.spec)
    embedded = encoder.embed_images([task.folder / file for file in task.files])
    failures = [(task.files[row], reason) for row, reason in embedded.failures.items()]
    files = [task.files[row] for row in embedded.rows]
    save_train_shard(
        task.path,
        files,
        task.classes[embedded.rows],
        embedded.vectors,
        encoder=task.spec.identity,
        failures=failures,
    )
    return len(task.files)


def save_train_shard(
    path: Path,
    files: Sequence[str],
    classes: NDArray[np.int16],
    vectors: NDArray[Any],
    *,
    encoder: str,
    failures: Sequence[tuple[str, str]] = (),
) -> None:
    """Write unit vectors [n, d] of images with their classes [n] as one shard, in float16."""
    table = pa.table(
        {
            "key": pa.array(files, type=pa.string()),
            "class": pa.array(classes, type=pa.int16()),
            "embedding": matrix_column(vectors.astype(np.float16)),
        }
    )
    write_shard(path, table, train_identity(encoder), failures=failures)


def _widen(rows: NDArray[np.float16], into: NDArray[np.float32]) -> None:
    into[:] = rows


@dataclass(frozen=True, eq=False)
class TrainSet:
    """All training embeddings, mapped into memory: ``shards`` in order, rows counted through."""

    shards: tuple[pa.Table, ...]

    def __len__(self) -> int:
        """Return the number of images n."""
        return int(self.offsets[-1])

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """int64 [S + 1]: the first row of every shard."""
        return np.cumsum([0, *(len(shard) for shard in self.shards)], dtype=np.int64)

    @cached_property
    def matrices(self) -> tuple[NDArray[np.float16], ...]:
        """Each shard's embeddings float16 [n_s, d], on disk until touched."""
        return tuple(matrix(shard, "embedding") for shard in self.shards)

    @cached_property
    def dim(self) -> int:
        """The length d of a vector."""
        return int(self.matrices[0].shape[1])

    @cached_property
    def classes(self) -> NDArray[np.int16]:
        """int16 [n]: every image's class."""
        return np.concatenate([shard["class"].to_numpy() for shard in self.shards])

    def take(self, rows: NDArray[np.int64]) -> NDArray[np.float16]:
        """Return the vectors [m, d] of the given rows."""
        taken = np.empty((len(rows), self.dim), dtype=np.float16)
        shard_of = np.searchsorted(self.offsets, rows, side="right") - 1
        for shard in np.unique(shard_of):
            here = np.flatnonzero(shard_of == shard)
            taken[here] = self.matrices[shard][rows[here] - self.offsets[shard]]
        return taken

    def blocks(
        self, n_rows: int, *, widen: Callable[[NDArray[np.float16], NDArray[np.float32]], object] = _widen
    ) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Yield (first row, float32 [m, d]) of up to ``n_rows`` consecutive rows; each is overwritten by the next.

        ``widen`` writes float16 rows into float32 ones, perhaps faster than numpy does.
        """
        buffer = np.empty((min(n_rows, len(self)), self.dim), dtype=np.float32)
        start, filled = 0, 0
        for rows in self.matrices:
            at = 0
            while at < len(rows):
                step = min(len(buffer) - filled, len(rows) - at)
                widen(rows[at : at + step], buffer[filled : filled + step])
                filled, at = filled + step, at + step
                if filled == len(buffer):
                    yield start, buffer
                    start, filled = start + filled, 0
        if filled:
            yield start, buffer[:filled]


def load_train_set(paths: Sequence[Path], encoder: str, *, where: Path) -> TrainSet:
    """Map verified shards into memory.

    Raises
    ------
    InputError
        A shard is missing or damaged, there is no embedding at all, or vectors are not of length 1.
    """
    shards = [read_shard(path, train_identity(encoder)) for path in paths]
    bad = [path for path, shard in zip(paths, shards, strict=True) if shard is None]
    if bad:
        what = f"{counted(len(bad), 'shard')} missing, damaged, or of another encoder than {encoder}"
        raise InputError(where, what, example=_example(bad[0]), fix="Embed the training images again.")
    whole = TrainSet(tuple(shard for shard in shards if shard is not None and len(shard)))
    if not whole.shards:
        raise InputError(where, "not one training embedding", fix="Check the training images.")
    check_unit(whole.matrices[0], where=where)
    return whole


def _example(path: Path) -> str:
    made_by = identity_of(path).get("encoder", "unreadable") if path.is_file() else "missing"
    return f"{path.name}: {made_by}"


def is_done(task: EmbedTask) -> bool:
    """Return True when the task's shard is there, whole, and by the same encoder."""
    return read_shard(task.path, train_identity(task.spec.identity)) is not None
