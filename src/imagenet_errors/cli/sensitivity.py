"""``imagenet-errors sensitivity``."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from imagenet_errors.cli import options
from imagenet_errors.cli.agreement import Human, PanelList
from imagenet_errors.cli.evaluate import needed
from imagenet_errors.cli.screen import console, progress


def sensitivity(
    predictions: options.Predictions = None,
    human: Human = None,
    annotations: options.Annotations = "",
    out: options.Out = None,
    oov_evidence: options.OovEvidence = None,
    non_prototypical: options.NonPrototypical = None,
    panel_list: PanelList = True,
    co_occurrence: options.CoOccurrence = None,
    superclasses: options.Superclasses = None,
    stage_order: options.StageOrder = "",
    figure: Annotated[bool, typer.Option(help="Draw the figure (needs the extra report).")] = True,
) -> None:
    """Vary each design choice alone: what becomes of the agreement and of the models' distributions."""
    from imagenet_errors.extras import needs
    from imagenet_errors.inputs import Sources
    from imagenet_errors.study.sensitivity import Request
    from imagenet_errors.study.sensitivity import sensitivity as vary
    from imagenet_errors.study.sensitivity_files import write_sensitivity
    from imagenet_errors.study.sensitivity_terminal import sensitivity_view

    if figure:
        needs("matplotlib", extra="report")
    request = Request(
        human=tuple(human or ()),
        predictions=tuple(predictions or ()),
        sources=Sources.given(
            annotations,
            oov_evidence=oov_evidence,
            non_prototypical=tuple(non_prototypical or ()),
            co_occurrence=co_occurrence,
            superclasses=superclasses,
            stage_order=stage_order,
        ),
        out=needed(out),
        use_panel_list=panel_list,
        command=("imagenet-errors", *sys.argv[1:]),
    )
    run = vary(request, progress=progress)
    write_sensitivity(run, with_figure=figure)
    console().print(sensitivity_view(run, with_figure=figure))
