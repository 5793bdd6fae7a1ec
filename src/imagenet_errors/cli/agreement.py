"""``imagenet-errors agreement``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from imagenet_errors.cli import options
from imagenet_errors.cli.evaluate import needed
from imagenet_errors.cli.screen import console

Human = Annotated[
    list[Path] | None,
    typer.Option(help="The panel's judgements of one model's mistakes. May be repeated.", show_default=False),
]
PanelList = Annotated[
    bool,
    typer.Option(help="Use the panel's own non-prototypical images as that stage's list (circular, as published)."),
]


def agreement(
    more: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILE]...", help="Further files for --human.", show_default=False),
    ] = None,
    human: Human = None,
    annotations: options.Annotations = "",
    out: options.Out = None,
    oov_evidence: options.OovEvidence = None,
    non_prototypical: options.NonPrototypical = None,
    panel_list: PanelList = True,
    co_occurrence: options.CoOccurrence = None,
    superclasses: options.Superclasses = None,
    stage_order: options.StageOrder = "",
    published_cases: Annotated[
        Path | None,
        typer.Option(help="CSV of single published verdicts (file_name,prediction,error_type) to compare with."),
    ] = None,
    list_at_most: Annotated[
        int | None, typer.Option(min=0, help="List at most so many differences of a kind in agreement.md.")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Tell how far the verdicts agree with the human experts': table, kappa, ceiling, all differences."""
    from imagenet_errors.inputs import Sources
    from imagenet_errors.study.agreement import Request, agree
    from imagenet_errors.study.agreement_files import as_json as figures_of
    from imagenet_errors.study.agreement_files import write_agreement
    from imagenet_errors.study.agreement_page import page
    from imagenet_errors.study.agreement_terminal import agreement_view

    sources = Sources.given(
        annotations,
        oov_evidence=oov_evidence,
        non_prototypical=tuple(non_prototypical or ()),
        co_occurrence=co_occurrence,
        superclasses=superclasses,
        stage_order=stage_order,
    )
    run = agree(
        Request(
            human=(*(human or ()), *(more or ())),
            sources=sources,
            out=needed(out),
            use_panel_list=panel_list,
            published_cases=published_cases,
            list_at_most=list_at_most,
            command=("imagenet-errors", *sys.argv[1:]),
        )
    )
    write_agreement(run, page=page)
    if as_json:
        typer.echo(json.dumps(figures_of(run), indent=2, ensure_ascii=False))
    else:
        console().print(agreement_view(run))
