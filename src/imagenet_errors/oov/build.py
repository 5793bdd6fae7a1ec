"""Out-of-vocabulary evidence for every case that reaches the stage: computed once, stored, taken up where it ended.

What is slow is kept in a working folder, whoever asks: embeddings of names, of images, of training images, and
neighbours. What is decided goes into the evidence table. A run that was killed loses at most the shard it was at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.files import csv_text, locked, remove_leftovers, write_whole
from imagenet_errors.image_folder import LabelledImages
from imagenet_errors.oov import clip
from imagenet_errors.oov.clip import Encoder
from imagenet_errors.oov.decide import OovCases, OovDecider
from imagenet_errors.oov.neighbours import N_KEPT, N_USED, search
from imagenet_errors.oov.plan import OovPlan
from imagenet_errors.oov.pool import Pool, content_codes, import_shards, load_pool, pool_table, run_tasks
from imagenet_errors.oov.shards import KEPT, KeyedStore, Rows, failures_stated, matrix_column
from imagenet_errors.oov.table import held_rows, write_rows
from imagenet_errors.problems import InputError, counted

Meter = Callable[[str, Iterable[int], int], Iterator[int]]
"""Shows how far a loop is: (what is done, amounts as they are done, the whole amount)."""

_CHUNK_IMAGES, _CHUNK_NAMES, _CHUNK_QUERIES = 256, 1024, 2048
_DECIDED_ROWS = 20_000
_WRITTEN_SHARE = 0.25
"""The table is written once it has grown by so much: what a kill can lose are seconds, and writing stays cheap."""


@dataclass(frozen=True, eq=False)
class OovOutcome:
    """What a run did: ``n_new`` rows, of ``n_rows`` in the table, ``n_oov`` of those out-of-vocabulary.

    ``failures``: what (image, image of the pool, predictions file) -> name -> why it could not be used.
    """

    n_new: int
    n_rows: int
    n_oov: int
    failures: dict[str, dict[str, str]]

    @property
    def n_failures(self) -> int:
        """How many images and files could not be used."""
        return sum(map(len, self.failures.values()))

    def as_json(self) -> dict[str, Any]:
        """Return plain objects."""
        return asdict(self)


def build(plan: OovPlan, *, meter: Meter) -> OovOutcome:
    """Do what the plan says.

    Raises
    ------
    InputError
        A library is missing, the encoder or embeddings cannot be used, the disk is full, or another run is at
        work in the same folder. What was done is kept.
    """
    with locked(plan.work), locked(plan.request.out):
        remove_leftovers(plan.work, below=True)
        _check_unchanged(plan)
        outcome = _Run(plan, meter).run()
        _save_failures(outcome, plan.work)
    return outcome


def _check_unchanged(plan: OovPlan) -> None:
    """Refuse a plan that another run has overtaken: writing by it would lose that run's rows."""
    if not plan.request.redo and len(held_rows(plan.request.out, plan.recipe)) != len(plan.held):
        raise InputError(plan.request.out, "another run added rows meanwhile", fix="Run the same command again.")


def _through(steps: Iterator[int]) -> None:
    for _ in steps:
        pass


