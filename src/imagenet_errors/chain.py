"""The order of the stages, on one screen, and the loop: the first stage that explains a case names its error.

Source: Peychev et al., NeurIPS 2023, section 3 (least severe explanation first).
Differs: their published program asked for spurious correlations before non-prototypical images; see
    ``PUBLISHED_ORDER``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import ClassVar, Protocol

import numpy as np
import pyarrow as pa

from imagenet_errors.evidence.sources import HOW_TO_GIVE, Evidence
from imagenet_errors.problems import InputError
from imagenet_errors.stages.class_overlap import ClassOverlap
from imagenet_errors.stages.fine_grained import FineGrained
from imagenet_errors.stages.fine_grained_oov import FineGrainedOov
from imagenet_errors.stages.multi_object import MultiObject
from imagenet_errors.stages.non_prototypical import NonPrototypical
from imagenet_errors.stages.spurious_correlation import SpuriousCorrelation
from imagenet_errors.tables import Cases, Finding, Verdicts


class Stage(Protocol):
    """One rule: explains a case or not, true on its own and ignorant of the order."""

    name: ClassVar[str]
    counts_as: ClassVar[str]
    """``right``, ``minor`` or ``explained``: from which accuracy on such a case counts as no error."""

    def __call__(self, cases: Cases) -> Finding:
        """Judge every case."""

    def says(self, cases: Cases, finding: Finding, names: pa.StringArray) -> pa.StringArray:
        """Put the finding into one sentence a case; ``names``: the classes' names."""


STAGES: tuple[type[Stage], ...] = (
    ClassOverlap,
    MultiObject,
    FineGrained,
    FineGrainedOov,
    NonPrototypical,
    SpuriousCorrelation,
)
"""Least severe first. A new stage is its file and its line here; a stage's fields name its evidence."""

DEFAULT_ORDER = tuple(stage.name for stage in STAGES)
PUBLISHED_ORDER = (*DEFAULT_ORDER[:4], "spurious_correlation", "non_prototypical")
ERROR_TYPES = ("correct", *DEFAULT_ORDER, "model_failure")
"""From no error to the most severe; the one spelling, everywhere."""
COUNTS_AS = {
    "correct": "right",
    **{stage.name: stage.counts_as for stage in STAGES},
    "model_failure": "wrong",
}


@dataclass(frozen=True, eq=False)
class Chain:
    """The stages in the order to ask them; one whose evidence was not given is a name without a stage.

    ``not_run``: stage name -> the reason, also for stages left out of the order.
    """

    steps: tuple[tuple[str, Stage | None], ...]
    not_run: dict[str, str]

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages that run."""
        return tuple(stage for _, stage in self.steps if stage is not None)

    @property
    def order(self) -> tuple[str, ...]:
        """The names of the stages that run."""
        return tuple(stage.name for stage in self.stages)


def build_chain(evidence: Evidence, order: Sequence[str] = DEFAULT_ORDER) -> Chain:
    """Give each stage its evidence; one that lacks some does not run, nor does one left out of the order.

    Raises
    ------
    InputError
        The order names an unknown stage, or one twice.
    """
    by_name = {stage.name: stage for stage in STAGES}
    unknown = [name for name in order if name not in by_name]
    twice = [name for place, name in enumerate(order) if name in order[:place]]
    if unknown or twice:
        what = f"no stage {unknown[0]!r}" if unknown else f"stage {twice[0]} is named twice"
        raise InputError("--stage-order", what, fix=f"Stages are: {','.join(DEFAULT_ORDER)}.")
    steps: list[tuple[str, Stage | None]] = []
    not_run = {name: "left out of --stage-order" for name in DEFAULT_ORDER if name not in order}
    for name in order:
        needs = {part.name: getattr(evidence, part.name) for part in fields(by_name[name])}  # type: ignore[arg-type]
        absent = [part for part, given in needs.items() if given is None]
        if absent:
            not_run[name] = HOW_TO_GIVE.get(absent[0], f"there is no {absent[0]} table")
        steps.append((name, None if absent else by_name[name](**needs)))
    return Chain(tuple(steps), not_run)


def judge(cases: Cases, chain: Chain, names: pa.StringArray) -> Verdicts:
    """Give every case its error type and one sentence why.

    ``cases`` are top-1 errors; what no stage explains is a model failure.
    """
    error_type = np.full(len(cases), len(ERROR_TYPES) - 1, dtype=np.int8)
    unexplained = np.arange(len(cases))
    lacking, sentences, told = {}, [], []
    for name, stage in chain.steps:
        if stage is None:
            lacking[name] = np.isin(np.arange(len(cases)), unexplained)
            continue
        now = cases.take(unexplained)
        finding = stage(now)
        hits = np.flatnonzero(finding.explains)
        error_type[unexplained[hits]] = ERROR_TYPES.index(stage.name)
        sentences.append(stage.says(now.take(hits), finding.take(hits), names))
        told.append(unexplained[hits])
        if finding.lacks_evidence is not None:
            lacking[stage.name] = np.zeros(len(cases), dtype=np.bool_)
            lacking[stage.name][unexplained[finding.lacks_evidence]] = True
        unexplained = unexplained[~finding.explains]
    sentences.append(_failures(cases.take(unexplained), names))
    told.append(unexplained)
    back = np.argsort(np.concatenate(told), kind="stable")
    explanation = pa.concat_arrays([pa.array(s, type=pa.string()) for s in sentences]).take(pa.array(back))
    return Verdicts(error_type, explanation, lacking)


def _failures(cases: Cases, names: pa.StringArray) -> pa.StringArray:
    from imagenet_errors.stages.wording import fill, listed, named

    prediction, accepted = named(cases.prediction, names), listed(cases.accepted, names)
    return fill("Nothing explains {} where the accepted labels are: {}.", prediction, accepted)
