"""Classify exactly the mistakes that the panel sorted, in both published orders, and measure the agreement.

Source: Peychev et al., NeurIPS 2023, comparison with the experts: the claim to validity rests on it.
    Their list of non-prototypical images is the panel's own, so agreement on that category is circular; it is
    ours by default, too, and ``use_panel_list`` turns it off.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from imagenet_errors.chain import DEFAULT_ORDER, ERROR_TYPES, build_chain
from imagenet_errors.downloads import facts_of, names_for
from imagenet_errors.evidence.sources import OPTIONS, Evidence
from imagenet_errors.files import check_folder
from imagenet_errors.inputs import Basis, Inputs, is_named, load_basis
from imagenet_errors.problems import InputError
from imagenet_errors.readers.annotations import read_real
from imagenet_errors.study.differences import Differences, accepted_by_real, differences
from imagenet_errors.study.outcomes import Agreement, PanelOutcomes, agreement, possible_types
from imagenet_errors.study.panel import PanelMistakes, SharedMistakes, evaluated, read_panel, shared_mistakes
from imagenet_errors.study.published import (
    ORDERS,
    PublishedAgreement,
    published_for,
)
from imagenet_errors.tables import Verdicts

WHOLE = "all"
"""The name of all of a model's mistakes, beside the severities."""
NOT_CIRCULAR = "all but non_prototypical"
"""The mistakes without the category that the panel's own list decides."""
AS_GIVEN = "as given"
"""The name of a stage order that is neither of the published two."""


@dataclass(frozen=True)
class AgreementRequest:
    """The panel's files (model -> file) to set our verdicts against, by what, and where to put the answer.

    ``use_panel_list``: the images that the panel calls non-prototypical feed that stage, as in the published
    method. ``list_at_most``: of each kind of difference, so many are listed in the page (None: all).
    """

    human: Mapping[str, Path]
    inputs: Inputs
    out: Path
    use_panel_list: bool = True
    list_at_most: int | None = None


@dataclass(frozen=True, eq=False)
class ModelAgreement:
    """One model: its outcomes in each stage order, the asked one first, and what was published of it.

    ``totals``: the figures in each order; ``figures``: in the asked one over all its mistakes and by severity.
    """

    model: str
    by_order: dict[str, PanelOutcomes]
    totals: dict[str, Agreement]
    figures: dict[str, Agreement]
    published: PublishedAgreement | None

    @property
    def outcomes(self) -> PanelOutcomes:
        """The outcomes in the asked order."""
        return next(iter(self.by_order.values()))


@dataclass(frozen=True, eq=False)
class AgreementRun:
    """All that came of a request: the n cases with both sides' types, and the figures."""

    request: AgreementRequest
    basis: Basis
    mistakes: PanelMistakes
    excluded: PanelMistakes
    verdicts: Verdicts
    by_order: dict[str, PanelOutcomes]
    models: tuple[ModelAgreement, ...]
    shared: tuple[SharedMistakes, ...]
    differences: Differences

    @property
    def outcomes(self) -> PanelOutcomes:
        """The outcomes in the asked order."""
        return next(iter(self.by_order.values()))


def agree(request: AgreementRequest) -> AgreementRun:
    """Classify the panel's cases and measure the agreement; nothing is written.

    Raises
    ------
    InputError
        A file cannot be used: see ``study.panel.read_panel`` for the panel's.
    """
    check_folder(request.out)
    check_files(request.human.values())
    basis = load_basis(with_panel_list(request.inputs, request.human if request.use_panel_list else {}))
    mistakes, excluded = evaluated(read_panel(request.human, basis.annotations), basis.annotations)
    verdicts = basis.chain.ask(mistakes.cases).verdicts(basis.class_names)
    by_order = {order_name(basis): PanelOutcomes(mistakes.human, possible_types(verdicts))}
    for name in ORDERS:
        by_order.setdefault(name, outcomes_of(mistakes, on_evidence(basis, basis.evidence, ORDERS[name])))
    return AgreementRun(
        request=request,
        basis=basis,
        mistakes=mistakes,
        excluded=excluded,
        verdicts=verdicts,
        by_order=by_order,
        models=tuple(_model(mistakes, name, by_order) for name in mistakes.models),
        shared=shared_mistakes(mistakes),
        differences=_differences(mistakes, by_order[order_name(basis)], basis),
    )


