"""``imagenet-errors figures``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from imagenet_errors.cli.screen import console
from imagenet_errors.problems import InputError, counted


def figures(
    run_dir: Annotated[
        Path | None, typer.Argument(help="A run directory; its models are in front.", show_default=False)
    ] = None,
    published: Annotated[
        bool, typer.Option("--published", help="The published models; behind those of RUN_DIR if it is given.")
    ] = False,
    published_statistics: Annotated[
        Path | None,
        typer.Option(help="Folder of the published stats CSV files; implies --published.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder to write, otherwise figures in RUN_DIR or here.", show_default=False),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(help="data, family, group or pretraining; may be repeated.", show_default="data"),
    ] = None,
    kinds: Annotated[
        list[str] | None,
        typer.Option("--format", help="png, svg or pdf; may be repeated.", show_default="all three"),
    ] = None,
    types: Annotated[
        list[str] | None,
        typer.Option("--type", help="Only this error type; may be repeated.", show_default=False),
    ] = None,
    names: Annotated[bool, typer.Option("--names", help="Write the models' names beside them.")] = False,
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
    written = write_figures(
        FigureRequest(
            points=points,
            out=folder,
            behind=None if ours is None else theirs,
            groupings=tuple(dict.fromkeys(by or ("data",))),
            formats=tuple(dict.fromkeys(kinds or FORMATS)),
            only=tuple(types or ()),
            named=names,
        )
    )
    console().print(f"{counted(len(written), 'file')} of {counted(len(points), 'model')} in {folder}", markup=False)