@dataclass(frozen=True, eq=False)
class _Run:
    plan: OovPlan
    meter: Meter

    def run(self) -> OovOutcome:
        plan = self.plan
        failures: dict[str, dict[str, str]] = {
            "predictions file": {failure.file: failure.reason for failure in plan.mistakes.failures},
            "image": dict.fromkeys(plan.absent_images, f"not in {plan.request.images}"),
        }
        table = plan.held
        if len(plan.todo):
            images, names = self._images(), self._names()
            failures["image"].update({key: images.failed[key] for key in plan.images_to_embed if key in images.failed})
            neighbours = self._neighbours(images)
            stated = (failures_stated(task.path) for task in plan.pool.tasks)
            failures["image of the pool"] = {key: reason for told in stated for key, reason in told.items()}
            cases, without = self._cases(images, neighbours)
            failures["image"].update(dict.fromkeys(without, "no neighbours are known"))
            table = self._decide(names, cases)
        if not len(table):
            table = write_rows(plan.request.out, table, plan.recipe)  # no case: a table without rows
        return OovOutcome(len(table) - len(plan.held), len(table), int(table["is_oov"].to_numpy().sum()), failures)

    @property
    def _encoder(self) -> Encoder:
        return clip.load_encoder(self.plan.request.encoder)

    def _images(self) -> KeyedStore:
        store, paths = self.plan.image_store, self.plan.images_to_embed

        def embed(keys: Sequence[str]) -> Rows:
            files = [self.plan.request.images / paths[key] for key in keys]
            embedded = self._encoder.embed_images(files)
            failed = [(keys[row], reason) for row, reason in embedded.failures.items()]
            content = content_codes([files[row] for row in embedded.rows])
            table = _rows([keys[row] for row in embedded.rows], embedding=embedded.vectors)
            return table.append_column("content", pa.array(content)), failed

        self._fill(store, store.chunks(list(paths), _CHUNK_IMAGES), embed, "Embedding images")
        return store

    def _names(self) -> KeyedStore:
        store = self.plan.name_store

        def embed(keys: Sequence[str]) -> Rows:
            return _rows(keys, embedding=self._encoder.embed_names(keys)), []

        self._fill(store, store.chunks(self.plan.names, _CHUNK_NAMES), embed, "Embedding names")
        return store

    def _fill(
        self, store: KeyedStore, chunks: Sequence[Sequence[str]], make: Callable[[Sequence[str]], Rows], what: str
    ) -> None:
        _through(self.meter(what, store.fill(chunks, make), sum(map(len, chunks))))

    def _neighbours(self, images: KeyedStore) -> NDArray[np.int16]:
        """Return int16 [n, k]: the neighbours' classes of every row of the image store."""
        plan, keys = self.plan, images.keys
        wanted = [key for key in keys if key in plan.images]
        if plan.pool.known is not None:
            return plan.pool.known.of([plan.row_of.get(key, -1) for key in keys])
        store = plan.neighbour_store
        if not store.missing(wanted):
            return _aligned(store, keys)
        pool = self._pool(images)
        vectors, content = images.column("embedding"), images.column("content")

        def find(chunk: Sequence[str]) -> Rows:
            rows = images.rows(chunk)
            found = search(vectors[rows], pool, k=N_KEPT, content=content[rows])
            return _rows(chunk, rows=found.rows, classes=found.classes, similarity=found.similarity), []

        self._fill(store, store.chunks(wanted, _CHUNK_QUERIES), find, "Searching neighbours")
        return _aligned(store, keys)

    def _pool(self, images: KeyedStore) -> Pool:
        plan = self.plan
        if plan.pool.evaluated is not None:
            return _pool_of_evaluated(plan.pool.evaluated, list(plan.pool_images), images)
        if plan.pool_todo:
            n_images = sum(len(task.files) for task in plan.pool_todo)
            steps = run_tasks(plan.pool_todo, engine=plan.request.engine)
            _through(self.meter("Embedding the pool", steps, n_images))
        elif plan.pool.published is not None:
            published = plan.pool.published
            steps = import_shards(published.path, plan.pool_folder, plan.encoder)
            _through(self.meter("Copying embeddings", steps, published.n_rows))
        return load_pool(plan.pool_paths(), plan.encoder, where=plan.pool_folder)

    def _decide(self, names: KeyedStore, cases: OovCases) -> pa.Table:
        """Decide the cases in batches of neighbouring predictions, and write the table as it grows."""
        plan, table = self.plan, self.plan.held
        vectors = _vocabulary_vectors(plan.proposer.vocabulary, names)
        decider = OovDecider(plan.proposer, vectors, plan.encoder, plan.pool.words)

        def decided() -> Iterator[int]:
            nonlocal table
            fresh: list[pa.Table] = []
            for start in range(0, len(cases), _DECIDED_ROWS):
                end = min(start + _DECIDED_ROWS, len(cases))
                fresh.append(decider.decide(cases.take(np.arange(start, end))))
                if end == len(cases) or sum(map(len, fresh)) >= _WRITTEN_SHARE * len(table):
                    table = write_rows(plan.request.out, pa.concat_tables([table, *fresh]), plan.recipe)
                    fresh = []
                yield end - start

        _through(self.meter("Deciding cases", decided(), len(cases)))
        return table

    def _cases(self, images: KeyedStore, neighbours: NDArray[np.int16]) -> tuple[OovCases, list[str]]:
        """Return the cases whose image has a vector and neighbours, by prediction; and images without neighbours."""
        plan, image = self.plan, images.rows(self.plan.todo_names.to_pylist())
        is_known = np.append((neighbours >= 0).any(axis=1), False)[image]  # row -1: no vector
        without = np.flatnonzero((image >= 0) & ~is_known)
        usable = np.flatnonzero(is_known)
        usable = usable[np.argsort(plan.todo.prediction[usable], kind="stable")]
        cases = OovCases(
            plan.todo_names.take(pa.array(usable)),
            plan.todo.prediction[usable],
            plan.todo.label[usable],
            image[usable],
            images.column("embedding"),
            neighbours[:, :N_USED],
        )
        return cases, plan.todo_names.take(pa.array(without)).unique().to_pylist()


