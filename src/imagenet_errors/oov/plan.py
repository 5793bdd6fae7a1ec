"""What there is to do for out-of-vocabulary evidence, found out without loading an encoder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from imagenet_errors.evidence.oov import OOV_SCHEMA
from imagenet_errors.evidence.superclasses import Superclasses
from imagenet_errors.image_folder import files_of_rows
from imagenet_errors.images import ImageIndex
from imagenet_errors.inputs import load_basis
from imagenet_errors.mistakes import Mistakes, Progress, gather, silent
from imagenet_errors.oov.encoder import PROMPT
from imagenet_errors.oov.keyed_store import KeyedStore
from imagenet_errors.oov.neighbour_source import KnownNeighbours
from imagenet_errors.oov.neighbours import N_KEPT
from imagenet_errors.oov.proposals import Proposer
from imagenet_errors.oov.published_files import fingerprint
from imagenet_errors.oov.request import Request, check_request, encoder_folder, work_folder
from imagenet_errors.oov.shards import SUFFIX
from imagenet_errors.oov.table import held_rows, lacking
from imagenet_errors.oov.train_shards import EmbedTask, is_done
from imagenet_errors.oov.train_source import Import, source_of
from imagenet_errors.tables import Annotations, Cases
from imagenet_errors.wordnet import load_wordnet

METHOD = 1
"""Raised when the rules change, so that a table of old rows is not added to."""
STAGE = "fine_grained_oov"


@dataclass(frozen=True, eq=False)
class Plan:
    """What there is to do. ``todo``: cases that the table lacks and whose image is there.

    ``held``: the rows that are kept; ``images`` file name -> path within the images' folder, of the cases to
    do; ``absent_images``: those of cases whose image is not there, with ``n_absent`` cases.
    """

    request: Request
    annotations: Annotations
    mistakes: Mistakes
    n_reaching: int
    held: pa.Table
    todo: Cases
    images: dict[str, str]
    absent_images: tuple[str, ...]
    n_absent: int
    proposer: Proposer
    recipe: dict[str, Any]
    train_tasks: tuple[EmbedTask, ...] = ()
    train_import: Import | None = None
    known_neighbours: KnownNeighbours | None = None

    @property
    def encoder(self) -> str:
        """The encoder's pinned name."""
        return self.request.encoder.identity

    @property
    def work(self) -> Path:
        """The folder that keeps embeddings and neighbours, beside the table unless chosen."""
        return work_folder(self.request)

    @cached_property
    def todo_names(self) -> pa.StringArray:
        """The file name of every case to do."""
        return self.annotations.file_names.take(pa.array(self.todo.rows))

    @cached_property
    def row_of(self) -> dict[str, int]:
        """File name -> annotation row of the images to do."""
        rows = np.unique(self.todo.rows)
        return dict(zip(self.annotations.file_names.take(pa.array(rows)).to_pylist(), rows.tolist(), strict=True))

    @cached_property
    def names(self) -> list[str]:
        """Every name that is proposed for a case to do, once."""
        pairs = np.unique(self.todo.prediction.astype(np.int64) << 16 | self.todo.label)
        proposals = self.proposer.propose(pairs >> 16, pairs & 0xFFFF)
        names: list[str] = self.proposer.vocabulary.take(pa.array(np.unique(proposals.names))).to_pylist()
        return names

    @cached_property
    def image_store(self) -> KeyedStore:
        """Embeddings of evaluated images."""
        return KeyedStore.open(encoder_folder(self.request) / "images", {"kind": "images", "encoder": self.encoder})

    @cached_property
    def name_store(self) -> KeyedStore:
        """Embeddings of names."""
        identity = {"kind": "names", "encoder": self.encoder, "prompt": PROMPT}
        return KeyedStore.open(encoder_folder(self.request) / "names", identity)

    @cached_property
    def neighbour_store(self) -> KeyedStore:
        """Neighbours of evaluated images, by these training images."""
        source = self.recipe["neighbours"]
        identity = {"kind": "neighbours", "encoder": self.encoder, "source": source, "k": N_KEPT}
        return KeyedStore.open(encoder_folder(self.request) / "neighbours" / source.partition(" ")[2], identity)

    @property
    def train_folder(self) -> Path:
        """Where the shards of training embeddings are."""
        given = self.request.neighbours.train_embeddings
        if given is not None and given.is_dir():
            return given
        folder = encoder_folder(self.request) / "train"
        return folder / fingerprint(given) if given is not None else folder

    def train_paths(self) -> list[Path]:
        """Return the shards of training embeddings, in order."""
        if self.train_tasks:
            return [task.path for task in self.train_tasks]
        return sorted(self.train_folder.glob(f"*{SUFFIX}"))

    @cached_property
    def train_todo(self) -> list[EmbedTask]:
        """The shards that are still to be made."""
        return [task for task in self.train_tasks if not is_done(task)]

    def lines(self) -> Iterator[str]:
        """Say what there is to do, a line each."""
        n_explained = len(self.mistakes.cases) - self.n_reaching
        yield f"{len(self.mistakes.models):,} models made {len(self.mistakes.cases):,} distinct mistakes"
        yield f"{n_explained:,} are explained by earlier stages; {self.n_reaching:,} reach {STAGE}"
        n_here = self.n_reaching - len(self.todo) - self.n_absent
        yield f"{n_here:,} of them have evidence in {self.request.out}; {len(self.todo):,} are to be done"
        if self.n_absent:
            yield f"{self.n_absent:,} cannot be done: their {len(self.absent_images):,} images are not in " + str(
                self.request.images
            )
        if len(self.todo):
            yield f"encoder: {self.encoder}"
            yield _amount("images to embed", len(self.image_store.missing(list(self.images))), len(self.images))
            yield _amount("names to embed", len(self.name_store.missing(self.names)), len(self.names))
            yield self._neighbour_line()

    def as_json(self) -> dict[str, Any]:
        """Return the figures as plain objects."""
        missing = self.image_store.missing(list(self.images)) if len(self.todo) else []
        return {
            "n_models": len(self.mistakes.models),
            "n_mistakes": len(self.mistakes.cases),
            "n_reaching": self.n_reaching,
            "n_held": self.n_reaching - len(self.todo) - self.n_absent,
            "n_to_do": len(self.todo),
            "n_without_image": self.n_absent,
            "n_images_to_embed": len(missing),
            "n_train_images_to_embed": sum(len(task.files) for task in self.train_todo),
            "recipe": self.recipe,
        }

    def _neighbour_line(self) -> str:
        if self.known_neighbours is not None:
            return f"neighbours: known, from {self.request.neighbours.neighbours}"
        missing = len(self.neighbour_store.missing(list(self.images)))
        if not missing:
            return "neighbours: all known already"
        if self.train_tasks:
            n_all = sum(len(task.files) for task in self.train_tasks)
            n_todo = sum(len(task.files) for task in self.train_todo)
            return _amount("training images to embed", n_todo, n_all) + f"; then {missing:,} images to search"
        return f"neighbours: {missing:,} images to search in {self.request.neighbours.train_embeddings}"


