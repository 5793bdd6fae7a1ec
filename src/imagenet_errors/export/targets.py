"""The tools that a run can be exported to, each declared in its file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from imagenet_errors.export.rows import RunToExport
from imagenet_errors.files import writing_folder
from imagenet_errors.problems import InputError

TARGETS = {
    "csv": "comma_separated",
    "coco": "coco",
    "cleanlab": "issues",
    "fiftyone": "samples",
    "wandb": "tracker",
}
"""Target -> the file of this room that has its ``write(run, folder)`` and ``OPEN``, how the result is opened."""


@dataclass(frozen=True)
class Exported:
    """What was written, and how it is opened."""

    out: Path
    files: tuple[Path, ...]
    opened_by: str


def export(run: RunToExport, to: str, out: Path) -> Exported:
    """Write a run for another tool into a folder; nothing is left half-written.

    Raises
    ------
    InputError
        There is no such target, the run lacks something, a library is missing, or the folder cannot be written to.
    """
    if to not in TARGETS:
        raise InputError("--to", f"no target {to!r}", fix=f"Known: {', '.join(TARGETS)}.")
    target = import_module(f"imagenet_errors.export.{TARGETS[to]}")
    write: Callable[[RunToExport, Path], None] = target.write
    run.manifest()
    with writing_folder(out) as folder:
        write(run, folder)
        names = sorted(path.name for path in folder.iterdir())
    return Exported(out, tuple(out / name for name in names), str(target.OPEN).format(out=out))
