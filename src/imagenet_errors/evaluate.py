"""Evaluate predictions: inputs -> gather -> judge -> save.

However many models there are, one table of distinct cases is classified; each model's verdicts are a lookup in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.chain import Chain
from imagenet_errors.inputs import Basis, Inputs, load_basis
from imagenet_errors.measure import group_membership, measure
from imagenet_errors.mistakes import Failure, Mistakes, ModelPredictions, Progress, gather, silent
from imagenet_errors.readers.model_files import model_name
from imagenet_errors.readers.predictions import ReadRules
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
from imagenet_errors.runs.manifest import (
    LAYOUT,
    FailureFacts,
    Manifest,
    evidence_places,
    file_facts,
    intake_facts,
)
from imagenet_errors.runs.model_facts import facts_of_file, with_facts
from imagenet_errors.tables import Intake, Predictions, Verdicts

_N_THREADS = 2


@dataclass(frozen=True, eq=False)
class Judged:
    """All cases of a run with their verdicts, and the lookup from one model's predictions into them.

    ``chain``: as it was asked; a stage whose evidence was about none of its cases counts as not run.
    """

    basis: Basis
    mistakes: Mistakes
    chain: Chain
    verdicts: Verdicts

    @cached_property
    def membership(self) -> NDArray[np.bool_]:
        """bool [G, n]: the groups of every annotated image."""
        return group_membership(self.basis.annotations.accepted, self.basis.labels)

    def look_up(self, predictions: Predictions) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
        """Return each prediction's error type int8 [m] and its case int64 [m], -1 where it is correct."""
        cases = self.mistakes.cases
        wrong = np.flatnonzero(~self.basis.annotations.is_correct(predictions.rows, predictions.top1))
        case = np.full(len(predictions.rows), -1, dtype=np.int64)
        case[wrong] = cases.find(predictions.rows[wrong], predictions.top1[wrong])
        error_type = np.zeros(len(case), dtype=np.int8)
        error_type[wrong] = self.verdicts.error_type[case[wrong]]
        return error_type, case

    def columns(
        self, predictions: Predictions, error_type: NDArray[np.int8], case: NDArray[np.int64]
    ) -> list[pa.Array]:
        """Return the columns of ``runs.directory.VERDICTS``."""
        rows, n_rows = predictions.rows, len(predictions.rows)
        annotations, confidence = self.basis.annotations, predictions.confidence
        return [
            annotations.file_names.take(pa.array(rows)),
            pa.array(annotations.label[rows]),
            pa.array(predictions.top1),
            pa.nulls(n_rows, pa.float32()) if confidence is None else pa.array(confidence, from_pandas=True),
            annotations.accepted.take(rows).to_arrow(),
            error_type_column(error_type),
            self.verdicts.explanation.take(pa.array(case, mask=case < 0)),
        ]

    def result(
        self, model: ModelPredictions, predictions: Predictions, verdicts: tuple[NDArray[np.int8], NDArray[np.int64]]
    ) -> ModelResult:
        """Return one model's figures; ``verdicts`` as ``look_up`` gives them."""
        error_type, case = verdicts
        lacking = {
            name: (case >= 0) & cannot[case]
            for name, cannot in self.verdicts.lacking.items()
            if name not in self.chain.not_run
        }
        oov = self.verdicts.lacking.get("fine_grained_oov")
        return ModelResult(
            model=model.model,
            tally=model.tally,
            n_without_oov_evidence=0 if oov is None else int(oov[case[case >= 0]].sum()),
            measures=measure(
                error_type,
                self.basis.annotations.label[predictions.rows],
                self.membership[:, predictions.rows],
                lacking=lacking,
            ),
        )


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What came of a run: one result a model, what failed, and what the figures rest on."""

    judged: Judged
    results: tuple[ModelResult, ...]
    failures: tuple[Failure, ...]
    facts: dict[str, dict[str, Any]]
    """Model -> what is known of it beside its figures (:mod:`imagenet_errors.runs.model_facts`)."""

    @property
    def chain(self) -> Chain:
        """The stages as they were asked."""
        return self.judged.chain

    @property
    def basis(self) -> Basis:
        """What the verdicts rest on."""
        return self.judged.basis

    @property
    def intakes(self) -> dict[str, Intake]:
        """Model -> what became of its file's rows."""
        return {model.model: model.intake for model in self.judged.mistakes.models}


