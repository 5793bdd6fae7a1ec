"""What is to be predicted, what is done already, and what cannot be; then predicting what is missing.

One folder holds ``<model>.parquet`` for each model done, and ``failures/<model>.json`` for each that failed or was
running when the program ended; a file is written under a temporary name first, so one that is there is whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec

from imagenet_errors.downloads import go_offline
from imagenet_errors.files import locked, remove_leftovers, unwritable, write_whole
from imagenet_errors.labels import LabelSpace
from imagenet_errors.predict.job import ModelOutcome, PredictModel, wanted_facts
from imagenet_errors.predict.names import ModelSpec, Resolution, Unusable
from imagenet_errors.predict.networks import check_head, config_of
from imagenet_errors.predict.table import why_not_done
from imagenet_errors.predict.weights import refuse_unfetched
from imagenet_errors.problems import InputError
from imagenet_errors.readers.arrow_tables import our_metadata

FAILURES = "failures"
UNFINISHED = "it was running when the program ended; models that kill the program are left for last"


class Engine(Protocol):
    """Where the models run; see :mod:`imagenet_errors.predict.engines`."""

    def check(self, work: PredictModel) -> None:
        """Refuse what cannot work, before the first model."""
        ...

    def run(self, work: PredictModel, specs: Iterable[ModelSpec], n_specs: int) -> Iterator[ModelOutcome]:
        """Yield every model's outcome as soon as it is there."""
        ...


class FailureRecord(msgspec.Struct, frozen=True):
    """The content of ``failures/<model>.json``."""

    model: str
    reason: str


@dataclass(frozen=True)
class Planned:
    """One model: ``why`` it has to be predicted (None: it is done), ``failed_before`` for which reason."""

    spec: ModelSpec
    path: Path
    why: str | None
    failed_before: str | None = None


@dataclass(frozen=True)
class PredictionPlan:
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


def make_plan(resolution: Resolution, folder: Path, *, work: PredictModel) -> PredictionPlan:
    """Compare what is asked for with what lies in the folder; nothing is loaded, downloaded or written."""
    if work.settings.offline:
        go_offline()
    models, unusable = [], list(resolution.unusable)
    for spec in resolution.models:
        path = folder / f"{spec.name}.parquet"
        wanted = wanted_facts(spec, work)
        why = why_not_done(path, work.images, wanted)
        try:
            if why is not None:
                _refuse_foreign(path)
                _refuse_hopeless(spec, work.labels, offline=work.settings.offline)
        except InputError as error:
            unusable.append(Unusable(spec.name, error))
            continue
        models.append(Planned(spec, path, why, _failed_before(folder, spec.name)))
    return PredictionPlan(tuple(models), tuple(unusable))


def _refuse_foreign(path: Path) -> None:
    """Refuse to replace a file that is no damaged one of this program's."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not path.is_file() or our_metadata(path) is not None:
        return
    try:
        pq.read_metadata(path)
    except (OSError, pa.ArrowException):
        return
    raise InputError(path, "is there and was not written by this program", fix="Choose another --out, or move it.")


def _refuse_hopeless(spec: ModelSpec, labels: LabelSpace, *, offline: bool) -> None:
    config = config_of(spec)
    if config is not None:
        check_head(spec, config, labels)
    if offline:
        refuse_unfetched(spec)


def predict_missing(
    plan: PredictionPlan, folder: Path, *, engine: Engine, work: PredictModel
) -> Iterator[ModelOutcome]:
    """Predict what is missing and yield each model's outcome once its file, or its failure, is written.

    Raises
    ------
    InputError
        The engine cannot be used, the folder cannot be written to, or another run is at work in it.
    """
    missing = plan.missing
    if not missing:
        return
    engine.check(work)
    try:
        (folder / FAILURES).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from None
    with locked(folder):
        remove_leftovers(folder, below=True)
        for outcome in engine.run(work, _marked(missing, folder), len(missing)):
            _keep(outcome, folder)
            yield outcome


def _marked(missing: Iterable[Planned], folder: Path) -> Iterator[ModelSpec]:
    """Hand out the models; each is on record as running, in case it takes the program down with it."""
    for planned in missing:
        _write_failure(folder, planned.spec.name, UNFINISHED)
        yield planned.spec


def _keep(outcome: ModelOutcome, folder: Path) -> None:
    if outcome.content is None:
        _write_failure(folder, outcome.name, outcome.reason)
        return
    write_whole(folder / f"{outcome.name}.parquet", outcome.content)
    _failure_file(folder, outcome.name).unlink(missing_ok=True)


def _failure_file(folder: Path, name: str) -> Path:
    return folder / FAILURES / f"{name}.json"


def _write_failure(folder: Path, name: str, reason: str) -> None:
    record = FailureRecord(name, reason.encode(errors="backslashreplace").decode())
    write_whole(_failure_file(folder, name), msgspec.json.encode(record) + b"\n")


def _failed_before(folder: Path, name: str) -> str | None:
    try:
        return msgspec.json.decode(_failure_file(folder, name).read_bytes(), type=FailureRecord).reason
    except (OSError, msgspec.MsgspecError):
        return None
