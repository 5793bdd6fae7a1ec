"""Out-of-vocabulary evidence for every case that reaches the stage: computed once, stored, taken up where it ended.

What is slow is kept in a working folder, whoever asks: embeddings of names, of images, of training images, and
neighbours. What is decided goes into the evidence table. A run that was killed loses at most the shard it was at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.oov import encoder as encoders
from imagenet_errors.oov.decide import Judge, OovCases
from imagenet_errors.oov.encoder import Encoder
from imagenet_errors.oov.engines import run_tasks
from imagenet_errors.oov.keyed_store import KeyedStore, Made
from imagenet_errors.oov.neighbours import N_KEPT, N_USED, search
from imagenet_errors.oov.plan import Plan
from imagenet_errors.oov.published_files import import_shards
from imagenet_errors.oov.shards import failures_stated, locked, matrix_column, sweep, write_atomically
from imagenet_errors.oov.table import held_rows, write_rows
from imagenet_errors.oov.train_shards import TrainSet, load_train_set
from imagenet_errors.problems import InputError

Meter = Callable[[str, Iterable[int], int], Iterator[int]]
"""Shows how far a loop is: (what is done, amounts as they are done, the whole amount)."""

_CHUNK_IMAGES, _CHUNK_NAMES, _CHUNK_QUERIES = 256, 1024, 2048
_WRITE_ROWS = 20_000


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a run did: ``n_new`` rows, of ``n_rows`` in the table, ``n_oov`` of those out-of-vocabulary.

    ``failures``: what (image, training image, predictions file) -> name -> why it could not be used.
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
        return dict(self.__dict__)


def build(plan: Plan, *, meter: Meter) -> Outcome:
    """Do what the plan says.

    Raises
    ------
    InputError
        A library is missing, the encoder or embeddings cannot be used, the disk is full, or another run is at
        work in the same folder. What was done is kept.
    """
    with locked(plan.work):
        sweep(plan.work, plan.request.out)
        _check_unchanged(plan)
        outcome = _Run(plan, meter).run()
        _save_failures(outcome, plan.work)
    return outcome


def _check_unchanged(plan: Plan) -> None:
    """Refuse a plan that another run has overtaken: writing by it would lose that run's rows."""
    if not plan.request.redo and len(held_rows(plan.request.out, plan.recipe)) != len(plan.held):
        raise InputError(plan.request.out, "another run added rows meanwhile", fix="Run the same command again.")


def _through(steps: Iterator[int]) -> None:
    for _ in steps:
        pass


@dataclass(frozen=True, eq=False)
class _Run:
    plan: Plan
    meter: Meter

    def run(self) -> Outcome:
        plan = self.plan
        failures: dict[str, dict[str, str]] = {
            "predictions file": {str(failure.path): failure.reason for failure in plan.mistakes.failures},
            "image": dict.fromkeys(plan.absent_images, f"not in {plan.request.images}"),
        }
        table = plan.held
        if len(plan.todo):
            images, names = self._images(), self._names()
            failures["image"].update({key: images.failed[key] for key in plan.images if key in images.failed})
            neighbours = self._neighbours(images)
            failures["training image"] = failures_stated([task.path for task in plan.train_tasks])
            cases, without = self._cases(images, neighbours)
            failures["image"].update(dict.fromkeys(without, "no neighbours are known"))
            table = self._decide(names, cases)
        if not len(table):
            table = write_rows(plan.request.out, table, plan.recipe)  # no case: a table without rows
        return Outcome(len(table) - len(plan.held), len(table), int(table["is_oov"].to_numpy().sum()), failures)

    @property
    def _encoder(self) -> Encoder:
        return encoders.load_encoder(self.plan.request.encoder)

    def _images(self) -> KeyedStore:
        store, request = self.plan.image_store, self.plan.request

        def make(keys: Sequence[str]) -> Made:
            embedded = self._encoder.embed_images([request.images / self.plan.images[key] for key in keys])
            failed = [(keys[row], reason) for row, reason in embedded.failures.items()]
            return _rows([keys[row] for row in embedded.rows], embedding=embedded.vectors), failed

        chunks = store.chunks(list(self.plan.images), _CHUNK_IMAGES)
        self._fill(store, chunks, make, "Embedding images")
        return store

    def _names(self) -> KeyedStore:
        store = self.plan.name_store

        def make(keys: Sequence[str]) -> Made:
            return _rows(keys, embedding=self._encoder.embed_names(keys)), []

        self._fill(store, store.chunks(self.plan.names, _CHUNK_NAMES), make, "Embedding names")
        return store

    def _fill(
        self, store: KeyedStore, chunks: Sequence[Sequence[str]], make: Callable[[Sequence[str]], Made], what: str
    ) -> None:
        _through(self.meter(what, store.fill(chunks, make), sum(map(len, chunks))))

    def _neighbours(self, images: KeyedStore) -> NDArray[np.int16]:
        """Return int16 [n, k]: the neighbours' classes of every row of the image store."""
        plan = self.plan
        keys = [] if images.table is None else images.table["key"].to_pylist()
        wanted = [key for key in keys if key in plan.images]
        if plan.known_neighbours is not None:
            return plan.known_neighbours.of([plan.row_of[key] if key in plan.images else -1 for key in keys])
        store = plan.neighbour_store
        if not store.missing(wanted):
            return _aligned(store, keys)
        train = self._train()
        vectors = images.column("embedding")

        def make(chunk: Sequence[str]) -> Made:
            found = search(vectors[images.rows(chunk)], train, k=N_KEPT)
            return _rows(chunk, rows=found.rows, classes=found.classes, similarity=found.similarity), []

        self._fill(store, store.chunks(wanted, _CHUNK_QUERIES), make, "Searching neighbours")
        return _aligned(store, keys)

    def _train(self) -> TrainSet:
        plan, source = self.plan, self.plan.request.neighbours
        if source.train_images is not None:
            todo = plan.train_todo
            n_images = sum(len(task.files) for task in todo)
            if todo:
                steps = run_tasks(todo, engine=plan.request.engine)
                _through(self.meter("Embedding training images", steps, n_images))
        elif plan.train_import is not None:
            steps = import_shards(plan.train_import.path, plan.train_folder, plan.encoder)
            _through(self.meter("Copying training embeddings", steps, plan.train_import.n_rows))
        return load_train_set(plan.train_paths(), plan.encoder, where=plan.train_folder)

    def _decide(self, names: KeyedStore, cases: OovCases) -> pa.Table:
        """Decide the cases in batches of neighbouring predictions, and write the table after each."""
        plan, table = self.plan, self.plan.held
        judge = Judge(plan.proposer, _vocabulary_vectors(plan.proposer.vocabulary, names), plan.encoder)

        def decided() -> Iterator[int]:
            nonlocal table
            for start in range(0, len(cases), _WRITE_ROWS):
                batch = cases.take(np.arange(start, min(start + _WRITE_ROWS, len(cases))))
                table = write_rows(plan.request.out, pa.concat_tables([table, judge.decide(batch)]), plan.recipe)
                yield len(batch)

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


def _save_failures(outcome: Outcome, folder: Path) -> None:
    """Write ``failures.csv``: what, name and reason of all that could not be used; no file where all went well."""
    import csv
    import io

    path = folder / "failures.csv"
    if not outcome.n_failures:
        path.unlink(missing_ok=True)
        return
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(("what", "name", "reason"))
    for what, failures in outcome.failures.items():
        rows.writerows((what, name, reason) for name, reason in failures.items())
    write_atomically(path, lambda file: file.write(text.getvalue().encode()))