def evaluate(
    predictions: Sequence[Path],
    inputs: Inputs,
    out: Path,
    *,
    rules: ReadRules | None = None,
    command: Sequence[str] = (),
    failed: Sequence[Failure] = (),
    progress: Progress = silent,
) -> Evaluation:
    """Evaluate every predictions file and write the run directory.

    A file that cannot be used is listed in ``failures.parquet`` and the rest is done; so are the models ``failed``
    that have no file.

    Raises
    ------
    InputError
        The annotations or evidence cannot be used, or no predictions file can; nothing is written then.
    """
    check_out(out)
    basis = load_basis(inputs)
    with gather(predictions, basis, rules=rules, progress=progress) as mistakes:
        return save(judge(basis, mistakes), out, command=command, failed=failed, progress=progress)


def judge(basis: Basis, mistakes: Mistakes) -> Judged:
    """Give every distinct mistake its verdict."""
    walk = basis.chain.ask(mistakes.cases)
    chain = basis.chain.without_useless(walk)
    if chain is not basis.chain:
        walk = chain.ask(mistakes.cases)
    return Judged(basis, mistakes, chain, walk.verdicts(basis.class_names))


def save(
    judged: Judged,
    out: Path,
    *,
    command: Sequence[str] = (),
    failed: Sequence[Failure] = (),
    progress: Progress = silent,
) -> Evaluation:
    """Look up and measure each model, and write the run directory.

    Raises
    ------
    InputError
        ``out`` cannot be written to.
    """
    with writing_run(out) as writer:
        results = _write_models(writer, judged, progress=progress)
        files = judged.mistakes.files
        evaluation = Evaluation(
            judged,
            tuple(results),
            (*failed, *judged.mistakes.failures),
            {model_name(path): known for path in files if (known := facts_of_file(path)) is not None},
        )
        _write_tables(writer, evaluation)
        writer.manifest(_manifest(evaluation, command))
    return evaluation


def _write_models(writer: RunWriter, judged: Judged, *, progress: Progress) -> list[ModelResult]:
    def finish(model: ModelPredictions) -> ModelResult:
        predictions = model.load()
        verdicts = judged.look_up(predictions)
        writer.verdicts(model.model, judged.columns(predictions, *verdicts))
        return judged.result(model, predictions, verdicts)

    models = judged.mistakes.models
    with ThreadPoolExecutor(_N_THREADS) as pool:
        return list(progress("Writing verdicts", pool.map(finish, models), len(models)))


def _write_tables(writer: RunWriter, evaluation: Evaluation) -> None:
    results = evaluation.results
    writer.table("distribution.parquet", distribution_table(results, evaluation.chain.not_run))
    writer.table("summary.parquet", with_facts(summary_table(results), evaluation.facts))
    writer.table("accuracy.parquet", accuracy_table(results))
    if evaluation.failures:
        rows = [
            {"model": failure.model, "file": str(failure.path), "reason": failure.reason}
            for failure in evaluation.failures
        ]
        writer.table("failures.parquet", pa.Table.from_pylist(rows, schema=FAILURES))


def _manifest(evaluation: Evaluation, command: Sequence[str]) -> Manifest:
    """Return what run.json says: enough to make the run again, and to see what was skipped and why."""
    from datetime import UTC, datetime

    from imagenet_errors import __version__

    basis, mistakes = evaluation.basis, evaluation.judged.mistakes
    annotations = basis.annotations
    n_evaluated = int(annotations.evaluated.sum())
    failed = {failure.path for failure in evaluation.failures}
    used = [path for path in mistakes.files if path not in failed]
    return Manifest(
        layout=LAYOUT,
        version=__version__,
        command=list(command),
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
        annotations=basis.inputs.annotations_place,
        rejected_labels=basis.inputs.rejected_labels,
        n_annotated=len(annotations),
        n_evaluated=n_evaluated,
        n_excluded=len(annotations) - n_evaluated,
        excluded={reason: int(holds.sum()) for reason, holds in annotations.exclusions.items()},
        n_distinct_cases=len(mistakes.cases),
        stage_order=list(evaluation.chain.order),
        requested_stage_order=list(basis.inputs.stage_order),
        stages_not_run=evaluation.chain.not_run,
        evidence=evidence_places(basis.inputs),
        evidence_notes={name: list(notes) for name, notes in basis.evidence.notes.items()},
        inputs=[file_facts(path) for path in (*used, *basis.inputs.files) if path.is_file()],
        models={model: intake_facts(intake) for model, intake in evaluation.intakes.items()},
        failures=[FailureFacts(each.model, str(each.path), each.reason) for each in evaluation.failures],
    )
