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
    shown: options.DatasetOptions = options.OF_IMAGENET,
    mask_classes: options.MaskClasses = False,
    computing: Computing = predicting.BY_DEFAULT,
    plan: predicting.OnlyPlan = False,
    out: options.Out = None,
) -> int:
    """Predict a folder of images with timm models: one Parquet file each, with all that made it."""
    from imagenet_errors.datasets import load_dataset
    from imagenet_errors.image_folder import read_folder
    from imagenet_errors.predict.engines import LocalEngine
    from imagenet_errors.predict.job import PredictModel
    from imagenet_errors.predict.names import resolve
    from imagenet_errors.predict.plan import make_plan, predict_missing

    settings = computing.settings()
    data_set = load_dataset(shown.dataset, shown.classes)
    if mask_classes:
        settings = settings.masked_to(data_set.maskable)
    folder = needed(out, "--out", "the folder to write")
    resolution = resolve(list(models), checkpoint=checkpoint, register=settings.register)
    work = PredictModel(read_folder(predicting.folder_given(images)), settings, data_set.labels)
    planned = make_plan(resolution, folder, work=work)
    predicting.refuse_hopeless(planned)
    console().print(predicting.plan_view(planned, whole=plan))
    remark(settings.preprocessing)
    remark(f"Classes: {work.class_rule}.")
    n_failed = len(planned.unusable)
    if not plan:
        outcomes = predict_missing(planned, folder, engine=LocalEngine(), work=work)
        for number, outcome in enumerate(outcomes, start=1):
            predicting.outcome_line(outcome, number, len(planned.missing))
            n_failed += outcome.content is None
        next_step("Next", "evaluate", folder, *shown.as_arguments())
    return SOME_FAILED if n_failed else 0
