"""What ``predict`` and ``batch`` have in common: their options, the plan on screen, and a line for each model."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from imagenet_errors.cli.options import COMPUTING, INPUTS, needed
from imagenet_errors.cli.screen import remark
from imagenet_errors.downloads import is_offline
from imagenet_errors.problems import InputError, counted

if TYPE_CHECKING:
    from rich.console import RenderableType

    from imagenet_errors.predict.job import ModelOutcome
    from imagenet_errors.predict.plan import PredictionPlan
    from imagenet_errors.predict.settings import Settings

Models = Annotated[
    str,
    Parameter(help="timm models: names, wildcards in quotes, files with a name a line, NAME=CHECKPOINT.", group=INPUTS),
]
"""One of any number of arguments."""
Images = Annotated[
    Path | None, Parameter(help="The folder of images, subfolders included. Needed.", group=INPUTS, show_default=False)
]
Checkpoint = Annotated[Path | None, Parameter(help="Weights of the one model named, instead of timm's.", group=INPUTS)]
OnlyPlan = Annotated[
    bool, Parameter(help="Say what is done, missing, unknown or renamed, and stop there.", negative=())
]

_SHOWN = 40


@Parameter(name="*", group=COMPUTING)
@dataclass(frozen=True, kw_only=True)
class Computing:
    """How models are loaded and run."""

    device: Annotated[str, Parameter(help="auto, cpu, cuda, cuda:1, mps.")] = "auto"
    precision: Annotated[str, Parameter(help="float32, or bfloat16 or float16 (automatic mixed precision).")] = (
        "float32"
    )
    batch_size: Annotated[int, Parameter(help="Images at a time; halved when memory runs out.")] = 256
    workers: Annotated[
        int | None,
        Parameter(help="Processes that decode images; by default up to 16, a quarter of the cores on a CPU."),
    ] = None
    channels_last: Annotated[bool, Parameter(help="Use the channels-last memory layout.", negative=())] = False
    data: Annotated[
        tuple[str, ...],
        Parameter(
            help="KEY=VALUE: change the models' preprocessing: input_size, crop_pct, crop_mode, mean, ...",
            show_default=False,
            negative=(),
        ),
    ] = ()
    test_size: Annotated[
        bool,
        Parameter(
            help="Use each model's test size and crop, as timm's tables do, instead of those of its training.",
            negative=(),
        ),
    ] = False
    register: Annotated[
        tuple[Path, ...],
        Parameter(
            help="A Python file that registers models of your own with timm; it is run as code. May be given "
            "several times.",
            show_default=False,
            negative=(),
        ),
    ] = ()
    offline: Annotated[bool, Parameter(help="Download nothing; use the weights that are there.", negative=())] = False
    delete_weights: Annotated[
        bool, Parameter(help="Delete a model's downloaded weights once it is predicted.", negative=())
    ] = False

    def settings(self) -> Settings:
        """Return what the library takes.

        Raises
        ------
        InputError
            One of them cannot be.
        """
        from imagenet_errors.predict.settings import Settings, data_stated

        return Settings(
            device=self.device,
            precision=self.precision,
            batch_size=self.batch_size,
            workers=self.workers,
            channels_last=self.channels_last,
            data=data_stated(list(self.data)),
            register=tuple(path.resolve() for path in self.register),
            offline=self.offline or is_offline(),
            delete_weights=self.delete_weights,
            test_size=self.test_size,
        )


BY_DEFAULT = Computing()


def folder_given(images: Path | None) -> Path:
    """Return the folder of images, and say that reading it may take a while.

    Raises
    ------
    InputError
        None was given.
    """
    folder = needed(images, "--images", "the folder of images")
    if sys.stderr.isatty():
        remark("Reading and hashing the images ...")
    return folder


def refuse_hopeless(plan: PredictionPlan) -> None:
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


def plan_view(plan: PredictionPlan, *, whole: bool) -> RenderableType:
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


def outcome_line(outcome: ModelOutcome, number: int, n_models: int) -> None:
    """Print a line for a model that has just ended."""
    ending = f"{outcome.seconds:.1f} s" if outcome.content is not None else f"FAILED: {outcome.reason}"
    remark(f"[{number}/{n_models}] {outcome.name}: {ending}")
