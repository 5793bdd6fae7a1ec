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
from numpy.typing import NDArray

from imagenet_errors.evidence.oov import OOV_SCHEMA
from imagenet_errors.evidence.superclasses import Superclasses
from imagenet_errors.image_folder import files_of_rows
from imagenet_errors.images import ImageIndex
from imagenet_errors.inputs import Basis, load_basis
from imagenet_errors.mistakes import Mistakes, Progress, gather, silent
from imagenet_errors.oov.clip import PROMPT
from imagenet_errors.oov.neighbour_files import fingerprint
from imagenet_errors.oov.neighbours import N_KEPT
from imagenet_errors.oov.pool import EmbedTask
from imagenet_errors.oov.proposals import Proposer
from imagenet_errors.oov.request import OovRequest, OpenedPool, open_pool
from imagenet_errors.oov.shards import SUFFIX, Identity, KeyedStore
from imagenet_errors.oov.table import Recipe, held_rows, lacking
from imagenet_errors.problems import counted
from imagenet_errors.tables import Annotations, Cases
from imagenet_errors.wordnet import load_wordnet

METHOD = 1
"""Raised when the rules change, so that a table of old rows is not added to."""
STAGE = "fine_grained_oov"


@dataclass(frozen=True, eq=False)
class OovPlan:
    """What there is to do. ``todo``: cases that the table lacks and whose image is there.

    ``held``: the rows that are kept; ``images`` file name -> path within the images' folder, of the cases to
    do; ``absent_images``: those of cases whose image is not there, with ``n_absent`` cases; ``n_rare``: cases
    left for later because they are rare.
    """

    request: OovRequest
    annotations: Annotations
    mistakes: Mistakes
    n_reaching: int
    held: pa.Table
    todo: Cases
    images: dict[str, str]
    absent_images: tuple[str, ...]
    n_absent: int
    n_rare: int
    proposer: Proposer
    recipe: Recipe
    pool: OpenedPool

    @property
    def encoder(self) -> str:
        """The encoder's pinned name."""
        return self.request.encoder.identity

    @property
    def work(self) -> Path:
        """The folder that keeps embeddings and neighbours, beside the table unless chosen."""
        return self.request.work_folder

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
    def pool_images(self) -> dict[str, str]:
        """File name -> path of the evaluated images that are the pool; none where it is another."""
        images = self.pool.evaluated
        if images is None:
            return {}
        names = ImageIndex(self.annotations.file_names)
        rows = names.rows(pa.array(images.files, type=pa.string()), where=images.folder)
        keys = self.annotations.file_names.take(pa.array(rows)).to_pylist()
        return dict(zip(keys, images.files, strict=True))

    @cached_property
    def images_to_embed(self) -> dict[str, str]:
        """File name -> path of all evaluated images whose embeddings are needed."""
        return self.images | (self.pool_images if self.todo_needs_search else {})

    @cached_property
    def todo_needs_search(self) -> bool:
        """True where neighbours of some image to do are not known yet."""
        if self.pool.known is not None or not self.images:
            return False
        return bool(self.neighbour_store.missing(list(self.images)))

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
        return KeyedStore.open(self.request.encoder_folder / "images", Identity("evaluated images", self.encoder))

    @cached_property
    def name_store(self) -> KeyedStore:
        """Embeddings of names."""
        return KeyedStore.open(self.request.encoder_folder / "names", Identity("names", self.encoder, PROMPT))

    @cached_property
    def neighbour_store(self) -> KeyedStore:
        """Neighbours of evaluated images, in this pool."""
        source = self.recipe.neighbours
        identity = Identity("neighbours", self.encoder, source=source, k=N_KEPT)
        return KeyedStore.open(self.request.encoder_folder / "neighbours" / source.partition(" ")[2], identity)

    @property
    def pool_folder(self) -> Path:
        """Where the shards of the pool are."""
        given = self.request.pool.embeddings
        if given is not None and given.is_dir():
            return given
        folder = self.request.encoder_folder / "pool"
        return folder / fingerprint(given) if given is not None else folder

    def pool_paths(self) -> list[Path]:
        """Return the shards of the pool, in order."""
        if self.pool.tasks:
            return [task.path for task in self.pool.tasks]
        return sorted(self.pool_folder.glob(f"*{SUFFIX}"))

    @cached_property
    def pool_todo(self) -> list[EmbedTask]:
        """The shards of the pool that are still to be made."""
        return [task for task in self.pool.tasks if not task.is_done]

    def lines(self) -> Iterator[str]:
        """Say what there is to do, a line each."""
        n_explained = len(self.mistakes.cases) - self.n_reaching
        yield f"{counted(len(self.mistakes.models), 'model')} made {len(self.mistakes.cases):,} distinct mistakes"
        yield f"{n_explained:,} are explained by earlier stages; {self.n_reaching:,} reach {STAGE}"
        yield f"{self._n_held:,} of them have evidence in {self.request.out}; {len(self.todo):,} are to be done"
        if self.n_rare:
            yield f"{self.n_rare:,} are left for later: the others are {self.request.cover:.0%} of what the models did"
        if self.n_absent:
            yield f"{self.n_absent:,} cannot be done: their {len(self.absent_images):,} images are not in " + str(
                self.request.images
            )
        if len(self.todo):
            wanted = list(self.images_to_embed)
            yield f"encoder: {self.encoder}"
            yield f"pool: {self.pool.words}"
            yield _amount("images to embed", len(self.image_store.missing(wanted)), len(wanted))
            yield _amount("names to embed", len(self.name_store.missing(self.names)), len(self.names))
            yield self._neighbour_line()

    def as_json(self) -> dict[str, Any]:
        """Return the figures as plain objects."""
        return {
            "n_models": len(self.mistakes.models),
            "n_mistakes": len(self.mistakes.cases),
            "n_reaching": self.n_reaching,
            "n_held": self._n_held,
            "n_to_do": len(self.todo),
            "n_left_for_later": self.n_rare,
            "n_without_image": self.n_absent,
            "n_images_to_embed": len(self.image_store.missing(list(self.images_to_embed))) if len(self.todo) else 0,
            "n_pool_images_to_embed": sum(len(task.files) for task in self.pool_todo),
            "pool": self.pool.words,
            "recipe": {name: getattr(self.recipe, name) for name in Recipe.__struct_fields__},
        }

    @property
    def _n_held(self) -> int:
        return self.n_reaching - len(self.todo) - self.n_absent - self.n_rare

    def _neighbour_line(self) -> str:
        if self.pool.known is not None:
            return f"neighbours: known, from {self.request.pool.neighbours}"
        missing = len(self.neighbour_store.missing(list(self.images)))
        if not missing:
            return "neighbours: all known already"
        if self.pool.tasks:
            n_all = sum(len(task.files) for task in self.pool.tasks)
            n_todo = sum(len(task.files) for task in self.pool_todo)
            return _amount("images of the pool to embed", n_todo, n_all) + f"; then {missing:,} images to search"
        return f"neighbours: {missing:,} images to search in {self.request.pool.embeddings or 'all of them'}"


