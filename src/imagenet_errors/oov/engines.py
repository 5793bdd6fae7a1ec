"""Shards made one after the other here, or as tasks of a Ray cluster; the file system holds what is done."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from imagenet_errors.extras import needs
from imagenet_errors.oov.train_shards import EmbedTask, embed_shard
from imagenet_errors.problems import InputError, counted

ENGINES = ("local", "ray")
_N_RETRIES = 3


def run_tasks(tasks: Sequence[EmbedTask], *, engine: str) -> Iterator[int]:
    """Make the shards; yield each one's number of images as it is done, in any order.

    Raises
    ------
    InputError
        A shard could not be made. With Ray the others are made first, and a lost worker's task is tried again.
    """
    if engine == "local":
        for task in tasks:
            yield embed_shard(task)
    else:
        yield from _run_on_ray(tasks)


def attempt(task: EmbedTask) -> tuple[int, str]:
    """Make a shard; return its number of images, and what went wrong, if anything did."""
    try:
        return embed_shard(task), ""
    except InputError as error:
        return 0, str(error)


def _run_on_ray(tasks: Sequence[EmbedTask]) -> Iterator[int]:
    ray = needs("ray", extra="ray")
    started = not ray.is_initialized()
    if started:
        ray.init(address=os.environ.get("RAY_ADDRESS"), log_to_driver=False)
    try:
        n_gpus = 1 if tasks[0].spec.device in ("auto", "cuda") and ray.cluster_resources().get("GPU") else 0
        remote = ray.remote(attempt).options(
            num_cpus=1, num_gpus=n_gpus, max_retries=_N_RETRIES, retry_exceptions=[OSError, RuntimeError]
        )
        running = [remote.remote(task) for task in tasks]
        problems = []
        while running:
            ended, running = ray.wait(running)
            n_images, problem = _result(ray, ended[0])
            problems += [problem] * bool(problem)
            yield n_images
        if problems:
            what = f"{counted(len(problems), 'shard')} could not be made"
            raise InputError("--engine ray", what, example=problems[0], fix="Run again: the others are kept.")
    finally:
        if started:
            ray.shutdown()


def _result(ray: object, reference: object) -> tuple[int, str]:
    try:
        result: tuple[int, str] = ray.get(reference)  # type: ignore[attr-defined]
    except Exception as error:  # whatever a worker died of
        return 0, f"{type(error).__name__}: {str(error).splitlines()[-1]}"
    return result
