"""``imagenet-errors compare``."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from imagenet_errors.cli import options
from imagenet_errors.cli.screen import console, say, say_json, waiting
from imagenet_errors.problems import InputError

Side = Annotated[str, Parameter(help="RUN, or RUN:MODEL where the run has several.", group=options.INPUTS)]
FORMATS = ("table", "markdown")


def compare(
    first: Side,
    second: Side,
    /,
    *,
    format_: Annotated[
        str, Parameter(name="--format", help="table, or markdown for a comment.", group=options.OUTPUT)
    ] = "table",
    as_json: options.AsJson = False,
) -> None:
    """Set two models beside each other: predictions changed, errors gained and lost by type, paired tests."""
    from imagenet_errors.compare import compare as compare_models
    from imagenet_errors.compare import parse_side
    from imagenet_errors.report.comparison_view import comparison_markdown, comparison_view

    if format_ not in FORMATS:
        raise InputError("--format", f"no format {format_!r}", fix=f"Known: {', '.join(FORMATS)}.")
    with waiting("Comparing"):
        comparison = compare_models(parse_side(first), parse_side(second))
    if as_json:
        say_json(comparison.as_json())
    elif format_ == "markdown":
        say(comparison_markdown(comparison).rstrip())
    else:
        console().print(comparison_view(comparison))
