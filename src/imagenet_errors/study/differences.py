"""Where the panel and we differ, each case with both reasons and the kind of difference, most telling first.

The panel gives a category and a severity, no reason. Ours is the verdict's sentence; beside it stands what
the stage of the panel's own category says of the case, so that a person sees at once why it was not the
panel's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.chain import COUNTS_AS, ERROR_TYPES, Chain
from imagenet_errors.images import ImageIndex
from imagenet_errors.study.outcomes import OOV, PanelOutcomes
from imagenet_errors.study.panel import SEVERITIES, PanelMistakes
from imagenet_errors.tables import Annotations

KINDS = {
    "labels_accept_it": "The annotations accept the prediction; the panel counts it as a mistake.",
    "multi_label_missing": "The annotations do not accept the prediction, but the image's ReaL labels do.",
    "panels_wording": "Fine-grained either way: we differ over whether the thing in the image is one of the "
    "classes, or the panel's category is a wording that it used once.",
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

_FINE = ERROR_TYPES.index("fine_grained")
_PROTO = ERROR_TYPES.index("non_prototypical")
_SPURIOUS = ERROR_TYPES.index("spurious_correlation")
_RIGHT = [ERROR_TYPES.index(name) for name, kind in COUNTS_AS.items() if kind == "right"]
_USED_ONCE = "Fine-grained with Multilabel Options"


@dataclass(frozen=True, eq=False)
class Differences:
    """The d cases that we put elsewhere: ``rows`` int64 [d] of the n mistakes, ranked; ``kind`` d rows of KINDS.

    ``panels_stage_says``: n sentences, one a mistake.
    """

    rows: NDArray[np.int64]
    kind: tuple[str, ...]
    panels_stage_says: pa.StringArray

    def of_kind(self, kind: str) -> NDArray[np.int64]:
        """Return the ranked rows of one kind."""
        return self.rows[np.array([name == kind for name in self.kind], dtype=np.bool_)]

    @property
    def kinds(self) -> tuple[tuple[str, int], ...]:
        """The kinds that occur with their counts, most frequent first."""
        counts = {kind: self.kind.count(kind) for kind in KINDS}
        return tuple(sorted(((k, n) for k, n in counts.items() if n), key=lambda pair: -pair[1]))


def differences(
    mistakes: PanelMistakes,
    outcomes: PanelOutcomes,
    chain: Chain,
    *,
    names: pa.StringArray,
    real_accepts: NDArray[np.bool_],
) -> Differences:
    """Find, name and rank the cases that we put elsewhere.

    Parameters
    ----------
    mistakes, outcomes
        The n cases and both sides' types.
    chain
        The stages with their evidence, asked for what they say of the panel's category.
    names
        The classes' names.
    real_accepts
        bool [n]: the ReaL labels of the image accept the prediction.

    Returns
    -------
    The differing cases; of one kind, those come first whose types lie furthest apart in severity, then those
    that the panel finds most severe.
    """
    supported, says = _panels_stage(mistakes, chain, names)
    kind = _kinds(mistakes, outcomes, supported=supported, real_accepts=real_accepts)
    rows = np.flatnonzero(outcomes.human != outcomes.ours)
    apart = np.abs(outcomes.human.astype(int) - outcomes.ours)[rows]
    written = mistakes.severity.take(pa.array(rows)).to_pylist()
    severity = np.array([_severity_rank(text) for text in written], dtype=np.int64)
    ranked = rows[np.lexsort((rows, severity, -apart, kind[rows]))]
    return Differences(ranked, tuple(list(KINDS)[place] for place in kind[ranked]), says)


def accepted_by_real(mistakes: PanelMistakes, annotations: Annotations, real: Annotations) -> NDArray[np.bool_]:
    """Return bool [n]: ReaL labels accept the prediction; False for images outside the validation set."""
    file_names = annotations.file_names.take(pa.array(mistakes.cases.rows))
    rows = ImageIndex(real.file_names).rows(file_names, where="ReaL")
    labels = real.accepted.take(np.maximum(rows, 0))
    accepts = labels.any_of(labels.values == mistakes.cases.prediction[labels.owners])
    return accepts & (rows >= 0)


def _panels_stage(
    mistakes: PanelMistakes, chain: Chain, names: pa.StringArray
) -> tuple[NDArray[np.bool_], pa.StringArray]:
    """Ask the stage of each case's panel category: does it explain the case (bool [n]), and what it says."""
    supported = np.zeros(len(mistakes), dtype=np.bool_)
    says = np.full(len(mistakes), "", dtype=object)
    for name, reason in chain.not_run.items():
        says[mistakes.human == ERROR_TYPES.index(name)] = f"Not run: {reason}."
    for step in chain.ask(mistakes.cases, every_stage=True).steps:
        if step.finding is not None:
            of_stage = mistakes.human == ERROR_TYPES.index(step.name)
            supported |= of_stage & step.finding.explains
            sentences = np.array(step.says(mistakes.cases, names).to_pylist(), dtype=object)
            says = np.where(of_stage, sentences, says)
    return supported, pa.array(says, type=pa.string())


def _kinds(
    mistakes: PanelMistakes, outcomes: PanelOutcomes, *, supported: NDArray[np.bool_], real_accepts: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return int64 [n] rows of KINDS: the first that fits, for cases that agree, too."""
    human, ours = outcomes.human, outcomes.ours
    fine = [_FINE, OOV]
    used_once = np.array([text == _USED_ONCE for text in mistakes.category.to_pylist()], dtype=np.bool_)
    fits = {
        "labels_accept_it": np.isin(ours, _RIGHT),
        "multi_label_missing": real_accepts,
        "panels_wording": (np.isin(human, fine) & np.isin(ours, fine) & ~supported) | used_once,
        "order_of_severity": supported,
        "superclass_too_wide": ours == _FINE,
        "superclass_too_narrow": human == _FINE,
        "oov_evidence_missing": (human == OOV) & outcomes.undecided,
        "oov_not_found": human == OOV,
        "oov_found": ours == OOV,
        "co_occurrence_missing": human == _SPURIOUS,
        "not_listed": human == _PROTO,
    }
    first: NDArray[np.int64] = np.argmax(np.stack([fits[kind] for kind in KINDS]), axis=0)
    return first


def _severity_rank(severity: str) -> int:
    return SEVERITIES.index(severity) if severity in SEVERITIES else len(SEVERITIES)
