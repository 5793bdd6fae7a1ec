"""``imagenet-errors evaluate``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from imagenet_errors.cli import options
from imagenet_errors.cli.screen import console, progress
from imagenet_errors.problems import InputError

SOME_FAILED = 1
ROLES = ("name", "index", "label", "confidence", "scores")


def evaluate(
    predictions: options.Predictions = None,
    annotations: options.Annotations = "",
    out: options.Out = None,
    demo: Annotated[bool, typer.Option("--demo", help="Evaluate the shipped predictions, by ReaL labels.")] = False,
    oov_evidence: options.OovEvidence = None,
    non_prototypical: options.NonPrototypical = None,
    co_occurrence: options.CoOccurrence = None,
    superclasses: options.Superclasses = None,
    stage_order: options.StageOrder = "",
    allow_partial: options.AllowPartial = False,
    row_order: options.RowOrder = "",
    class_axis: options.ClassAxis = "",
    column: options.Columns = None,
    check_order: options.CheckOrder = True,
    as_json: options.AsJson = False,
) -> None:
    """Tell how bad each model's mistakes are: verdicts with reasons, distributions, accuracies."""
    from imagenet_errors.evaluate import Request
    from imagenet_errors.evaluate import evaluate as evaluate_request
    from imagenet_errors.inputs import Sources
    from imagenet_errors.readers.predictions import ReadRules
    from imagenet_errors.report.terminal import evaluation_view
    from imagenet_errors.runs.directory import summary_table
    from imagenet_errors.shipped import shipped

    if demo:
        predictions = [*(predictions or []), shipped("data", "demo")]
        annotations, allow_partial = annotations or "real", True
    request = Request(
        predictions=tuple(predictions or ()),
        sources=Sources.given(
            annotations,
            oov_evidence=oov_evidence,
            non_prototypical=tuple(non_prototypical or ()),
            co_occurrence=co_occurrence,
            superclasses=superclasses,
            stage_order=stage_order,
        ),
        out=needed(out),
        rules=ReadRules(
            row_order=row_order or None,
            class_axis=class_axis or None,
            columns=columns_stated(column or []),
            allow_partial=allow_partial,
            check_order=check_order,
        ),
        command=tuple(sys.argv),
    )
    evaluation = evaluate_request(request, progress=progress)
    if as_json:
        typer.echo(json.dumps(summary_table(evaluation.results).to_pylist(), indent=2))
    else:
        console().print(evaluation_view(evaluation, request.out))
    if evaluation.failures:
        raise typer.Exit(SOME_FAILED)


def needed(out: Path | None) -> Path:
    """Return the folder to write.

    Raises
    ------
    InputError
        None was given.
    """
    if out is None:
        raise InputError("--out", "is needed", fix="Pass the folder to write.")
    return out


def columns_stated(stated: list[str]) -> dict[str, str]:
    """Return role -> column name out of ``ROLE=NAME`` texts.

    Raises
    ------
    InputError
        A role is none of ROLES.
    """
    columns = dict(pair.partition("=")[::2] for pair in stated)
    for role, name in columns.items():
        if role not in ROLES or not name:
            raise InputError(
                "--column",
                f"cannot read {role}={name}",
                fix=f"Write ROLE=NAME, ROLE one of {', '.join(ROLES)}.",
            )
    return columns
