"""Explanations as a job: a method asked about many answers, shard by shard, resumed where it was interrupted.

A shard is a few answers. What a worker makes of it is the bytes of a Parquet file, so any engine that predicts
models runs shards too. The whole table carries the facts that it was made by; the same command again reads it back.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Protocol, cast

import pyarrow as pa

from imagenet_errors import __version__
from imagenet_errors.datasets import IMAGENET, load_dataset
from imagenet_errors.downloads import go_offline
from imagenet_errors.explain.classifier import Classifier, compiled, ensemble, load_classifier, with_input_dropout
from imagenet_errors.explain.questions import Judge, Question
from imagenet_errors.explain.section import OTHER_ANSWER, UNREADABLE, read_explanations
from imagenet_errors.files import locked, sha256_of, written_whole
from imagenet_errors.labels import LabelSpace
from imagenet_errors.predict.job import ModelOutcome, reason_of, releasing_memory
from imagenet_errors.predict.names import ModelSpec, registered_code, run_registrations
from imagenet_errors.predict.plan import Engine
from imagenet_errors.predict.settings import Settings
from imagenet_errors.problems import InputError
from imagenet_errors.readers.arrow_tables import OUR_METADATA, our_metadata

LAYOUT = 2
"""Raised when tables of before can no longer stand for what is written now."""
_SHARD = 8
_DECIDING = ("precision", "channels_last", "batch_size", "data", "test_size", "classes")
"""The settings that can change an explanation; sums in another order change its last digits."""

Tell = Callable[[ModelOutcome, int, int], None]
Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class ModelGroup:
    """Who is asked: the classifier to explain, others beside it, and the folder of images."""

    classifier: Classifier
    others: tuple[Classifier, ...]
    images: Path


class Method(Protocol):
    """A way to explain: options in a frozen dataclass, ``rows`` on a worker, ``finish`` where the chain is."""

    name: ClassVar[str]
    schema: ClassVar[pa.Schema]

    def rows(self, group: ModelGroup, questions: Sequence[Question]) -> Iterator[list[Row]]:
        """Yield each question's rows: columns of the schema beside those that every method has."""

    def finish(self, rows: list[Row], judge: Judge) -> None:
        """Add to the rows what only the chain can say."""


@dataclass(frozen=True)
class Asked:
    """The models: the one to explain, members of an ensemble with it, and others to compare with.

    ``input_dropout``: the share of pixels kept; 1: all. ``dataset`` and ``classes``: what the run was evaluated as.
    ``compiled``: answers are computed by torch's compiler.
    """

    model: ModelSpec
    members: tuple[ModelSpec, ...] = ()
    also: tuple[ModelSpec, ...] = ()
    input_dropout: float = 1.0
    dataset: str = IMAGENET
    classes: Path | None = None
    compiled: bool = False

    @property
    def labels(self) -> LabelSpace:
        """The classes that the models choose from."""
        return load_dataset(self.dataset, self.classes).labels


@dataclass(frozen=True)
class Shard:
    """Some of the questions; ``name`` is its number."""

    name: str
    questions: tuple[Question, ...]


@dataclass(frozen=True)
class ExplainShard:
    """The work on one shard, ready to be sent to any machine."""

    asked: Asked
    images: Path
    method: Method
    settings: Settings

    def __call__(self, shard: Shard) -> ModelOutcome:
        """Explain; whatever goes wrong is the shard's outcome, not the end of the job."""
        start = time.perf_counter()
        try:
            with releasing_memory():
                rows = self._rows(shard.questions)
                content = table_bytes(pa.Table.from_pylist(rows, schema=self.method.schema), {})
        except InputError as error:
            return ModelOutcome(shard.name, None, str(error), time.perf_counter() - start)
        except Exception as error:  # any model can raise anything
            return ModelOutcome(shard.name, None, reason_of(error), time.perf_counter() - start)
        return ModelOutcome(shard.name, content, seconds=time.perf_counter() - start)

    def _rows(self, questions: Sequence[Question]) -> list[Row]:
        group = load_models(self.asked, self.settings, self.images)
        verdict_of = {question: unusable(group, question) for question in questions}
        usable = [question for question in questions if not verdict_of[question]]
        answers = _timed(self.method.rows(group, usable))
        rows = []
        for question in questions:
            common = {
                "file_name": question.file_name,
                "prediction": question.prediction,
                "target": question.label,
                "error_type": question.error_type,
                "method": self.method.name,
            }
            if verdict_of[question]:
                rows.append({**common, "verdict": verdict_of[question]})
                continue
            found, seconds = next(answers)
            rows += [{**common, **row, "seconds": seconds / len(found)} for row in found]
        return rows


