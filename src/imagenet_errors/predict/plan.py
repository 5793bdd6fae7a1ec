"""What is to be predicted, what is done already, and what cannot be; then predicting what is missing.

One folder holds ``<model>.parquet`` for each model done, and ``failures/<model>.json`` for each that failed or was
running when the program ended; a file is written under a temporary name first, so one that is there is whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from imagenet_errors.files import written_whole
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.predict.job import Outcome, PredictModel, wanted_facts
from imagenet_errors.predict.names import ModelSpec, Resolution, Unusable
from imagenet_errors.predict.networks import check_head, config_of
from imagenet_errors.predict.table import why_not_done
from imagenet_errors.predict.weights import go_offline, refuse_unfetched
from imagenet_errors.problems import InputError

FAILURES = "failures"
UNFINISHED = "it was running when the program ended; models that kill the program are left for last"


class Engine(Protocol):
    """Where the models run; see :mod:`imagenet_errors.engines`."""

    def check(self, work: PredictModel) -> None:
        """Refuse what cannot work, before the first model."""
        ...

    def run(self, work: PredictModel, specs: Iterable[ModelSpec], n_specs: int) -> Iterator[Outcome]:
        """Yield every model's outcome as soon as it is there."""
        ...


@dataclass(frozen=True)
class Planned:
    """One model: ``why`` it has to be predicted (None: it is done), ``failed_before`` for which reason."""

    spec: ModelSpec
    path: Path
    why: str | None
    failed_before: str | None = None


@dataclass(frozen=True)
class Plan:
    """Every model that was asked for is in exactly one of ``models`` and ``unusable``."""

    models: tuple[Planned, ...]
    unusable: tuple[Unusable, ...]

    @property
    def done(self) -> tuple[Planned, ...]:
        """The models whose predictions are there."""
        return tuple(planned for planned in self.models if planned.why is None)

    @property
    def missing(self) -> tuple[Planned, ...]:
        """The models to predict: those that failed before come last, so that they can stop no other."""
        todo = (planned for planned in self.models if planned.why is not None)
        return tuple(sorted(todo, key=lambda planned: planned.failed_before is not None))


def make_plan(resolution: Resolution, folder: Path, *, work: PredictModel) -> Plan:
    """Compare what is asked for with what lies in the folder; nothing is loaded, downloaded or written."""
    if work.settings.offline:
        go_offline()
    models, unusable = [], list(resolution.unusable)
    for spec in resolution.models:
        path = folder / f"{spec.name}.parquet"
        wanted = wanted_facts(spec, work.images, settings=work.settings)
        why = why_not_done(path, work.images, wanted)
        try:
            if why is not None:
                _refuse_hopeless(spec, offline=work.settings.offline)
        except InputError as error:
            unusable.append(Unusable(spec.name, error))
            continue
        models.append(Planned(spec, path, why, _failed_before(folder, spec.name)))
    return Plan(tuple(models), tuple(unusable))


def _refuse_hopeless(spec: ModelSpec, *, offline: bool) -> None:
    config = config_of(spec)
    if config is not None:
        check_head(spec, config, imagenet_1k())
    if offline:
        refuse_unfetched(spec)


def predict_missing(plan: Plan, folder: Path, *, engine: Engine, work: PredictModel) -> Iterator[Outcome]:
    """Predict what is missing and yield each model's outcome once its file, or its failure, is written.

    Raises
    ------
    InputError
        The engine cannot be used, or the folder cannot be written to.
    """
    missing = plan.missing
    if not missing:
        return
    engine.check(work)
    try:
        (folder / FAILURES).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(folder, f"cannot be written: {error.strerror}", fix="Choose another --out.") from None
    for outcome in engine.run(work, _marked(missing, folder), len(missing)):
        _keep(outcome, folder)
        yield outcome


def _marked(missing: Iterable[Planned], folder: Path) -> Iterator[ModelSpec]:
    """Hand out the models; each is on record as running, in case it takes the program down with it."""
    for planned in missing:
        _write_failure(folder, planned.spec.name, UNFINISHED)
        yield planned.spec


def _keep(outcome: Outcome, folder: Path) -> None:
    if outcome.content is None:
        _write_failure(folder, outcome.name, outcome.reason)
        return
    write_whole(folder / f"{outcome.name}.parquet", outcome.content)
    _failure_file(folder, outcome.name).unlink(missing_ok=True)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file under a temporary name and rename it."""
    with written_whole(path) as unfinished:
        unfinished.write_bytes(content)


def _failure_file(folder: Path, name: str) -> Path:
    return folder / FAILURES / f"{name}.json"


def _write_failure(folder: Path, name: str, reason: str) -> None:
    text = json.dumps({"model": name, "reason": reason}, ensure_ascii=False) + "\n"
    write_whole(_failure_file(folder, name), text.encode())


def _failed_before(folder: Path, name: str) -> str | None:
    path = _failure_file(folder, name)
    try:
        said: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return str(said["reason"])
    except (OSError, ValueError, KeyError):
        return None
