"""``imagenet-errors summary``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from imagenet_errors.cli.screen import console
from imagenet_errors.problems import InputError


def summary(
    run: Annotated[Path, typer.Argument(help="A run directory.", show_default=False)],
    sort: Annotated[str, typer.Option(help="Any column, such as model_failure or n_parameters.")] = "mla",
    ascending: Annotated[bool, typer.Option("--ascending", help="Smallest first.")] = False,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONDITION", help="arch_family=cnn, pretraining=CLIP, n_parameters<30e6, ... May be repeated."
        ),
    ] = None,
    columns: Annotated[str, typer.Option(help="Columns joined by commas, or all.", show_default=False)] = "",
    top: Annotated[int | None, typer.Option(help="The first so many only.", min=1)] = None,
    format_: Annotated[str, typer.Option("--format", help="table, csv, markdown or latex.")] = "table",
    out: Annotated[Path | None, typer.Option(help="A file instead of the screen.", show_default=False)] = None,
) -> None:
    """Rank a run's models by any column; filter by what is known of them; export."""
    from imagenet_errors.report.leaderboard import WRITERS, Choice, choose, leaderboard_view, read_leaderboard

    if format_ not in ("table", *WRITERS):
        raise InputError("--format", f"no format {format_!r}", fix=f"Known: table, {', '.join(WRITERS)}.")
    table = read_leaderboard(run)
    names = table.column_names if columns == "all" else [name.strip() for name in columns.split(",") if name.strip()]
    chosen = choose(table, Choice(sort, ascending, tuple(where or ()), tuple(names), top))
    if out is None and format_ == "table":
        console().print(leaderboard_view(chosen))
        return
    text = WRITERS["csv" if format_ == "table" else format_](chosen)
    if out is None:
        typer.echo(text, nl=False)
    else:
        from imagenet_errors.predict.plan import write_whole

        write_whole(out, text.encode())
