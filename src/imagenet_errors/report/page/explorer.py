"""The data inside the page: every distinct case as columns, the decision paths apart, all as short text."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from isal import igzip
from numpy.typing import NDArray

from imagenet_errors.chain import COUNTS_AS, ERROR_TYPES
from imagenet_errors.labels import LabelSpace
from imagenet_errors.measure import group_membership
from imagenet_errors.report.comparison import Comparisons, kappas
from imagenet_errors.report.page.paths import Paths, proposal_places, proposals_of
from imagenet_errors.report.page.pictures import Pictures
from imagenet_errors.report.page.views import Setting
from imagenet_errors.report.points import EXACT
from imagenet_errors.runs.tables import ErrorCases, RunTables
from imagenet_errors.severity import UNKNOWN as UNKNOWN_DISTANCE
from imagenet_errors.severity import grades
from imagenet_errors.tables import Cases

MOST_GROUPS = 31
"""Groups of classes that the explorer filters by: an image's are the bits of one number."""
_UNKNOWN_CONFIDENCE = 0xFFFF
_CONFIDENCE_STEPS = 10**3
_LEVEL = 2  # of igzip's 0 to 3
_UNKNOWN_STEPS = 0xFF
_UNSIGNED = ((0xFF, "u1"), (0xFFFF, "u2"), (0xFFFFFFFF, "u4"))


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


def explorer_content(setting: Setting, shown: Shown, *, pictures: Pictures) -> dict[str, Any]:
    """Return what the explorer's script reads: names, images with an error, and cases as columns."""
    run, labels, superclasses = setting.run, setting.labels, setting.superclasses
    images, of = np.unique(shown.cases.image, return_inverse=True)
    kinds = zip(superclasses.names, superclasses.members, strict=True) if superclasses is not None else ()
    return {
        "models": list(run.models),
        "peers": [peers.tolist() for peers in setting.severities.peers],
        "types": list(ERROR_TYPES),
        "multi_label": [place for place, name in enumerate(ERROR_TYPES) if COUNTS_AS[name] != "right"],
        "severe": list(setting.severe),
        "signs": _signs(setting),
        "not_run": list(run.manifest.stages_not_run),
        "classes": list(labels.names),
        "groups": list(labels.group_names[1 : MOST_GROUPS + 1]),
        "superclasses": [{"name": name, "members": members.tolist()} for name, members in kinds],
        "images": _image_content(run, images, labels, pictures),
        "cases": _case_content(run, shown.cases, of, labels),
    }


def _signs(setting: Setting) -> list[str]:
    """Return what stands before a count of each type, since missing evidence may lower or raise it."""
    ours = setting.ours
    signs = []
    for place in range(len(ERROR_TYPES)):
        count, least, most = (bound[:, :, place] for bound in (ours.counts, ours.least, ours.most))
        if (ours.state[:, place] == EXACT).all():
            signs.append("")
        elif (most > count).any():
            signs.append("about " if (least < count).any() else "≥ ")
        else:
            signs.append("≤ ")
    return signs


def _image_content(run: RunTables, images: NDArray[np.int64], labels: LabelSpace, pictures: Pictures) -> dict[str, Any]:
    accepted = run.accepted.take(images)
    membership = group_membership(accepted, labels)[1 : MOST_GROUPS + 1]
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


def _case_content(run: RunTables, cases: ErrorCases, image: NDArray[np.integer], labels: LabelSpace) -> dict[str, Any]:
    steps = np.nan_to_num(np.round(cases.confidence.astype(np.float64) * _CONFIDENCE_STEPS), nan=_UNKNOWN_CONFIDENCE)
    # Scores that are no probabilities (logits) have no place on a scale of 0 to 1 and are left out.
    whole = np.where((steps < 0) | (steps > _CONFIDENCE_STEPS), _UNKNOWN_CONFIDENCE, steps).astype(np.int64)
    distance = grades(
        Cases(cases.image, cases.prediction, run.label[cases.image], run.accepted.take(cases.image)), labels
    )
    return {
        "distance": column(np.where(distance.steps == UNKNOWN_DISTANCE, _UNKNOWN_STEPS, distance.steps)),
        "shared": texts(distance.shared),
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
        "steps": [
            {
                "stage": step.stage,
                "explains": bits(step.explains),
                "unknown": bits(step.cannot_tell),
                **texts(step.says),
            }
            for step in paths.steps
        ],
        "order": list(paths.order),
        "not_run": paths.not_run or {},
        "proposals": proposals_of(paths, labels),
        "proposal_of": column(places) if len(places) else None,
    }


def pair_content(pairs: Comparisons) -> dict[str, Any]:
    """Return the comparisons of models for the script."""
    columns = (pairs.a, pairs.b, pairs.n_same, pairs.p_value, kappas(pairs.moves))
    rows = zip(*(values.tolist() for values in columns), strict=True)
    return {
        "pairs": [
            [a, b, n_same, float(f"{p_value:.3g}"), None if kappa != kappa else round(kappa, 3)]
            for a, b, n_same, p_value, kappa in rows
        ],
        "moves": column(pairs.moves.ravel()),
    }


def column(values: NDArray[Any]) -> list[str]:
    """Return ``[type, base64]`` of unsigned integers, little-endian, of the narrowest type that holds them.

    Raises
    ------
    ValueError
        A value is negative or needs more than 32 bits.
    """
    least, most = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    fitting = [name for limit, name in _UNSIGNED if most <= limit]
    if least < 0 or not fitting:
        raise ValueError(f"values from {least} to {most} are no 32-bit unsigned integers")
    return [fitting[0], base64.b64encode(values.astype(f"<{fitting[0]}").tobytes()).decode()]


def bits(claim: NDArray[np.bool_]) -> str:
    """Return booleans as base64, eight a byte, the first in the lowest bit."""
    return base64.b64encode(np.packbits(claim, bitorder="little").tobytes()).decode()


def texts(values: pa.StringArray) -> dict[str, Any]:
    """Return texts as their distinct ones, a line each, and a column of places among them."""
    encoded = pc.dictionary_encode(pc.fill_null(values, ""))
    lines = pc.replace_substring(encoded.dictionary, "\n", " ")
    distinct = pa.ListArray.from_arrays(pa.array([0, len(lines)], type=pa.int32()), lines)
    return {"texts": pc.binary_join(distinct, "\n")[0].as_py(), "of": column(encoded.indices.to_numpy())}


def packed(content: Any) -> str:
    """Return JSON, compressed by gzip, as base64: for what is long and repeats itself. Empty for None."""
    if content is None:
        return ""
    return base64.b64encode(igzip.compress(_json(content), _LEVEL, mtime=0)).decode()


def _json(content: Any) -> bytes:
    try:
        return msgspec.json.encode(content)
    except UnicodeEncodeError:  # a lone surrogate, from an odd file name, which UTF-8 has no bytes for
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return text.encode("utf-8", "replace")
