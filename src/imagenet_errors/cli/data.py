"""``imagenet-errors data``: list, fetch, path."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from imagenet_errors.cli.screen import say

data = App(name="data", help="The files that are downloaded once, checked, and kept.", help_format="plaintext")

Name = Annotated[str, Parameter(help="A name of data list.")]


@data.command(name="list", help_epilogue="Example: imagenet-errors data list")
def data_list() -> None:
    """List the files that can be fetched, and which of them are here."""
    from imagenet_errors.downloads import cached_path, sources

    for name, source in sources().items():
        state = "here" if cached_path(name).exists() else "not fetched"
        say(f"{name}: {source.title} ({state}; {source.licence}; used by {source.used_by})")


@data.command(
    name="fetch",
    help_epilogue="Example: imagenet-errors data fetch multilabel --from ~/Downloads/human_accuracy_v3.0.0.json",
)
def data_fetch(
    name: Name,
    /,
    *,
    copy_from: Annotated[
        Path | None, Parameter(name="--from", help="A copy that you have; it is checked all the same.")
    ] = None,
) -> None:
    """Download a file, or take a copy; verify its hash and keep it."""
    from imagenet_errors.downloads import fetch

    say(str(fetch(name, copy_from=copy_from, progressbar=sys.stderr.isatty())))


@data.command(name="path", help_epilogue="Example: imagenet-errors data path multilabel")
def data_path(name: Name, /) -> None:
    """Print where a file lies, or would lie."""
    from imagenet_errors.downloads import cached_path

    say(str(cached_path(name)))
