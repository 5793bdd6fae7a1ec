"""``imagenet-errors figures``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from imagenet_errors.cli import options
from imagenet_errors.cli.screen import console, waiting
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
        bool, Parameter(help="Write the models' names beside them.", group=options.OUTPUT, negative=())
    ] = False,
    out: Annotated[
        Path | None, Parameter(help="Folder to write, otherwise figures in RUN_DIR or here.", group=options.OUTPUT)
    ] = None,
) -> None:
    """Draw a paper's figures: each error type's portion against accuracy, with fits, on fixed scales."""
    from imagenet_errors.report.figures import FORMATS, FigureRequest, write_figures
    from imagenet_errors.report.published import points_of_run, published_points
    from imagenet_errors.runs.tables import load_run_tables

    theirs = published_points(published_statistics) if published or published_statistics else None
    ours = None if run_dir is None else points_of_run(load_run_tables(run_dir))
    points = ours or theirs
    if points is None:
        raise InputError("figures", "of what?", fix="Pass RUN_DIR, --published, or both.")
    folder = out or (Path() if run_dir is None else run_dir) / "figures"
    request = FigureRequest(
        points=points,
        out=folder,
        behind=None if ours is None else theirs,
        groupings=tuple(dict.fromkeys(by or ("data",))),
        formats=tuple(dict.fromkeys(kinds or FORMATS)),
        only=types,
        named=names,
    )
    with waiting("Drawing"):
        written = write_figures(request)
    console().print(f"{counted(len(written), 'file')} of {counted(len(points), 'model')} in {folder}", markup=False)
