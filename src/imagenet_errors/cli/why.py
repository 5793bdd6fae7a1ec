"""``imagenet-errors why``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from imagenet_errors.cli import options
from imagenet_errors.cli.screen import console


def why(
    run_dir: Annotated[Path, typer.Argument(help="The run directory.", show_default=False)],
    file_name: Annotated[str, typer.Argument(help="The image.", show_default=False)],
    model: Annotated[str, typer.Option(help="Only this model's prediction.", show_default=False)] = "",
    as_json: options.AsJson = False,
) -> None:
    """Walk one image's case through all stages: each one's answer, with its evidence."""
    from imagenet_errors.report.terminal import walk_view
    from imagenet_errors.why import why as walks_of

    walks = walks_of(run_dir, file_name, model=model or None)
    if as_json:
        typer.echo(json.dumps([walk.as_json() for walk in walks], indent=2, ensure_ascii=False))
        return
    for walk in walks:
        console().print(walk_view(walk))
