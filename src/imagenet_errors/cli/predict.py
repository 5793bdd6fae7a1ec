"""``imagenet-errors predict``."""

from __future__ import annotations

import typer

from imagenet_errors.cli import options, predicting
from imagenet_errors.cli.evaluate import SOME_FAILED, needed
from imagenet_errors.cli.screen import console


def predict(
    models: predicting.Models = None,
    images: predicting.Images = None,
    out: options.Out = None,
    checkpoint: predicting.Checkpoint = None,
    device: predicting.Device = "auto",
    precision: predicting.Precision = "float32",
    batch_size: predicting.BatchSize = 256,
    workers: predicting.Workers = None,
    channels_last: predicting.ChannelsLast = False,
    data: predicting.Data = None,
    register: predicting.Register = None,
    plan: predicting.OnlyPlan = False,
    offline: predicting.Offline = False,
    delete_weights: predicting.DeleteWeights = False,
) -> None:
    """Predict a folder of images with timm models: one Parquet file each, with all that made it."""
    from imagenet_errors.predict.images import read_folder
    from imagenet_errors.predict.job import PredictModel
    from imagenet_errors.predict.local import LocalEngine
    from imagenet_errors.predict.names import resolve
    from imagenet_errors.predict.plan import make_plan, predict_missing

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
    folder = needed(out)
    resolution = resolve(models or [], checkpoint=checkpoint, register=settings.register)
    work = PredictModel(read_folder(predicting.folder_given(images)), settings)
    planned = make_plan(resolution, folder, work=work)
    predicting.refuse_hopeless(planned)
    console().print(predicting.plan_view(planned, whole=plan))
    n_failed = len(planned.unusable)
    if not plan:
        outcomes = predict_missing(planned, folder, engine=LocalEngine(), work=work)
        for number, outcome in enumerate(outcomes, start=1):
            predicting.told(outcome, number, len(planned.missing))
            n_failed += outcome.content is None
    if n_failed:
        raise typer.Exit(SOME_FAILED)
