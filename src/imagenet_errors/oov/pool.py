"""The pool that neighbours are looked for in: embeddings of images of known class, in shards made anywhere.

Shards are float16 on disk, each made by one task: here, one after the other, or as tasks of a Ray cluster. The file
system holds what is done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors import cluster
from imagenet_errors.image_folder import LabelledImages, file_sha256
from imagenet_errors.oov import clip
from imagenet_errors.oov.clip import EncoderSpec
from imagenet_errors.oov.cosine import check_unit
from imagenet_errors.oov.neighbour_files import embedding_blocks
from imagenet_errors.oov.shards import (
    SUFFIX,
    Identity,
    encoder_stated,
    key_hash,
    matrix,
    matrix_column,
    read_shard,
    write_shard,
)
from imagenet_errors.problems import InputError, counted
from imagenet_errors.shipped import needs

ENGINES = ("local", "ray")
SHARD_ROWS = 4096
"""Images a shard: what a kill can lose, about a minute of one GPU."""
_N_RETRIES = 3


@dataclass(frozen=True, eq=False)
class EmbedTask:
    """One shard to make: which images, of which classes, by which encoder, and where it goes."""

    spec: EncoderSpec
    path: Path
    folder: Path
    files: tuple[str, ...]
    classes: NDArray[np.int16]

    @property
    def is_done(self) -> bool:
        """True when the shard is there, whole, and by the same encoder."""
        return read_shard(self.path, pool_identity(self.spec.identity)) is not None


def embed_tasks(spec: EncoderSpec, images: LabelledImages, out: Path) -> list[EmbedTask]:
    """Return the tasks that make all shards of a pool; a shard's name tells its place and its files."""
    tasks = []
    for place, start in enumerate(range(0, len(images.files), SHARD_ROWS)):
        part = slice(start, start + SHARD_ROWS)
        files = images.files[part]
        path = out / f"{place:05}-{key_hash(files)}{SUFFIX}"
        tasks.append(EmbedTask(spec, path, images.folder, files, images.classes[part]))
    return tasks


def pool_identity(encoder: str) -> Identity:
    """Return what is pinned into a shard of a pool."""
    return Identity("pool", encoder)


def content_codes(paths: Sequence[Path]) -> NDArray[np.uint64]:
    """Return uint64 [n] that tell files of equal content: the first 8 bytes of their sha256, never 0."""
    digests = b"".join(file_sha256(path)[:8] for path in paths)
    return np.maximum(np.frombuffer(digests, dtype="<u8").astype(np.uint64), np.uint64(1))


def embed_shard(task: EmbedTask) -> int:
    """Embed a task's images and write the shard; return the number of images. Images that fail are listed in it.

    Raises
    ------
    InputError
        The encoder cannot be loaded, or the disk is full.
    """
    encoder = clip.load_encoder(task.spec)
    embedded = encoder.embed_images([task.folder / file for file in task.files])
    failures = [(task.files[row], reason) for row, reason in embedded.failures.items()]
    files = [task.files[row] for row in embedded.rows]
    content = content_codes([task.folder / file for file in files])
    table = pool_table(files, task.classes[embedded.rows], embedded.vectors, content)
    write_shard(task.path, table, pool_identity(task.spec.identity), failures=failures)
    return len(task.files)


def pool_table(
    files: Sequence[str], classes: NDArray[np.int16], vectors: NDArray[Any], content: NDArray[np.uint64] | None = None
) -> pa.Table:
    """Return unit vectors [n, d] of images with their classes [n] as a shard's table, in float16.

    ``content``: see :func:`content_codes`; 0 where it is not known.
    """
    return pa.table(
        {
            "key": pa.array(files, type=pa.string()),
            "class": pa.array(classes, type=pa.int16()),
            "content": pa.array(np.zeros(len(files), dtype=np.uint64) if content is None else content),
            "embedding": matrix_column(vectors.astype(np.float16)),
        }
    )


def import_shards(path: Path, out: Path, encoder: str) -> Iterator[int]:
    """Copy published embeddings into shards; yield the number of rows after each. Whole ones are left as they are.

    Raises
    ------
    InputError
        The file is damaged or lacks an array, or a vector is zero or not finite.
    """
    for place, (files, classes, vectors) in enumerate(embedding_blocks(path, SHARD_ROWS)):
        shard = out / f"{place:05}{SUFFIX}"
        if read_shard(shard, pool_identity(encoder)) is None:
            write_shard(shard, pool_table(files, classes, vectors), pool_identity(encoder))
        yield len(vectors)


def run_tasks(tasks: Sequence[EmbedTask], *, engine: str) -> Iterator[int]:
    """Make the shards; yield each one's number of images as it is done, in any order.

    Raises
    ------
    InputError
        A shard could not be made. With Ray the others are made first, and a lost worker's task is tried again.
    """
    if engine == "local":
        for task in tasks:
            yield embed_shard(task)
    else:
        yield from _run_on_ray(tasks)


def attempt(task: EmbedTask) -> tuple[int, str]:
    """Make a shard; return its number of images, and what went wrong, if anything did."""
    try:
        return embed_shard(task), ""
    except InputError as error:
        return 0, str(error)


def _run_on_ray(tasks: Sequence[EmbedTask]) -> Iterator[int]:
    ray = needs("ray", extra="ray")
    started = cluster.join()
    try:
        n_gpus = 1 if tasks[0].spec.device in ("auto", "cuda") and ray.cluster_resources().get("GPU") else 0
        remote = ray.remote(attempt).options(
            num_cpus=1, num_gpus=n_gpus, max_retries=_N_RETRIES, retry_exceptions=[OSError, RuntimeError]
        )
        problems = []
        for _, result in cluster.results(remote.remote, tasks, n_ahead=len(tasks)):
            n_images, problem = (0, _last_line(result)) if isinstance(result, Exception) else result
            problems += [problem] * bool(problem)
            yield n_images
        if problems:
            what = f"{counted(len(problems), 'shard')} could not be made"
            raise InputError("--engine ray", what, example=problems[0], fix="Run again: the others are kept.")
    finally:
        if started:
            ray.shutdown()


def _last_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[-1]}"


def _widen(rows: NDArray[np.float16], into: NDArray[np.float32]) -> None:
    into[:] = rows


@dataclass(frozen=True, eq=False)
class Pool:
    """All embeddings of a pool, mapped into memory: ``shards`` in order, rows counted through."""

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

    @cached_property
    def content(self) -> NDArray[np.uint64]:
        """uint64 [n]: the code of every image's content, 0 where it is not known."""
        return np.concatenate([shard["content"].to_numpy() for shard in self.shards])

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


def load_pool(paths: Sequence[Path], encoder: str, *, where: Path) -> Pool:
    """Map verified shards into memory.

    Raises
    ------
    InputError
        A shard is missing or damaged, there is no embedding at all, or vectors are not of length 1.
    """
    shards = [read_shard(path, pool_identity(encoder)) for path in paths]
    bad = [path for path, shard in zip(paths, shards, strict=True) if shard is None]
    if bad:
        what = f"{counted(len(bad), 'shard')} missing, damaged, or of another encoder than {encoder}"
        raise InputError(where, what, example=_example(bad[0]), fix="Embed the images again.")
    whole = Pool(tuple(shard for shard in shards if shard is not None and len(shard)))
    if not whole.shards:
        raise InputError(where, "not one embedding", fix="Check the images of the pool.")
    check_unit(whole.matrices[0], where=where)
    return whole


def _example(path: Path) -> str:
    made_by = (encoder_stated(path) or "unreadable") if path.is_file() else "missing"
    return f"{path.name}: {made_by}"
