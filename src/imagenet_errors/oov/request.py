"""What evidence is asked for, by what, where neighbours are looked for, and where it goes."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from imagenet_errors.image_folder import LabelledImages, labelled_images
from imagenet_errors.images import ImageIndex
from imagenet_errors.inputs import Inputs
from imagenet_errors.labels import LabelSpace
from imagenet_errors.oov.clip import EncoderSpec
from imagenet_errors.oov.neighbour_files import (
    KnownNeighbours,
    fingerprint,
    holds_neighbours,
    n_embeddings,
    read_neighbours,
)
from imagenet_errors.oov.pool import ENGINES, EmbedTask, embed_tasks
from imagenet_errors.oov.shards import SUFFIX, key_hash, sha256_stated
from imagenet_errors.problems import InputError, refuse_absent
from imagenet_errors.readers.predictions import ReadRules
from imagenet_errors.tables import Annotations


@dataclass(frozen=True)
class PoolChoice:
    """Where neighbours come from, at most one of three; none: the evaluated images themselves.

    ``images``: a folder of images of known class; ``embeddings``: the published file, or a folder of shards;
    ``neighbours``: a file of known ones, with the published ``samples`` beside it if they lie elsewhere.
    ``per_class``: so many images of each class instead of all.
    """

    images: Path | None = None
    embeddings: Path | None = None
    neighbours: Path | None = None
    samples: Path | None = None
    per_class: int | None = None

    @classmethod
    def of(cls, path: Path, *, samples: Path | None = None, per_class: int | None = None) -> PoolChoice:
        """Return what a path is by its content: images, shards, published embeddings or known neighbours."""
        if path.is_dir() and not any(path.glob(f"*{SUFFIX}")):
            return cls(images=path, samples=samples, per_class=per_class)
        if path.is_file() and holds_neighbours(path):
            return cls(neighbours=path, samples=samples, per_class=per_class)
        return cls(embeddings=path, samples=samples, per_class=per_class)

    @property
    def place(self) -> Path | None:
        """The file or folder given; None: the evaluated images themselves."""
        return self.images or self.embeddings or self.neighbours

    def check(self) -> None:
        """Refuse several, what is not there, and a sample of what cannot be sampled.

        Raises
        ------
        InputError
            Several are given, the path does not exist, or ``per_class`` goes with embeddings or neighbours.
        """
        given = [path for path in (self.images, self.embeddings, self.neighbours) if path is not None]
        if len(given) > 1:
            raise InputError(
                "--pool, --train-images, --train-embeddings, --neighbours",
                f"{len(given)} of them given",
                fix="Pass one at most: it is where an image's neighbours come from.",
            )
        if given:
            refuse_absent(given[0], what="no such file or folder")
        if self.per_class is not None and (self.per_class < 1 or self.embeddings or self.neighbours):
            what = f"{self.per_class} images of each class cannot be taken"
            raise InputError("--pool-per-class", what, fix="Give 1 or more, and a folder of images as --pool.")


@dataclass(frozen=True)
class OovRequest:
    """What to find evidence for, by what, and where to put it.

    ``cover`` 0..1: only the commonest cases, which make up this share of all that the models did.
    """

    predictions: tuple[Path, ...]
    inputs: Inputs
    images: Path
    pool: PoolChoice
    out: Path
    encoder: EncoderSpec = field(default_factory=EncoderSpec)
    work: Path | None = None
    engine: str = "local"
    redo: bool = False
    cover: float = 1.0
    rules: ReadRules = field(default_factory=lambda: ReadRules(allow_partial=True))

    def check(self) -> None:
        """Refuse what cannot be before anything slow is begun.

        Raises
        ------
        InputError
            A path does not exist, there is no such engine, or ``out`` is a folder.
        """
        self.inputs.check()
        self.pool.check()
        if self.engine not in ENGINES:
            raise InputError("--engine", f"no engine {self.engine!r}", fix=f"There are: {', '.join(ENGINES)}.")
        if not 0 < self.cover <= 1:
            raise InputError("--cover", f"{self.cover:g} is no share", fix="Give more than 0 and at most 1.")
        if self.out.is_dir():
            raise InputError(self.out, "is a folder", fix="Let --out name a .parquet file.")

    @property
    def work_folder(self) -> Path:
        """The folder that keeps embeddings and neighbours: ``oov.work`` beside ``oov.parquet`` unless chosen."""
        return self.work or self.out.with_name(f"{self.out.stem}.work")

    @property
    def encoder_folder(self) -> Path:
        """The part of it that one encoder's embeddings are in."""
        return self.work_folder / re.sub(r"[^\w.-]+", "-", self.encoder.identity)


