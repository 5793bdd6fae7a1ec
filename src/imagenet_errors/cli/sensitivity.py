"""``imagenet-errors sensitivity``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from imagenet_errors.cli import options
from imagenet_errors.cli.agreement import BOTH, Human, PanelList
from imagenet_errors.cli.options import EvidenceFiles, PanelBasisOptions
from imagenet_errors.cli.screen import console, progress


def sensitivity(
    *predictions: options.Predictions,
    human: Human = (BOTH,),
    basis: PanelBasisOptions = options.FROM_EXPERTS,
    evidence: EvidenceFiles = options.NO_FILES,
    panel_list: PanelList = True,
    label_set: Annotated[
        tuple[str, ...],
        Parameter(
            help="Other labels to try, named as --annotations is. May be given several times.",
            group=options.INPUTS,
            show_default=False,
            negative=(),
        ),
    ] = (),
    other_oov_evidence: Annotated[
        tuple[Path, ...],
        Parameter(
            help="Out-of-vocabulary evidence to try instead, of another pool or encoder. May be given several times.",
            group=options.EVIDENCE,
            show_default=False,
            negative=(),
        ),
    ] = (),
    reading: options.ReadingOptions = options.READ_STRICTLY,
    figure: Annotated[bool, Parameter(help="Draw the figure (needs the extra report).", group=options.OUTPUT)] = True,
    offline: options.Offline = False,
    out: options.Out = None,
) -> None:
    """Vary each design choice alone: what becomes of the agreement and of the models' distributions."""
    from imagenet_errors.shipped import needs
    from imagenet_errors.study.panel import panel_files
    from imagenet_errors.study.sensitivity import SensitivityRequest
    from imagenet_errors.study.sensitivity import sensitivity as vary
    from imagenet_errors.study.sensitivity_page import sensitivity_view, write_sensitivity

    if figure:
        needs("matplotlib", extra="report")
    inputs = basis.inputs(evidence, offline=offline)  # before anything is fetched
    request = SensitivityRequest(
        human=panel_files(human),
        predictions=predictions,
        inputs=inputs,
        out=options.out_or_default(out, (), alone="sensitivity"),
        use_panel_list=panel_list,
        label_sets=label_set,
        oov_tables=other_oov_evidence,
        rules=reading.rules(),
    )
    run = vary(request, progress=progress)
    write_sensitivity(run, with_figure=figure)
    console().print(sensitivity_view(run, with_figure=figure))
