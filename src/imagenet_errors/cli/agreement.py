"""``imagenet-errors agreement``."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from imagenet_errors.cli import options
from imagenet_errors.cli.options import EvidenceFiles, PanelBasisOptions
from imagenet_errors.cli.screen import console, say_json

BOTH = "panel"
Human = Annotated[
    tuple[str, ...],
    Parameter(
        help="What the panel says of one model's mistakes: FILE, or fetched once: vit3b, greedy-soups, panel (both). "
        "May be given several times.",
        group=options.INPUTS,
        negative=(),
    ),
]
PanelList = Annotated[
    bool,
    Parameter(
        help="Use the panel's own non-prototypical images as that stage's list (circular, as published).",
        group=options.EVIDENCE,
    ),
]


def agreement(
    *,
    human: Human = (BOTH,),
    basis: PanelBasisOptions = options.FROM_EXPERTS,
    evidence: EvidenceFiles = options.NO_FILES,
    panel_list: PanelList = True,
    list_at_most: Annotated[
        int | None,
        Parameter(
            help="List at most so many differences of a kind in agreement.md.",
            group=options.OUTPUT,
            validator=Number(gte=0),
        ),
    ] = None,
    offline: options.Offline = False,
    out: options.Out = None,
    as_json: options.AsJson = False,
) -> None:
    """Tell how far the verdicts agree with the human experts': table, kappa, all differences."""
    from imagenet_errors.study.agreement import AgreementRequest, agree
    from imagenet_errors.study.agreement_files import as_json as figures_of
    from imagenet_errors.study.agreement_files import write_agreement
    from imagenet_errors.study.agreement_page import agreement_view, page
    from imagenet_errors.study.panel import panel_files

    inputs, files = basis.inputs(evidence, offline=offline), panel_files(human)
    run = agree(
        AgreementRequest(
            human=files,
            inputs=inputs,
            out=options.out_or_default(out, tuple(files.values()), alone="agreement"),
            use_panel_list=panel_list,
            list_at_most=list_at_most,
        )
    )
    write_agreement(run, page=page)
    if as_json:
        say_json(figures_of(run))
    else:
        console().print(agreement_view(run))