@dataclass(frozen=True)
class PublishedEmbeddings:
    """Published embeddings that are to be copied into shards."""

    path: Path
    n_rows: int


@dataclass(frozen=True, eq=False)
class OpenedPool:
    """What to embed, to copy, or what is known; ``fingerprint``: ``KIND HASH``; ``words``: what it is, for people.

    ``evaluated``: the pool is these images of the evaluated ones, whose embeddings are needed anyway.
    """

    fingerprint: str
    words: str
    tasks: tuple[EmbedTask, ...] = ()
    published: PublishedEmbeddings | None = None
    known: KnownNeighbours | None = None
    evaluated: LabelledImages | None = None


def open_pool(
    request: OovRequest, annotations: Annotations, labels: LabelSpace, *, files_there: dict[int, str]
) -> OpenedPool:
    """Open the pool that the request names; ``files_there``: annotation row -> path of the evaluated images.

    Raises
    ------
    InputError
        It cannot be read, or an image's class cannot be told.
    """
    choice = request.pool
    if choice.neighbours is not None:
        index = ImageIndex(annotations.file_names)
        known = read_neighbours(choice.neighbours, index, n_classes=len(labels), samples=choice.samples)
        return OpenedPool(f"known {known.fingerprint}", f"known neighbours: {choice.neighbours.name}", known=known)
    if choice.embeddings is not None:
        return _of_embeddings(choice.embeddings)
    if choice.images is None:
        return _of_evaluated(request, annotations, files_there)
    images = _sampled(labelled_images(choice.images, labels), choice.per_class)
    tasks = tuple(embed_tasks(request.encoder, images, request.encoder_folder / "pool"))
    classes = hashlib.sha256(images.classes.tobytes()).hexdigest()
    words = f"{len(images.files):,} images of {choice.images.name}{_per_class(choice.per_class)}"
    return OpenedPool(f"images {key_hash([classes, *(task.path.name for task in tasks)])}", words, tasks=tasks)


def _of_embeddings(path: Path) -> OpenedPool:
    if path.is_file():
        n_rows = n_embeddings(path)
        published = PublishedEmbeddings(path, n_rows)
        return OpenedPool(f"embeddings {fingerprint(path)}", f"{n_rows:,} images of {path.name}", published=published)
    paths = sorted(path.glob(f"*{SUFFIX}"))
    if not paths:
        raise InputError(path, "no shards of embeddings in it", fix="Give a folder that this command made.")
    stated = key_hash([f"{shard.name} {sha256_stated(shard)}" for shard in paths])
    return OpenedPool(f"shards {stated}", f"the embeddings in {path.name}")


def _of_evaluated(request: OovRequest, annotations: Annotations, files_there: dict[int, str]) -> OpenedPool:
    """Return the evaluated images that are there as the pool; none is its own neighbour."""
    rows = np.array(sorted(files_there), dtype=np.int64)
    files = tuple(files_there[row] for row in rows.tolist())
    there = LabelledImages(request.images, files, annotations.label[rows].astype(np.int16))
    images = _sampled(there, request.pool.per_class)
    classes = hashlib.sha256(images.classes.tobytes()).hexdigest()
    words = f"the {len(images.files):,} evaluated images themselves{_per_class(request.pool.per_class)}, each left out"
    return OpenedPool(f"evaluated {key_hash([classes, *images.files])}", f"{words} for itself", evaluated=images)


def _sampled(images: LabelledImages, per_class: int | None) -> LabelledImages:
    return images if per_class is None else images.sample(per_class)


def _per_class(per_class: int | None) -> str:
    return "" if per_class is None else f", {per_class} of each class at most"