def _amount(what: str, n_todo: int, n_all: int) -> str:
    return f"{what}: {n_todo:,} of {n_all:,}"


def make_plan(request: Request, *, progress: Progress = silent) -> Plan:
    """Find the cases that reach the stage, what is known of them already, and what is missing.

    Raises
    ------
    InputError
        Something given cannot be used; the text says what.
    """
    check_request(request)
    basis = load_basis(request.inputs)
    annotations, superclasses = basis.annotations, basis.evidence["superclasses"]
    images = ImageIndex(annotations.file_names)
    with gather(request.predictions, basis, rules=request.rules, progress=progress) as mistakes:
        cases = mistakes.cases.take(basis.chain.ask(mistakes.cases).reaching(STAGE))
    source = source_of(request, images)
    recipe = _recipe(request, superclasses, source.fingerprint)
    held = OOV_SCHEMA.empty_table() if request.redo else held_rows(request.out, recipe)
    names = annotations.file_names.take(pa.array(cases.rows))
    open_cases = lacking(held, names, cases.prediction)
    files_there = files_of_rows(request.images, images)
    is_there = np.isin(cases.rows[open_cases], np.array(list(files_there)))
    absent = open_cases[~is_there]
    todo = cases.take(open_cases[is_there])
    to_embed = np.unique(todo.rows)
    keys = annotations.file_names.take(pa.array(to_embed)).to_pylist()
    return Plan(
        request=request,
        annotations=annotations,
        mistakes=mistakes,
        n_reaching=len(cases),
        held=held,
        todo=todo,
        images={key: files_there[row] for key, row in zip(keys, to_embed.tolist(), strict=True)},
        absent_images=tuple(sorted(set(names.take(pa.array(absent)).to_pylist()))),
        n_absent=len(absent),
        proposer=Proposer(basis.labels, load_wordnet(), superclasses.shares),
        recipe=recipe,
        train_tasks=source.tasks,
        train_import=source.to_import,
        known_neighbours=source.known,
    )


def _recipe(request: Request, superclasses: Superclasses, neighbours: str) -> dict[str, Any]:
    """Return what the rows of a table depend on."""
    shares = hashlib.sha256(np.packbits(superclasses.shares).tobytes()).hexdigest()[:16]
    return {
        "encoder": request.encoder.identity,
        "superclasses": shares,
        "neighbours": neighbours,
        "method": METHOD,
    }