def _rows(keys: Sequence[str], **matrices: NDArray[Any]) -> pa.Table:
    columns = {name: matrix_column(rows) for name, rows in matrices.items()}
    return pa.table({"key": pa.array(keys, type=pa.string()), **columns})


def _pool_of_evaluated(images: LabelledImages, keys: Sequence[str], store: KeyedStore) -> Pool:
    """Return the pool of those evaluated images that could be embedded, in their order."""
    rows = store.rows(keys)
    at = np.flatnonzero(rows >= 0)
    if not at.size:
        raise InputError(images.folder, "not one image could be embedded", fix="Check the images.")
    vectors, content = store.column("embedding")[rows[at]], store.column("content")[rows[at]]
    return Pool((pool_table([keys[row] for row in at.tolist()], images.classes[at], vectors, content),))


def _aligned(store: KeyedStore, keys: Sequence[str]) -> NDArray[np.int16]:
    """Return the neighbours' classes of the keys, -1 where they were not searched."""
    rows = store.rows(keys)
    if store.table is None:
        return np.full((len(keys), N_USED), -1, dtype=np.int16)
    return np.where(rows[:, None] >= 0, store.column("classes")[rows], np.int16(-1))


def _vocabulary_vectors(vocabulary: pa.StringArray, names: KeyedStore) -> NDArray[np.float32]:
    """Return float32 [V, d]: the names' vectors; zeros for those that no case needs."""
    rows = names.rows(vocabulary.to_pylist())
    vectors = names.column("embedding")
    return np.where(rows[:, None] >= 0, vectors[rows], np.float32(0))


def _save_failures(outcome: OovOutcome, folder: Path) -> None:
    """Write ``failures.csv``: what, name and reason of all that could not be used; no file where all went well."""
    path = folder / "failures.csv"
    if not outcome.n_failures:
        path.unlink(missing_ok=True)
        return
    rows = [(what, *failure) for what, failures in outcome.failures.items() for failure in failures.items()]
    content = csv_text([("what", "name", "reason"), *rows])
    write_whole(path, content.encode(errors="backslashreplace"), fix=KEPT)


def done_lines(outcome: OovOutcome, plan: OovPlan) -> Iterator[str]:
    """Say what was done and what could not be, a line each."""
    yield f"{counted(outcome.n_new, 'case')} decided now, {outcome.n_rows:,} in {plan.request.out}"
    yield f"{outcome.n_oov:,} of them show something outside the classes"
    for what, failures in outcome.failures.items():
        if failures:
            yield _listed(failures, what)
    if outcome.n_failures:
        yield f"All of them: {plan.work / 'failures.csv'}"


def _listed(failures: dict[str, str], what: str, *, n_shown: int = 3) -> str:
    """Return one line: how many could not be used, and the first few with their reasons."""
    first = "; ".join(f"{name}: {reason}" for name, reason in list(failures.items())[:n_shown])
    more = "; ..." if len(failures) > n_shown else ""
    plural = what.replace("image", "images", 1) if what.startswith("image") else ""
    return f"{counted(len(failures), what, plural)} could not be used: {first}{more}"
