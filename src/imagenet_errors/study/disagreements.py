"""Where the panel and we differ, each case with both reasons and the kind of difference, most telling first.

The panel gives a category and a severity, no reason. Ours is the verdict's sentence; beside it stands what
the stage of the panel's own category says of the case, so that a person sees at once why it was not the
panel's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.chain import ERROR_TYPES, Chain
from imagenet_errors.images import ImageIndex
from imagenet_errors.study.judged import SEVERITIES, Judged
from imagenet_errors.study.outcomes import CATEGORIES, Outcomes
from imagenet_errors.tables import Annotations

KINDS = {
    "labels_accept_it": "The annotations accept the prediction; the panel counts it as a mistake.",
    "multi_label_missing": "The annotations do not accept the prediction, but the image's ReaL labels do.",
    "panels_wording": "Fine-grained either way: we differ over whether the thing in the image is one of the "
    "1000 classes, or the panel's category is a wording that it used once.",
    "order_of_severity": "The panel's category fits by our rules, too; a less severe one was asked first.",
    "superclass_too_wide": "A superclass of ours holds both classes; the panel does not find them alike.",
    "superclass_too_narrow": "The panel finds the two classes alike; no superclass of ours holds both.",
    "oov_evidence_missing": "The panel says out-of-vocabulary; no evidence for this case was given to us.",
    "oov_not_found": "The panel says out-of-vocabulary; the evidence says no.",
    "oov_found": "The evidence says out-of-vocabulary; the panel does not.",
    "co_occurrence_missing": "The panel sees a spurious correlation; the classes hardly appear together.",
    "not_listed": "The panel finds the image non-prototypical; it is on no list that was given.",
}
"""Kind of difference -> what it means. The first that fits names a case's kind."""

_FINE, _OOV, _PROTO, _SPURIOUS = (ERROR_TYPES.index(name) for name in CATEGORIES)
_RIGHT = [ERROR_TYPES.index(name) for name in ("class_overlap", "multi_object")]
_USED_ONCE = "Fine-grained with Multilabel Options"


@dataclass(frozen=True, eq=False)
class Disagreements:
    """The d cases judged differently: ``rows`` int64 [d] of the n judged, ranked; ``kind`` d rows of KINDS.

    ``panels_stage_says``: n sentences, one a judged case.
    """

    rows: NDArray[np.int64]
    kind: tuple[str, ...]
    panels_stage_says: pa.StringArray

    def of_kind(self, kind: str) -> NDArray[np.int64]:
        """Return the ranked rows of one kind."""
        return self.rows[np.array([own == kind for own in self.kind], dtype=np.bool_)]

    @property
    def kinds(self) -> tuple[tuple[str, int], ...]:
        """The kinds that occur with their counts, most frequent first."""
        counts = {kind: self.kind.count(kind) for kind in KINDS}
        return tuple(sorted(((k, n) for k, n in counts.items() if n), key=lambda pair: -pair[1]))


def disagreements(
    judged: Judged,
    outcomes: Outcomes,
    chain: Chain,
    *,
    names: pa.StringArray,
    real_accepts: NDArray[np.bool_],
) -> Disagreements:
    """Find, name and rank the cases judged differently.

    Parameters
    ----------
    judged, outcomes
        The n cases and both sides' types.
    chain
        The stages with their evidence, asked again for what they say of the panel's category.
    names
        The classes' names.
    real_accepts
        bool [n]: the ReaL labels of the image accept the prediction.

    Returns
    -------
    The differing cases; of one kind, those come first whose types lie furthest apart in severity, then those
    that the panel finds most severe.
    """
    supported, says = _panels_stage(judged, outcomes, chain, names)
    kind = _kinds(judged, outcomes, supported=supported, real_accepts=real_accepts)
    rows = np.flatnonzero(outcomes.human != outcomes.ours)
    apart = np.abs(outcomes.human.astype(int) - outcomes.ours)[rows]
    written = judged.severity.take(pa.array(rows)).to_pylist()
    severity = np.array([_severity_rank(text) for text in written], dtype=np.int64)
    order = np.lexsort((rows, severity, -apart, kind[rows]))
    ranked = rows[order]
    return Disagreements(ranked, tuple(list(KINDS)[place] for place in kind[ranked]), says)


def accepted_by_real(judged: Judged, annotations: Annotations, real: Annotations) -> NDArray[np.bool_]:
    """Return bool [n]: ReaL labels accept the prediction; False for images outside the validation set."""
    file_names = annotations.file_names.take(pa.array(judged.cases.rows))
    rows = ImageIndex(real.file_names).rows(file_names, where="ReaL")
    labels = real.accepted.take(np.maximum(rows, 0))
    accepts = labels.any_of(labels.values == judged.cases.prediction[labels.owners])
    return accepts & (rows >= 0)


def _panels_stage(
    judged: Judged, outcomes: Outcomes, chain: Chain, names: pa.StringArray
) -> tuple[NDArray[np.bool_], pa.StringArray]:
    """Ask the stage of each case's panel category: does it explain the case (bool [n]), and what it says."""
    supported = np.zeros(len(judged), dtype=np.bool_)
    sentences: list[Sequence[str]] = []
    told: list[NDArray[np.int64]] = []
    stages = {name: stage for name, stage in chain.steps if stage is not None}
    for name in CATEGORIES:
        own = np.flatnonzero(outcomes.human == ERROR_TYPES.index(name))
        told.append(own)
        if name not in stages:
            sentences.append([f"Not run: {chain.not_run[name]}."] * len(own))
            continue
        cases = judged.cases.take(own)
        finding = stages[name](cases)
        supported[own] = finding.explains
        sentences.append(stages[name].says(cases, finding, names).to_pylist())
    back = np.argsort(np.concatenate(told), kind="stable")
    flat = [sentence for group in sentences for sentence in group]
    return supported, pa.array([flat[place] for place in back], type=pa.string())


def _kinds(
    judged: Judged, outcomes: Outcomes, *, supported: NDArray[np.bool_], real_accepts: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return int64 [n] rows of KINDS: the first that fits, for cases that agree, too."""
    human, ours = outcomes.human, outcomes.ours
    fine = [_FINE, _OOV]
    used_once = np.array([text == _USED_ONCE for text in judged.category.to_pylist()], dtype=np.bool_)
    fits = {
        "labels_accept_it": np.isin(ours, _RIGHT),
        "multi_label_missing": real_accepts,
        "panels_wording": (np.isin(human, fine) & np.isin(ours, fine) & ~supported) | used_once,
        "order_of_severity": supported,
        "superclass_too_wide": ours == _FINE,
        "superclass_too_narrow": human == _FINE,
        "oov_evidence_missing": (human == _OOV) & outcomes.undecided,
        "oov_not_found": human == _OOV,
        "oov_found": ours == _OOV,
        "co_occurrence_missing": human == _SPURIOUS,
        "not_listed": human == _PROTO,
    }
    first: NDArray[np.int64] = np.argmax(np.stack([fits[kind] for kind in KINDS]), axis=0)
    return first


def _severity_rank(severity: str) -> int:
    return SEVERITIES.index(severity) if severity in SEVERITIES else len(SEVERITIES)
