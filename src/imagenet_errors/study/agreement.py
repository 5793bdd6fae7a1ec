"""Classify exactly the mistakes that the human experts judged, and measure how far we agree with them.

Source: Peychev et al., NeurIPS 2023, comparison with the experts: the claim to validity rests on it.
    Their list of non-prototypical images is the panel's own, so agreement on that category is circular; it is
    ours by default, too, and ``use_panel_list`` turns it off.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from imagenet_errors.chain import ERROR_TYPES, PUBLISHED_ORDER, Chain, build_chain
from imagenet_errors.files import check_folder
from imagenet_errors.images import ImageIndex
from imagenet_errors.inputs import Inputs, load_basis
from imagenet_errors.labels import LabelSpace, imagenet_1k
from imagenet_errors.problems import InputError
from imagenet_errors.readers.annotations import read_real
from imagenet_errors.study.ceiling import Ceiling, ceilings
from imagenet_errors.study.disagreements import Disagreements, accepted_by_real, disagreements
from imagenet_errors.study.judged import Judged, evaluated, read_judged
from imagenet_errors.study.outcomes import Agreement, Outcomes, agreement
from imagenet_errors.study.published import (
    PublishedAgreement,
    PublishedVerdicts,
    published_for,
    read_published_verdicts,
)
from imagenet_errors.tables import Annotations, Verdicts

WHOLE = "all"
"""The name of all of a model's judged mistakes, beside the severities."""
NOT_CIRCULAR = "all but non_prototypical"
"""The judged mistakes without the category that the panel's own list decides."""


@dataclass(frozen=True)
class Request:
    """Whose judgements to set ours against, by what, and where to put the answer.

    ``use_panel_list``: the images that the panel calls non-prototypical feed that stage, as in the published
    method.
    ``published_cases``: single published verdicts, to compare with ours one by one. ``list_at_most``: of each
    kind of difference, so many are listed in the page (None: all).
    """

    human: tuple[Path, ...]
    inputs: Inputs
    out: Path
    use_panel_list: bool = True
    published_cases: Path | None = None
    list_at_most: int | None = None
    command: tuple[str, ...] = ()

    @property
    def full_inputs(self) -> Inputs:
        """The inputs with the panel's own list, unless that is turned off."""
        own = self.human if self.use_panel_list else ()
        return self.inputs.with_evidence(non_prototypical=(*self.inputs.evidence.get("non_prototypical", ()), *own))

    def check_files(self) -> None:
        """Refuse a path that is not there, before anything is read.

        Raises
        ------
        InputError
            A named file does not exist, or ``out`` is a file.
        """
        check_folder(self.out)
        self.inputs.check()
        for path in (*self.human, *((self.published_cases,) if self.published_cases else ())):
            if not path.is_file():
                raise InputError(path, "no such file", fix="Check the path.")


@dataclass(frozen=True, eq=False)
class ModelAgreement:
    """One model's figures: over all its judged mistakes and by severity; beside them what was published.

    ``in_published_order``: outcomes of the same cases had the stages been asked in the published program's
    order.
    """

    model: str
    outcomes: Outcomes
    figures: dict[str, Agreement]
    in_published_order: Outcomes
    published: PublishedAgreement | None


@dataclass(frozen=True, eq=False)
class AgreementRun:
    """All that came of a request: the n judged cases with both sides' types, and the figures."""

    request: Request
    annotations: Annotations
    judged: Judged
    excluded: Judged
    chain: Chain
    verdicts: Verdicts
    outcomes: Outcomes
    models: tuple[ModelAgreement, ...]
    ceilings: tuple[Ceiling, ...]
    differing: Disagreements
    published_verdicts: PublishedVerdicts | None


def agree(request: Request) -> AgreementRun:
    """Classify the panel's cases and measure the agreement; nothing is written.

    Raises
    ------
    InputError
        A file cannot be used: see ``panel.judged.read_judged`` for the panel's.
    """
    labels = imagenet_1k()
    request.check_files()
    basis = load_basis(request.full_inputs)
    annotations, evidence, chain = basis.annotations, basis.evidence, basis.chain
    judged, excluded = evaluated(read_judged(request.human, annotations), annotations)
    names = class_names(labels)
    verdicts, outcomes = classify(judged, chain, names=names)
    _, in_published_order = classify(judged, build_chain(evidence, PUBLISHED_ORDER), names=names)
    published = request.published_cases
    return AgreementRun(
        request=request,
        annotations=annotations,
        judged=judged,
        excluded=excluded,
        chain=chain,
        verdicts=verdicts,
        outcomes=outcomes,
        models=tuple(_model(judged, name, outcomes, in_published_order) for name in judged.models),
        ceilings=ceilings(judged),
        differing=_differing(judged, outcomes, chain, annotations=annotations, labels=labels),
        published_verdicts=None
        if published is None
        else read_published_verdicts(published, ImageIndex(annotations.file_names)),
    )


def class_names(labels: LabelSpace) -> pa.StringArray:
    """Return the classes' names as an Arrow array."""
    return pa.array(labels.names, type=pa.string())


def classify(judged: Judged, chain: Chain, *, names: pa.StringArray) -> tuple[Verdicts, Outcomes]:
    """Ask the stages about the judged cases."""
    verdicts = chain.ask(judged.cases).verdicts(names)
    undecided = verdicts.lacking.get("fine_grained_oov", np.zeros(len(judged), dtype=np.bool_))
    return verdicts, Outcomes(judged.human, verdicts.error_type, undecided)


def _model(judged: Judged, name: str, outcomes: Outcomes, in_published_order: Outcomes) -> ModelAgreement:
    own = judged.of_model(name)
    open_question = judged.human != ERROR_TYPES.index("non_prototypical")
    parts = {WHOLE: own, NOT_CIRCULAR: own & open_question}
    parts |= {severity: own & judged.of_severity(severity) for severity in judged.severities}
    mine = outcomes.among(own)
    return ModelAgreement(
        model=name,
        outcomes=mine,
        figures={part: agreement(outcomes.among(rows)) for part, rows in parts.items()},
        in_published_order=in_published_order.among(own),
        published=published_for(mine),
    )


def _differing(
    judged: Judged, outcomes: Outcomes, chain: Chain, *, annotations: Annotations, labels: LabelSpace
) -> Disagreements:
    return disagreements(
        judged,
        outcomes,
        chain,
        names=class_names(labels),
        real_accepts=accepted_by_real(judged, annotations, read_real(labels)),
    )