def _timed(answers: Iterator[list[Row]]) -> Iterator[tuple[list[Row], float]]:
    start = time.perf_counter()
    for rows in answers:
        yield rows, time.perf_counter() - start
        start = time.perf_counter()


def unusable(group: ModelGroup, question: Question) -> str:
    """Return why the question cannot be asked; empty if it can."""
    try:
        pixels = group.classifier.see(group.images / question.file)
    except InputError:
        return UNREADABLE
    answer = int(group.classifier.logits(pixels[None])[0].argmax())
    return "" if answer == question.prediction else OTHER_ANSWER


@lru_cache(maxsize=1)
def load_models(asked: Asked, settings: Settings, images: Path) -> ModelGroup:
    """Load the models; kept for the next shard.

    Raises
    ------
    InputError
        A model, its weights or the device cannot be used.
    """
    for path in settings.register:
        run_registrations(path)
    if settings.offline:
        go_offline()
    labels = asked.labels
    classifier = load_classifier(asked.model, settings, labels)
    if asked.members:
        classifier = ensemble([classifier, *(load_classifier(spec, settings, labels) for spec in asked.members)])
    if asked.input_dropout != 1:
        classifier = with_input_dropout(classifier, asked.input_dropout, seed=0)
    others = tuple(load_classifier(spec, settings, labels) for spec in asked.also)
    if asked.compiled:
        classifier, others = compiled(classifier), tuple(compiled(other) for other in others)
    return ModelGroup(classifier, others, images)


@dataclass(frozen=True)
class Explained:
    """What a job made: the table, and the shards that failed with their reasons."""

    table: pa.Table
    path: Path
    failures: tuple[str, ...]


def explain_all(
    work: ExplainShard, questions: Sequence[Question], out: Path, *, engine: Engine, judge: Judge, tell: Tell
) -> Explained:
    """Ask what is not answered yet and write ``out``, a Parquet file; shards lie beside it until all are there.

    Raises
    ------
    InputError
        The engine cannot be used, or not one shard can be answered.
    """
    facts = job_facts(work, questions)
    with locked(out):
        if our_metadata(out) == facts:
            return Explained(read_explanations(out), out, ())
        parts = out.with_suffix(".parts")
        _clear_others(parts, facts)
        shards = [
            Shard(f"{start // _SHARD:05d}", tuple(questions[start : start + _SHARD]))
            for start in range(0, len(questions), _SHARD)
        ]
        failures = _answer_missing(work, shards, parts, engine=engine, tell=tell)
        table = _joined(work.method, shards, parts, judge=judge, failures=failures)
        with written_whole(out) as unfinished:
            unfinished.write_bytes(table_bytes(table, {} if failures else facts))
        if not failures:
            shutil.rmtree(parts, ignore_errors=True)
        return Explained(table, out, failures)


def _joined(
    method: Method, shards: Sequence[Shard], parts: Path, *, judge: Judge, failures: tuple[str, ...]
) -> pa.Table:
    """Return what the shards' files hold, with what only the chain can say."""
    done = [parts / f"{shard.name}.parquet" for shard in shards if (parts / f"{shard.name}.parquet").is_file()]
    if not done:
        raise InputError("explain", "no answer could be explained", example=failures[0] if failures else None)
    rows = [row for path in done for row in read_explanations(path).to_pylist()]
    method.finish(rows, judge)
    return pa.Table.from_pylist(rows, schema=method.schema)


