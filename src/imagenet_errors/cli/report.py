"""``imagenet-errors report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from imagenet_errors.cli import options
from imagenet_errors.cli.screen import console, say_json, waiting
from imagenet_errors.problems import InputError

PublishedStatistics = Annotated[
    Path | None,
    Parameter(
        help="Folder of the published stats CSV files; otherwise those of data fetch, if they are there.",
        group=options.INPUTS,
    ),
]


def report(
    run_dir: Annotated[Path | None, Parameter(help="A run directory.", group=options.INPUTS)] = None,
    /,
    *,
    model: Annotated[
        tuple[str, ...],
        Parameter(
            help="Only this model; may be given several times, the first is in front.",
            group=options.INPUTS,
            show_default=False,
            negative=(),
        ),
    ] = (),
    images: Annotated[
        Path | None,
        Parameter(help="Folder of the images, searched at any depth, to show them.", group=options.INPUTS),
    ] = None,
    factors: Annotated[
        Path | None,
        Parameter(
            help="What is unusual about each image: imagenet_x_val_top_factor.jsonl of the imagenet-x package, or a "
            "table like it.",
            group=options.INPUTS,
        ),
    ] = None,
    published: Annotated[
        bool,
        Parameter(help="Without RUN_DIR: the page of the published models.", group=options.INPUTS, negative=()),
    ] = False,
    published_statistics: PublishedStatistics = None,
    thumbnails: Annotated[
        int,
        Parameter(
            help="Pictures to put inside the page, most severe errors first.",
            group=options.OUTPUT,
            validator=Number(gte=0),
        ),
    ] = 400,
    cases: Annotated[
        int,
        Parameter(
            help="Distinct errors to put inside the page, most severe first.",
            group=options.OUTPUT,
            validator=Number(gte=1),
        ),
    ] = 100_000,
    pictures_anyway: Annotated[
        bool,
        Parameter(
            help="Show the pictures of explanations even where their controls say that they are no evidence.",
            group=options.OUTPUT,
            negative=(),
        ),
    ] = False,
    out: Annotated[
        Path | None, Parameter(help="The page to write, otherwise report.html in RUN_DIR.", group=options.OUTPUT)
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Write one HTML page that shows how bad the errors are, which ones, compared with what, and why."""
    from imagenet_errors.report.page.page import DEFAULT_NAME, ReportRequest, write_published, write_report

    if run_dir is None:
        if not (published or published_statistics):
            raise InputError("report", "no run is named", fix="Pass RUN_DIR or --published.")
        written = write_published(published_statistics, out or Path(DEFAULT_NAME))
    else:
        request = ReportRequest(
            run=run_dir,
            out=out,
            models=tuple(dict.fromkeys(model)),
            images=images,
            published=published_statistics,
            factors=factors,
            n_thumbnails=thumbnails,
            n_cases=cases,
            pictures_anyway=pictures_anyway,
        )
        with waiting("Writing the page"):
            written = write_report(request)
    if as_json:
        facts = {"path": str(written.path), "n_bytes": written.n_bytes, "n_cases": written.n_cases}
        say_json(facts | {"notes": written.notes})
        return
    screen = console()
    for note in written.notes:
        screen.print(note, markup=False)
    screen.print(
        f"Report: {written.path} ({written.n_bytes / 1e6:.1f} MB, {written.n_cases:,} distinct errors)",
        markup=False,
        soft_wrap=True,
    )
