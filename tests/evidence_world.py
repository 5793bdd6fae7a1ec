"""A world whose embeddings are set by hand: an image file holds the names of what it shows, with weights.

``unicycle 0.8 boneshaker 0.6`` is the image of a thing between the two. Every name has a vector of its own, nearly
at right angles to all others. Everything else is the program's own.
"""

import os
import signal
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from imagenet_errors.images import val_file_names
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.oov import build, clip, pool
from imagenet_errors.oov.clip import ImageEmbeddings
from imagenet_errors.oov.cosine import normalised
from imagenet_errors.readers.annotations import read_real

DIM = 256
CLASSES = imagenet_1k()
UNICYCLE, TRICYCLE, TENCH, SPOON, RULER = (
    CLASSES.look_up(name, where="test") for name in ("unicycle", "tricycle", "tench", "wooden spoon", "rule")
)


def vector(name):
    return normalised(np.random.default_rng(zlib.crc32(name.encode())).standard_normal((1, DIM)))[0]


def shown(text):
    """The vector of what an image file says."""
    words = text.replace("_", " ").split(",")
    parts = [word.strip().rsplit(" ", 1) for word in words]
    return sum(float(weight) * vector(name) for name, weight in parts)


class HandMade:
    """An encoder that reads what the files say; an empty file is a corrupt image."""

    def embed_images(self, paths):
        texts = {row: path.read_text() for row, path in enumerate(paths) if path.exists()}
        good = [row for row, text in texts.items() if text]
        failures = {row: "cannot be read: empty" for row in range(len(paths)) if row not in good}
        rows = [shown(texts[row]) for row in good]
        vectors = normalised(np.array(rows)) if rows else np.empty((0, DIM), np.float32)
        return ImageEmbeddings(np.array(good, dtype=np.int64), vectors, failures)

    def embed_names(self, names):
        return np.array([vector(name) for name in names])


def install(patch=setattr):
    """Let the program use the encoder, with small shards, so that there are many."""
    patch(clip, "load_encoder", lambda spec: HandMade())
    patch(pool, "SHARD_ROWS", 16)
    patch(build, "_CHUNK_IMAGES", 4)
    patch(build, "_CHUNK_NAMES", 256)
    patch(build, "_CHUNK_QUERIES", 4)
    patch(build, "_DECIDED_ROWS", 5)


def die_at(nth):
    """Kill this process, without a chance to clean up, just before its nth file is whole."""
    sync, count = os.fsync, iter(range(1, 10_000))

    def dying(handle):
        if next(count) == nth:
            os.kill(os.getpid(), signal.SIGKILL)
        sync(handle)

    os.fsync = dying


@dataclass(frozen=True)
class World:
    """Files for the command: predictions of images, annotations, and training images."""

    folder: Path

    def arguments(self, out, *more, others=()):
        return [
            "evidence",
            self.folder / "model.csv",
            *others,
            "--images",
            self.folder / "val",
            "--annotations",
            self.folder / "annotations.csv",
            "--no-check-order",
            "--out",
            out,
            *more,
        ]

    @property
    def trained(self):
        return ("--train-images", self.folder / "train")

    def table(self, **neighbours):
        """Write a table of neighbours: image number -> classes."""
        rows = [f"{image},{' '.join(map(str, classes))}" for image, classes in neighbours.items()]
        path = self.folder / "neighbours.csv"
        path.write_text("\n".join(["file_name,neighbour_classes", *rows]) + "\n")
        return ("--neighbours", path)


def make(folder, images, *, train=None):
    """Write a world of images: each (what it shows, predicted class); labels are tench."""
    numbers = np.flatnonzero(read_real(CLASSES).label == TENCH)[: len(images)] + 1
    names = val_file_names(numbers).to_pylist()
    (folder / "val").mkdir()
    for name, (text, _) in zip(names, images, strict=True):
        (folder / "val" / name).write_text(text)
    rows = [f"{name},{index}" for name, (_, index) in zip(names, images, strict=True)]
    (folder / "model.csv").write_text("\n".join(["file_name,predicted_class", *rows]) + "\n")
    accepted = [f"{name},{TENCH}" for name in names]
    (folder / "annotations.csv").write_text("\n".join(["file_name,labels", *accepted]) + "\n")
    for index, texts in (train or {}).items():
        inside = folder / "train" / CLASSES.wnids[index]
        inside.mkdir(parents=True)
        for number, text in enumerate(texts):
            (inside / f"{CLASSES.wnids[index]}_{number}.JPEG").write_text(text)
    return World(folder), names
