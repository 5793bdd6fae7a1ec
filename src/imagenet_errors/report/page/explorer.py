"""The data of the error explorer: every distinct case as columns, and the decision paths, packed apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.evidence.superclasses import Superclasses
from imagenet_errors.labels import GROUPS, LabelSpace
from imagenet_errors.measure import group_membership
from imagenet_errors.report.page.embed import bits, column, texts
from imagenet_errors.report.page.paths import Paths, proposal_places, proposals_of
from imagenet_errors.report.page.pictures import Pictures
from imagenet_errors.runs.tables import ErrorCases, RunTables

_UNKNOWN_CONFIDENCE = 0xFFFF
_CONFIDENCE_STEPS = 1000


@dataclass(frozen=True, eq=False)
class Shown:
    """Which of the run's cases the explorer holds: all of them, or the most severe; ``n_held_back`` others."""

    cases: ErrorCases
    n_held_back: int


def shown_cases(cases: ErrorCases, *, most: int) -> Shown:
    """Keep at most ``most`` cases: the most severe, and of equally severe ones those that most models make."""
    if len(cases) <= most:
        return Shown(cases, 0)
    ranked = np.lexsort((-cases.n_makers, -cases.error_type))
    return Shown(_take(cases, np.sort(ranked[:most])), len(cases) - most)


def _take(cases: ErrorCases, chosen: NDArray[np.integer]) -> ErrorCases:
    sizes = cases.n_makers[chosen]
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    inside = np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes) + np.repeat(cases.offsets[chosen], sizes)
    return ErrorCases(
        image=cases.image[chosen],
        prediction=cases.prediction[chosen],
        error_type=cases.error_type[chosen],
        explanation=cases.explanation.take(pa.array(chosen)),
        offsets=offsets,
        makers=cases.makers[inside],
        confidence=cases.confidence[inside],
    )


def explorer_content(
    run: RunTables,
    shown: Shown,
    *,
    labels: LabelSpace,
    superclasses: Superclasses | None,
    pictures: Pictures,
) -> dict[str, Any]:
    """Return what the explorer's script reads: names, images with an error, and cases as columns."""
    images, of = np.unique(shown.cases.image, return_inverse=True)
    return {
        "models": list(run.models),
        "types": list(ERROR_TYPES),
        "classes": list(labels.names),
        "groups": list(GROUPS[1:]),
        "superclasses": _superclass_content(superclasses),
        "images": _image_content(run, images, labels, pictures),
        "cases": _case_content(run, shown.cases, of),
    }


def _superclass_content(superclasses: Superclasses | None) -> list[dict[str, Any]]:
    if superclasses is None:
        return []
    pairs = zip(superclasses.names, superclasses.members, strict=True)
    return [{"name": name, "members": members.tolist()} for name, members in pairs]


def _image_content(run: RunTables, images: NDArray[np.int64], labels: LabelSpace, pictures: Pictures) -> dict[str, Any]:
    accepted = run.accepted.take(images)
    membership = group_membership(accepted, labels)[1:]
    weights = 1 << np.arange(len(membership))
    return {
        "names": run.file_names.take(pa.array(images)).to_pylist(),
        "label": column(run.label[images]),
        "n_accepted": column(accepted.lengths),
        "accepted": column(accepted.values),
        "groups": column(weights @ membership),
        "thumbnails": [pictures.thumbnails.get(image) for image in images.tolist()] if pictures.thumbnails else [],
        "links": [pictures.links.get(image) for image in images.tolist()] if pictures.links else [],
    }


def _case_content(run: RunTables, cases: ErrorCases, image: NDArray[np.integer]) -> dict[str, Any]:
    steps = np.nan_to_num(np.round(cases.confidence.astype(np.float64) * _CONFIDENCE_STEPS), nan=_UNKNOWN_CONFIDENCE)
    # Scores that are no probabilities (logits) have no place on a scale of 0 to 1 and are left out.
    whole = np.where((steps < 0) | (steps > _CONFIDENCE_STEPS), _UNKNOWN_CONFIDENCE, steps).astype(np.int64)
    return {
        "image": column(image),
        "prediction": column(cases.prediction),
        "type": column(cases.error_type),
        "explanation": texts(cases.explanation),
        "n_makers": column(cases.n_makers),
        "makers": column(cases.makers),
        "confidence": column(whole) if run.has_confidence else None,
    }


def path_content(paths: Paths, labels: LabelSpace) -> dict[str, Any] | None:
    """Return the decision paths for the script: per stage, bits and distinct sentences; None if there are none."""
    if not paths.steps or paths.holds is None:
        return None
    places = proposal_places(paths)
    return {
        "holds": bits(paths.holds),
        "steps": [{"stage": step.stage, "explains": bits(step.explains), **texts(step.says)} for step in paths.steps],
        "order": list(paths.order),
        "not_run": paths.not_run or {},
        "proposals": proposals_of(paths, labels),
        "proposal_of": column(places) if len(places) else None,
    }
