"""``imagenet-errors report``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from imagenet_errors.cli import options
from imagenet_errors.cli.screen import console

PublishedStatistics = Annotated[
    Path | None,
    typer.Option(
        "--published-statistics",
        help="Folder of the published stats CSV files; otherwise those of data fetch, if they are there.",
        show_default=False,
    ),
]
Models = Annotated[
    list[str] | None,
    typer.Option("--model", help="Only this model; may be repeated, the first is in front.", show_default=False),
]


def report(
    run_dir: Annotated[Path, typer.Argument(help="The run directory.", show_default=False)],
    out: Annotated[
        Path | None,
        typer.Option(help="The page to write, otherwise report.html in RUN_DIR.", show_default=False),
    ] = None,
    images: Annotated[
        Path | None,
        typer.Option(help="Folder of the images, searched at any depth, to show them.", show_default=False),
    ] = None,
    model: Models = None,
    published_statistics: PublishedStatistics = None,
    thumbnails: Annotated[
        int, typer.Option(min=0, help="Pictures to put inside the page, most severe errors first.")
    ] = 400,
    cases: Annotated[
        int, typer.Option(min=1, help="Distinct errors to put inside the page, most severe first.")
    ] = 100_000,
    as_json: options.AsJson = False,
) -> None:
    """Write one HTML page that shows how bad the errors are, which ones, compared with what, and why."""
    from imagenet_errors.report.page.page import ReportRequest, write_report

    written = write_report(
        ReportRequest(
            run=run_dir,
            out=out,
            models=tuple(dict.fromkeys(model or ())),
            images=images,
            published=published_statistics,
            n_thumbnails=thumbnails,
            n_cases=cases,
        )
    )
    if as_json:
        facts = {"path": str(written.path), "n_bytes": written.n_bytes, "n_cases": written.n_cases}
        typer.echo(json.dumps(facts | {"notes": written.notes}, indent=2, ensure_ascii=False))
        return
    screen = console()
    for note in written.notes:
        screen.print(note, markup=False)
    screen.print(
        f"Report: {written.path} ({written.n_bytes / 1e6:.1f} MB, {written.n_cases:,} distinct errors)",
        markup=False,
        soft_wrap=True,
    )
