"""Weights & Biases: an offline run with a table of the errors and the figures; ``wandb sync`` sends it when you wish.

Source: wandb, ``wandb.init(mode="offline")`` and ``wandb.Table``.
"""

from __future__ import annotations

from pathlib import Path

from imagenet_errors.export.rows import ModelRows, RunToExport
from imagenet_errors.runs.directory import SUMMARY, read_run_table
from imagenet_errors.shipped import needs

OPEN = "Send it: wandb sync {out}/offline-run-*"
COLUMNS = ("file_name", "target_name", "prediction_name", "confidence", "error_type", "explanation")
_FIGURES = ("n_evaluated", "top1_accuracy", "mla", "mla_minor", "mla_explained")


def write(run: RunToExport, folder: Path) -> None:
    """Write an offline run a model: its errors as a table, its figures as the summary.

    Raises
    ------
    InputError
        wandb is not installed.
    """
    wandb = needs("wandb", extra="wandb")
    figures = {
        row["model"]: row
        for row in read_run_table(run.folder / "summary.parquet", SUMMARY, needed=("model", *_FIGURES)).to_pylist()
    }
    for rows in run.rows():
        tracked = wandb.init(
            project="imagenet-errors",
            name=rows.model,
            mode="offline",
            dir=str(folder),
            config={"annotations": Path(run.manifest().annotations).name},
            settings=wandb.Settings(silent=True, console="off", disable_git=True, save_code=False),
        )
        table = wandb.Table(columns=list(COLUMNS), data=_errors(rows))
        tracked.log({"errors": table})
        tracked.summary.update({name: figures[rows.model][name] for name in _FIGURES})
        tracked.finish()
    _flatten(folder)


def _errors(rows: ModelRows) -> list[list[object]]:
    texts = {name: rows.texts(name) for name in COLUMNS if name != "confidence"}
    columns = [texts.get(name, rows.confidences()) for name in COLUMNS]
    wrong = [kind != "correct" for kind in texts["error_type"]]
    return [list(row) for row, is_error in zip(zip(*columns, strict=True), wrong, strict=True) if is_error]


def _flatten(folder: Path) -> None:
    """Put the offline runs themselves into the folder; links and logs beside them name the place they were made in."""
    for run in sorted((folder / "wandb").glob("offline-run-*")):
        run.rename(folder / run.name)
    for left in sorted((folder / "wandb").rglob("*"), reverse=True):
        left.rmdir() if left.is_dir() and not left.is_symlink() else left.unlink()
    (folder / "wandb").rmdir()
