"""``imagenet-errors why``."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from imagenet_errors.cli import options
from imagenet_errors.cli.screen import console, say_json


def why(
    run_dir: options.RunDir,
    file_name: Annotated[str, Parameter(help="The image, however its name is written.", group=options.INPUTS)],
    /,
    *,
    model: Annotated[str, Parameter(help="Only this model's prediction.", group=options.INPUTS)] = "",
    as_json: options.AsJson = False,
) -> None:
    """Walk one image's case through all stages: each one's answer, with its evidence."""
    from imagenet_errors.report.terminal import walk_view
    from imagenet_errors.why import why as paths_of

    paths = paths_of(run_dir, file_name, model=model or None)
    if as_json:
        say_json([path.as_json() for path in paths])
        return
    for path in paths:
        console().print(walk_view(path))
