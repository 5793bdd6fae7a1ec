"""What is asked: a timm network as it predicts, with its own preprocessing and logits over the classes of a run.

Two of the paper's remedies against overinterpretation are classifiers too: an ensemble, and dropped inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.image_folder import decoded
from imagenet_errors.labels import LabelSpace
from imagenet_errors.predict.inference import Capacity, choose_device, is_out_of_memory
from imagenet_errors.predict.names import ModelSpec
from imagenet_errors.predict.networks import Head, load_network
from imagenet_errors.predict.settings import Settings
from imagenet_errors.problems import InputError

Pixels = Any
"""Torch, float32 [..., 3, H, W], normalised as the network wants it: 0 is the channels' mean."""

_DROPPED_DRAWS = 4
_COMPILED_BATCH = 8
"""Pictures in every call of a compiled network, which is compiled for one size; a few more are cheaper than another."""


@dataclass(frozen=True, eq=False)
class Classifier:
    """``model``: torch, [m, 3, H, W] on the device -> logits [m, C] with gradients; ``module``: what it wraps.

    A class that the network's head lacks has the logit -infinity. ``weights_sha256`` tells the weights. ``output_of``
    int64 [C]: the output of ``module`` that stands for each class, -1 for none.
    ``answering``: the same without gradients, where there is a faster way; None: the model itself.
    """

    name: str
    model: Callable[[Any], Any]
    module: Any
    config: dict[str, Any]
    settings: Settings
    device: Any
    weights_sha256: str
    output_of: NDArray[np.int64]
    answering: Callable[[Any], Any] | None = None

    def answer(self, batch: Any) -> Any:
        """Return the logits [m, C] of pixels on the device, without gradients."""
        import torch

        with torch.no_grad():
            return (self.answering or self.model)(batch)

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of what the network sees."""
        _, height, width = self.config["input_size"]
        return int(height), int(width)

    @cached_property
    def transform(self) -> Any:
        """timm's preprocessing: a PIL picture to pixels [3, H, W]."""
        import timm.data

        return timm.data.create_transform(**self.config, is_training=False)

    def see(self, path: Path) -> Pixels:
        """Return what the network sees of an image file, [3, H, W].

        Raises
        ------
        InputError
            The file cannot be decoded.
        """
        return self.transform(read_picture(path))

    def logits(self, pixels: Pixels) -> NDArray[np.float32]:
        """Return float32 [m, C], in batches that are halved when memory runs out.

        Raises
        ------
        InputError
            The model gives NaN, or a single image does not fit into memory.
        """
        import torch

        capacity = Capacity(self.settings.batch_size, self.device)
        parts, start = [], 0
        while start < len(pixels):
            try:
                batch = self.on_device(pixels[start : start + capacity.n_images])
                parts.append(self.answer(batch).float().cpu())
                start += len(batch)
            except RuntimeError as error:
                if not is_out_of_memory(error):
                    raise
                batch = None
                capacity.halve(error, where=self.name)
        logits: NDArray[np.float32] = torch.cat(parts).numpy()
        if np.isnan(logits).any():
            raise InputError(self.name, "its outputs are NaN", fix="Try --precision float32.")
        return logits

    def on_device(self, pixels: Pixels) -> Pixels:
        """Put pixels [m, 3, H, W] where the network is, in the layout it was asked for."""
        import torch

        layout = torch.channels_last if self.settings.channels_last else torch.contiguous_format
        return pixels.to(device=self.device, memory_format=layout, non_blocking=True)

    def colours(self, pixels: Pixels) -> NDArray[np.uint8]:
        """Return uint8 [H, W, 3]: pixels [3, H, W] as a picture again."""
        import torch

        mean, deviation = (torch.tensor(self.config[key]).reshape(3, 1, 1) for key in ("mean", "std"))
        shares = (pixels.cpu() * deviation + mean).clamp(0, 1)
        picture: NDArray[np.uint8] = (shares * 255).round().to(torch.uint8).permute(1, 2, 0).numpy()
        return picture


def read_picture(path: Path) -> Any:
    """Return a PIL picture in colours.

    Raises
    ------
    InputError
        The file cannot be decoded.
    """
    try:
        return decoded(path)
    except FileNotFoundError:
        raise InputError(path, "cannot be read as an image: no such file", fix="Replace the file.") from None


def load_classifier(spec: ModelSpec, settings: Settings, labels: LabelSpace) -> Classifier:
    """Load a model as ``predict`` does, for these classes.

    Raises
    ------
    InputError
        The model, its weights, its head or the device cannot be used.
    """
    import torch

    device = choose_device(settings.device)
    network = load_network(spec, labels, settings=settings)
    layout = {"memory_format": torch.channels_last} if settings.channels_last else {}
    module = network.module.to(device=device, **layout)
    for parameter in module.parameters():
        parameter.requires_grad_(False)
    model = _over_classes(module, network.head, len(labels), precision=settings.precision, device=device)
    return Classifier(
        spec.name,
        model,
        module,
        network.data_config,
        settings,
        device,
        network.weights_sha256,
        output_of=_outputs(network.head, len(labels)),
    )


