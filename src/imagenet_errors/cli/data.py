"""``imagenet-errors data``: list, fetch, path."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

data_app = typer.Typer(help="The files that are downloaded once, checked, and kept.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="A name of data list.", show_default=False)]


@data_app.command("list", epilog="Example: imagenet-errors data list")
def data_list() -> None:
    """List the files that can be fetched, and which of them are here."""
    from imagenet_errors.downloads import cached_path, sources

    for name, source in sources().items():
        state = "here" if cached_path(name).exists() else "not fetched"
        typer.echo(f"{name}: {source.title} ({state}; {source.licence}; used by {source.used_by})")


@data_app.command(
    "fetch",
    epilog="Example: imagenet-errors data fetch multilabel --from ~/Downloads/human_accuracy_v3.0.0.json",
)
def data_fetch(
    name: Name,
    copy_from: Annotated[
        Path | None,
        typer.Option("--from", help="A copy that you have; it is checked all the same.", show_default=False),
    ] = None,
) -> None:
    """Download a file, or take a copy; verify its hash and keep it."""
    from imagenet_errors.downloads import fetch

    typer.echo(fetch(name, copy_from=copy_from, progressbar=sys.stderr.isatty()))


@data_app.command("path", epilog="Example: imagenet-errors data path multilabel")
def data_path(name: Name) -> None:
    """Print where a file lies, or would lie."""
    from imagenet_errors.downloads import cached_path

    typer.echo(cached_path(name))
