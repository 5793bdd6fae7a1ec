"""``imagenet-errors batch``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from imagenet_errors.cli import options, predicting
from imagenet_errors.cli.evaluate import SOME_FAILED, needed
from imagenet_errors.cli.screen import console, progress
from imagenet_errors.problems import InputError

if TYPE_CHECKING:
    from imagenet_errors.batch import BatchResult
    from imagenet_errors.predict.plan import Engine, Plan

ENGINES = ("local", "ray")

EngineName = Annotated[str, typer.Option("--engine", help="local: one model after the other; ray: a cluster.")]
RayAddress = Annotated[
    str, typer.Option(help="A running cluster, such as auto; by default RAY_ADDRESS, else this machine.")
]
GpuShare = Annotated[
    float | None, typer.Option(help="Share of a GPU for each model, with ray; 0.5: two at once on each.")
]
Cpus = Annotated[float | None, typer.Option("--cpus-per-model", help="Cores for each model, with ray.")]


def batch(
    models: predicting.Models = None,
    images: predicting.Images = None,
    annotations: options.Annotations = "",
    out: options.Out = None,
    checkpoint: predicting.Checkpoint = None,
    engine: EngineName = "local",
    ray_address: RayAddress = "",
    gpu_share: GpuShare = None,
    cpus_per_model: Cpus = None,
    device: predicting.Device = "auto",
    precision: predicting.Precision = "float32",
    batch_size: predicting.BatchSize = 256,
    workers: predicting.Workers = None,
    channels_last: predicting.ChannelsLast = False,
    data: predicting.Data = None,
    register: predicting.Register = None,
    plan: predicting.OnlyPlan = False,
    prefetch: predicting.Prefetch = False,
    offline: predicting.Offline = False,
    delete_weights: predicting.DeleteWeights = False,
    oov_evidence: options.OovEvidence = None,
    non_prototypical: options.NonPrototypical = None,
    co_occurrence: options.CoOccurrence = None,
    superclasses: options.Superclasses = None,
    stage_order: options.StageOrder = "",
    allow_partial: options.AllowPartial = False,
) -> None:
    """Predict with many timm models and evaluate them all; the same command goes on where it was interrupted."""
    from imagenet_errors.batch import BatchRequest, check_coverage, run_batch
    from imagenet_errors.inputs import Sources
    from imagenet_errors.predict.images import read_folder
    from imagenet_errors.predict.job import PredictModel
    from imagenet_errors.predict.names import resolve
    from imagenet_errors.predict.plan import make_plan

    settings = predicting.settings_given(
        device=device,
        precision=precision,
        batch_size=batch_size,
        workers=workers,
        channels_last=channels_last,
        data=data,
        register=register,
        offline=offline,
        delete_weights=delete_weights,
    )
    sources = Sources.given(
        annotations,
        oov_evidence=oov_evidence,
        non_prototypical=tuple(non_prototypical or ()),
        co_occurrence=co_occurrence,
        superclasses=superclasses,
        stage_order=stage_order,
    )
    request = BatchRequest(sources, needed(out), allow_partial=allow_partial, command=tuple(sys.argv))
    chosen = engine_named(engine, address=ray_address, gpu_share=gpu_share, cpus=cpus_per_model)
    resolution = resolve(models or [], checkpoint=checkpoint, register=settings.register)
    folder = read_folder(predicting.folder_given(images))
    check_coverage(folder, request)
    work = PredictModel(folder, settings)
    planned = make_plan(resolution, request.folder, work=work)
    predicting.refuse_hopeless(planned)
    console().print(predicting.plan_view(planned, whole=plan))
    if plan or prefetch:
        n_failed = len(planned.unusable) + (_fetch(planned) if prefetch and not plan else 0)
        raise typer.Exit(SOME_FAILED if n_failed else 0)
    _end(run_batch(planned, request, engine=chosen, work=work, tell=predicting.told, progress=progress), request)


def engine_named(name: str, **ray_options: Any) -> Engine:
    """Return the engine of that name.

    Raises
    ------
    InputError
        There is none of that name.
    """
    if name == "local":
        from imagenet_errors.predict.local import LocalEngine

        return LocalEngine()
    if name == "ray":
        from imagenet_errors.predict.ray_cluster import RayEngine

        return RayEngine(**ray_options)
    raise InputError("--engine", f"no engine {name!r}", fix=f"Known: {', '.join(ENGINES)}.")


def _fetch(plan: Plan) -> int:
    """Download what is missing, say what came of it, and return how many failed."""
    from imagenet_errors.batch import prefetch

    n_failed = 0
    for number, (spec, error) in enumerate(prefetch(plan), start=1):
        typer.echo(f"[{number}/{len(plan.missing)}] {spec.name}: {error or 'weights are here'}", err=True)
        n_failed += error is not None
    return n_failed


def _end(result: BatchResult, request: Any) -> None:
    from imagenet_errors.report.terminal import evaluation_view

    if result.evaluation is not None:
        console().print(evaluation_view(result.evaluation, request.out))
    else:
        for failure in result.failures:
            typer.echo(f"{failure.model}: {failure.reason}", err=True)
    if result.failures:
        raise typer.Exit(SOME_FAILED)
