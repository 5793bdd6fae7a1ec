"""The mistakes of many models: every predictions file read by one set of rules, every distinct wrong (image, class)
pair once.

A file that cannot be used is a failure with its reason, and the rest goes on. What one model predicted is put aside on
disk until it is asked for, so that memory does not grow with the number of models.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.files import MORE_ROOM, unwritable
from imagenet_errors.inputs import Basis
from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import InputError, counted, names_a_file, of_the_machine, without_folders, written
from imagenet_errors.readers.memory import InMemory
from imagenet_errors.readers.model_files import ModelFiles, model_files
from imagenet_errors.readers.predictions import ModelReading, ReadRules, read_models
from imagenet_errors.tables import Annotations, Cases, Intake, Predictions, case_codes, cases_of, distinct, split_codes
from imagenet_errors.workers import free_memory, in_turn

Progress = Callable[[str, Iterable[Any], int], Iterator[Any]]
"""Wraps a loop to show how far it is: (what is done, the things, how many)."""

Given = Path | tuple[str, Path] | InMemory
"""A file or folder; a file with its model's name; or predictions in memory."""
_BYTES_A_WORKER, _PARSED = 1 << 27, 4
"""What a worker takes of its own, and how many times a file's size it may need to read it."""
_MOST_NAMED = 4
_LONGEST_NAME = 255 - len(".parquet")
"""Bytes of a model's name: files are named after it."""
_LEAST_MERGED = 1 << 20
"""Case codes that are sorted at once: 8 MB."""


def silent(_what: str, things: Iterable[Any], _count: int) -> Iterator[Any]:
    """Show nothing."""
    return iter(things)


@dataclass(frozen=True)
class Failure:
    """A model whose predictions could not be used, and why."""

    model: str
    path: Path
    error: InputError

    def __post_init__(self) -> None:
        """Keep the name as text that can be stored, whatever bytes a file's name has."""
        object.__setattr__(self, "model", written(self.model))

    @property
    def file(self) -> str:
        """The path, as text that can be stored."""
        return written(self.path)

    @property
    def reason(self) -> str:
        """The whole message, as text that can be stored."""
        return written(str(self.error))


def failure_rows(failures: Iterable[Failure]) -> list[dict[str, str]]:
    """Return the rows of a run's ``failures.parquet``, which may be given away: without the folders of this machine."""
    return [
        {"model": each.model, "file": Path(each.file).name, "reason": without_folders(each.reason, each.file)}
        for each in failures
    ]


def reasons(failures: Iterable[Failure]) -> list[str]:
    """Return each reason once, with the models that it holds for where there are several (columns of one file)."""
    models: dict[str, list[str]] = {}
    for failure in failures:
        models.setdefault(failure.reason, []).append(failure.model)
    told = []
    for reason, names in models.items():
        more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
        several = f" ({counted(len(names), 'model')}: {', '.join(names[:_MOST_NAMED])}{more})"
        told.append(reason + several * (len(names) > 1))
    return told


class NothingUsableError(InputError):
    """No predictions file can be used; ``failures`` tells why, each."""

    def __init__(self, failures: Sequence[Failure]) -> None:
        self.failures = tuple(failures)
        first = failures[0].error
        told = reasons(failures)
        if len(told) == 1:
            super().__init__(first.where, first.what, example=first.example, fix=first.fix)
            return
        lines = "\n".join(f"  {reason}" for reason in told)
        super().__init__("PREDICTIONS", f"none of the {counted(len(failures), 'model')} can be used:\n{lines}")


@dataclass(frozen=True)
class Tally:
    """What one model did on all images that it has, the excluded ones, too.

    ``n_accepted`` of ``n_with_accepted`` images with accepted labels got one of these. On ``n_rejected`` images no
    annotator accepts the label; there the model named an accepted label ``n_right_against_label`` times and the
    rejected one ``n_rejected_label_named`` times. ``n_right`` of all ``n_labelled`` images of the data set,
    annotated or not, were predicted as labelled.
    """

    n_images: int
    n_with_accepted: int
    n_accepted: int
    n_rejected: int
    n_right_against_label: int
    n_rejected_label_named: int
    n_labelled: int = 0
    n_right: int = 0
    n_outside: int | None = None
    """How often it named a class that no image of the data set shows; None where all classes occur."""


@dataclass(frozen=True)
class ModelPredictions:
    """One model's predictions of the evaluated images, put aside in a file; ``source``: where they were read."""

    model: str
    tally: Tally
    intake: Intake
    path: Path
    source: Path
    has_confidence: bool = False

    def load(self) -> Predictions:
        """Read the predictions back."""
        with self.path.open("rb") as file:
            rows, top1 = np.load(file), np.load(file)
            confidence = np.load(file) if self.has_confidence else None
        return Predictions(self.model, rows.astype(np.int64), top1, confidence, self.intake)


