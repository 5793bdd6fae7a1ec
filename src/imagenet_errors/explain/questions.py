"""What is to be explained: a model's errors in a run, and right answers beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.image_folder import files_of_rows
from imagenet_errors.images import ImageIndex
from imagenet_errors.inputs import Basis
from imagenet_errors.problems import InputError, counted, refuse_below
from imagenet_errors.runs.tables import RunTables, load_run_tables
from imagenet_errors.tables import cases_of

SEVERE = ("model_failure", "spurious_correlation")

Judge = Callable[[Sequence[str], Sequence[int]], list[str]]
"""File names and the classes that their images are called -> error types, by the chain of the run."""


@dataclass(frozen=True)
class Question:
    """One answer of the model: ``file`` is its image's path in the folder of images."""

    file_name: str
    file: str
    prediction: int
    label: int
    accepted: tuple[int, ...]
    error_type: str


@dataclass(frozen=True)
class ErrorChoice:
    """Which answers: these types of error, most severe first, ``limit`` of them (0: all), and some right ones."""

    error_types: tuple[str, ...] = SEVERE
    limit: int = 0
    n_right: int = 0

    def __post_init__(self) -> None:
        """Refuse unknown types.

        Raises
        ------
        InputError
            An error type is none of the chain's, or is ``correct``; or fewer than none are asked for.
        """
        refuse_below("--limit", self.limit, 0)
        refuse_below("--right-answers", self.n_right, 0)
        unknown = [name for name in self.error_types if name not in ERROR_TYPES[1:]]
        if unknown:
            fix = f"There are: {', '.join(ERROR_TYPES[1:])}."
            raise InputError("--error-types", f"no error type {unknown[0]!r}", fix=fix)


def choose_questions(run: Path, model: str, images: Path, choice: ErrorChoice) -> tuple[Question, ...]:
    """Return the answers to explain whose images are in the folder: the most severe first, then by name.

    Raises
    ------
    InputError
        The folder is no run, the model is not in it, or none of the errors' images is in the folder.
    """
    tables = load_run_tables(run, models=(model,))
    files = files_of_rows(images, ImageIndex(tables.file_names))
    present = np.array([row in files for row in range(len(tables.file_names))])
    wanted = [ERROR_TYPES.index(name) for name in choice.error_types]
    kind = tables.error_type[0]
    errors = np.flatnonzero(present & np.isin(kind, wanted))
    errors = errors[np.argsort(-kind[errors], kind="stable")]
    if not len(errors):
        what = f"none of the model's {', '.join(choice.error_types)} errors is among the images of {images}"
        raise InputError(run, what, fix="Pass other --error-types, or the folder of all images.")
    right = np.flatnonzero(present & (kind == ERROR_TYPES.index("correct")))
    rows = [*(errors[: choice.limit] if choice.limit else errors), *_spread(right, choice.n_right)]
    return tuple(_question(tables, int(row), files[int(row)]) for row in rows)


def _spread(rows: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Return n of the rows, evenly over all of them."""
    return rows[np.linspace(0, len(rows) - 1, min(n, len(rows))).astype(np.int64)] if len(rows) else rows


def _question(tables: RunTables, row: int, file: str) -> Question:
    return Question(
        file_name=tables.file_names[row].as_py(),
        file=file,
        prediction=int(tables.prediction[0, row]),
        label=int(tables.label[row]),
        accepted=tuple(int(index) for index in tables.accepted[row]),
        error_type=ERROR_TYPES[tables.error_type[0, row]],
    )


def name_in_run(run_models: Sequence[str], spec_name: str, given: str, *, stated: str = "") -> str:
    """Return how the run calls the model: as it is stated, as it was given, by its whole name, or its architecture.

    Raises
    ------
    InputError
        The run has no such model.
    """
    asked = given.partition("=")[0]
    for name in (stated,) if stated else (asked, spec_name, spec_name.partition(".")[0]):
        if name in run_models:
            return name
    shown, where = ", ".join(run_models[:20]), "--run-model" if stated else "--model"
    raise InputError(where, f"no {stated or asked!r} in this run", fix=f"Say which it is with --run-model: {shown}.")


def judge_by(basis: Basis) -> Judge:
    """Return what tells an image's class from the error type that this class is."""
    index = ImageIndex(basis.annotations.file_names)

    def judge(file_names: Sequence[str], classes: Sequence[int]) -> list[str]:
        rows = index.rows(pa.array(list(file_names), type=pa.string()), where="the explanations")
        if (rows < 0).any():
            what = f"{counted(int((rows < 0).sum()), 'explained image')} not among the annotated"
            raise InputError(basis.annotations.name, what, example=file_names[int(np.argmin(rows))])
        prediction = np.asarray(classes, dtype=np.int16)
        types = np.zeros(len(rows), dtype=np.int8)
        wrong = np.flatnonzero(~basis.annotations.is_correct(rows, prediction))
        if len(wrong):
            types[wrong] = basis.chain.ask(cases_of(basis.annotations, rows[wrong], prediction[wrong])).error_type
        return [ERROR_TYPES[code] for code in types]

    return judge
