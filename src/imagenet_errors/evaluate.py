"""Evaluate predictions: read every file, judge each distinct case once, measure each model, write the run.

However many models there are, one table of distinct cases is classified; each model's verdicts are a lookup in it.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.chain import Chain, build_chain, judge
from imagenet_errors.inputs import Sources, load_annotations, load_evidence
from imagenet_errors.labels import LabelSpace, imagenet_1k
from imagenet_errors.measure import Measures, group_membership, measure
from imagenet_errors.mistakes import Shelf, Shelved
from imagenet_errors.problems import InputError, counted
from imagenet_errors.readers.predictions import ReadRules, model_name, prediction_files, read_predictions
from imagenet_errors.runs.directory import (
    FAILURES,
    ModelResult,
    RunWriter,
    accuracy_table,
    check_out,
    distribution_table,
    error_type_column,
    summary_table,
    writing_run,
)
from imagenet_errors.runs.model_facts import facts_of_file, with_facts
from imagenet_errors.tables import Annotations, Cases, Intake, Predictions, Verdicts, case_codes

Progress = Callable[[str, Iterable[Any], int], Iterator[Any]]
"""Wraps a loop to show how far it is: (what is done, the things, how many)."""

_N_THREADS = 2
T = TypeVar("T")


@dataclass(frozen=True)
class Failure:
    """A predictions file that could not be used, and why."""

    model: str
    path: Path
    error: InputError

    @property
    def reason(self) -> str:
        """The whole message."""
        return str(self.error)


class NothingUsableError(InputError):
    """No predictions file can be used; ``failures`` tells why, each."""

    def __init__(self, failures: Sequence[Failure]) -> None:
        self.failures = tuple(failures)
        first = failures[0].error
        if len(failures) == 1:
            super().__init__(first.where, first.what, example=first.example, fix=first.fix)
            return
        reasons = "\n".join(f"  {failure.reason}" for failure in failures)
        super().__init__("PREDICTIONS", f"none of the {counted(len(failures), 'file')} can be used:\n{reasons}")


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What came of a run: one result a model, what failed, and what the figures rest on."""

    results: tuple[ModelResult, ...]
    failures: tuple[Failure, ...]
    intakes: dict[str, Intake]
    chain: Chain
    n_cases: int
    n_annotated: int
    n_evaluated: int
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Model -> what is known of it beside its figures (:mod:`imagenet_errors.runs.model_facts`)."""


@dataclass(frozen=True)
class Request:
    """What to evaluate, by what, and where to put it."""

    predictions: tuple[Path, ...]
    sources: Sources
    out: Path
    rules: ReadRules = field(default_factory=ReadRules)
    command: tuple[str, ...] = ()
    failed: tuple[Failure, ...] = ()
    """Models that have no predictions file, to be listed with the files that cannot be used."""


def _silent(_what: str, things: Iterable[T], _count: int) -> Iterator[T]:
    return iter(things)


def evaluate(request: Request, *, progress: Progress = _silent) -> Evaluation:
    """Evaluate every predictions file and write the run directory.

    A file that cannot be used is listed in ``failures.parquet`` and the rest is done.

    Raises
    ------
    InputError
        The annotations or evidence cannot be used, or no predictions file can; nothing is written then.
    """
    labels = imagenet_1k()
    request.sources.check_files()
    check_out(request.out)
    files = prediction_files(request.predictions)
    annotations = load_annotations(request.sources.annotations, labels)
    evidence = load_evidence(request.sources, annotations, labels)
    chain = build_chain(evidence, request.sources.stage_order)
    with tempfile.TemporaryDirectory(prefix="imagenet-errors-") as folder:
        shelf = Shelf(Path(folder), annotations, len(labels))
        shelved, failures = _read_all(files, annotations, labels, shelf=shelf, rules=request.rules, progress=progress)
        cases = shelf.cases()
        verdicts = judge(cases, chain, pa.array(labels.names, type=pa.string()))
        with writing_run(request.out) as writer:
            results = _write_models(writer, shelved, _Judged(annotations, labels, cases, verdicts), progress=progress)
            evaluation = Evaluation(
                results=tuple(results),
                failures=(*request.failed, *failures),
                intakes={model.model: model.intake for model in shelved},
                chain=chain,
                n_cases=len(cases),
                n_annotated=len(annotations),
                n_evaluated=int(annotations.evaluated.sum()),
                facts={model_name(path): known for path in files if (known := facts_of_file(path)) is not None},
            )
            _write_tables(writer, evaluation)
            writer.json("run.json", _manifest(request, evaluation, files))
        return evaluation


def _read_all(
    files: Sequence[Path],
    annotations: Annotations,
    labels: LabelSpace,
    *,
    shelf: Shelf,
    rules: ReadRules,
    progress: Progress,
) -> tuple[list[Shelved], list[Failure]]:
    def attempt(path: Path) -> Shelved | Failure:
        try:
            return shelf.put(read_predictions(path, annotations, labels, rules=rules))
        except InputError as error:
            return Failure(model_name(path), path, error)
        except Exception as error:  # a fault of ours must cost this file only, not the night's run
            what = f"an unexpected {type(error).__name__}: {error}"
            fix = "This is a fault of imagenet-errors: please report it with the file's first lines."
            return Failure(model_name(path), path, InputError(path, what, fix=fix))

    with ThreadPoolExecutor(_N_THREADS) as pool:
        answers = list(progress("Reading predictions", pool.map(attempt, files), len(files)))
    failures = [answer for answer in answers if isinstance(answer, Failure)]
    if len(failures) == len(files):
        raise NothingUsableError(failures)
    return [answer for answer in answers if isinstance(answer, Shelved)], failures


@dataclass(frozen=True, eq=False)
class _Judged:
    """All cases with their verdicts, and the lookup from one model's predictions into them."""

    annotations: Annotations
    labels: LabelSpace
    cases: Cases
    verdicts: Verdicts

    @cached_property
    def membership(self) -> NDArray[np.bool_]:
        """bool [G, n]: the groups of every annotated image."""
        return group_membership(self.annotations.accepted, self.labels)

    def look_up(self, predictions: Predictions) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
        """Return each prediction's error type int8 [m] and its case int64 [m], -1 where it is correct."""
        wrong = np.flatnonzero(predictions.top1 != self.annotations.label[predictions.rows])
        case = np.full(len(predictions.rows), -1, dtype=np.int64)
        codes = case_codes(predictions.rows[wrong], predictions.top1[wrong])
        case[wrong] = np.searchsorted(self.cases.codes, codes)
        error_type = np.zeros(len(case), dtype=np.int8)
        error_type[wrong] = self.verdicts.error_type[case[wrong]]
        return error_type, case

    def columns(
        self, predictions: Predictions, error_type: NDArray[np.int8], case: NDArray[np.int64]
    ) -> list[pa.Array]:
        """Return the columns of ``run_directory.VERDICTS``."""
        rows, n_rows = predictions.rows, len(predictions.rows)
        confidence = predictions.confidence
        return [
            self.annotations.file_names.take(pa.array(rows)),
            pa.array(self.annotations.label[rows]),
            pa.array(predictions.top1),
            pa.nulls(n_rows, pa.float32()) if confidence is None else pa.array(confidence, from_pandas=True),
            self.annotations.accepted.take(rows).to_arrow(),
            error_type_column(error_type),
            self.verdicts.explanation.take(pa.array(case, mask=case < 0)),
        ]

    def measure(self, predictions: Predictions, error_type: NDArray[np.int8]) -> Measures:
        """Return one model's figures."""
        membership = self.membership[:, predictions.rows]
        return measure(error_type, self.annotations.label[predictions.rows], membership)


