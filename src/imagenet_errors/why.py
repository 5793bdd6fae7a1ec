"""Why a case was judged as it was: every stage's answer, passed or not, with its evidence."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from imagenet_errors.chain import ERROR_TYPES, Chain, build_chain, judge
from imagenet_errors.images import ImageIndex
from imagenet_errors.inputs import Sources, load_annotations, load_evidence
from imagenet_errors.labels import LabelSpace, imagenet_1k
from imagenet_errors.problems import InputError
from imagenet_errors.runs.directory import read_run
from imagenet_errors.tables import Annotations, Cases, cases_of


@dataclass(frozen=True)
class Answer:
    """One stage's answer: did it explain the case (None: not run), what it says, and its evidence in full."""

    stage: str
    explains: bool | None
    says: str
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class Walk:
    """One case through all stages; ``models`` made this prediction, with these confidences."""

    file_name: str
    label: str
    prediction: str
    accepted: tuple[str, ...]
    models: dict[str, float | None]
    error_type: str
    explanation: str
    answers: tuple[Answer, ...]

    def as_json(self) -> dict[str, Any]:
        """Return plain objects."""
        return {**self.__dict__, "answers": [answer.__dict__ for answer in self.answers]}


def why(run: Path, file_name: str, *, model: str | None = None) -> list[Walk]:
    """Walk the image's case through all stages: one case a distinct prediction, of one model or of all.

    Raises
    ------
    InputError
        The folder is no run, the model or image is not in it, or a file it used is gone.
    """
    manifest = read_run(run)
    labels = imagenet_1k()
    sources = sources_of(manifest)
    sources.check_files()
    annotations = load_annotations(sources.annotations, labels)
    row = _row_of(annotations, file_name)
    made = _predictions_of(run, annotations.file_names[row].as_py(), _models(run, manifest, model))
    if not made:
        raise InputError(run, f"no model of this run has a prediction for {file_name}", fix="Name another image.")
    chain = build_chain(load_evidence(sources, annotations, labels), sources.stage_order)
    return [
        _walk(
            chain,
            cases_of(annotations, np.array([row]), np.array([prediction], dtype=np.int16)),
            labels,
            who,
            annotations,
        )
        for prediction, who in sorted(made.items(), key=lambda item: -len(item[1]))
    ]


def sources_of(manifest: dict[str, Any]) -> Sources:
    """Return what the run was made from."""
    evidence = manifest["evidence"]
    paths = {
        key: None if evidence[key] is None else Path(evidence[key])
        for key in ("oov_evidence", "co_occurrence", "superclasses")
    }
    return Sources(
        annotations=manifest["annotations"],
        non_prototypical=tuple(Path(path) for path in evidence["non_prototypical"]),
        stage_order=tuple(manifest["requested_stage_order"]),
        **paths,
    )


def _models(run: Path, manifest: dict[str, Any], model: str | None) -> list[str]:
    known = list(manifest["models"])
    if model is None:
        return known
    if model not in known:
        raise InputError(run, f"no model {model!r} in this run", fix=f"It has: {', '.join(known[:20])}.")
    return [model]


def _row_of(annotations: Annotations, file_name: str) -> int:
    row = int(ImageIndex(annotations.file_names).rows(pa.array([file_name]), where=file_name)[0])
    if row < 0:
        raise InputError(file_name, "is not an annotated image", fix="Name an image as the annotations do.")
    if not annotations.evaluated[row]:
        reason = "it is marked problematic" if annotations.problematic[row] else "it has no accepted label"
        raise InputError(file_name, f"is excluded from every figure: {reason}", fix="Name another image.")
    return row


def _predictions_of(run: Path, file_name: str, models: list[str]) -> dict[int, dict[str, float | None]]:
    """Return prediction -> model -> confidence for one image."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    made: dict[int, dict[str, float | None]] = {}
    for model in models:
        table = pq.read_table(run / "verdicts" / f"{model}.parquet", columns=["file_name", "prediction", "confidence"])
        place = pc.index(table["file_name"], file_name).as_py()
        if place >= 0:
            made.setdefault(table["prediction"][place].as_py(), {})[model] = table["confidence"][place].as_py()
    return made


def _walk(
    chain: Chain, case: Cases, labels: LabelSpace, models: dict[str, float | None], annotations: Annotations
) -> Walk:
    names = pa.array(labels.names, type=pa.string())
    label, prediction = int(case.label[0]), int(case.prediction[0])
    correct = label == prediction
    answers = [Answer("correct", correct, f"The label is {names[label]}, the prediction {names[prediction]}.")]
    left_out = [(name, None) for name in chain.not_run if name not in dict(chain.steps)]
    for name, stage in [*chain.steps, *left_out]:
        if stage is None:
            answers.append(Answer(name, None, f"Not run: {chain.not_run[name]}."))
            continue
        finding = stage(case)
        shows = getattr(stage, "shows", None)
        details = () if shows is None else shows(finding, names)
        said = stage.says(case, finding, names)[0].as_py()
        answers.append(Answer(name, bool(finding.explains[0]), said, details))
    verdict = judge(case, chain, names)
    return Walk(
        file_name=annotations.file_names[int(case.rows[0])].as_py(),
        label=labels.names[label],
        prediction=labels.names[prediction],
        accepted=tuple(labels.names[index] for index in case.accepted.values),
        models=models,
        error_type="correct" if correct else ERROR_TYPES[verdict.error_type[0]],
        explanation="" if correct else verdict.explanation[0].as_py(),
        answers=tuple(answers),
    )
