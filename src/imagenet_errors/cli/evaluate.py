"""``imagenet-errors evaluate``."""

from __future__ import annotations

import sys
from typing import Annotated

from cyclopts import Parameter

from imagenet_errors.cli import options
from imagenet_errors.cli.options import SOME_FAILED, BasisOptions, EvidenceFiles, ReadingOptions
from imagenet_errors.cli.screen import console, progress, say_json

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
    from imagenet_errors.report.terminal import evaluation_view
    from imagenet_errors.shipped import shipped

    options.use_jobs(jobs)
    given = (*predictions, shipped("data", "demo")) if demo else predictions
    folder = options.out_or_default(out, given, alone="demo" if demo else "evaluation")
    evaluation = evaluate_files(
        given,
        basis.inputs(evidence, offline=offline),
        folder,
        rules=reading.rules(allow_partial=demo),
        command=tuple(sys.argv),
        progress=progress,
    )
    if as_json:
        say_json({**evaluation.as_json(), "out": str(folder)})
    else:
        console().print(evaluation_view(evaluation, folder))
    return SOME_FAILED if evaluation.failures else 0