def _amount(what: str, n_todo: int, n_all: int) -> str:
    return f"{what}: {n_todo:,} of {n_all:,}"


@dataclass(frozen=True, eq=False)
class Reaching:
    """The n cases that reach the stage, and how many models made each, ``n_models`` int64 [n]."""

    cases: Cases
    n_models: NDArray[np.int64]


def reaching_cases(mistakes: Mistakes, basis: Basis) -> Reaching:
    """Find the cases that no stage before this one explains, and count the models that made them.

    Raises
    ------
    InputError
        The stage is not in the chain.
    """
    rows = basis.chain.ask(mistakes.cases).reaching(STAGE)
    n_models = np.zeros(len(mistakes.cases), dtype=np.int64)
    for model in mistakes.models:
        predictions = model.load()
        wrong = np.flatnonzero(~basis.annotations.is_correct(predictions.rows, predictions.top1))
        n_models[mistakes.cases.find(predictions.rows[wrong], predictions.top1[wrong])] += 1
    return Reaching(mistakes.cases.take(rows), n_models[rows])


def make_plan(request: OovRequest, *, progress: Progress = silent) -> OovPlan:
    """Find the cases that reach the stage, what is known of them already, and what is missing.

    Raises
    ------
    InputError
        Something given cannot be used; the text says what.
    """
    request.check()
    load_wordnet().rows_of_classes(request.inputs.data_set.labels)  # before anything slow: without wnids all is in vain
    basis = load_basis(request.inputs, request.predictions)
    annotations, superclasses = basis.annotations, basis.evidence["superclasses"]
    with gather(request.predictions, basis, rules=request.rules, progress=progress) as mistakes:
        reached = reaching_cases(mistakes, basis)
    files_there = files_of_rows(request.images, ImageIndex(annotations.file_names))
    pool = open_pool(request, annotations, basis.labels, files_there=files_there)
    recipe = _recipe(request, superclasses, pool.fingerprint)
    held = OOV_SCHEMA.empty_table() if request.redo else held_rows(request.out, recipe)
    todo = _to_do(reached, annotations, held, files_there=files_there, cover=request.cover)
    return OovPlan(
        request=request,
        annotations=annotations,
        mistakes=mistakes,
        n_reaching=len(reached.cases),
        held=held,
        proposer=Proposer(basis.labels, load_wordnet(), superclasses.shares),
        recipe=recipe,
        pool=pool,
        **todo,
    )


def _to_do(
    reached: Reaching, annotations: Annotations, held: pa.Table, *, files_there: dict[int, str], cover: float
) -> dict[str, Any]:
    """Return the plan's fields that say which cases are to be done, and which cannot be or not now."""
    cases = reached.cases
    names = annotations.file_names.take(pa.array(cases.rows))
    open_cases = lacking(held, names, cases.prediction)
    is_there = np.isin(cases.rows[open_cases], np.array(list(files_there)))
    absent, possible = open_cases[~is_there], open_cases[is_there]
    common = np.intersect1d(possible, commonest(reached.n_models, cover))
    todo = cases.take(common)
    to_embed = np.unique(todo.rows)
    keys = annotations.file_names.take(pa.array(to_embed)).to_pylist()
    return {
        "todo": todo,
        "images": {key: files_there[row] for key, row in zip(keys, to_embed.tolist(), strict=True)},
        "absent_images": tuple(sorted(set(names.take(pa.array(absent)).to_pylist()))),
        "n_absent": len(absent),
        "n_rare": len(possible) - len(common),
    }


def commonest(n_models: NDArray[np.int64], share: float) -> NDArray[np.int64]:
    """Return the fewest cases that make up a share of all that n models did, the commonest first.

    ``n_models`` int64 [n]: how many models made each case. Of equals the first comes first.
    """
    order = np.argsort(-n_models, kind="stable")
    covered = np.cumsum(n_models[order])
    n_needed = int(np.searchsorted(covered, share * covered[-1] - 1e-9)) + 1 if len(covered) else 0
    return order[:n_needed]


def _recipe(request: OovRequest, superclasses: Superclasses, neighbours: str) -> Recipe:
    shares = hashlib.sha256(np.packbits(superclasses.shares).tobytes()).hexdigest()[:16]
    return Recipe(request.encoder.identity, shares, neighbours, METHOD)
