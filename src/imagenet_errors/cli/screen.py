"""What commands print: answers, remarks, JSON, the next step, and bars for what takes a while; no bars in pipes.

With ``--quiet`` there are no remarks and no bars, and a command that writes files has no answer but these.
"""

from __future__ import annotations

import json
import shlex
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from imagenet_errors.problems import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.segment import Segment

_PIPE_WIDTH = 160
_PATIENCE_SECONDS = 2.0


@dataclass
class _Voice:
    """What is to be heard in this process."""

    answers: bool = True
    remarks: bool = True


_voice = _Voice()


def speak(*, answers: bool, remarks: bool) -> None:
    """Choose what is printed from now on; errors and JSON always are."""
    _voice.answers, _voice.remarks = answers, remarks


def is_quiet() -> bool:
    """Tell whether answers go into files only."""
    return not _voice.answers


def console() -> Console:
    """Return a console; in a pipe it has no colours, and its lines are not cut at 80 characters."""
    kind = _console_kind()
    on_screen = kind(highlight=False, quiet=not _voice.answers)
    if on_screen.is_terminal:
        return on_screen
    return kind(highlight=False, quiet=not _voice.answers, width=_PIPE_WIDTH)


@cache
def _console_kind() -> type[Console]:
    """Return a console that shows control characters, in a name perhaps, instead of sending them to the terminal."""
    from rich.console import Console

    class Harmless(Console):
        def render(self, renderable: Any, options: Any = None) -> Iterator[Segment]:
            for segment in super().render(renderable, options):
                yield segment if segment.control else segment._replace(text=printable(segment.text))

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # rich would end with status 1; who reads has seen enough, and that is no fault

    return Harmless


def say(text: str) -> None:
    """Print a line of the answer."""
    if _voice.answers:
        print(printable(text))


def remark(text: str) -> None:
    """Print a line that is no part of the answer."""
    if _voice.remarks:
        print(printable(text), file=sys.stderr)


def complain(text: str) -> None:
    """Print a line that is printed where everything else is quiet."""
    print(printable(text), file=sys.stderr)


def next_step(what: str, *command: str | Path) -> None:
    """Print as the last line what to do now: ``Look: imagenet-errors report runs/x``."""
    if _voice.remarks:
        say(f"{what}: {command_line(command)}")


def command_line(arguments: Sequence[str | Path]) -> str:
    """Return a command of this program as one types it."""
    return shlex.join(["imagenet-errors", *map(str, arguments)])


def say_json(content: Any) -> None:
    """Print plain objects as JSON."""
    print(printable(json.dumps(content, indent=2, ensure_ascii=False)))


def progress(what: str, things: Iterable[Any], n_things: int) -> Iterator[Any]:
    """Show a bar on a terminal, nothing in a pipe."""
    if n_things < 2 or not _has_bars():
        return iter(things)
    from rich.console import Console
    from rich.progress import track

    bar = track(things, description=what, total=n_things, console=Console(stderr=True), transient=True)
    return iter(bar)


def _has_bars() -> bool:
    return _voice.remarks and sys.stderr is not None and sys.stderr.isatty()


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show on a terminal what takes so long, and for how long already, once it has taken two seconds."""
    if not _has_bars():
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.add_task(what, total=None)
    patience = threading.Timer(_PATIENCE_SECONDS, bar.start)
    patience.daemon = True
    patience.start()
    try:
        yield
    finally:
        patience.cancel()
        patience.join()
        bar.stop()


def meter(what: str, amounts: Iterable[int], whole: int) -> Iterator[int]:
    """Yield the amounts; on a terminal show how much is done, how much a second, and the time left."""
    if not whole or not _has_bars():
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
