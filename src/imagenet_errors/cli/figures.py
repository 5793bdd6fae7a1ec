"""``imagenet-errors figures``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from imagenet_errors.cli import options
from imagenet_errors.cli.screen import console, progress
from imagenet_errors.problems import InputError, counted

_SEVERAL = Parameter(group=options.OUTPUT, show_default=False, negative=())


def figures(
    run_dir: Annotated[
        Path | None, Parameter(help="A run directory; its models are in front.", group=options.INPUTS)
    ] = None,
    /,
    *,
    published: Annotated[
        bool,
        Parameter(
            help="The published models; behind those of RUN_DIR if it is given.", group=options.INPUTS, negative=()
        ),
    ] = False,
    published_statistics: Annotated[
        Path | None,
        Parameter(help="Folder of the published stats CSV files; implies --published.", group=options.INPUTS),
    ] = None,
    by: Annotated[
        tuple[str, ...],
        _SEVERAL,
        Parameter(help="data (default), family, group or pretraining; may be given several times."),
    ] = (),
    kinds: Annotated[
        tuple[str, ...],
        _SEVERAL,
        Parameter(name="--format", help="png, svg or pdf, otherwise all three; may be given several times."),
    ] = (),
    types: Annotated[
        tuple[str, ...], _SEVERAL, Parameter(name="--type", help="Only this error type; may be given several times.")
    ] = (),
    names: Annotated[
        bool,
        Parameter(help="Write names beside outliers and the most accurate models.", group=options.OUTPUT, negative=()),
    ] = False,
    x_axis: Annotated[
        str,
        Parameter(
            help="Accuracy of all images for every group, as published (all), or of the group itself (group).",
            group=options.OUTPUT,
        ),
    ] = "all",
    factors: Annotated[
        Path | None,
        Parameter(
            help="Also draw each model's errors by image factor: imagenet_x_val_top_factor.jsonl of the imagenet-x "
            "package, or a table like it.",
            group=options.INPUTS,
        ),
    ] = None,
    out: Annotated[
        Path | None, Parameter(help="Folder to write, otherwise figures in RUN_DIR or here.", group=options.OUTPUT)
    ] = None,
) -> None:
    """Draw a paper's figures: each error type's portion against accuracy, with fits, on fixed scales."""
    from imagenet_errors.report.drawing import FORMATS, FigureRequest
    from imagenet_errors.report.factors import rates_of_run
    from imagenet_errors.report.figures import against_accuracy, points_to_draw, write_figures
    from imagenet_errors.runs.tables import load_run_tables

    run = None if run_dir is None else load_run_tables(run_dir)
    wants_published = published or published_statistics is not None
    points, behind = points_to_draw(run, published=wants_published, statistics=published_statistics)
    if factors is not None and run is None:
        raise InputError("--factors", "needs a run, whose verdicts it counts", fix="Pass RUN_DIR.")
    folder = out or (Path() if run_dir is None else run_dir) / "figures"
    request = FigureRequest(
        points=points,
        out=folder,
        behind=behind,
        groupings=tuple(dict.fromkeys(by or ("data",))),
        formats=tuple(dict.fromkeys(kinds or FORMATS)),
        only=types,
        named=names,
        x_axis=x_axis,
        factors=() if factors is None or run is None else rates_of_run(run, factors),
    )
    written = write_figures(request, progress=progress)
    x_axis_is = f" (x-axis: accuracy of {'all images' if x_axis == 'all' else 'each group'})"
    console().print(
        f"{counted(len(written), 'file')} of {counted(len(points), 'model')} in {folder}"
        f"{x_axis_is if against_accuracy(request) else ''}",
        markup=False,
    )
