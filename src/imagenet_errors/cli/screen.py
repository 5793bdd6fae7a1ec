"""What commands print to: a console, and bars for what takes more than a second; both quiet in pipes."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

_PIPE_WIDTH = 160


def console() -> Console:
    """Return a console; in a pipe it has no colours, and its lines are not cut at 80 characters."""
    from rich.console import Console

    on_screen = Console(highlight=False)
    return on_screen if on_screen.is_terminal else Console(highlight=False, width=_PIPE_WIDTH)


def progress(what: str, things: Iterable[Any], n_things: int) -> Iterator[Any]:
    """Show a bar on a terminal, nothing in a pipe."""
    if n_things < 2 or not sys.stderr.isatty():
        return iter(things)
    from rich.console import Console
    from rich.progress import track

    bar = track(things, description=what, total=n_things, console=Console(stderr=True), transient=True)
    return iter(bar)