Answer = ModelPredictions | Failure


@dataclass(frozen=True, eq=False)
class Mistakes:
    """The distinct mistakes of the models that could be read, and these models; ``files``: what was asked for."""

    cases: Cases
    models: tuple[ModelPredictions, ...]
    failures: tuple[Failure, ...] = ()
    files: tuple[Path, ...] = ()


class CaseCodes:
    """Gathers case codes, each once, in memory that grows with the distinct ones."""

    def __init__(self) -> None:
        self._distinct = np.empty(0, dtype=np.int64)
        self._waiting: list[NDArray[np.int64]] = []
        self._n_waiting = 0

    def add(self, codes: NDArray[np.int64]) -> None:
        """Take some more; they are merged once they are as many as the distinct ones."""
        self._waiting.append(codes)
        self._n_waiting += len(codes)
        if self._n_waiting > max(_LEAST_MERGED, len(self._distinct)):
            self._merge()

    def distinct(self) -> NDArray[np.int64]:
        """Return all that were added, ascending."""
        self._merge()
        return self._distinct

    def _merge(self) -> None:
        self._distinct = distinct(np.concatenate([self._distinct, *self._waiting]))
        self._waiting, self._n_waiting = [], 0


@dataclass(eq=False)
class _Collector:
    """Puts the models' predictions aside, one after the other or several at once."""

    folder: Path
    annotations: Annotations
    labels: LabelSpace

    def put(self, predictions: Predictions, *, source: Path, number: str) -> tuple[ModelPredictions, NDArray[np.int64]]:
        """Put the predictions of evaluated images aside; also return the codes of the wrong ones."""
        annotations = self.annotations
        counts = np.flatnonzero(annotations.evaluated[predictions.rows])
        rows, top1 = predictions.rows[counts], predictions.top1[counts]
        wrong = ~annotations.is_correct(rows, top1)
        confidence = predictions.confidence
        path = self.folder / f"{number}.npy"
        _put_aside(path, rows.astype(np.int32), top1, *([] if confidence is None else [confidence[counts]]))
        tally = _tally(predictions, annotations, self.labels)
        put = ModelPredictions(predictions.model, tally, predictions.intake, path, source, confidence is not None)
        return put, case_codes(rows[wrong], top1[wrong])


def _put_aside(path: Path, *arrays: NDArray[Any]) -> None:
    try:
        with path.open("wb") as file:
            for array in arrays:
                np.save(file, array)
    except OSError as error:
        raise unwritable(path.parent, error, fix=MORE_ROOM) from None


def _tally(predictions: Predictions, annotations: Annotations, labels: LabelSpace) -> Tally:
    rows, top1 = predictions.rows, predictions.top1
    accepted = annotations.accepts(rows, top1)
    rejected = annotations.label_is_rejected[rows]
    return Tally(
        n_images=len(rows),
        n_with_accepted=int((annotations.accepted.lengths[rows] > 0).sum()),
        n_accepted=int(accepted.sum()),
        n_rejected=int(rejected.sum()),
        n_right_against_label=int((rejected & accepted).sum()),
        n_rejected_label_named=int((rejected & annotations.is_label(rows, top1)).sum()),
        n_labelled=predictions.intake.n_labelled,
        n_right=predictions.intake.n_right,
        n_outside=int((~np.isin(top1, labels.occurring)).sum()) if labels.occurring else None,
    )


@dataclass(frozen=True)
class _Item:
    """One thing to read: a model's files or what is in memory."""

    what: ModelFiles | InMemory

    @property
    def path(self) -> Path:
        """What messages and failures call it."""
        return self.what.path

    @property
    def model(self) -> str:
        """The model's name as long as nothing was read."""
        return self.what.model


def _items(given: Sequence[Given]) -> list[_Item]:
    """Return what is to be read; folders are listed.

    Raises
    ------
    InputError
        A path does not exist, a folder holds no predictions, or two files would be the same model.
    """
    unnamed = [one for one in given if isinstance(one, Path)]
    files = [_Item(one) for one in model_files(unnamed)] if unnamed or not given else []
    named = [_Item(ModelFiles(one[0], (one[1],))) for one in given if isinstance(one, tuple)]
    for item in named:
        if not item.path.is_file():
            raise InputError(item.path, "no such file", fix="Check the path.")
    return [*files, *named, *(_Item(one) for one in given if isinstance(one, InMemory))]


