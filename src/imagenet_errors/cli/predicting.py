"""What ``predict`` and ``batch`` have in common: their options, the plan on screen, and a line for each model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imagenet_errors.problems import InputError, counted

if TYPE_CHECKING:
    from rich.console import RenderableType

    from imagenet_errors.predict.job import Outcome
    from imagenet_errors.predict.plan import Plan
    from imagenet_errors.predict.settings import Settings

Models = Annotated[
    list[str] | None,
    typer.Argument(
        help="timm models: names, wildcards in quotes, files with a name a line, NAME=CHECKPOINT.", show_default=False
    ),
]
Images = Annotated[Path | None, typer.Option(help="The folder of images, subfolders included.", show_default=False)]
Checkpoint = Annotated[
    Path | None, typer.Option(help="Weights of the one model named, instead of timm's.", show_default=False)
]
Register = Annotated[
    list[Path] | None,
    typer.Option(help="A Python file that registers models of your own with timm. May be repeated."),
]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, mps.")]
Precision = Annotated[str, typer.Option(help="float32, or bfloat16 or float16 (automatic mixed precision).")]
BatchSize = Annotated[int, typer.Option(help="Images at a time; halved when memory runs out.")]
Workers = Annotated[int | None, typer.Option(help="Processes that decode images; by default up to 16, none on a CPU.")]
ChannelsLast = Annotated[bool, typer.Option("--channels-last", help="Use the channels-last memory layout.")]
Data = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE", help="Change the models' preprocessing: input_size, crop_pct, crop_mode, mean, ..."
    ),
]
OnlyPlan = Annotated[
    bool, typer.Option("--plan", help="Say what is done, missing, unknown or renamed, and stop there.")
]
Prefetch = Annotated[bool, typer.Option("--prefetch", help="Download the weights of what is missing, and stop there.")]
Offline = Annotated[bool, typer.Option("--offline", help="Download nothing; use the weights that are there.")]
DeleteWeights = Annotated[
    bool, typer.Option("--delete-weights", help="Delete a model's downloaded weights once it is predicted.")
]

_SHOWN = 40


def settings_given(
    *,
    device: str,
    precision: str,
    batch_size: int,
    workers: int | None,
    channels_last: bool,
    data: list[str] | None,
    register: list[Path] | None,
    offline: bool,
    delete_weights: bool,
) -> Settings:
    """Return the settings that the flags say.

    Raises
    ------
    InputError
        One of them cannot be.
    """
    from imagenet_errors.predict.settings import Settings, data_stated

    return Settings(
        device=device,
        precision=precision,
        batch_size=batch_size,
        workers=workers,
        channels_last=channels_last,
        data=data_stated(data or []),
        register=tuple(path.resolve() for path in register or ()),
        offline=offline,
        delete_weights=delete_weights,
    )


def folder_given(images: Path | None) -> Path:
    """Return the folder of images.

    Raises
    ------
    InputError
        None was given.
    """
    if images is None:
        raise InputError("--images", "is needed", fix="Pass the folder of images.")
    if sys.stderr.isatty():
        typer.echo("Reading and hashing the images ...", err=True)
    return images


def refuse_hopeless(plan: Plan) -> None:
    """Refuse a plan without a single model.

    Raises
    ------
    InputError
        No name stands for a model that can be predicted.
    """
    if plan.models:
        return
    if len(plan.unusable) == 1:
        raise plan.unusable[0].error
    reasons = "\n".join(f"  {unusable.error}" for unusable in plan.unusable)
    raise InputError("MODEL", f"none of the {counted(len(plan.unusable), 'name')} can be used:\n{reasons}")


def plan_view(plan: Plan, *, whole: bool) -> RenderableType:
    """Return what is done, what will be predicted and why, and what cannot be; cut short unless ``whole``."""
    from rich.console import Group
    from rich.markup import escape
    from rich.table import Table

    table = Table(show_edge=False, pad_edge=False)
    for column in ("model", "state", "remarks"):
        table.add_column(column)
    rows = [(each.name, "[red]cannot be used[/]", str(each.error)) for each in plan.unusable]
    for planned in plan.missing:
        failed = f"failed before: {planned.failed_before}" if planned.failed_before else ""
        remarks = "; ".join(part for part in (planned.why, planned.spec.note, failed) if part)
        rows.append((planned.spec.name, "[yellow]to predict[/]", remarks))
    rows += [(planned.spec.name, "[green]done[/]", planned.spec.note) for planned in plan.done]
    for name, state, remarks in rows if whole else rows[:_SHOWN]:
        table.add_row(escape(name), state, escape(remarks))
    more = "" if whole or len(rows) <= _SHOWN else f"... and {len(rows) - _SHOWN} more\n"
    sums = f"{len(plan.done)} done, {len(plan.missing)} to predict, {len(plan.unusable)} cannot be used"
    return Group(table, f"{more}{sums}")


def told(outcome: Outcome, number: int, n_models: int) -> None:
    """Print a line for a model that has just ended."""
    ending = f"{outcome.seconds:.1f} s" if outcome.content is not None else f"FAILED: {outcome.reason}"
    typer.echo(f"[{number}/{n_models}] {outcome.name}: {ending}", err=True)
