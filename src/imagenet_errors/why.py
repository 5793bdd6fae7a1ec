"""Why a case was judged as it was: every stage's answer, passed or not, with its evidence."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from imagenet_errors.chain import ERROR_TYPES, Step
from imagenet_errors.images import ImageIndex
from imagenet_errors.inputs import Basis, load_basis
from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import InputError
from imagenet_errors.runs.directory import VERDICTS, read_run_table
from imagenet_errors.runs.manifest import Manifest, read_manifest
from imagenet_errors.tables import Annotations, Cases, cases_of

YES, NO, UNKNOWN, NOT_RUN = "yes", "no", "unknown", "not run"


@dataclass(frozen=True)
class Answer:
    """One stage's answer: ``answer`` is yes, no, unknown (its evidence has nothing on the case) or not run.

    ``explains`` is None for the last two; ``says`` is one sentence, ``details`` its evidence in full.
    """

    stage: str
    answer: str
    says: str
    details: tuple[str, ...] = ()

    @property
    def explains(self) -> bool | None:
        """Whether the stage explains the case; None where that is not known."""
        return {YES: True, NO: False}.get(self.answer)

    def as_json(self) -> dict[str, Any]:
        """Return plain objects."""
        return {
            "stage": self.stage,
            "explains": self.explains,
            "answer": self.answer,
            "says": self.says,
            "details": self.details,
        }


@dataclass(frozen=True)
class DecisionPath:
    """One case through all stages; ``models`` made this prediction, with these confidences."""

    file_name: str
    label: str
    prediction: str
    accepted: tuple[str, ...]
    models: dict[str, float | None]
    error_type: str
    explanation: str
    answers: tuple[Answer, ...]

    def __str__(self) -> str:
        """Return the way in lines, a stage each."""
        accepted = ", ".join(self.accepted)
        head = f"{self.file_name}: label {self.label}, prediction {self.prediction}, accepted {accepted}"
        lines = [f"{answer.stage}: {answer.answer}. {answer.says}" for answer in self.answers]
        return "\n".join((head, *lines, f"verdict: {self.error_type}"))

    def as_json(self) -> dict[str, Any]:
        """Return plain objects."""
        return {**self.__dict__, "answers": [answer.as_json() for answer in self.answers]}


def why(run: Path, file_name: str, *, model: str | None = None) -> list[DecisionPath]:
    """Walk the image's case through all stages: one case a distinct prediction, of one model or of all.

    Raises
    ------
    InputError
        The folder is no run, the model or image is not in it, or a file it used is gone.
    """
    manifest = read_manifest(run)
    if manifest.gone:
        fix = "Put it back there, or where it lay beside the run, or evaluate again."
        raise InputError(manifest.gone[0], "no such file, by which the run was judged", fix=fix)
    basis = load_basis(manifest.as_inputs())
    row = row_of(basis.annotations, file_name, basis.labels)
    made = _predictions_of(run, basis.annotations.file_names[row].as_py(), _models(run, manifest, model))
    if not made:
        raise InputError(run, f"no model of this run has a prediction for {file_name}", fix="Name another image.")
    return [
        decision_path(basis, row, prediction, models=models)
        for prediction, models in sorted(made.items(), key=lambda item: -len(item[1]))
    ]


def decision_path(basis: Basis, row: int, prediction: int, *, models: dict[str, float | None]) -> DecisionPath:
    """Ask every stage about one annotated image and one predicted class."""
    annotations, names = basis.annotations, basis.class_names
    rows, classes = np.array([row]), np.array([prediction], dtype=np.int16)
    case = cases_of(annotations, rows, classes)
    label, predicted = names[int(case.label[0])].as_py(), names[prediction].as_py()
    correct = bool(annotations.is_correct(rows, classes)[0])
    walk = basis.chain.ask(case, every_stage=True)
    verdict = basis.verdicts(walk)
    steps = {step.name: step for step in walk.steps}
    answers = [Answer("correct", YES if correct else NO, f"The label is {label}, the prediction {predicted}.")]
    answers += [
        _answer(steps[name], case, names)
        if name not in basis.chain.not_run
        else Answer(name, NOT_RUN, f"Not run: {basis.chain.not_run[name]}.")
        for name in basis.chain.every_order
    ]
    return DecisionPath(
        file_name=annotations.file_names[row].as_py(),
        label=label,
        prediction=predicted,
        accepted=tuple(names[int(index)].as_py() for index in case.accepted.values),
        models=models,
        error_type="correct" if correct else ERROR_TYPES[verdict.error_type[0]],
        explanation="" if correct else verdict.explanation[0].as_py(),
        answers=tuple(answers),
    )


def _answer(step: Step, case: Cases, names: pa.StringArray) -> Answer:
    finding = step.finding
    if finding is None:
        raise ValueError(f"{step.name} did not run")
    shows = getattr(step.stage, "shows", None)
    details = () if shows is None else shows(finding, names)
    is_unknown = finding.lacks_evidence is not None and bool(finding.lacks_evidence[0])
    answer = UNKNOWN if is_unknown else YES if finding.explains[0] else NO
    return Answer(step.name, answer, step.says(case, names)[0].as_py(), details)


def _models(run: Path, manifest: Manifest, model: str | None) -> list[str]:
    models = list(manifest.models)
    if model is None:
        return models
    if model not in models:
        raise InputError(run, f"no model {model!r} in this run", fix=f"It has: {', '.join(models[:20])}.")
    return [model]


def row_of(annotations: Annotations, file_name: str, labels: LabelSpace) -> int:
    """Return the row of an evaluated image; a bare number is that of a validation image.

    Raises
    ------
    InputError
        The image is not annotated, or excluded from every figure.
    """
    images = ImageIndex(annotations.file_names)
    is_number = file_name.isdecimal() and images.is_val and labels.is_imagenet
    if is_number:
        row = int(images.rows_of_numbers(np.array([int(file_name)]))[0])
    else:
        row = int(images.rows(pa.array([file_name]), where=file_name)[0])
    if row < 0:
        raise InputError(file_name, "is not an annotated image", fix="Name an image as the annotations do.")
    for reason, holds in annotations.exclusions.items():
        if holds[row]:
            raise InputError(file_name, f"is excluded from every figure: {reason}", fix="Name another image.")
    return row


def _predictions_of(run: Path, file_name: str, models: list[str]) -> dict[int, dict[str, float | None]]:
    """Return prediction -> model -> confidence for one image."""
    import pyarrow.compute as pc

    made: dict[int, dict[str, float | None]] = {}
    for model in models:
        path, needed = run / "verdicts" / f"{model}.parquet", ("file_name", "prediction", "confidence")
        table = read_run_table(path, VERDICTS, needed=needed, only=True)
        place = pc.index(table["file_name"], file_name).as_py()
        if place >= 0:
            made.setdefault(table["prediction"][place].as_py(), {})[model] = table["confidence"][place].as_py()
    return made
