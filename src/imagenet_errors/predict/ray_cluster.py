"""Models as tasks of a Ray cluster, each with its share of a GPU: several at once, on every machine there is.

A task returns the predictions file's bytes, so machines need no folder in common: only the images (and
checkpoints, if any) at the same path. A worker that dies costs the model it had; it is not tried again in this run.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from imagenet_errors.extras import needs
from imagenet_errors.predict.job import Outcome, PredictModel, reason_of
from imagenet_errors.predict.names import ModelSpec
from imagenet_errors.problems import InputError

_IN_WAITING = 2
"""Tasks handed to Ray for each that can run at once, so that no worker waits for the next."""
_PATIENCE_SECONDS = 20


@dataclass(frozen=True)
class RayEngine:
    """``address`` of a running cluster; "" for RAY_ADDRESS or, without it, a cluster on this machine alone.

    ``gpu_share`` 0..1 of a GPU (or more) a model; None: one where the cluster has any, else none. ``cpus`` a
    model; None: its share of the machine's cores when every GPU is taken, all of them without GPUs.
    """

    address: str = ""
    gpu_share: float | None = None
    cpus: float | None = None

    def check(self, work: PredictModel) -> None:
        """Join or start the cluster.

        Raises
        ------
        InputError
            Ray is not installed, no cluster answers at the address, or none of its machines can take a task.
        """
        ray = needs("ray", extra="ray")
        if not ray.is_initialized():
            self._join(ray)
        gpus, cpus = self._shares(ray)
        if not any(_fits(node, gpus, cpus) for node in ray.nodes() if node["Alive"]):
            what = f"no machine of the cluster has {cpus:g} cores and {gpus:g} GPUs for a model"
            raise InputError("--engine ray", what, fix="Lower --gpu-share or --cpus-per-model.")

    def _join(self, ray: Any) -> None:
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        address = self.address or os.environ.get("RAY_ADDRESS", "")
        try:
            _refuse_silent(address)
            ray.init(address=address or "local", log_to_driver=False, include_dashboard=None if address else False)
        except (OSError, RuntimeError, ValueError) as error:  # no cluster, another version, a wrong token
            text = str(error).strip().partition("\n")[0]
            raise InputError(
                "--ray-address", f"cannot join the cluster: {text}", fix="Start it with: ray start --head."
            ) from error

    def _shares(self, ray: Any) -> tuple[float, float]:
        """Return the GPUs and cores that one model takes."""
        have = ray.cluster_resources()
        n_gpus, n_cpus = have.get("GPU", 0.0), have.get("CPU", 1.0)
        gpus = self.gpu_share if self.gpu_share is not None else min(1.0, n_gpus)
        if self.cpus is not None:
            return gpus, self.cpus
        return gpus, max(1.0, n_cpus * gpus // n_gpus if gpus and n_gpus else n_cpus // len(ray.nodes()))

    def run(self, work: PredictModel, specs: Iterable[ModelSpec], n_specs: int) -> Iterator[Outcome]:
        """Yield each model's outcome as soon as it is there, in no order; leaves the cluster at the end."""
        ray = needs("ray", extra="ray")
        gpus, cpus = self._shares(ray)
        task = ray.remote(num_gpus=gpus, num_cpus=cpus, max_retries=0)(_predict)
        shared, waiting = ray.put(_with_workers(work, gpus, cpus)), iter(specs)
        running: dict[Any, ModelSpec] = {}
        most = _IN_WAITING * max(1, _n_at_once(ray, gpus, cpus))
        try:
            while True:
                while len(running) < most and (spec := next(waiting, None)) is not None:
                    running[task.remote(shared, spec)] = spec
                if not running:
                    return
                (done, *_), _ = ray.wait(list(running), num_returns=1)
                yield _outcome(ray, done, running.pop(done))
        finally:
            for reference in running:
                ray.cancel(reference, force=True)
            ray.shutdown()


def _refuse_silent(address: str) -> None:
    """Raise OSError where nothing listens at ``HOST:PORT``; Ray itself would try again for minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdecimal() and "/" not in host:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE_SECONDS).close()


def _with_workers(work: PredictModel, gpus: float, cpus: float) -> PredictModel:
    """Let a model on a GPU decode images on its own cores only: others run beside it."""
    if work.settings.workers is not None or not gpus:
        return work
    return replace(work, settings=replace(work.settings, workers=max(1, int(cpus))))


def _predict(work: Callable[[ModelSpec], Outcome], spec: ModelSpec) -> Outcome:
    """Run on a worker; Ray passes the shared work by reference."""
    return work(spec)


def _outcome(ray: Any, reference: Any, spec: ModelSpec) -> Outcome:
    try:
        outcome: Outcome = ray.get(reference)
    except ray.exceptions.RayError as error:
        what = "its worker died" if isinstance(error, ray.exceptions.WorkerCrashedError) else reason_of(error)
        return Outcome(spec.name, None, f"{spec.name}: {what}. Run the same command again to retry it.")
    return outcome


def _fits(node: Any, gpus: float, cpus: float) -> bool:
    have = node["Resources"]
    return bool(have.get("GPU", 0.0) >= gpus and have.get("CPU", 0.0) >= cpus)


def _n_at_once(ray: Any, gpus: float, cpus: float) -> int:
    """Return how many tasks the cluster runs at once."""
    return sum(
        int(min(have.get("CPU", 0.0) / cpus, have.get("GPU", 0.0) / gpus if gpus else float("inf")))
        for have in (node["Resources"] for node in ray.nodes() if node["Alive"])
    )
