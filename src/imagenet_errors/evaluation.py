"""Evaluate predictions: inputs -> gather -> judge -> save.

However many models there are, one table of distinct cases is classified; each model's verdicts are a lookup in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.chain import Chain
from imagenet_errors.inputs import Basis, Inputs, load_basis
from imagenet_errors.labels import ALL
from imagenet_errors.measure import Measures, Strata, group_membership, measure, strata
from imagenet_errors.mistakes import Failure, Given, Mistakes, ModelPredictions, Progress, failure_rows, gather, silent
from imagenet_errors.problems import InputError, counted, written
from imagenet_errors.readers.annotations import UnlabelledError, annotations_table, labels_told_in_memory
from imagenet_errors.readers.label_files import LabelFile
from imagenet_errors.readers.memory import InMemory
from imagenet_errors.readers.predictions import ReadRules
from imagenet_errors.runs.directory import (
    FAILURES,
    ModelResult,
    RunWriter,
    accuracy_table,
    check_out,
    class_name_column,
    distribution_table,
    error_type_column,
    summary_table,
    writing_run,
)
from imagenet_errors.runs.manifest import (
    LABELS,
    LAYOUT,
    FailureFacts,
    InputFile,
    Manifest,
    data_set_facts,
    evidence_places,
    intake_facts,
)
from imagenet_errors.runs.model_facts import facts_of_file, facts_of_name, n_classes_of_file, with_facts
from imagenet_errors.tables import Intake, Predictions, Verdicts
from imagenet_errors.workers import in_turn

_MOST_IMAGE_SETS = 4
_BY_TYPE = ("count", "count_min", "count_max", "portion_of_top1_errors", "portion_of_multi_label_errors")


@dataclass(frozen=True, eq=False)
class ImageSet:
    """What holds of some annotated images (``rows`` int64 [m]) whatever a model says of them, each found out once."""

    rows: NDArray[np.int64]
    basis: Basis
    membership: NDArray[np.bool_]

    @cached_property
    def columns(self) -> tuple[pa.Array, pa.Array, pa.Array, pa.Array]:
        """The columns file_name, target, accepted and target_name of ``runs.directory.VERDICTS``."""
        annotations, label = self.basis.annotations, self.basis.annotations.label[self.rows]
        names = annotations.file_names.take(pa.array(self.rows))
        accepted = annotations.accepted.take(self.rows).to_arrow()
        return names, pa.array(label), accepted, class_name_column(label, self.basis.class_names)

    @cached_property
    def strata(self) -> Strata:
        """The images by original label and groups."""
        return strata(self.basis.annotations.label[self.rows], self.membership[:, self.rows])


@dataclass(frozen=True, eq=False)
class Judged:
    """All cases of a run with their verdicts, and the lookup from one model's predictions into them.

    ``chain``: as it was asked; a stage whose evidence was about none of its cases counts as not run.
    ``masked_models``: those that chose among the classes that occur in the data set alone.
    """

    basis: Basis
    mistakes: Mistakes
    chain: Chain
    verdicts: Verdicts
    masked_models: tuple[str, ...] = ()

    @property
    def class_rule(self) -> str:
        """What the models chose from, in words."""
        rule, n_masked = self.basis.labels.rule, len(self.masked_models)
        n_others = len(self.mistakes.models) - n_masked
        if not (n_masked and n_others):
            return rule(masked=n_masked > 0)
        return f"{counted(n_masked, 'model')}: {rule(masked=True)}; {n_others:,}: {rule(masked=False)}"

    @cached_property
    def membership(self) -> NDArray[np.bool_]:
        """bool [G, n]: the groups of every annotated image."""
        return group_membership(self.basis.annotations.accepted, self.basis.labels)

    @cached_property
    def _image_sets(self) -> list[ImageSet]:
        return []

    def images(self, rows: NDArray[np.int64]) -> ImageSet:
        """Return what holds of the images in these rows for every model: most models have the same images."""
        for known in self._image_sets:
            if np.array_equal(known.rows, rows):
                return known
        made = ImageSet(rows, self.basis, self.membership)
        self._image_sets[:] = [made, *self._image_sets[: _MOST_IMAGE_SETS - 1]]
        return made

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
        n_rows, confidence = len(predictions.rows), predictions.confidence
        file_name, target, accepted, target_name = self.images(predictions.rows).columns
        return [
            file_name,
            target,
            pa.array(predictions.top1),
            pa.nulls(n_rows, pa.float32()) if confidence is None else pa.array(confidence, from_pandas=True),
            accepted,
            error_type_column(error_type),
            self.verdicts.explanation.take(pa.array(case, mask=case < 0)),
            pa.DictionaryArray.from_arrays(
                pa.array(np.zeros(n_rows, dtype=np.int16)), pa.array([predictions.model], type=pa.string())
            ),
            target_name,
            class_name_column(predictions.top1, self.basis.class_names),
            self._steps(case),
        ]

    def _steps(self, case: NDArray[np.int64]) -> pa.Array:
        """Return int16 [m]: how far each prediction is from what is right, null where it is no failure."""
        steps = self.verdicts.steps
        if steps is None:
            return pa.nulls(len(case), pa.int16())
        of_case = np.append(steps, np.int16(-1))[case]
        return pa.array(of_case, mask=of_case < 0)

    def result(
        self, model: ModelPredictions, predictions: Predictions, verdicts: tuple[NDArray[np.int8], NDArray[np.int64]]
    ) -> ModelResult:
        """Return one model's figures; ``verdicts`` as ``look_up`` gives them."""
        _, case = verdicts
        oov = self.verdicts.lacking.get("fine_grained_oov")
        return ModelResult(
            model=model.model,
            tally=model.tally,
            n_without_oov_evidence=0 if oov is None else int(oov[case[case >= 0]].sum()),
            measures=self.measure(predictions, verdicts),
        )

    def measure(self, predictions: Predictions, verdicts: tuple[NDArray[np.int8], NDArray[np.int64]]) -> Measures:
        """Count and average; ``verdicts`` as ``look_up`` gives them."""
        error_type, case = verdicts
        lacking = {
            name: np.append(cannot, False)[case]
            for name, cannot in self.verdicts.lacking.items()
            if name not in self.chain.not_run
        }
        parted = self.images(predictions.rows).strata
        return measure(error_type, parted, groups=self.basis.labels.group_names, lacking=lacking)


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

    def as_json(self) -> dict[str, Any]:
        """Return what came of it as plain objects: one versioned object, null where a stage did not run."""
        summary = with_facts(summary_table(self.results), self.facts).to_pylist()
        rows = distribution_table(self.results, self.chain.not_run).to_pylist()
        by_type: dict[str, dict[str, dict[str, Any]]] = {}
        for row in rows:
            if row["group"] == ALL:
                by_type.setdefault(row["model"], {})[row["error_type"]] = {key: row[key] for key in _BY_TYPE}
        annotations = self.basis.annotations
        return {
            "layout": LAYOUT,
            "dataset": self.basis.inputs.data_set.place,
            "annotations": self.basis.inputs.annotations_place,
            "label_set": self.basis.label_set,
            "class_rule": self.judged.class_rule,
            "n_annotated": len(annotations),
            "n_evaluated": int(annotations.evaluated.sum()),
            "excluded": {reason: int(holds.sum()) for reason, holds in annotations.exclusions.items()},
            "stage_order": list(self.chain.order),
            "stages_not_run": self.chain.not_run,
            "evidence_notes": list(self.basis.notes),
            "models": [
                {**row, "error_types": by_type[row["model"]], "intake": intake_facts(self.intakes[row["model"]])}
                for row in summary
            ],
            "failures": [{"model": each.model, "file": each.file, "reason": each.reason} for each in self.failures],
        }

    @property
    def intakes(self) -> dict[str, Intake]:
        """Model -> what became of its file's rows."""
        return {model.model: model.intake for model in self.judged.mistakes.models}


