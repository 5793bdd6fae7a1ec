"""What commands print to: a console, JSON, and bars for what takes more than a second; bars are quiet in pipes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from imagenet_errors.problems import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.segment import Segment

_PIPE_WIDTH = 160


def console() -> Console:
    """Return a console; in a pipe it has no colours, and its lines are not cut at 80 characters."""
    kind = _console_kind()
    on_screen = kind(highlight=False)
    return on_screen if on_screen.is_terminal else kind(highlight=False, width=_PIPE_WIDTH)


@cache
def _console_kind() -> type[Console]:
    """Return a console that shows control characters, in a name perhaps, instead of sending them to the terminal."""
    from rich.console import Console

    class Harmless(Console):
        def render(self, renderable: Any, options: Any = None) -> Iterator[Segment]:
            for segment in super().render(renderable, options):
                yield segment if segment.control else segment._replace(text=printable(segment.text))

    return Harmless


def say(text: str) -> None:
    """Print a line of the answer."""
    print(printable(text))


def remark(text: str) -> None:
    """Print a line that is no part of the answer."""
    print(printable(text), file=sys.stderr)


def say_json(content: Any) -> None:
    """Print plain objects as JSON."""
    print(printable(json.dumps(content, indent=2, ensure_ascii=False)))


def progress(what: str, things: Iterable[Any], n_things: int) -> Iterator[Any]:
    """Show a bar on a terminal, nothing in a pipe."""
    if n_things < 2 or not sys.stderr.isatty():
        return iter(things)
    from rich.console import Console
    from rich.progress import track

    bar = track(things, description=what, total=n_things, console=Console(stderr=True), transient=True)
    return iter(bar)


def meter(what: str, amounts: Iterable[int], whole: int) -> Iterator[int]:
    """Yield the amounts; on a terminal show how much is done, how much a second, and the time left."""
    if not whole or not sys.stderr.isatty():
        yield from amounts
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]} a second"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True, speed_estimate_period=600) as bar:
        task = bar.add_task(what, total=whole, rate="?")
        for amount in amounts:
            bar.advance(task, amount)
            speed = bar.tasks[0].speed
            bar.update(task, rate="?" if speed is None else f"{speed:,.1f}")
            yield amount
