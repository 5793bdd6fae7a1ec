"""``imagenet-errors export``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from imagenet_errors.cli import options
from imagenet_errors.cli.screen import say, waiting


def export(
    run_dir: options.RunDir,
    /,
    *,
    to: Annotated[str, Parameter(help="csv, coco, cleanlab, fiftyone or wandb.", group=options.OUTPUT)],
    model: Annotated[
        tuple[str, ...],
        Parameter(
            help="Only this model; may be given several times.", group=options.INPUTS, show_default=False, negative=()
        ),
    ] = (),
    images: Annotated[
        Path | None, Parameter(help="Folder of the images: their places and sizes.", group=options.INPUTS)
    ] = None,
    out: options.Out = None,
) -> None:
    """Write a run for another tool: verdicts as CSV, COCO, cleanlab's issues, FiftyOne samples or a W&B table."""
    from imagenet_errors.export.rows import RunToExport
    from imagenet_errors.export.targets import export as export_run

    folder = options.needed(out, "--out", "the folder to write")
    with waiting(f"Writing for {to}"):
        exported = export_run(RunToExport(run_dir, tuple(dict.fromkeys(model)), images), to, folder)
    say(f"Written to {folder}: {', '.join(path.name for path in exported.files)}")
    say(exported.opened_by)
