"""The loop over images: timm's preprocessing, batches that shrink when memory runs out, the top 5.

A row whose outputs hold NaN or +infinity, or whose image cannot be decoded, is invalid: class -1, never 0.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.image_folder import ImageFolder, decoded
from imagenet_errors.predict.networks import Head, Network
from imagenet_errors.predict.settings import Settings
from imagenet_errors.problems import InputError
from imagenet_errors.shipped import needs
from imagenet_errors.workers import leave_signals, n_cores

TOP_K = 5
_MOST_WORKERS = 16
_CORES_A_WORKER = 4
"""Cores of a CPU that runs the network, for each process that decodes for it."""
_OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "status_alloc_failed")


@dataclass(frozen=True, eq=False)
class Outputs:
    """The answers for n images: ``classes`` int16 [n, 5] best first, ``probabilities`` float32 [n, 5].

    Invalid rows hold -1 and NaN. ``is_unreadable`` bool [n]: the image cannot be decoded.
    ``batch_size``: the largest that fitted.
    """

    classes: NDArray[np.int16]
    probabilities: NDArray[np.float32]
    is_unreadable: NDArray[np.bool_]
    batch_size: int


@dataclass(frozen=True)
class Decoding:
    """A torch dataset (map style): image i as (pixels, readable); an image that is no image is all zeros.

    A file that is not there is raised: it is the folder that is wrong then, not the image.
    """

    images: ImageFolder
    transform: Any
    size: tuple[int, int, int]

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.images)

    def __getitem__(self, row: int) -> tuple[Any, bool]:
        """Return float [3, H, W] and whether the image could be decoded."""
        import torch

        try:
            image = decoded(self.images.root / self.images.paths[row])
        except InputError:
            return torch.zeros(self.size), False
        return self.transform(image), True


@dataclass
class Capacity:
    """How many images go through the network at once; halved whenever memory runs out."""

    n_images: int
    device: Any
    n_halvings: int = field(default=0)

    def halve(self, error: BaseException, *, where: str) -> None:
        """Make room, or give up.

        Raises
        ------
        InputError
            A single image does not fit.
        """
        if self.n_images == 1:
            raise InputError(where, "memory runs out with one image at a time", fix="Use a larger device.") from error
        self.n_images = max(1, self.n_images // 2)
        self.n_halvings += 1
        if self.device.type == "cuda":
            import torch

            torch.cuda.empty_cache()


def choose_device(name: str) -> Any:
    """Return the torch device of that name; ``auto``: a GPU where there is one.

    Raises
    ------
    InputError
        There is no such device.
    """
    torch = needs("torch", extra="timm")
    if name == "auto":
        found = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
        return torch.device(found)
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise InputError("--device", f"{name!r} cannot be used: {str(error).splitlines()[0]}") from None
    return device


def device_works(name: str) -> bool:
    """Tell whether the device still computes; after an error of its own, CUDA refuses everything."""
    import torch

    if not torch.cuda.is_initialized():
        return True
    try:
        return bool(torch.ones(2, device=choose_device(name)).sum().item() == 2)
    except (RuntimeError, InputError):
        return False


def predict_images(network: Network, images: ImageFolder, *, settings: Settings, device: Any) -> Outputs:
    """Return the network's five best classes for every image, in the images' order.

    Raises
    ------
    InputError
        Memory runs out with one image at a time.
    FileNotFoundError
        An image has gone.
    """
    import torch

    layout = {"memory_format": torch.channels_last} if settings.channels_last else {}
    module = network.module.to(device=device, **layout)
    capacity = Capacity(min(settings.batch_size, len(images)), device)
    classes = np.full((len(images), TOP_K), -1, dtype=np.int16)
    probabilities = np.full((len(images), TOP_K), np.nan, dtype=np.float32)
    readable = np.zeros(len(images), dtype=np.bool_)
    start = 0
    with torch.inference_mode():
        for pixels, decoded in _loader(network, images, settings=settings, device=device):
            rows = slice(start, start + len(pixels))
            outputs = _forward(module, pixels, capacity, settings=settings, layout=layout, where=network.spec.name)
            classes[rows], probabilities[rows] = top_classes(outputs, network.head)
            readable[rows] = decoded.numpy()
            start += len(pixels)
    classes[~readable], probabilities[~readable] = -1, np.nan
    return Outputs(classes, probabilities, ~readable, capacity.n_images)


def _loader(network: Network, images: ImageFolder, *, settings: Settings, device: Any) -> Any:
    import timm.data
    from torch.utils.data import DataLoader

    config = network.data_config
    dataset = Decoding(images, timm.data.create_transform(**config, is_training=False), config["input_size"])
    workers = settings.workers
    if workers is None:
        workers = default_workers(device.type)
    return DataLoader(
        dataset,  # type: ignore[arg-type,unused-ignore]
        batch_size=min(settings.batch_size, len(images)),
        num_workers=workers,
        pin_memory=device.type == "cuda",
        worker_init_fn=leave_signals,
    )


def default_workers(device: str) -> int:
    """Return how many processes decode images while the network computes.

    A GPU leaves the cores to them; on a CPU the network needs most of them, and few cores are better not shared.
    """
    most = n_cores()  # a Ray task is given fewer than the machine has
    return min(_MOST_WORKERS, most // _CORES_A_WORKER if device == "cpu" else most)


def _forward(
    module: Any, pixels: Any, capacity: Capacity, *, settings: Settings, layout: dict[str, Any], where: str
) -> Any:
    """Return float32 [m, C] outputs; what does not fit into memory is tried again in halves."""
    import torch

    parts, start = [], 0
    while start < len(pixels):
        try:
            part = pixels[start : start + capacity.n_images]
            part = part.to(device=capacity.device, non_blocking=True, **layout)
            with _precision(settings.precision, capacity.device):
                parts.append(module(part).float())
            start += len(part)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            part = None  # free it before the next attempt
            capacity.halve(error, where=where)
    return torch.cat(parts) if len(parts) > 1 else parts[0]


def _precision(name: str, device: Any) -> AbstractContextManager[Any]:
    import torch

    if name == "float32":
        return nullcontext()
    precision: AbstractContextManager[Any] = torch.autocast(device.type, dtype=getattr(torch, name))
    return precision


def is_out_of_memory(error: BaseException) -> bool:
    """Tell whether memory ran out: torch has a type for it on GPUs, only texts on CPUs and in NVIDIA's libraries."""
    import torch

    text = str(error).lower()
    return isinstance(error, torch.OutOfMemoryError) or any(sign in text for sign in _OUT_OF_MEMORY)


