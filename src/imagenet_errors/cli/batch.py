"""``imagenet-errors batch``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from imagenet_errors.cli import options, predicting
from imagenet_errors.cli.evaluate import end_of_run
from imagenet_errors.cli.options import COMPUTING, SOME_FAILED, BasisOptions, EvidenceFiles
from imagenet_errors.cli.predicting import Computing
from imagenet_errors.cli.screen import console, progress, remark
from imagenet_errors.problems import InputError

if TYPE_CHECKING:
    from imagenet_errors.batch import BatchResult
    from imagenet_errors.predict.plan import Engine, PredictionPlan

ENGINES = ("local", "ray")


def batch(
    *models: predicting.Models,
    images: predicting.Images = None,
    checkpoint: predicting.Checkpoint = None,
    mask_classes: options.MaskClasses = False,
    basis: BasisOptions = options.AS_PUBLISHED,
    evidence: EvidenceFiles = options.NO_FILES,
    allow_partial: Annotated[
        bool, Parameter(help="Evaluate just the images that the folder has.", group=options.INPUTS, negative=())
    ] = False,
    computing: Computing = predicting.BY_DEFAULT,
    engine: Annotated[
        str, Parameter(help="local: one model after the other; ray: a cluster.", group=COMPUTING)
    ] = "local",
    ray_address: Annotated[
        str,
        Parameter(help="A running cluster, such as auto; by default RAY_ADDRESS, else this machine.", group=COMPUTING),
    ] = "",
    gpu_share: Annotated[
        float | None, Parameter(help="Share of a GPU for each model, with ray; 0.5: two at once.", group=COMPUTING)
    ] = None,
    cpus_per_model: Annotated[float | None, Parameter(help="Cores for each model, with ray.", group=COMPUTING)] = None,
    plan: predicting.OnlyPlan = False,
    prefetch: Annotated[
        bool, Parameter(help="Download the weights of what is missing, and stop there.", negative=())
    ] = False,
    out: options.Out = None,
) -> int:
    """Predict with many timm models and evaluate them all; the same command goes on where it was interrupted."""
    from imagenet_errors.batch import BatchRequest, check_coverage, run_batch
    from imagenet_errors.image_folder import read_folder
    from imagenet_errors.predict.job import PredictModel
    from imagenet_errors.predict.names import resolve
    from imagenet_errors.predict.plan import make_plan

    settings = computing.settings()
    folder = options.out_or_default(out, (), alone="batch")
    request = BatchRequest(
        basis.inputs(evidence, offline=settings.offline), folder, allow_partial=allow_partial, command=tuple(sys.argv)
    )
    chosen = engine_named(engine, address=ray_address, gpu_share=gpu_share, cpus=cpus_per_model)
    resolution = resolve(list(models), checkpoint=checkpoint, register=settings.register)
    listing = read_folder(predicting.folder_given(images))
    labels = check_coverage(listing, request)
    work = PredictModel(listing, settings.masked_to(labels) if mask_classes else settings, labels)
    planned = make_plan(resolution, request.folder, work=work)
    predicting.refuse_hopeless(planned)
    console().print(predicting.plan_view(planned, whole=plan))
    remark(settings.preprocessing)
    remark(f"Classes: {work.class_rule}.")
    if plan or prefetch:
        n_failed = len(planned.unusable) + (_fetch(planned) if prefetch and not plan else 0)
        return SOME_FAILED if n_failed else 0
    tell = predicting.outcome_line
    return _end(run_batch(planned, request, engine=chosen, work=work, tell=tell, progress=progress), request)


def engine_named(name: str, **ray_options: Any) -> Engine:
    """Return the engine of that name.

    Raises
    ------
    InputError
        There is none of that name.
    """
    if name == "local":
        from imagenet_errors.predict.engines import LocalEngine

        return LocalEngine()
    if name == "ray":
        from imagenet_errors.predict.engines import RayEngine

        return RayEngine(**ray_options)
    raise InputError("--engine", f"no engine {name!r}", fix=f"Known: {', '.join(ENGINES)}.")


def _fetch(plan: PredictionPlan) -> int:
    """Download what is missing, say what came of it, and return how many failed."""
    from imagenet_errors.batch import prefetch

    n_failed = 0
    for number, (spec, error) in enumerate(prefetch(plan), start=1):
        remark(f"[{number}/{len(plan.missing)}] {spec.name}: {error or 'weights are here'}")
        n_failed += error is not None
    return n_failed


def _end(result: BatchResult, request: Any) -> int:
    from imagenet_errors.report.terminal import evaluation_view

    if result.evaluation is not None:
        console().print(evaluation_view(result.evaluation, request.out))
        end_of_run(result.evaluation.failures, request.out, replaces=False)
    else:
        for failure in result.failures:
            remark(f"{failure.model}: {failure.reason}")
    return SOME_FAILED if result.failures else 0
