"""``imagenet-errors data``: list, fetch, path."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from imagenet_errors.cli import options
from imagenet_errors.cli.options import SOME_FAILED
from imagenet_errors.cli.screen import console, remark, say, say_json

data = App(name="data", help="The files that are downloaded once, checked, and kept.", help_format="plaintext")

_WIDE = 120
"""Columns of a screen that has room for a table of the sources."""
Name = Annotated[str, Parameter(help="A name of data list.")]


@data.command(name="list", help_epilogue="Example: imagenet-errors data list")
def data_list(*, as_json: options.AsJson = False) -> None:
    """List the files that can be fetched: size, licence, commit, and whether they are here."""
    from rich.padding import Padding
    from rich.table import Table

    from imagenet_errors.downloads import listing, sized

    rows = listing()
    if as_json:
        say_json(rows)
        return
    screen = console()
    table = Table("name", "what", "size", "licence", "commit", "for", "state")
    for row in rows:
        size = sized(row["bytes"]) if row["bytes"] else ""
        facts = (size, row["licence"], row["commit"][:8], " ".join(row["options"]), row["state"])
        table.add_row(row["name"], row["title"], *facts)
        if screen.width < _WIDE:
            screen.print(f"{row['name']}: {row['title']}", markup=False)
            screen.print(Padding("; ".join(filter(None, facts)), (0, 0, 0, 4)))
    if screen.width >= _WIDE:
        screen.print(table)


@data.command(
    name="fetch",
    help_epilogue="Example: imagenet-errors data fetch multilabel --from ~/Downloads/human_accuracy_v3.0.0.json",
)
def data_fetch(
    name: Annotated[str, Parameter(help="A name of data list, or all.")],
    /,
    *,
    copy_from: Annotated[
        Path | None,
        Parameter(name="--from", help="A file or folder with a copy, in any known layout; it is checked."),
    ] = None,
    offline: options.Offline = False,
) -> int:
    """Download what is named, or take a copy; verify its hash and keep it."""
    from imagenet_errors.downloads import fetch, fetch_all
    from imagenet_errors.problems import InputError

    options.stay_offline(offline)
    if name != "all":
        for path in fetch(name, copy_from=copy_from):
            say(str(path))
        return 0
    failures = 0
    for one, got in fetch_all(copy_from):
        if isinstance(got, InputError):
            failures += 1
            remark(f"Error: {got}")
        else:
            say(f"{one}: {' '.join(map(str, got))}")
    return SOME_FAILED if failures else 0


@data.command(name="path", help_epilogue="Example: imagenet-errors data path multilabel")
def data_path(name: Name, /) -> None:
    """Print where the files lie, or would lie."""
    from imagenet_errors.downloads import target_of

    for path in target_of(name):
        say(str(path))
