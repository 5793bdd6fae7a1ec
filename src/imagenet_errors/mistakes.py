"""The mistakes of many models: every predictions file read by one set of rules, every distinct wrong (image, class)
pair once.

A file that cannot be used is a failure with its reason, and the rest goes on. What one model predicted is put aside on
disk until it is asked for, so that memory does not grow with the number of models.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.inputs import Basis
from imagenet_errors.problems import InputError, counted
from imagenet_errors.readers.model_files import ModelFiles, model_files
from imagenet_errors.readers.predictions import ModelReading, ReadRules, read_models
from imagenet_errors.tables import Annotations, Cases, Intake, Predictions, cases_of

Progress = Callable[[str, Iterable[Any], int], Iterator[Any]]
"""Wraps a loop to show how far it is: (what is done, the things, how many)."""

_N_THREADS = 2


def silent(_what: str, things: Iterable[Any], _count: int) -> Iterator[Any]:
    """Show nothing."""
    return iter(things)


@dataclass(frozen=True)
class Failure:
    """A model whose predictions could not be used, and why."""

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


@dataclass(frozen=True)
class Tally:
    """What one model did on all images that it has, the excluded ones, too.

    ``n_accepted`` of ``n_with_accepted`` images with accepted labels got one of these. On ``n_rejected`` images no
    annotator accepts the label; there the model named an accepted label ``n_right_against_label`` times and the
    rejected one ``n_rejected_label_named`` times.
    """

    n_images: int
    n_with_accepted: int
    n_accepted: int
    n_rejected: int
    n_right_against_label: int
    n_rejected_label_named: int


@dataclass(frozen=True)
class ModelPredictions:
    """One model's predictions of the evaluated images, put aside in a file."""

    model: str
    tally: Tally
    intake: Intake
    path: Path

    def load(self) -> Predictions:
        """Read the predictions back."""
        with np.load(self.path) as arrays:
            confidence = arrays.get("confidence")
            return Predictions(self.model, arrays["rows"].astype(np.int64), arrays["top1"], confidence, self.intake)


@dataclass(frozen=True, eq=False)
class Mistakes:
    """The distinct mistakes of the models that could be read, and these models; ``files``: what was asked for."""

    cases: Cases
    models: tuple[ModelPredictions, ...]
    failures: tuple[Failure, ...] = ()
    files: tuple[Path, ...] = ()


@dataclass(eq=False)
class _Collector:
    """Takes one model's predictions after the other and remembers which errors they made."""

    folder: Path
    annotations: Annotations
    n_classes: int
    made: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        self.made = np.zeros((len(self.annotations), self.n_classes), dtype=np.bool_)

    def put(self, predictions: Predictions, *, number: int) -> ModelPredictions:
        """Put the predictions of evaluated images aside; may be called from several threads."""
        annotations = self.annotations
        counts = np.flatnonzero(annotations.evaluated[predictions.rows])
        rows, top1 = predictions.rows[counts], predictions.top1[counts]
        wrong = ~annotations.is_correct(rows, top1)
        self.made[rows[wrong], top1[wrong]] = True
        arrays = {"rows": rows.astype(np.int32), "top1": top1}
        if predictions.confidence is not None:
            arrays["confidence"] = predictions.confidence[counts]
        path = self.folder / f"{number}.npz"
        np.savez(path, **arrays)  # type: ignore[arg-type,unused-ignore]
        return ModelPredictions(predictions.model, _tally(predictions, annotations), predictions.intake, path)

    def cases(self) -> Cases:
        """Return every (image, wrong prediction) that any model made, once, ordered by image, then class."""
        rows, prediction = np.nonzero(self.made)
        return cases_of(self.annotations, rows, prediction.astype(np.int16))


def _tally(predictions: Predictions, annotations: Annotations) -> Tally:
    rows, top1 = predictions.rows, predictions.top1
    accepted = annotations.accepts(rows, top1)
    rejected = annotations.label_is_rejected[rows]
    return Tally(
        n_images=len(rows),
        n_with_accepted=int((annotations.accepted.lengths[rows] > 0).sum()),
        n_accepted=int(accepted.sum()),
        n_rejected=int(rejected.sum()),
        n_right_against_label=int((rejected & accepted).sum()),
        n_rejected_label_named=int((rejected & (top1 == annotations.label[rows])).sum()),
    )


@contextmanager
def gather(
    given: Sequence[Path], basis: Basis, *, rules: ReadRules | None = None, progress: Progress = silent
) -> Iterator[Mistakes]:
    """Read predictions files and folders; what was put aside is removed when the block ends.

    Raises
    ------
    InputError
        A path does not exist, or not one file can be used (``NothingUsableError``).
    """
    groups = model_files(given)
    files = tuple(path for group in groups for path in group.paths)
    with tempfile.TemporaryDirectory(prefix="imagenet-errors-") as folder:
        collector = _Collector(Path(folder), basis.annotations, len(basis.labels))
        answers = _read_all(groups, basis, rules or ReadRules(), collector=collector, progress=progress)
        failures = tuple(answer for answer in answers if isinstance(answer, Failure))
        if len(failures) == len(answers):
            raise NothingUsableError(failures)
        models = tuple(answer for answer in answers if isinstance(answer, ModelPredictions))
        yield Mistakes(collector.cases(), models, failures, files)


def _read_all(
    groups: Sequence[ModelFiles], basis: Basis, rules: ReadRules, *, collector: _Collector, progress: Progress
) -> list[ModelPredictions | Failure]:
    """Read each model; where a file holds several, each fails or succeeds by itself."""
    number = itertools.count()

    def attempt(model: str, path: Path, read: Callable[[], Any]) -> Any:
        try:
            return read()
        except InputError as error:
            return Failure(model, path, error)
        except Exception as error:  # a fault of ours must cost this file only, not the night's run
            what = f"an unexpected {type(error).__name__}: {error}"
            fix = "This is a fault of imagenet-errors: please report it with the file's first lines."
            return Failure(model, path, InputError(path, what, fix=fix))

    def read_group(group: ModelFiles) -> list[ModelPredictions | Failure]:
        models = attempt(
            group.model, group.path, lambda: read_models(group, basis.annotations, basis.labels, rules=rules)
        )
        if isinstance(models, Failure):
            return [models]
        return [attempt(one.model, group.path, partial(put, one)) for one in models]

    def put(model: ModelReading) -> ModelPredictions:
        return collector.put(model.predictions(), number=next(number))

    with ThreadPoolExecutor(_N_THREADS) as pool:
        answers = progress("Reading predictions", pool.map(read_group, groups), len(groups))
        return _without_twins([answer for several in answers for answer in several])


def _without_twins(answers: Sequence[ModelPredictions | Failure]) -> list[ModelPredictions | Failure]:
    """Let the first of several models of one name stand; columns of two tables may be called alike."""
    seen: set[str] = set()
    kept: list[ModelPredictions | Failure] = []
    for answer in answers:
        if isinstance(answer, ModelPredictions) and answer.model in seen:
            problem = InputError(
                answer.model, "two columns or files are models of this name", fix="Rename one of them."
            )
            answer = Failure(answer.model, answer.path, problem)
        seen.add(answer.model)
        kept.append(answer)
    return kept
