"""A bar with rate and time left, for work that is counted in amounts; quiet in pipes."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator


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
