"""``imagenet-errors evaluate``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from imagenet_errors.cli import options
from imagenet_errors.cli.options import SOME_FAILED, BasisOptions, EvidenceFiles, ReadingOptions
from imagenet_errors.cli.screen import complain, console, is_quiet, next_step, progress, remark, say, say_json
from imagenet_errors.problems import counted

if TYPE_CHECKING:
    from imagenet_errors.mistakes import Failure

_MOST_SKIPPED = 5
Demo = Annotated[bool, Parameter(help="Evaluate the shipped predictions.", group=options.INPUTS, negative=())]


def evaluate(
    *predictions: options.Predictions,
    basis: BasisOptions = options.AS_PUBLISHED,
    evidence: EvidenceFiles = options.NO_FILES,
    reading: ReadingOptions = options.READ_STRICTLY,
    demo: Demo = False,
    offline: options.Offline = False,
    jobs: options.Jobs = None,
    out: options.Out = None,
    as_json: options.AsJson = False,
) -> int:
    """Tell how bad each model's mistakes are: verdicts with reasons, distributions, accuracies."""
    from imagenet_errors.evaluation import evaluate as evaluate_files
    from imagenet_errors.readers.model_files import unread_files
    from imagenet_errors.report.terminal import evaluation_view
    from imagenet_errors.runs.manifest import is_run
    from imagenet_errors.shipped import shipped

    options.use_jobs(jobs)
    given = (*predictions, shipped("data", "demo")) if demo else predictions
    folder = options.out_or_default(out, given, alone="demo" if demo else "evaluation")
    replaces, skipped = is_run(folder), unread_files(given)
    evaluation = evaluate_files(
        given,
        basis.inputs(evidence, offline=offline),
        folder,
        rules=reading.rules(allow_partial=demo),
        command=tuple(sys.argv),
        progress=progress,
    )
    if as_json:
        written = {"out": str(folder), "replaced_a_run": replaces, "skipped": [str(path) for path in skipped]}
        say_json({**evaluation.as_json(), **written})
        return SOME_FAILED if evaluation.failures else 0
    console().print(evaluation_view(evaluation, folder))
    if skipped:
        names = ", ".join(path.name for path in skipped[:_MOST_SKIPPED])
        more = f" and {len(skipped) - _MOST_SKIPPED} more" if len(skipped) > _MOST_SKIPPED else ""
        remark(f"Skipped {counted(len(skipped), 'file')} of a kind that is not read from folders: {names}{more}.")
    end_of_run(evaluation.failures, folder, replaces=replaces)
    return SOME_FAILED if evaluation.failures else 0


def end_of_run(failures: Sequence[Failure], folder: Path, *, replaces: bool) -> None:
    """Say what failed where all else is quiet, that an earlier run was replaced, and what to look at."""
    if is_quiet():
        from imagenet_errors.mistakes import reasons

        for reason in reasons(failures):
            complain(f"Not evaluated: {reason}")
    if replaces:
        say(f"The earlier run in {folder} was replaced.")
    next_step("Look", "report", folder)