def check_files(paths: Iterable[Path]) -> None:
    """Refuse a path that is not there, before anything is read.

    Raises
    ------
    InputError
        A named file does not exist.
    """
    for path in paths:
        if not path.is_file():
            raise InputError(path, "no such file", fix="Check the path.")


def with_panel_list(inputs: Inputs, human: Mapping[str, Path]) -> Inputs:
    """Return the inputs with the panel's files as lists of non-prototypical images, beside the user's own."""
    return inputs.with_evidence(non_prototypical=(*inputs.evidence.get("non_prototypical", ()), *human.values()))


def shared_command(name: str, human: Mapping[str, Path], inputs: Inputs, *more: str) -> str:
    """Return the command line with published files by their source and others by file name: not where they lie."""
    annotations = inputs.annotations if is_named(inputs.annotations) else Path(inputs.annotations)
    options: dict[str, Iterable[str | Path]] = {
        "--human": human.values(),
        "--annotations": [annotations],
        **{OPTIONS[option].flag: paths for option, paths in inputs.evidence.items()},
        "--stage-order": [] if inputs.stage_order == DEFAULT_ORDER else [",".join(inputs.stage_order)],
        "--rejected-labels": [] if inputs.rejected_labels == Inputs().rejected_labels else [inputs.rejected_labels],
    }
    words = [word for flag, values in options.items() for value in values for word in (flag, _word(flag, value))]
    return shlex.join(["imagenet-errors", name, *words, *more])


def _word(flag: str, value: str | Path) -> str:
    if isinstance(value, str):
        return value
    sources = {facts.source for facts in facts_of(value)} if value.is_file() else set()
    return next((source for source in sources if source in names_for(flag)), value.name)


def input_files(human: Mapping[str, Path], inputs: Inputs) -> list[dict[str, Any]]:
    """Return name, size and hash of every file, and of published ones where they come from."""
    paths = dict.fromkeys((*human.values(), *inputs.files, *inputs.published_files))
    return [to_builtins(facts) for facts in facts_of(*paths)]


def order_name(basis: Basis) -> str:
    """Return the name of the stage order that was asked for."""
    return next((name for name, order in ORDERS.items() if order == basis.inputs.stage_order), AS_GIVEN)


def on_evidence(basis: Basis, evidence: Evidence, order: tuple[str, ...]) -> Basis:
    """Return the basis with other evidence and another stage order."""
    inputs = replace(basis.inputs, stage_order=order)
    return replace(basis, inputs=inputs, evidence=evidence, chain=build_chain(evidence, order))


def outcomes_of(mistakes: PanelMistakes, basis: Basis) -> PanelOutcomes:
    """Ask the stages about the panel's cases."""
    return PanelOutcomes(mistakes.human, possible_types(basis.chain.ask(mistakes.cases)))


def _model(mistakes: PanelMistakes, name: str, by_order: dict[str, PanelOutcomes]) -> ModelAgreement:
    of_model = mistakes.of_model(name)
    open_question = mistakes.human != ERROR_TYPES.index("non_prototypical")
    parts = {WHOLE: of_model, NOT_CIRCULAR: of_model & open_question}
    parts |= {severity: of_model & mistakes.of_severity(severity) for severity in mistakes.severities}
    asked = next(iter(by_order.values()))
    outcomes_by_order = {order: outcomes.among(of_model) for order, outcomes in by_order.items()}
    return ModelAgreement(
        model=name,
        by_order=outcomes_by_order,
        totals={order: agreement(outcomes) for order, outcomes in outcomes_by_order.items()},
        figures={part: agreement(asked.among(rows)) for part, rows in parts.items()},
        published=published_for(asked.among(of_model)),
    )


def _differences(mistakes: PanelMistakes, outcomes: PanelOutcomes, basis: Basis) -> Differences:
    return differences(
        mistakes,
        outcomes,
        basis.chain,
        names=basis.class_names,
        real_accepts=accepted_by_real(mistakes, basis.annotations, read_real(basis.labels)),
    )