def _write_models(
    writer: RunWriter,
    shelved: Sequence[Shelved],
    judged: _Judged,
    *,
    progress: Progress,
) -> list[ModelResult]:
    def finish(model: Shelved) -> ModelResult:
        counting = model.load()
        error_type, case = judged.look_up(counting)
        writer.verdicts(counting.model, judged.columns(counting, error_type, case))
        lacking = judged.verdicts.lacking.get("fine_grained_oov")
        return ModelResult(
            model=counting.model,
            n_images=model.n_images,
            n_without_oov_evidence=0 if lacking is None else int(lacking[case[case >= 0]].sum()),
            measures=judged.measure(counting, error_type),
        )

    with ThreadPoolExecutor(_N_THREADS) as pool:
        done = pool.map(finish, shelved)
        return list(progress("Writing verdicts", done, len(shelved)))


def _write_tables(writer: RunWriter, evaluation: Evaluation) -> None:
    writer.table("distribution.parquet", distribution_table(evaluation.results))
    writer.table("summary.parquet", with_facts(summary_table(evaluation.results), evaluation.facts))
    writer.table("accuracy.parquet", accuracy_table(evaluation.results))
    if evaluation.failures:
        rows = [
            {"model": failure.model, "file": str(failure.path), "reason": failure.reason}
            for failure in evaluation.failures
        ]
        writer.table("failures.parquet", pa.Table.from_pylist(rows, schema=FAILURES))


def _manifest(request: Request, evaluation: Evaluation, files: Sequence[Path]) -> dict[str, Any]:
    """Return what run.json says: enough to make the run again, and to see what was skipped and why."""
    from datetime import UTC, datetime

    from imagenet_errors import __version__

    sources = request.sources
    failed = {failure.path for failure in evaluation.failures}
    used = [path for path in files if path not in failed]
    return {
        "version": __version__,
        "command": list(request.command),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "annotations": sources.annotations_place,
        "n_annotated": evaluation.n_annotated,
        "n_evaluated": evaluation.n_evaluated,
        "n_excluded": evaluation.n_annotated - evaluation.n_evaluated,
        "n_distinct_cases": evaluation.n_cases,
        "stage_order": list(evaluation.chain.order),
        "requested_stage_order": list(sources.stage_order),
        "stages_not_run": evaluation.chain.not_run,
        "evidence": {
            "oov_evidence": None if sources.oov_evidence is None else str(sources.oov_evidence.resolve()),
            "non_prototypical": [str(path.resolve()) for path in sources.non_prototypical],
            "co_occurrence": None if sources.co_occurrence is None else str(sources.co_occurrence.resolve()),
            "superclasses": None if sources.superclasses is None else str(sources.superclasses.resolve()),
        },
        "inputs": [file_facts(path) for path in (*used, *sources.files) if path.is_file()],
        "models": {model: intake_facts(intake) for model, intake in evaluation.intakes.items()},
        "failures": [
            {"model": failure.model, "file": str(failure.path), "reason": failure.reason}
            for failure in evaluation.failures
        ],
    }


def file_facts(path: Path) -> dict[str, Any]:
    """Return a file's place, size in bytes and sha256."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"file": str(path.resolve()), "n_bytes": path.stat().st_size, "sha256": digest}


def intake_facts(intake: Intake) -> dict[str, Any]:
    """Return what became of a file's rows, for run.json."""
    return {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in intake.__dict__.items()
        if key == "format" or key == "n_rows" or value
    }
