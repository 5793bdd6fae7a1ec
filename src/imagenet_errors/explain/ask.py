"""``explain``: from a run directory and a model to a table of explanations, resumed where it was interrupted."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from imagenet_errors.explain.classifier import load_classifier
from imagenet_errors.explain.heads import HeadStudy, compare_head_maps, study_heads
from imagenet_errors.explain.job import Asked, Explained, ExplainShard, Method, Tell, explain_all
from imagenet_errors.explain.locate import Locate
from imagenet_errors.explain.maps import Maps
from imagenet_errors.explain.questions import ErrorChoice, choose_questions, judge_by, name_in_run
from imagenet_errors.explain.ratings import read_ratings, with_images
from imagenet_errors.explain.stability import Stability
from imagenet_errors.explain.sufficiency import SufficientSubsets
from imagenet_errors.files import written_whole
from imagenet_errors.inputs import load_basis
from imagenet_errors.predict.names import ModelSpec, resolve
from imagenet_errors.predict.plan import Engine
from imagenet_errors.predict.settings import Settings
from imagenet_errors.problems import InputError
from imagenet_errors.runs.manifest import Manifest, read_manifest

METHODS: dict[str, Callable[[], Method]] = {
    method.name: method for method in (Locate, SufficientSubsets, Maps, Stability)
}
"""The ways to explain by name, the default first; each as it is unless it is asked otherwise."""
FOLDER = "explanations"
"""Where in the run directory they lie, unless another place is named: ``<method>/<model>.parquet``."""


@dataclass(frozen=True)
class ExplainRequest:
    """What to explain and how; ``out`` None: in the run directory.

    ``model``, ``also`` and ``members`` are names as ``predict`` takes them. ``run_model``: what the run calls the
    model, where its predictions came from elsewhere under another name.
    """

    run: Path
    model: str
    images: Path
    method: Method = field(default_factory=Locate)
    choice: ErrorChoice = field(default_factory=ErrorChoice)
    also: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    input_dropout: float = 1.0
    compiled: bool = False
    run_model: str = ""
    out: Path | None = None
    settings: Settings = field(default_factory=Settings)


def explain(request: ExplainRequest, *, engine: Engine, tell: Tell) -> Explained:
    """Explain and write the table.

    Raises
    ------
    InputError
        The run, a model, the images or what the run was judged by cannot be used; nothing is written then.
    """
    manifest = read_manifest(request.run)
    model = _spec(request.model, request.settings)
    name = name_in_run(list(manifest.models), model.name, request.model, stated=request.run_model)
    asked = Asked(
        model,
        members=tuple(_spec(given, request.settings) for given in request.members),
        also=tuple(_spec(given, request.settings) for given in request.also),
        input_dropout=request.input_dropout,
        dataset=manifest.dataset,
        classes=manifest.as_inputs().classes,
        compiled=request.compiled,
    )
    questions = choose_questions(request.run, name, request.images, request.choice)
    judge = judge_by(load_basis(manifest.as_inputs()))
    settings = _as_in_the_run(_for_a_worker(request.settings), manifest, request.run, name)
    work = ExplainShard(asked, request.images.resolve(), request.method, settings)
    out = (request.out or request.run / FOLDER) / request.method.name / f"{name}.parquet"
    return explain_all(work, questions, out, engine=engine, judge=judge, tell=tell)


def _spec(given: str, settings: Settings) -> ModelSpec:
    """Return the one model that a name stands for."""
    found = resolve([given], register=settings.register)
    if found.unusable:
        raise found.unusable[0].error
    if len(found.models) != 1:
        raise InputError("--model", f"{given!r} stands for {len(found.models)} models", fix="Name one.")
    return replace(found.models[0], note="")


@dataclass(frozen=True)
class RatingsStudy:
    """What heads on frozen features make of people's ratings: the figures, and how alike the heads' maps are."""

    heads: HeadStudy
    maps: list[dict[str, Any]]
    path: Path


def explain_ratings(request: ExplainRequest, ratings_file: Path, *, n_maps: int) -> RatingsStudy:
    """Fit heads on the features of the model and of ``also``, and write ``ratings/<model>.json``.

    ``n_maps``: items whose maps are compared, spread evenly over those that raters disagree on.

    Raises
    ------
    InputError
        The ratings, a model or the images cannot be used.
    """
    ratings, paths = with_images(read_ratings(ratings_file), request.images)
    specs = [_spec(given, request.settings) for given in (request.model, *request.also)]
    labels = read_manifest(request.run).as_inputs().data_set.labels
    classifiers = [load_classifier(spec, request.settings, labels) for spec in specs]
    heads = study_heads(ratings, paths, classifiers)
    split = np.flatnonzero((ratings.share > 0) & (ratings.share < 1))
    items = split[np.linspace(0, len(split) - 1, min(n_maps, len(split))).astype(np.int64)] if len(split) else split
    maps = compare_head_maps(ratings, paths, classifiers, items=items.tolist()) if len(items) else []
    path = (request.out or request.run / FOLDER) / "ratings" / f"{specs[0].name}.json"
    content = {"ratings": str(ratings_file), **heads.__dict__, "maps": maps}
    with written_whole(path) as unfinished:
        unfinished.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return RatingsStudy(heads, maps, path)


def _as_in_the_run(settings: Settings, manifest: Manifest, run: Path, model: str) -> Settings:
    """Return the settings with the classes that the run's model chose from: all, or those that occur alone.

    Raises
    ------
    InputError
        The run is of an earlier version, and some of its models chose so and some otherwise.
    """
    if manifest.masked_models is None:
        fix = "Evaluate the model's predictions alone, and explain that run."
        raise InputError(run, f"its models chose from different classes ({manifest.class_rule})", fix=fix)
    return settings.masked_to(manifest.as_inputs().data_set.labels) if model in manifest.masked_models else settings


def _for_a_worker(settings: Settings) -> Settings:
    return replace(settings, delete_weights=False)