def top_classes(outputs: Any, head: Head) -> tuple[NDArray[np.int16], NDArray[np.float32]]:
    """Return the five best classes int16 [m, 5] and their probabilities float32 [m, 5], best first.

    ``outputs`` float [m, C] are logits; the softmax is over the outputs that stand for a class.
    Equal outputs come in the order of their classes. Rows with NaN or +infinity are -1 and NaN.
    """
    import torch

    usable = ~(torch.isnan(outputs) | (outputs == torch.inf)).any(dim=1)
    if not head.is_plain:
        outputs = outputs[:, torch.as_tensor(head.positions, device=outputs.device)]
    logits = torch.where(usable[:, None], outputs, 0.0)
    k = min(TOP_K, logits.shape[1])
    best, place = logits.topk(min(k + 1, logits.shape[1]), dim=1)
    tied = (best[:, 1:] == best[:, :-1]).any(dim=1)
    place = place[:, :k]
    if bool(tied.any()):  # topk leaves open which of equal outputs comes first
        place[tied] = logits[tied].sort(dim=1, descending=True, stable=True).indices[:, :k]
    probabilities = logits.softmax(dim=1).gather(1, place)
    usable = usable & ~torch.isnan(probabilities).any(dim=1)  # all outputs -infinity
    found = head.classes[place.cpu().numpy()]
    usable_rows = usable.cpu().numpy()[:, None]
    classes = np.where(usable_rows, found, np.int16(-1)).astype(np.int16)
    shares = np.where(usable_rows, probabilities.cpu().numpy(), np.float32(np.nan)).astype(np.float32)
    return _padded(classes, np.int16(-1)), _padded(shares, np.float32(np.nan))


def _padded(best: NDArray[Any], blank: Any) -> NDArray[Any]:
    """Fill up to five columns, for a head with fewer classes."""
    n_short = TOP_K - best.shape[1]
    return np.pad(best, ((0, 0), (0, n_short)), constant_values=blank) if n_short else best
