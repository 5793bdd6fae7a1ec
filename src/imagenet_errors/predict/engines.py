"""Where models run: one after the other in this process, or as tasks of a Ray cluster.

Locally, a model can leave the GPU unusable for its whole process (an assert on the device, an illegal address). The
models after it then run in a process of their own each, so that one bad model does not cost a night.

On a cluster each model has its share of a GPU: several at once, on every machine there is. A task returns the
predictions file's bytes, so machines need no folder in common: only the images (and checkpoints, if any) at the same
path. A worker that dies costs the model it had; it is not tried again in this run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from imagenet_errors import cluster
from imagenet_errors.predict.inference import choose_device, device_works
from imagenet_errors.predict.job import ModelOutcome, PredictModel, reason_of
from imagenet_errors.predict.names import ModelSpec
from imagenet_errors.problems import InputError, refuse_below
from imagenet_errors.shipped import needs

_IN_WAITING = 2
"""Tasks handed to Ray for each that can run at once, so that no worker waits for the next."""


class LocalEngine:
    """The default engine."""

    def check(self, work: PredictModel) -> None:
        """Refuse a device that is not here, before the first model.

        Raises
        ------
        InputError
            There is no such device.
        """
        choose_device(work.settings.device)

    def run(self, work: PredictModel, specs: Iterable[ModelSpec], n_specs: int) -> Iterator[ModelOutcome]:
        """Yield each model's outcome as soon as it is there; ``specs`` is taken from one model at a time."""
        waiting = iter(specs)
        for spec in waiting:
            outcome = work(spec)
            yield outcome
            if outcome.content is None and not device_works(work.settings.device):
                break
        yield from (_in_own_process(work, spec) for spec in waiting)


def _in_own_process(work: PredictModel, spec: ModelSpec) -> ModelOutcome:
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        try:
            return pool.submit(work, spec).result()
        except BrokenProcessPool:
            return ModelOutcome(spec.name, None, f"{spec.name}: its process died")


@dataclass(frozen=True)
class RayEngine:
    """``address`` of a running cluster; "" for RAY_ADDRESS or, without it, a cluster on this machine alone.

    ``gpu_share`` 0..1 of a GPU (or more) a model; None: one where the cluster has any, else none. ``cpus`` a
    model; None: its share of the machine's cores when every GPU is taken, all of them without GPUs.
    """

    address: str = ""
    gpu_share: float | None = None
    cpus: float | None = None

    def __post_init__(self) -> None:
        """Refuse shares that Ray cannot give.

        Raises
        ------
        InputError
            A share is negative, there is no core, or several GPUs are no whole number.
        """
        gpus, cpus = self.gpu_share or 0, 1 if self.cpus is None else self.cpus
        refuse_below("--gpu-share", gpus, 0)
        if gpus > 1 and gpus != int(gpus):
            raise InputError(
                "--gpu-share", f"{gpus:g} GPUs are no whole number", fix="Pass a share of one, or 2, 3, ..."
            )
        if cpus <= 0:
            raise InputError("--cpus-per-model", f"is {cpus:g}", fix="Pass a number above 0.")

    def check(self, work: PredictModel) -> None:
        """Join or start the cluster.

        Raises
        ------
        InputError
            Ray is not installed, no cluster answers at the address, or none of its machines can take a task.
        """
        ray = needs("ray", extra="ray")
        cluster.join(self.address)
        gpus, cpus = self._shares(ray)
        if not any(_fits(node, gpus, cpus) for node in ray.nodes() if node["Alive"]):
            what = f"no machine of the cluster has {cpus:g} cores and {gpus:g} GPUs for a model"
            raise InputError("--engine ray", what, fix="Lower --gpu-share or --cpus-per-model.")

    def _shares(self, ray: Any) -> tuple[float, float]:
        """Return the GPUs and cores that one model takes."""
        have = ray.cluster_resources()
        n_gpus, n_cpus = have.get("GPU", 0.0), have.get("CPU", 1.0)
        gpus = self.gpu_share if self.gpu_share is not None else min(1.0, n_gpus)
        if self.cpus is not None:
            return gpus, self.cpus
        return gpus, max(1.0, n_cpus * gpus // n_gpus if gpus and n_gpus else n_cpus // len(ray.nodes()))

    def run(self, work: PredictModel, specs: Iterable[ModelSpec], n_specs: int) -> Iterator[ModelOutcome]:
        """Yield each model's outcome as soon as it is there, in no order; leaves the cluster at the end."""
        ray = needs("ray", extra="ray")
        gpus, cpus = self._shares(ray)
        task = ray.remote(num_gpus=gpus, num_cpus=cpus, max_retries=0)(_predict)
        shared = ray.put(_with_workers(work, gpus, cpus))
        n_ahead = _IN_WAITING * max(1, _n_at_once(ray, gpus, cpus))
        try:
            for spec, result in cluster.results(lambda spec: task.remote(shared, spec), specs, n_ahead=n_ahead):
                yield _failed(ray, spec, result) if isinstance(result, Exception) else result
        finally:
            ray.shutdown()


def _with_workers(work: PredictModel, gpus: float, cpus: float) -> PredictModel:
    """Let a model on a GPU decode images on its own cores only: others run beside it."""
    if work.settings.workers is not None or not gpus:
        return work
    return replace(work, settings=replace(work.settings, workers=max(1, int(cpus))))


def _predict(work: Callable[[ModelSpec], ModelOutcome], spec: ModelSpec) -> ModelOutcome:
    """Run on a worker; Ray passes the shared work by reference."""
    return work(spec)


def _failed(ray: Any, spec: ModelSpec, error: Exception) -> ModelOutcome:
    what = "its worker died" if isinstance(error, ray.exceptions.WorkerCrashedError) else reason_of(error)
    return ModelOutcome(spec.name, None, f"{spec.name}: {what}. Run the same command again to retry it.")


def _fits(node: Any, gpus: float, cpus: float) -> bool:
    have = node["Resources"]
    return bool(have.get("GPU", 0.0) >= gpus and have.get("CPU", 0.0) >= cpus)


def _n_at_once(ray: Any, gpus: float, cpus: float) -> int:
    """Return how many tasks the cluster runs at once."""
    return sum(
        int(min(have.get("CPU", 0.0) / cpus, have.get("GPU", 0.0) / gpus if gpus else float("inf")))
        for have in (node["Resources"] for node in ray.nodes() if node["Alive"])
    )
