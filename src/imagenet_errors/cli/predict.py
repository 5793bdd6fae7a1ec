"""``imagenet-errors predict``."""

from __future__ import annotations

from imagenet_errors.cli import options, predicting
from imagenet_errors.cli.options import SOME_FAILED, needed
from imagenet_errors.cli.predicting import Computing
from imagenet_errors.cli.screen import console, next_step, remark


def predict(
    *models: predicting.Models,
    images: predicting.Images = None,
    checkpoint: predicting.Checkpoint = None,
    computing: Computing = predicting.BY_DEFAULT,
    plan: predicting.OnlyPlan = False,
    out: options.Out = None,
) -> int:
    """Predict a folder of images with timm models: one Parquet file each, with all that made it."""
    from imagenet_errors.image_folder import read_folder
    from imagenet_errors.predict.engines import LocalEngine
    from imagenet_errors.predict.job import PredictModel
    from imagenet_errors.predict.names import resolve
    from imagenet_errors.predict.plan import make_plan, predict_missing

    settings = computing.settings()
    folder = needed(out, "--out", "the folder to write")
    resolution = resolve(list(models), checkpoint=checkpoint, register=settings.register)
    work = PredictModel(read_folder(predicting.folder_given(images)), settings)
    planned = make_plan(resolution, folder, work=work)
    predicting.refuse_hopeless(planned)
    console().print(predicting.plan_view(planned, whole=plan))
    remark(settings.preprocessing)
    n_failed = len(planned.unusable)
    if not plan:
        outcomes = predict_missing(planned, folder, engine=LocalEngine(), work=work)
        for number, outcome in enumerate(outcomes, start=1):
            predicting.outcome_line(outcome, number, len(planned.missing))
            n_failed += outcome.content is None
        next_step("Next", "evaluate", folder)
    return SOME_FAILED if n_failed else 0
