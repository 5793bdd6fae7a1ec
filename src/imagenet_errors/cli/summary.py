"""``imagenet-errors summary``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from imagenet_errors.cli import options
from imagenet_errors.cli.screen import console
from imagenet_errors.problems import InputError, printable


def summary(
    run_dir: options.RunDir,
    /,
    *,
    sort: Annotated[str, Parameter(help="Any column, such as model_failure or n_parameters.", group=options.OUTPUT)] = (
        "mla"
    ),
    ascending: Annotated[bool, Parameter(help="Smallest first.", group=options.OUTPUT, negative=())] = False,
    where: Annotated[
        tuple[str, ...],
        Parameter(
            help="A condition in SQL, such as \"n_parameters < 30e6 AND arch_family = 'cnn'\"; "
            "may be given several times.",
            group=options.OUTPUT,
            show_default=False,
            negative=(),
        ),
    ] = (),
    columns: Annotated[str, Parameter(help="Columns joined by commas, or all.", group=options.OUTPUT)] = "",
    top: Annotated[
        int | None, Parameter(help="The first so many only.", group=options.OUTPUT, validator=Number(gte=1))
    ] = None,
    format_: Annotated[
        str,
        Parameter(
            name="--format", help="table, csv, markdown, latex, json or model-card (YAML).", group=options.OUTPUT
        ),
    ] = "table",
    out: Annotated[Path | None, Parameter(help="A file instead of the screen.", group=options.OUTPUT)] = None,
) -> None:
    """Rank a run's models by any column; filter by what is known of them; export."""
    from imagenet_errors.report.exchange import exchange_writers
    from imagenet_errors.report.leaderboard import (
        WRITERS,
        Choice,
        choose,
        is_partial,
        leaderboard_view,
        read_leaderboard,
    )

    writers = WRITERS | exchange_writers(run_dir)
    if format_ not in ("table", *writers):
        raise InputError("--format", f"no format {format_!r}", fix=f"Known: table, {', '.join(writers)}.")
    table = read_leaderboard(run_dir)
    names = table.column_names if columns == "all" else [name.strip() for name in columns.split(",") if name.strip()]
    chosen = choose(table, Choice(sort, ascending, where, tuple(names), top))
    if is_partial(table, sort):
        note = f"Note: {sort} depends on evidence that was missing; this is the order of what could be counted."
        print(note, file=sys.stderr)
    if out is None and format_ == "table":
        console().print(leaderboard_view(chosen))
        return
    text = writers["csv" if format_ == "table" else format_](chosen)
    if out is None:
        sys.stdout.write(printable(text) if sys.stdout.isatty() else text)
    else:
        from imagenet_errors.files import write_whole

        write_whole(out, text.encode())
