"""``imagenet-errors evidence``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from imagenet_errors.cli import options
from imagenet_errors.cli.screen import console, progress
from imagenet_errors.problems import InputError

SOME_FAILED = 1


def evidence(
    predictions: options.Predictions = None,
    images: Annotated[
        Path | None,
        typer.Option(help="The evaluated images, in class folders or flat.", show_default=False),
    ] = None,
    train_images: Annotated[
        Path | None,
        typer.Option(help="The training images, in class folders: embedded once.", show_default=False),
    ] = None,
    train_embeddings: Annotated[
        Path | None,
        typer.Option(help="Instead: train_clip_embeddings.npz, or a folder of shards.", show_default=False),
    ] = None,
    neighbours: Annotated[
        Path | None,
        typer.Option(
            help="Instead: valid_clip_knn.npz, or a table of file_name, neighbour_classes.", show_default=False
        ),
    ] = None,
    samples: Annotated[
        Path | None,
        typer.Option(help="The samples_info.npz of valid_clip_knn.npz, if not beside it.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The evidence table (.parquet): added to.", show_default=False)
    ] = None,
    annotations: options.Annotations = "real",
    plan: Annotated[bool, typer.Option("--plan", help="Say what there is to do, and stop.")] = False,
    clip_model: Annotated[
        str, typer.Option(help="Any open_clip model, or a JSON file with a configuration.")
    ] = "ViT-L-14-336-quickgelu",
    clip_weights: Annotated[
        str, typer.Option(help="A pretrained tag, a checkpoint file, or random:SEED for a trial.")
    ] = "openai",
    device: Annotated[str, typer.Option(help="auto, cuda, mps or cpu.")] = "auto",
    batch_size: Annotated[
        int | None, typer.Option(help="Images at once; by itself if not given.", min=1, show_default=False)
    ] = None,
    workers: Annotated[int, typer.Option(help="Threads that read images.", min=1)] = 4,
    engine: Annotated[str, typer.Option(help="local, or ray: a task a shard of training images.")] = "local",
    work: Annotated[
        Path | None,
        typer.Option(help="Folder that keeps embeddings; beside --out if not given.", show_default=False),
    ] = None,
    redo: Annotated[bool, typer.Option("--redo", help="Begin the table anew; embeddings are kept.")] = False,
    non_prototypical: options.NonPrototypical = None,
    co_occurrence: options.CoOccurrence = None,
    superclasses: options.Superclasses = None,
    stage_order: options.StageOrder = "",
    row_order: options.RowOrder = "",
    class_axis: options.ClassAxis = "",
    column: options.Columns = None,
    check_order: options.CheckOrder = True,
    as_json: options.AsJson = False,
) -> None:
    """Find out-of-vocabulary evidence for every mistake that needs it: CLIP, WordNet, neighbours; once a case."""
    from imagenet_errors.cli.evaluate import columns_stated
    from imagenet_errors.cli.meter import meter
    from imagenet_errors.inputs import Sources
    from imagenet_errors.oov.build import build, done_lines
    from imagenet_errors.oov.clip import EncoderSpec
    from imagenet_errors.oov.plan import make_plan
    from imagenet_errors.oov.request import OovRequest, PoolChoice
    from imagenet_errors.readers.predictions import ReadRules

    request = OovRequest(
        predictions=tuple(predictions or ()),
        sources=Sources.given(
            annotations,
            non_prototypical=tuple(non_prototypical or ()),
            co_occurrence=co_occurrence,
            superclasses=superclasses,
            stage_order=stage_order,
        ),
        images=_needed(images, "--images", "the folder of the evaluated images"),
        pool=PoolChoice(train_images, train_embeddings, neighbours, samples),
        out=_needed(out, "--out", "the table to write"),
        encoder=EncoderSpec(clip_model, clip_weights, device, batch_size, workers),
        work=work,
        engine=engine,
        redo=redo,
        rules=ReadRules(
            row_order=row_order or None,
            class_axis=class_axis or None,
            columns=columns_stated(column or []),
            allow_partial=True,
            check_order=check_order,
        ),
    )
    planned = make_plan(request, progress=progress)
    if not as_json:
        for line in planned.lines():
            console().print(line, soft_wrap=True, markup=False)
    if plan:
        if as_json:
            typer.echo(json.dumps(planned.as_json(), indent=2))
        return
    outcome = build(planned, meter=meter)
    if as_json:
        typer.echo(json.dumps({**planned.as_json(), **outcome.as_json()}, indent=2))
    else:
        for line in done_lines(outcome, planned):
            console().print(line, soft_wrap=True, markup=False)
    if outcome.n_failures:
        raise typer.Exit(SOME_FAILED)


def _needed(path: Path | None, option: str, what: str) -> Path:
    if path is None:
        raise InputError(option, "is needed", fix=f"Pass {what}.")
    return path
