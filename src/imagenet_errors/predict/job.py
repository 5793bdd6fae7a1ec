"""One model from its name to the bytes of its predictions file, or to the reason why there are none.

This is all that runs on a worker, whatever the engine; whoever collects the outcomes writes the files.
"""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from imagenet_errors import __version__
from imagenet_errors.downloads import go_offline
from imagenet_errors.files import sha256_of
from imagenet_errors.image_folder import ImageFolder, refuse_missing
from imagenet_errors.labels import LabelSpace, imagenet_1k
from imagenet_errors.predict.inference import Outputs, choose_device, predict_images
from imagenet_errors.predict.names import ModelSpec, registered_code, run_registrations
from imagenet_errors.predict.networks import Network, load_network
from imagenet_errors.predict.settings import Settings
from imagenet_errors.predict.table import LAYOUT, prediction_bytes
from imagenet_errors.predict.weights import cached_weights, delete_weights, refuse_unfetched
from imagenet_errors.problems import InputError
from imagenet_errors.shipped import needs


@dataclass(frozen=True, eq=False)
class ModelOutcome:
    """What came of one model: the predictions file's content, or the reason why there is none."""

    name: str
    content: bytes | None
    reason: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class PredictModel:
    """The work on one model, ready to be sent to any machine: the same images, settings and classes for all."""

    images: ImageFolder
    settings: Settings
    labels: LabelSpace = field(default_factory=imagenet_1k)

    @property
    def class_rule(self) -> str:
        """What the models choose from, in words."""
        return self.labels.rule(masked=self.settings.classes is not None)

    def __call__(self, spec: ModelSpec) -> ModelOutcome:
        """Predict; whatever goes wrong is the model's outcome, not the end of the batch."""
        start = time.perf_counter()
        try:
            with releasing_memory():
                content = predict_model(spec, self)
        except InputError as error:
            return ModelOutcome(spec.name, None, str(error), time.perf_counter() - start)
        except Exception as error:  # any model can raise anything, in building or in its forward pass
            return ModelOutcome(spec.name, None, reason_of(error), time.perf_counter() - start)
        return ModelOutcome(spec.name, content, seconds=time.perf_counter() - start)


@contextmanager
def releasing_memory() -> Iterator[None]:
    """Give a model's memory back once it is done: networks hold reference cycles, and torch keeps GPU memory."""
    try:
        yield
    finally:
        import gc

        gc.collect()
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_initialized():
            torch.cuda.empty_cache()


def reason_of(error: BaseException) -> str:
    """Return an unforeseen error in one line: its type, its text, and where it was raised."""
    trace, place = error.__traceback__, ""
    while trace is not None:
        place = f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}"
        trace = trace.tb_next
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:500]}{f' ({place})' if place else ''}"


def predict_model(spec: ModelSpec, work: PredictModel) -> bytes:
    """Load a model, predict every image and return the predictions file.

    Raises
    ------
    InputError
        The model, its weights, its head, the device or the images cannot be used.
    """
    start = time.perf_counter()
    settings, images = work.settings, work.images
    for path in settings.register:
        run_registrations(path)
    refuse_missing(images)
    if settings.offline:
        go_offline()
        refuse_unfetched(spec)
    device = choose_device(settings.device)
    network = load_network(spec, work.labels, settings=settings)
    loaded = time.perf_counter()
    outputs = predict_images(network, images, settings=settings, device=device)
    facts = {
        **wanted_facts(spec, work),
        **_found_facts(network, outputs, str(device)),
        "seconds_loading": round(loaded - start, 3),
        "seconds_predicting": round(time.perf_counter() - loaded, 3),
    }
    content = prediction_bytes(images, outputs, facts)
    if settings.delete_weights:
        delete_weights(spec)
    return content


def wanted_facts(spec: ModelSpec, work: PredictModel) -> dict[str, Any]:
    """Return the facts that a predictions file must have to count as done; no model is loaded."""
    images, settings = work.images, work.settings
    facts: dict[str, Any] = {
        "layout": LAYOUT,
        "model": spec.name,
        "timm_version": str(needs("timm", extra="timm").__version__),
        "torch_version": str(needs("torch", extra="timm").__version__),
        "n_images": len(images),
        "images_sha256": images.sha256,
        "precision": settings.precision,
        "data_config_changes": {key: _plain(value) for key, value in settings.data},
        "test_size": settings.test_size,
        "classes": None if settings.classes is None else list(settings.classes),
        "label_space": _label_space(work.labels),
    }
    code = registered_code(spec.architecture)
    return facts | _weights_facts(spec) | ({} if code is None else {"registered_code_sha256": code})


def _label_space(labels: LabelSpace) -> str | None:
    """Return a hash of the classes and of those that occur; None for ImageNet's, as files of before say nothing."""
    if labels.is_imagenet and not labels.occurring:
        return None
    rows = [*zip(labels.wnids, labels.names, strict=True), labels.occurring]
    return hashlib.sha256(repr(rows).encode()).hexdigest()[:16]


def _weights_facts(spec: ModelSpec) -> dict[str, Any]:
    """Say which weights: a checkpoint's hash, or the hub's revision where the file is on this machine."""
    if spec.checkpoint is not None:
        return {"checkpoint_sha256": sha256_of(spec.checkpoint)}
    cached = cached_weights(spec)
    revision = {} if cached is None or cached.revision is None else {"weights_revision": cached.revision}
    return {"checkpoint_sha256": None, **revision}


def _found_facts(network: Network, outputs: Outputs, device: str) -> dict[str, Any]:
    head = network.head
    n_invalid = int((outputs.classes[:, 0] < 0).sum())
    return {
        "program_version": __version__,
        "weights_sha256": network.weights_sha256,
        "data_config": {key: _plain(value) for key, value in network.data_config.items()},
        "n_parameters": network.n_parameters,
        "head": {
            "axis": head.axis,
            "n_outputs": head.n_outputs,
            "n_classes": len(head.classes),
            "n_classes_lacking": head.n_lacking,
        },
        "device": device,
        "batch_size": outputs.batch_size,
        "n_invalid": n_invalid,
        "n_unreadable": int(np.count_nonzero(outputs.is_unreadable)),
    }


def _plain(value: Any) -> Any:
    """Return a value as JSON gives it back."""
    return [_plain(part) for part in value] if isinstance(value, (tuple, list)) else value
