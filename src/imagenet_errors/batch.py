"""Many timm models on one folder of images: plan, predict what is missing, evaluate all, write the run directory.

Every model asked for ends in ``summary.parquet`` or, with its reason, in ``failures.parquet``. Predictions are written
model by model below ``predictions/``, so the same command goes on wherever it was interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from imagenet_errors.evaluation import Evaluation, evaluate
from imagenet_errors.files import locked, write_whole
from imagenet_errors.image_folder import ImageFolder
from imagenet_errors.images import ImageIndex
from imagenet_errors.inputs import Inputs, labels_in, load_annotations
from imagenet_errors.labels import LabelSpace
from imagenet_errors.mistakes import Failure, NothingUsableError, Progress, failure_rows
from imagenet_errors.predict.job import ModelOutcome, PredictModel
from imagenet_errors.predict.names import ModelSpec
from imagenet_errors.predict.plan import Engine, PredictionPlan, predict_missing
from imagenet_errors.predict.weights import fetch_weights
from imagenet_errors.problems import InputError, counted
from imagenet_errors.readers.arrow_tables import our_metadata
from imagenet_errors.readers.label_files import LabelFile
from imagenet_errors.readers.predictions import ReadRules
from imagenet_errors.runs.directory import FAILURES, check_out

PREDICTIONS = "predictions"
"""Where in the run directory the models' predictions lie."""

Tell = Callable[[ModelOutcome, int, int], None]
"""Is told of each outcome, which one it is (from 1), and of how many."""


@dataclass(frozen=True)
class BatchRequest:
    """What to evaluate the models by, and where to put it."""

    inputs: Inputs
    out: Path
    allow_partial: bool = False
    command: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """The folder of predictions."""
        return self.out / PREDICTIONS


@dataclass(frozen=True, eq=False)
class BatchResult:
    """``evaluation`` is None where no model has predictions that can be used; ``failures`` holds all of them."""

    evaluation: Evaluation | None
    failures: tuple[Failure, ...]


def check_coverage(images: ImageFolder, request: BatchRequest) -> LabelSpace:
    """Refuse before the first prediction what evaluation would refuse after the last; return the classes.

    Where the annotations do not tell the images' original labels, their names do.

    Raises
    ------
    InputError
        The annotations cannot be used, no image is annotated, or evaluated images are not in the folder.
    """
    request.inputs.check()
    names = pa.array(images.names, type=pa.string())
    annotations = load_annotations(request.inputs, told_by=LabelFile(images.root, names))
    rows = ImageIndex(annotations.file_names).rows(names, where=images.root)
    if not (rows >= 0).any():
        raise InputError(
            images.root,
            f"none of its {counted(len(images), 'image')} is annotated",
            example=images.names[0],
            fix="Check the images' names, or pass the annotations that belong to them.",
        )
    lacking = annotations.evaluated.copy()
    lacking[rows[rows >= 0]] = False
    if lacking.any() and not request.allow_partial:
        raise InputError(
            images.root,
            f"{lacking.sum():,} of {annotations.evaluated.sum():,} annotated images are not in it",
            example=annotations.file_names[int(lacking.argmax())],
            fix="Pass the folder of all images, or --allow-partial to evaluate just the others.",
        )
    return labels_in(request.inputs.data_set, annotations)


def run_batch(
    plan: PredictionPlan,
    request: BatchRequest,
    *,
    engine: Engine,
    work: PredictModel,
    tell: Tell,
    progress: Progress,
) -> BatchResult:
    """Predict what the plan lacks, then evaluate every model that has predictions.

    Raises
    ------
    InputError
        The engine, the annotations or the evidence cannot be used; or ``out`` holds somebody else's files, or another
        run is at work there.
    """
    with locked(request.out):
        check_out(request.out)
        failed = {unusable.name: unusable.error for unusable in plan.unusable}
        outcomes = predict_missing(plan, request.folder, engine=engine, work=work)
        for number, outcome in enumerate(outcomes, start=1):
            tell(outcome, number, len(plan.missing))
            if outcome.content is None:
                failed[outcome.name] = _as_error(outcome)
        failures = tuple(Failure(name, request.folder / f"{name}.parquet", error) for name, error in failed.items())
        return _evaluate(plan, request, failures, progress=progress)


def _as_error(outcome: ModelOutcome) -> InputError:
    where, _, what = outcome.reason.partition(": ")
    return InputError(where, what.rstrip("."))


def _evaluate(
    plan: PredictionPlan, request: BatchRequest, failures: tuple[Failure, ...], *, progress: Progress
) -> BatchResult:
    failed = {failure.model for failure in failures}
    predicted = [planned.path for planned in plan.models if planned.spec.name not in failed]
    useless = tuple(failure for path in predicted if (failure := _all_invalid(path)) is not None)
    failures = (*failures, *useless)
    files = tuple(path for path in predicted if path not in {failure.path for failure in useless})
    try:
        if not files:
            raise NothingUsableError(failures)
        evaluation = evaluate(
            files,
            request.inputs,
            request.out,
            rules=ReadRules(allow_partial=request.allow_partial, check_order=False),
            command=request.command,
            failed=failures,
            progress=progress,
        )
    except NothingUsableError as error:
        both = {failure.model: failure for failure in (*failures, *error.failures)}
        write_failures(request.out, tuple(both.values()))
        return BatchResult(None, tuple(both.values()))
    return BatchResult(evaluation, evaluation.failures)


def _all_invalid(path: Path) -> Failure | None:
    """Return a failure for a file without a single usable prediction: as a table it would not even tell classes."""
    facts = our_metadata(path) or {}
    if facts.get("n_invalid") != facts.get("n_images"):
        return None
    what = f"all {facts.get('n_images'):,} predictions are invalid: its outputs are NaN or infinite"
    if facts.get("n_unreadable"):
        what = f"all {facts.get('n_images'):,} predictions are invalid: images cannot be decoded, or outputs are NaN"
    return Failure(path.stem, path, InputError(path, what, fix="Try --precision float32, or leave the model out."))


def write_failures(out: Path, failures: tuple[Failure, ...]) -> None:
    """Write ``failures.parquet`` alone, where there is nothing to evaluate."""
    import pyarrow.parquet as pq

    table = pa.Table.from_pylist(failure_rows(failures), schema=FAILURES)
    write_whole(out / "failures.parquet", lambda file: pq.write_table(table, file))


def prefetch(plan: PredictionPlan) -> Iterator[tuple[ModelSpec, InputError | None]]:
    """Download the weights of every model that is missing; yield each with what went wrong, None if nothing did."""
    for planned in plan.missing:
        try:
            fetch_weights(planned.spec)
        except InputError as error:
            yield planned.spec, error
        else:
            yield planned.spec, None