def evaluate(
    predictions: Sequence[Given],
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
    _check_apart(out, [one for one in predictions if isinstance(one, Path)])
    basis = load_basis(inputs, [one for one in predictions if isinstance(one, Path)], told_by=_told_by(predictions))
    with gather(predictions, basis, rules=rules, progress=progress) as mistakes:
        judged = judge(basis, mistakes, masked_models=masked_models(basis, mistakes, rules))
        return save(judged, out, command=command, failed=failed, progress=progress)


def _told_by(predictions: Sequence[Given]) -> Sequence[LabelFile]:
    """Return what predictions tell of original labels that are no files and folders alone: in memory, or named."""
    told = []
    for one in predictions:
        with suppress(UnlabelledError):
            if isinstance(one, InMemory):
                told.append(labels_told_in_memory(one.model, one.raw))
    return told


def _check_apart(out: Path, predictions: Sequence[Path]) -> None:
    """Refuse results among predictions: the next run would read them, or meet them where it looks for models."""
    for folder in predictions:
        if folder.is_dir() and out.resolve().is_relative_to(folder.resolve()):
            raise InputError(out, f"lies in the folder of predictions {folder}", fix="Choose an --out beside it.")


def masked_models(basis: Basis, mistakes: Mistakes, rules: ReadRules | None) -> tuple[str, ...]:
    """Return the models whose other classes than the data set's were masked, when read or when predicted."""
    n_occurring = len(basis.labels.occurring)
    if not n_occurring:
        return ()
    when_read = rules is not None and rules.mask_classes
    models = mistakes.models
    return tuple(each.model for each in models if when_read or n_classes_of_file(each.source) == n_occurring)


def judge(basis: Basis, mistakes: Mistakes, *, masked_models: tuple[str, ...] = ()) -> Judged:
    """Give every distinct mistake its verdict."""
    walk = basis.chain.ask(mistakes.cases)
    chain = basis.chain.without_useless(walk)
    if chain is not basis.chain:
        walk = chain.ask(mistakes.cases)
    return Judged(basis, mistakes, chain, basis.verdicts(walk), masked_models)


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
        results, facts = _write_models(writer, judged, progress=progress)
        evaluation = Evaluation(judged, results, (*failed, *judged.mistakes.failures), facts)
        _write_tables(writer, evaluation)
        if judged.basis.told_in_memory:
            writer.table(LABELS, annotations_table(judged.basis.annotations).select(["file_name", "label"]))
        writer.manifest(_manifest(evaluation, command))
    return evaluation


def _facts(model: ModelPredictions) -> dict[str, Any] | None:
    """Return what the model's file says of it, else what its name tells."""
    return facts_of_file(model.source) or facts_of_name(model.model)


def _write_models(
    writer: RunWriter, judged: Judged, *, progress: Progress
) -> tuple[tuple[ModelResult, ...], dict[str, dict[str, Any]]]:
    """Write each model's verdicts; return its figures, and what is known of it beside them."""

    def finish(model: ModelPredictions) -> tuple[ModelResult, dict[str, Any] | None]:
        predictions = model.load()
        verdicts = judged.look_up(predictions)
        writer.verdicts(model.model, judged.columns(predictions, *verdicts))
        return judged.result(model, predictions, verdicts), _facts(model)

    models = judged.mistakes.models
    done = list(progress("Writing verdicts", in_turn(finish, models), len(models)))
    facts = {result.model: known for result, known in done if known is not None}
    return tuple(result for result, _ in done), facts


def _write_tables(writer: RunWriter, evaluation: Evaluation) -> None:
    results = evaluation.results
    writer.table("distribution.parquet", distribution_table(results, evaluation.chain.not_run))
    writer.table("summary.parquet", with_facts(summary_table(results), evaluation.facts))
    writer.table("accuracy.parquet", accuracy_table(results))
    if evaluation.failures:
        table = pa.Table.from_pylist(failure_rows(evaluation.failures), schema=FAILURES)
        writer.table("failures.parquet", table)


def _read_files(mistakes: Mistakes) -> list[InputFile]:
    """Return the predictions files by the hash of the bytes that were read, even where they are gone by now."""
    hashes = {model.source: model.intake.sha256 for model in mistakes.models if model.intake.sha256}
    return [_input_file(path, _size_of(path), sha256) for path, sha256 in hashes.items()]


def _input_file(path: Path, n_bytes: int, sha256: str) -> InputFile:
    return InputFile(written(path.resolve()), n_bytes, sha256)


def _size_of(path: Path) -> int:
    """Return a file's size in bytes, 0 of one that is gone."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _manifest(evaluation: Evaluation, command: Sequence[str]) -> Manifest:
    """Return what run.json says: enough to make the run again, and to see what was skipped and why."""
    from datetime import UTC, datetime

    from imagenet_errors import __version__

    basis, mistakes = evaluation.basis, evaluation.judged.mistakes
    annotations = basis.annotations
    n_evaluated = int(annotations.evaluated.sum())
    facts = data_set_facts(basis.inputs)
    if basis.told_in_memory:
        facts["more_annotations"] += [LABELS]
    return Manifest(
        layout=LAYOUT,
        version=__version__,
        command=list(command),
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
        annotations=basis.inputs.annotations_place,
        rejected_labels=basis.inputs.rejected_labels,
        label_set=basis.label_set,
        class_rule=evaluation.judged.class_rule,
        masked_models=list(evaluation.judged.masked_models),
        **facts,
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
        inputs=[*_read_files(mistakes), *(_input_file(*file) for file in basis.own_files)],
        judged_by=list(basis.judged_by),
        models={model: intake_facts(intake) for model, intake in evaluation.intakes.items()},
        failures=[FailureFacts(each.model, each.file, each.reason) for each in evaluation.failures],
    )
