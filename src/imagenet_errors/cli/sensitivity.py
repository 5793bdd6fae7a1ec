"""``imagenet-errors sensitivity``."""

from __future__ import annotations

import sys
from typing import Annotated

from cyclopts import Parameter

from imagenet_errors.cli import options
from imagenet_errors.cli.agreement import Human, PanelList
from imagenet_errors.cli.options import Basis, EvidenceFiles
from imagenet_errors.cli.screen import console, progress


def sensitivity(
    *predictions: options.Predictions,
    human: Human = (),
    basis: Basis = options.AS_PUBLISHED,
    evidence: EvidenceFiles = options.NO_FILES,
    panel_list: PanelList = True,
    figure: Annotated[bool, Parameter(help="Draw the figure (needs the extra report).", group=options.OUTPUT)] = True,
    out: options.Out = None,
) -> None:
    """Vary each design choice alone: what becomes of the agreement and of the models' distributions."""
    from imagenet_errors.extras import needs
    from imagenet_errors.study.sensitivity import Request
    from imagenet_errors.study.sensitivity import sensitivity as vary
    from imagenet_errors.study.sensitivity_files import write_sensitivity
    from imagenet_errors.study.sensitivity_terminal import sensitivity_view

    if figure:
        needs("matplotlib", extra="report")
    request = Request(
        human=human,
        predictions=predictions,
        inputs=basis.inputs(evidence),
        out=options.out_or_default(out, (), alone="sensitivity"),
        use_panel_list=panel_list,
        command=("imagenet-errors", *sys.argv[1:]),
    )
    run = vary(request, progress=progress)
    write_sensitivity(run, with_figure=figure)
    console().print(sensitivity_view(run, with_figure=figure))
