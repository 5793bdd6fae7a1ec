"""``imagenet-errors data``: list, fetch, path."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

data_app = typer.Typer(help="The files that are downloaded once, checked, and kept.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="A name of data list.", show_default=False)]
FAILED = 1


@data_app.command("list", epilog="Example: imagenet-errors data list")
def data_list(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List the files that can be fetched: size, licence, commit, and whether they are here."""
    from rich.table import Table

    from imagenet_errors.cli.screen import console
    from imagenet_errors.downloads import listing, sized

    rows = listing()
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    table = Table("name", "what", "size", "licence", "commit", "for", "state")
    for row in rows:
        size = sized(row["bytes"]) if row["bytes"] else ""
        options = " ".join(row["options"])
        table.add_row(row["name"], row["title"], size, row["licence"], row["commit"][:8], options, row["state"])
    console().print(table)


@data_app.command(
    "fetch",
    epilog="Example: imagenet-errors data fetch multilabel --from ~/Downloads/human_accuracy_v3.0.0.json",
)
def data_fetch(
    name: Annotated[str, typer.Argument(help="A name of data list, or all.", show_default=False)],
    copy_from: Annotated[
        Path | None,
        typer.Option(
            "--from", help="A file or folder with a copy, in any known layout; it is checked.", show_default=False
        ),
    ] = None,
) -> None:
    """Download what is named, or take a copy; verify its hash and keep it."""
    from imagenet_errors.downloads import fetch, fetch_all
    from imagenet_errors.problems import InputError

    got = fetch_all(copy_from) if name == "all" else [(name, fetch(name, copy_from=copy_from))]
    failed = False
    for one, paths in got:
        if isinstance(paths, InputError):
            failed = True
            typer.echo(f"Error: {paths}", err=True)
            continue
        for path in paths:
            typer.echo(path if name != "all" else f"{one}: {path}")
    if failed:
        raise typer.Exit(FAILED)


@data_app.command("path", epilog="Example: imagenet-errors data path multilabel")
def data_path(name: Name) -> None:
    """Print where the files lie, or would lie."""
    from imagenet_errors.downloads import target_of

    for path in target_of(name):
        typer.echo(path)
