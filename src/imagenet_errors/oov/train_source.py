"""The source of neighbours that a request names, opened and told apart from every other."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from imagenet_errors.image_folder import train_images
from imagenet_errors.images import ImageIndex
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.oov.neighbour_source import KnownNeighbours, read_neighbours
from imagenet_errors.oov.published_files import fingerprint, n_train_files
from imagenet_errors.oov.request import Request, encoder_folder
from imagenet_errors.oov.shards import SUFFIX, key_hash, sha256_stated
from imagenet_errors.oov.train_shards import EmbedTask, embed_tasks
from imagenet_errors.problems import InputError


@dataclass(frozen=True)
class Import:
    """Published training embeddings that are to be copied into shards."""

    path: Path
    n_rows: int


@dataclass(frozen=True, eq=False)
class Source:
    """The source, opened: what to embed, to copy, or what is known; ``fingerprint``: ``KIND HASH``."""

    fingerprint: str
    tasks: tuple[EmbedTask, ...] = ()
    to_import: Import | None = None
    known: KnownNeighbours | None = None


def source_of(request: Request, images: ImageIndex) -> Source:
    """Open the source that the request names.

    Raises
    ------
    InputError
        It cannot be read, or a training image's class cannot be told.
    """
    source = request.neighbours
    if source.neighbours is not None:
        known = read_neighbours(source.neighbours, images, n_classes=len(imagenet_1k()), samples=source.samples)
        return Source(f"known {known.fingerprint}", known=known)
    if source.train_images is not None:
        found = train_images(source.train_images, imagenet_1k())
        tasks = tuple(embed_tasks(request.encoder, found, encoder_folder(request) / "train"))
        classes = hashlib.sha256(found.classes.tobytes()).hexdigest()
        return Source(f"images {key_hash([classes, *(task.path.name for task in tasks)])}", tasks=tasks)
    path = source.train_embeddings
    if path is None or path.is_dir():
        return Source(f"shards {_shards_fingerprint(path)}")
    return Source(f"embeddings {fingerprint(path)}", to_import=Import(path, n_train_files(path)))


def _shards_fingerprint(folder: Path | None) -> str:
    paths = [] if folder is None else sorted(folder.glob(f"*{SUFFIX}"))
    if not paths:
        raise InputError(str(folder), "no shards of embeddings in it", fix="Give a folder that this command made.")
    return key_hash([f"{path.name} {sha256_stated(path)}" for path in paths])
