"""One model after the other, in this process.

A model can leave the GPU unusable for its whole process (an assert on the device, an illegal address). The models
after it then run in a process of their own each, so that one bad model does not cost a night.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from imagenet_errors.predict.inference import choose_device, device_works
from imagenet_errors.predict.job import Outcome, PredictModel
from imagenet_errors.predict.names import ModelSpec


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

    def run(self, work: PredictModel, specs: Iterable[ModelSpec], n_specs: int) -> Iterator[Outcome]:
        """Yield each model's outcome as soon as it is there; ``specs`` is taken from one model at a time."""
        waiting = iter(specs)
        for spec in waiting:
            outcome = work(spec)
            yield outcome
            if outcome.content is None and not device_works(work.settings.device):
                break
        yield from (_in_own_process(work, spec) for spec in waiting)


def _in_own_process(work: PredictModel, spec: ModelSpec) -> Outcome:
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        try:
            return pool.submit(work, spec).result()
        except BrokenProcessPool:
            return Outcome(spec.name, None, f"{spec.name}: its process died")