def _outputs(head: Head, n_classes: int) -> NDArray[np.int64]:
    """Return int64 [C]: the output that stands for each class, -1 for none."""
    output_of = np.full(n_classes, -1, dtype=np.int64)
    output_of[head.classes] = head.positions
    return output_of


def _over_classes(module: Any, head: Head, n_classes: int, *, precision: str, device: Any) -> Callable[[Any], Any]:
    import torch

    dtype = getattr(torch, precision)

    def plain(pixels: Any) -> Any:
        with torch.autocast(device.type, dtype=dtype, enabled=precision != "float32"):
            return module(pixels).float()

    if head.is_plain:
        return plain
    positions = torch.as_tensor(head.positions, device=device)
    classes = torch.as_tensor(head.classes.astype(np.int64), device=device)

    def model(pixels: Any) -> Any:
        outputs = plain(pixels)
        whole = outputs.new_full((len(outputs), n_classes), -torch.inf)
        return whole.index_copy(1, classes, outputs[:, positions])

    return model


def compiled(classifier: Classifier) -> Classifier:
    """Return the classifier with its answers computed by torch's compiler, weights folded; gradients as before.

    Faster on a CPU, and the same to some 1e-5 of a logit. A C++ compiler is needed, and time when the first picture is
    shown. Up to three pictures at a time are left to the model as it is.
    """
    import torch

    fast = torch.compile(classifier.model, dynamic=False)

    def answering(pixels: Any) -> Any:
        if len(pixels) < _COMPILED_BATCH // 2:
            return classifier.model(pixels)
        with torch._inductor.config.patch(freezing=True):  # as an option of torch.compile it folds nothing
            return torch.cat([_padded(fast, part) for part in pixels.split(_COMPILED_BATCH)])

    return replace(classifier, answering=answering)


def _padded(model: Callable[[Any], Any], pixels: Any) -> Any:
    """Ask about 8 pictures, the last one several times where there are fewer."""
    import torch

    lacking = _COMPILED_BATCH - len(pixels)
    whole = torch.cat((pixels, pixels[-1:].expand(lacking, -1, -1, -1))) if lacking else pixels
    layout = torch.channels_last if pixels.is_contiguous(memory_format=torch.channels_last) else torch.contiguous_format
    return model(whole.contiguous(memory_format=layout))[: len(pixels)].clone()


def ensemble(members: Sequence[Classifier]) -> Classifier:
    """Return the mean of several classifiers' logits; pictures are prepared as the first wants them.

    A member of another size or normalisation is given the first one's pixels, rescaled and normalised anew.
    """
    first = members[0]
    models = [_from_pixels_of(first, member) for member in members]

    def model(pixels: Any) -> Any:
        return sum(each(pixels) for each in models) / len(models)

    name = "+".join(member.name for member in members)
    hashes = "+".join(member.weights_sha256 for member in members)
    return replace(first, name=name, model=model, answering=None, weights_sha256=hashes)


def _from_pixels_of(first: Classifier, member: Classifier) -> Callable[[Any], Any]:
    import torch

    def shaped(classifier: Classifier, key: str) -> Any:
        return torch.tensor(classifier.config[key], device=first.device).reshape(1, 3, 1, 1)

    scale = shaped(first, "std") / shaped(member, "std")
    shift = (shaped(first, "mean") - shaped(member, "mean")) / shaped(member, "std")

    def model(pixels: Any) -> Any:
        sized = pixels
        if first.size != member.size:
            sized = torch.nn.functional.interpolate(pixels, size=member.size, mode="bilinear", antialias=True)
        return member.model(sized * scale + shift)

    return model


def with_input_dropout(classifier: Classifier, kept: float, seed: int) -> Classifier:
    """Return a classifier that sees only a random share of the pixels, its logits averaged over four draws.

    The draws are the same for every picture, so that the same picture gives the same answer.

    Source: Carter et al., NeurIPS 2021, section 4 (input dropout, 0.8 kept).

    Raises
    ------
    InputError
        The share is not in 0..1.
    """
    import torch

    if not 0 < kept <= 1:
        raise InputError("--input-dropout", f"{kept} is no share to keep", fix="Pass a number above 0 and up to 1.")
    random = torch.Generator().manual_seed(seed)
    shown = (torch.rand((_DROPPED_DRAWS, 1, 1, *classifier.size), generator=random) < kept).float()
    shown = shown.to(classifier.device)

    def model(pixels: Any) -> Any:
        return sum(classifier.model(pixels * mask) for mask in shown) / _DROPPED_DRAWS

    return replace(classifier, name=f"{classifier.name}+dropout{kept:g}", model=model, answering=None)