def _answer_missing(
    work: ExplainShard, shards: Sequence[Shard], parts: Path, *, engine: Engine, tell: Tell
) -> tuple[str, ...]:
    """Run the shards that have no file yet; return the reasons of those that failed."""
    missing = [shard for shard in shards if not (parts / f"{shard.name}.parquet").is_file()]
    if not missing:
        return ()
    engine.check(cast(Any, work))
    failures = []
    outcomes = engine.run(cast(Any, work), cast(Any, missing), len(missing))
    for number, outcome in enumerate(outcomes, start=1):
        if outcome.content is None:
            failures.append(f"shard {outcome.name}: {outcome.reason}")
        else:
            with written_whole(parts / f"{outcome.name}.parquet") as unfinished:
                unfinished.write_bytes(outcome.content)
        tell(outcome, number, len(missing))
    return tuple(failures)


def job_facts(work: ExplainShard, questions: Sequence[Question]) -> dict[str, Any]:
    """Return what a table must have been made by to stand for what is asked now; no model is loaded."""
    import timm
    import torch

    asked, settings = work.asked, work.settings
    specs = (asked.model, *asked.members, *asked.also)
    facts = {
        "layout": LAYOUT,
        "version": __version__,
        "torch": str(torch.__version__),
        "timm": str(timm.__version__),
        "method": {"name": work.method.name, **_options(work.method)},
        "models": [[spec.name, *_weights_and_code(spec)] for spec in specs],
        "n_members": len(asked.members),
        "input_dropout": asked.input_dropout,
        "compiled": asked.compiled,
        "settings": [getattr(settings, name) for name in _DECIDING],
        "questions": hashlib.sha256(repr(tuple(questions)).encode()).hexdigest(),
        "images": _sha256_of_all([work.images / question.file for question in questions]),
    }
    plain: dict[str, Any] = json.loads(json.dumps(facts, default=str))
    return plain


def _weights_and_code(spec: ModelSpec) -> tuple[str | None, str | None]:
    """Return the hashes of a checkpoint of one's own and of the code that registered the model; None for timm's."""
    weights = None if spec.checkpoint is None else sha256_of(spec.checkpoint)
    return weights, registered_code(spec.architecture)


def _options(method: Method) -> dict[str, Any]:
    """Return a method's options; a file that it reads counts by its content."""
    stated = asdict(cast(Any, method))
    return {
        key: sha256_of(value) if isinstance(value, Path) and value.is_file() else value for key, value in stated.items()
    }


def _sha256_of_all(paths: Sequence[Path]) -> str:
    whole = hashlib.sha256()
    for path in paths:
        whole.update(f"{path.name} {sha256_of(path)}\n".encode())
    return whole.hexdigest()


def _clear_others(parts: Path, facts: dict[str, Any]) -> None:
    """Keep the shards of an interrupted job only if it was this one."""
    path, wanted = parts / "facts.json", json.dumps(facts, indent=1)
    if path.is_file() and path.read_text(encoding="utf-8") == wanted:
        return
    shutil.rmtree(parts, ignore_errors=True)
    with written_whole(path) as unfinished:
        unfinished.write_text(wanted, encoding="utf-8")


def table_bytes(table: pa.Table, facts: dict[str, Any]) -> bytes:
    """Return a Parquet file that says what made it."""
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    named = table.replace_schema_metadata({OUR_METADATA: json.dumps(facts).encode()})
    pq.write_table(named, sink, compression="zstd")
    content: bytes = sink.getvalue().to_pybytes()
    return content


def schema_of(*columns: tuple[str, pa.DataType]) -> pa.Schema:
    """Return a method's schema: its own columns between those that every method has."""
    first = [
        ("file_name", pa.string()),
        ("prediction", pa.int16()),
        ("target", pa.int16()),
        ("error_type", pa.string()),
        ("method", pa.string()),
    ]
    return pa.schema([*first, *columns, ("verdict", pa.string()), ("seconds", pa.float32())])