@contextmanager
def gather(
    given: Sequence[Given], basis: Basis, *, rules: ReadRules | None = None, progress: Progress = silent
) -> Iterator[Mistakes]:
    """Read predictions of files, folders and memory; what was put aside is removed when the block ends.

    Raises
    ------
    InputError
        A path does not exist, or nothing can be used (``NothingUsableError``).
    """
    items = _items(given)
    with tempfile.TemporaryDirectory(prefix="imagenet-errors-") as folder:
        collector = _Collector(Path(folder), basis.annotations, basis.labels)
        codes = CaseCodes()
        answers = []
        for answer, wrong in _read_all(items, basis, _rules(rules, basis), collector=collector, progress=progress):
            answers.append(answer)
            codes.add(wrong)
        models, failures = _sorted_out(answers)
        if not models:
            raise NothingUsableError(failures)
        files = tuple(path for item in items if isinstance(item.what, ModelFiles) for path in item.what.paths)
        rows, prediction = split_codes(codes.distinct())
        yield Mistakes(cases_of(basis.annotations, rows, prediction.astype(np.int16)), models, failures, files)


def _rules(rules: ReadRules | None, basis: Basis) -> ReadRules:
    """Return how files are read, with what the data set says of names."""
    return replace(rules or ReadRules(), setting=basis.inputs.data_set.setting)


def _sorted_out(answers: Iterable[Answer]) -> tuple[tuple[ModelPredictions, ...], tuple[Failure, ...]]:
    """Part models from failures; of models of one name the first counts."""
    models: dict[str, ModelPredictions] = {}
    failures = []
    for answer in answers:
        if isinstance(answer, Failure):
            failures.append(answer)
        elif answer.model in models:
            what = f"is the same model as one before: both are named {answer.model!r}"
            failures.append(Failure(answer.model, answer.source, InputError(answer.source, what, fix="Rename one.")))
        else:
            models[answer.model] = answer
    return tuple(models.values()), tuple(failures)


def _read_all(
    items: Sequence[_Item], basis: Basis, rules: ReadRules, *, collector: _Collector, progress: Progress
) -> Iterator[tuple[Answer, NDArray[np.int64]]]:
    """Yield each model's answer with the codes of its errors."""
    none = np.empty(0, dtype=np.int64)

    def attempt(numbered: tuple[int, _Item]) -> list[tuple[Answer, NDArray[np.int64]]]:
        number, item = numbered
        try:
            readings = read_models(item.what, basis.annotations, basis.labels, rules=rules)
        except Exception as error:  # a fault of ours must cost this file only, not the night's run
            return [(Failure(item.model, item.path, _as_input_error(error, item.path)), none)]
        return [one(reading, item, f"{number}-{place}") for place, reading in enumerate(readings)]

    def one(reading: ModelReading, item: _Item, number: str) -> tuple[Answer, NDArray[np.int64]]:
        try:
            check_model_name(reading.model, item.path)
            predictions = reading.predictions()
        except Exception as error:
            return Failure(reading.model, item.path, _as_input_error(error, item.path)), none
        return collector.put(predictions, source=item.path, number=number)

    read = in_turn(attempt, list(enumerate(items)), most=_affordable(items))
    for answers in progress("Reading predictions", read, len(items)):
        yield from answers


def _affordable(items: Sequence[_Item]) -> int:
    """Return how many of the files may be in memory at once: half of what is free must hold them, parsed."""
    paths = [path for item in items if isinstance(item.what, ModelFiles) for path in item.what.paths]
    sizes = [path.stat().st_size for path in paths if path.is_file()]
    return max(1, free_memory() // 2 // (_BYTES_A_WORKER + _PARSED * max(sizes, default=0)))


def check_model_name(model: str, path: Path) -> None:
    """Refuse a name that no file of verdicts can have.

    Raises
    ------
    InputError
        The name is too long, has slashes of either kind, or holds bytes that are no UTF-8.
    """
    try:
        n_bytes = len(model.encode())
    except UnicodeEncodeError:
        raise InputError(written(path), "its name is not UTF-8", fix="Rename the file.") from None
    if not names_a_file(model):
        raise InputError(path, f"{model!r} is no name for a model: its results go by it", fix="Call it otherwise.")
    if n_bytes > _LONGEST_NAME:
        what = f"its name has {n_bytes:,} bytes, and {_LONGEST_NAME:,} are the most"
        raise InputError(path, what, fix="Shorten the file's name, or its column's.")


def _as_input_error(error: Exception, path: Path) -> InputError:
    if isinstance(error, InputError):
        return error
    if (machine := of_the_machine(error, path)) is not None:
        return machine
    what = f"an unexpected {type(error).__name__}: {error}"
    fix = "This is a fault of imagenet-errors: please report it with the file's first lines."
    return InputError(path, what, fix=fix)
