"""A Ray cluster for whoever spreads work: joined or started here, and tasks handed out a few ahead of the workers."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from imagenet_errors.problems import InputError
from imagenet_errors.shipped import needs

_PATIENCE_SECONDS = 20
T = TypeVar("T")


def join(address: str = "") -> bool:
    """Join the cluster at an address, at RAY_ADDRESS, or start one of this machine alone; False: joined already.

    Raises
    ------
    InputError
        Ray is not installed, or no cluster answers at the address.
    """
    ray = needs("ray", extra="ray")
    if ray.is_initialized():
        return False
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    address = address or os.environ.get("RAY_ADDRESS", "")
    try:
        _refuse_silent(address)
        ray.init(address=address or "local", log_to_driver=False, include_dashboard=None if address else False)
    except (OSError, RuntimeError, ValueError) as error:  # no cluster, another version, a wrong token
        text = str(error).strip().partition("\n")[0]
        raise InputError(
            "--ray-address", f"cannot join the cluster: {text}", fix="Start it with: ray start --head."
        ) from error
    return True


def _refuse_silent(address: str) -> None:
    """Raise OSError where nothing listens at ``HOST:PORT``; Ray itself would try again for minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdecimal() and "/" not in host:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE_SECONDS).close()


def results(submit: Callable[[T], Any], items: Iterable[T], *, n_ahead: int) -> Iterator[tuple[T, Any]]:
    """Submit a task an item, so many at a time, and yield (item, result or the error it died of) as each ends.

    Items are taken one by one, so that what is not submitted yet is not begun; tasks still running at the end of the
    loop, however it comes, are cancelled.
    """
    ray = needs("ray", extra="ray")
    waiting = iter(items)
    running: dict[Any, T] = {}
    try:
        while True:
            while len(running) < n_ahead and (item := next(waiting, None)) is not None:
                running[submit(item)] = item
            if not running:
                return
            (done, *_), _ = ray.wait(list(running), num_returns=1)
            yield running.pop(done), _result(ray, done)
    finally:
        for reference in running:
            ray.cancel(reference, force=True)


def _result(ray: Any, reference: Any) -> Any:
    try:
        return ray.get(reference)
    except Exception as error:  # whatever a worker died of
        return error
