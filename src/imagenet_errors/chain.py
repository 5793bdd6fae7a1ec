"""The order of the stages, on one screen, and the loop: the first stage that explains a case names its error.

Source: Peychev et al., NeurIPS 2023 (least severe explanation first).
Differs: their published program asked for spurious correlations before non-prototypical images; see
    ``PUBLISHED_ORDER``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.evidence.sources import Evidence
from imagenet_errors.problems import InputError
from imagenet_errors.stages.class_overlap import ClassOverlap
from imagenet_errors.stages.fine_grained import FineGrained
from imagenet_errors.stages.fine_grained_oov import FineGrainedOov
from imagenet_errors.stages.multi_object import MultiObject
from imagenet_errors.stages.non_prototypical import NonPrototypical
from imagenet_errors.stages.spurious_correlation import SpuriousCorrelation
from imagenet_errors.stages.wording import fill, listed, named
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


def _before(order: Sequence[str], name: str, other: str) -> tuple[str, ...]:
    """Return the order with one stage moved to stand just before another."""
    rest = [stage for stage in order if stage != name]
    place = rest.index(other)
    return (*rest[:place], name, *rest[place:])


PUBLISHED_ORDER = _before(DEFAULT_ORDER, "spurious_correlation", "non_prototypical")
ERROR_TYPES = ("correct", *DEFAULT_ORDER, "model_failure")
"""From no error to the most severe; the one spelling, everywhere."""
COUNTS_AS = {
    "correct": "right",
    **{stage.name: stage.counts_as for stage in STAGES},
    "model_failure": "wrong",
}


@dataclass(frozen=True, eq=False)
class Step:
    """One stage's part of a walk; ``stage`` and ``finding`` are None where it did not run.

    ``reached`` int64 [m]: which of the cases came to it, ascending; ``finding`` is about those m.
    """

    name: str
    stage: Stage | None
    reached: NDArray[np.int64]
    finding: Finding | None

    def says(self, cases: Cases, names: pa.StringArray) -> pa.StringArray:
        """Return its sentence for each of the m cases; ``cases``: all of the walk's."""
        if self.stage is None or self.finding is None:
            raise ValueError(f"{self.name} did not run")
        return self.stage.says(cases.take(self.reached), self.finding, names)


@dataclass(frozen=True, eq=False)
class Walk:
    """What every stage answered to n cases, in the order of asking."""

    cases: Cases
    steps: tuple[Step, ...]

    def reaching(self, name: str) -> NDArray[np.int64]:
        """Return which cases come to the named stage, explained by none before it, int64 ascending.

        Raises
        ------
        InputError
            The stage is not in the chain.
        """
        unexplained = np.ones(len(self.cases), dtype=np.bool_)
        for step in self.steps:
            if step.name == name:
                return np.flatnonzero(unexplained)
            if step.finding is not None:
                unexplained[step.reached[step.finding.explains]] = False
        raise InputError("--stage-order", f"{name} is not in it", fix="Then no evidence for it is needed.")

    @property
    def error_type(self) -> NDArray[np.int8]:
        """int8 [n] into ERROR_TYPES: the first stage that explains a case, else a model failure."""
        error_type = np.full(len(self.cases), ERROR_TYPES.index("model_failure"), dtype=np.int8)
        for step in reversed(self.steps):
            if step.finding is not None:
                error_type[step.reached[step.finding.explains]] = ERROR_TYPES.index(step.name)
        return error_type

    @property
    def lacking(self) -> dict[str, NDArray[np.bool_]]:
        """Stage name -> bool [n]: the cases that came to it unexplained and that it could not judge."""
        lacking = {}
        for step in self.steps:
            cannot = np.zeros(len(self.cases), dtype=np.bool_)
            if step.finding is None:
                cannot[step.reached] = True
            elif step.finding.lacks_evidence is not None:
                cannot[step.reached[step.finding.lacks_evidence]] = True
            else:
                continue
            open_cases = np.zeros(len(self.cases), dtype=np.bool_)
            open_cases[self.reaching(step.name)] = True
            lacking[step.name] = cannot & open_cases
        return lacking

    def verdicts(self, names: pa.StringArray) -> Verdicts:
        """Return every case's error type, the sentence of the stage that explains it, and what was lacking."""
        error_type = self.error_type
        sentences, rows = [], []
        for step in self.steps:
            if step.stage is None or step.finding is None:
                continue
            hits = np.flatnonzero(error_type[step.reached] == ERROR_TYPES.index(step.name))
            of_hits = self.cases.take(step.reached[hits])
            sentences.append(step.stage.says(of_hits, step.finding.take(hits), names))
            rows.append(step.reached[hits])
        failures = np.flatnonzero(error_type == ERROR_TYPES.index("model_failure"))
        sentences.append(_failures(self.cases.take(failures), names))
        rows.append(failures)
        back = np.argsort(np.concatenate(rows), kind="stable")
        explanation = pa.concat_arrays([pa.array(each, type=pa.string()) for each in sentences]).take(pa.array(back))
        return Verdicts(error_type, explanation, self.lacking)


