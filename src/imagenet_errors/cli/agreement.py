"""``imagenet-errors agreement``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from imagenet_errors.cli import options
from imagenet_errors.cli.options import Basis, EvidenceFiles
from imagenet_errors.cli.screen import console, say_json

Human = Annotated[
    tuple[Path, ...],
    Parameter(
        help="The panel's judgements of one model's mistakes. May be given several times.",
        group=options.INPUTS,
        show_default=False,
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
    human: Human = (),
    basis: Basis = options.AS_PUBLISHED,
    evidence: EvidenceFiles = options.NO_FILES,
    panel_list: PanelList = True,
    published_cases: Annotated[
        Path | None,
        Parameter(
            help="CSV of single published verdicts (file_name,prediction,error_type) to compare with.",
            group=options.INPUTS,
        ),
    ] = None,
    list_at_most: Annotated[
        int | None, Parameter(help="List at most so many differences of a kind in agreement.md.", group=options.OUTPUT)
    ] = None,
    out: options.Out = None,
    as_json: options.AsJson = False,
) -> None:
    """Tell how far the verdicts agree with the human experts': table, kappa, all differences."""
    from imagenet_errors.study.agreement import Request, agree
    from imagenet_errors.study.agreement_files import as_json as figures_of
    from imagenet_errors.study.agreement_files import write_agreement
    from imagenet_errors.study.agreement_page import page
    from imagenet_errors.study.agreement_terminal import agreement_view

    run = agree(
        Request(
            human=human,
            inputs=basis.inputs(evidence),
            out=options.out_or_default(out, human, alone="agreement"),
            use_panel_list=panel_list,
            published_cases=published_cases,
            list_at_most=list_at_most,
            command=("imagenet-errors", *sys.argv[1:]),
        )
    )
    write_agreement(run, page=page)
    if as_json:
        say_json(figures_of(run))
    else:
        console().print(agreement_view(run))