@dataclass(frozen=True, eq=False)
class Chain:
    """The stages in the order to ask them; one whose evidence was not given is a name without a stage.

    ``not_run``: stage name -> the reason, also for stages left out of the order.
    """

    steps: tuple[tuple[str, Stage | None], ...]
    not_run: dict[str, str]

    @property
    def order(self) -> tuple[str, ...]:
        """The names of the stages that run."""
        return tuple(name for name, stage in self.steps if stage is not None)

    @property
    def every_order(self) -> tuple[str, ...]:
        """The names of all stages as people read them: in the order of asking, those left out last."""
        return tuple(dict.fromkeys([*(name for name, _ in self.steps), *self.not_run]))

    def ask(self, cases: Cases, *, every_stage: bool = False) -> Walk:
        """Ask the stages about top-1 errors, each about those that no earlier one explains.

        ``every_stage``: ask each about all cases instead, for readers who want every answer; the verdicts are
        the same.
        """
        steps = []
        reached = np.arange(len(cases))
        for name, stage in self.steps:
            finding = None if stage is None else stage(cases.take(reached))
            steps.append(Step(name, stage, reached, finding))
            if finding is not None and not every_stage:
                reached = reached[~finding.explains]
        return Walk(cases, tuple(steps))

    def without(self, reasons: Mapping[str, str]) -> Chain:
        """Return the chain without the stages of these names, and the reasons; for absent ones these are better."""
        steps = tuple((name, None if name in reasons else stage) for name, stage in self.steps)
        known = {name: reason for name, reason in reasons.items() if name in self.every_order}
        return Chain(steps, self.not_run | known) if known else self

    def without_useless(self, walk: Walk) -> Chain:
        """Return the chain without stages whose evidence is about none of the cases that came to them."""
        useless = {
            step.name: f"its evidence is about none of the {len(step.reached):,} cases that came to it"
            for step in walk.steps
            if step.finding is not None
            and len(step.reached)
            and step.finding.lacks_evidence is not None
            and step.finding.lacks_evidence.all()
        }
        steps = tuple((name, None if name in useless else stage) for name, stage in self.steps)
        return Chain(steps, self.not_run | useless) if useless else self


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
        needs = {part.name: evidence.get(part.name) for part in fields(by_name[name])}  # type: ignore[arg-type]
        absent = [part for part, given in needs.items() if given is None]
        if absent:
            not_run[name] = evidence.absent.get(absent[0], f"there is no {absent[0]} table")
        steps.append((name, None if absent else by_name[name](**needs)))
    return Chain(tuple(steps), not_run)


def _failures(cases: Cases, names: pa.StringArray) -> pa.StringArray:
    prediction, accepted = named(cases.prediction, names), listed(cases.accepted, names)
    return fill("Nothing explains {} where the accepted labels are: {}.", prediction, accepted)
