"""CLIP by open_clip: images and names as unit vectors, in float32 whatever the device. torch is imported here alone.

Source: Radford et al. 2021 (CLIP); Peychev et al., NeurIPS 2023: ViT-L/14@336px, "A photo of a {name}".
Differs: arithmetic is float32 (the published program ran in float16 on GPUs); names are embedded once, not a case.
"""

from __future__ import annotations

import hashlib
import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.downloads import OFFLINE_VARIABLE, go_offline, is_offline
from imagenet_errors.image_folder import decoded
from imagenet_errors.oov.cosine import is_unit, normalised
from imagenet_errors.problems import InputError
from imagenet_errors.shipped import needs

PROMPT = "A photo of a {}"
"""Source: Peychev et al., NeurIPS 2023 (fine-grained OOV errors)."""
MODEL, WEIGHTS = "ViT-L-14-336-quickgelu", "openai"
"""Source: the same: CLIP ViT-L/14@336px with OpenAI's weights, which want QuickGELU."""
RANDOM = "random:"
_BATCH = {"cuda": 128, "mps": 32, "cpu": 16}
"""Images at once to begin with; halved, and tried again, when memory runs out."""
_NAMES_AT_ONCE = 128
_QUICKGELU_FIX = "Name the model that the weights were trained as, such as ViT-L-14-336-quickgelu for openai."


@dataclass(frozen=True)
class ImageEmbeddings:
    """Of n images, the m that could be embedded: ``rows`` int64 [m], unit ``vectors`` float32 [m, d].

    ``failures``: row -> reason for the others.
    """

    rows: NDArray[np.int64]
    vectors: NDArray[np.float32]
    failures: dict[int, str]


class Encoder(Protocol):
    """Embeds images and names as unit vectors of one space."""

    def embed_images(self, paths: Sequence[Path]) -> ImageEmbeddings:
        """Embed image files; corrupt and missing ones become failures."""

    def embed_names(self, names: Sequence[str]) -> NDArray[np.float32]:
        """Embed the prompts of the names, float32 [n, d]."""


@dataclass(frozen=True)
class EncoderSpec:
    """Which open_clip model with which weights, and how to run it.

    ``model``: a name that open_clip knows, or a JSON file with a configuration; OpenAI's own weights are
    taken with the activation that they were trained with. ``weights``: a pretrained tag, a checkpoint file, or
    ``random:SEED``. ``device``: ``auto``, ``cuda``, ``mps``, ``cpu``.
    """

    model: str = MODEL
    weights: str = WEIGHTS
    device: str = "auto"
    batch_size: int | None = None
    n_workers: int = 4

    @cached_property
    def identity(self) -> str:
        """The name pinned into every file; the device does not matter, files count by their content."""
        return f"{_pinned(self.architecture)}/{_pinned(self.weights)}"

    @property
    def architecture(self) -> str:
        """The model as open_clip calls it: ``ViT-B-32`` with OpenAI's weights is its ``ViT-B-32-quickgelu``."""
        is_plain = self.weights == WEIGHTS and not self.model.endswith(("-quickgelu", ".json"))
        return f"{self.model}-quickgelu" if is_plain else self.model


def _pinned(written: str) -> str:
    path = Path(written)
    if written.startswith(RANDOM) or not path.is_file():
        return written
    with path.open("rb") as file:
        return f"{path.stem}@sha256:{hashlib.file_digest(file, 'sha256').hexdigest()[:16]}"


def load_encoder(spec: EncoderSpec) -> Encoder:
    """Load the model into memory.

    Raises
    ------
    InputError
        open_clip is not installed, or does not know the model, or the weights do not fit it.
    """
    return load_open_clip(spec)


@lru_cache(maxsize=1)
def load_open_clip(spec: EncoderSpec) -> OpenClip:
    """Load model, preprocessing and tokenizer; a process keeps the last one.

    Raises
    ------
    InputError
        open_clip is not installed, or does not know the model or tag, or the weights want another activation
        (QuickGELU or GELU), cannot be downloaded, or do not fit.
    """
    open_clip = needs("open_clip", extra="clip")
    name = _registered(spec.architecture)
    if spec.weights.startswith(RANDOM) and not spec.weights.removeprefix(RANDOM).isdecimal():
        raise InputError("--clip-weights", f"no seed in {spec.weights!r}", fix="Write random:0, or another number.")
    if open_clip.get_model_config(name) is None:
        known = ", ".join(open_clip.list_models()[:8])
        raise InputError("--clip-model", f"open_clip has no {spec.model!r}", fix=f"It has {known}, ...")
    _check_quickgelu(name, spec.weights)
    device = _device(spec.device)
    if is_offline():
        go_offline()
    model, transform = _created(name, spec.weights, device)
    tokenizer = open_clip.get_tokenizer(name)
    batch_size = spec.batch_size or _BATCH[device]
    return OpenClip(model.eval(), transform, tokenizer, device, batch_size, spec.n_workers)


def _created(name: str, weights: str, device: str) -> tuple[Any, Callable[[Any], Any]]:
    """Create the model with its weights, and its preprocessing."""
    import open_clip
    import torch

    seed = int(weights.removeprefix(RANDOM)) if weights.startswith(RANDOM) else None
    with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
        warnings.filterwarnings("error", message=".*QuickGELU mismatch.*")
        torch.manual_seed(seed or 0)
        logging.disable(logging.WARNING if seed is not None else logging.NOTSET)  # that weights are random is known
        try:
            model, _, transform = open_clip.create_model_and_transforms(
                name, pretrained=None if seed is not None else weights, precision="fp32", device=device
            )
        except Exception as error:  # open_clip and torch raise all kinds when weights do not load
            what = f"{weights} cannot be loaded into {name}: {str(error).splitlines()[0][:300]}"
            fix = (
                f"Nothing is downloaded (--offline or {OFFLINE_VARIABLE}): pass a checkpoint file."
                if is_offline()
                else "Check the tag or file, and the network for a first download."
            )
            raise InputError("--clip-weights", what, fix=fix) from error
        finally:
            logging.disable(logging.NOTSET)
    return model, transform


def _registered(model: str) -> str:
    """Return the model's name, after telling open_clip of a configuration that is a file of the user's."""
    import open_clip

    path = Path(model)
    if path.suffix != ".json":
        return model
    if not path.is_file():
        raise InputError(path, "no such file", fix="Check --clip-model.")
    open_clip.add_model_config(path)
    return path.stem


def _check_quickgelu(model: str, weights: str) -> None:
    """Refuse weights trained with the other activation; open_clip only warns, and the scores go wrong.

    Source: open_clip issues 771 and 915. A checkpoint file is known by the hash in OpenAI's address of it.
    """
    import open_clip

    wants = (open_clip.get_pretrained_cfg(model, weights) or {}).get("quick_gelu")
    if wants is None and Path(weights).is_file():
        wants = _quickgelu_of_file(weights)
    has = open_clip.get_model_config(model).get("quick_gelu", False)
    if wants is not None and wants != has:
        what = f"QuickGELU mismatch: {weights} was trained with quick_gelu={wants}, the model has {has}"
        raise InputError(f"--clip-model {model}", what, fix=_QUICKGELU_FIX)


def _quickgelu_of_file(weights: str) -> bool | None:
    """Return True for one of OpenAI's own files, None for others, of which nothing is known."""
    import open_clip

    with Path(weights).open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    for model, tag in open_clip.list_pretrained():
        if tag == "openai" and sha256 in open_clip.get_pretrained_cfg(model, tag).get("url", ""):
            return True
    return None


def _device(wanted: str) -> str:
    import torch

    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if wanted == "auto":
        return next(device for device, is_there in there.items() if is_there)
    if not there.get(wanted, False):
        has = ", ".join(device for device, is_there in there.items() if is_there)
        raise InputError("--device", f"no {wanted} here", fix=f"There is: {has}.")
    return wanted


@dataclass(frozen=True, eq=False)
class OpenClip:
    """An open_clip model with its own preprocessing and tokenizer."""

    model: Any
    transform: Callable[[Any], Any]
    tokenizer: Callable[[list[str]], Any]
    device: str
    batch_size: int
    n_workers: int

    def embed_images(self, paths: Sequence[Path]) -> ImageEmbeddings:
        """Embed image files of any mode; what cannot be read, or gives no finite vector, is a failure."""
        import torch

        vectors: list[NDArray[np.float32]] = []
        rows: list[int] = []
        failures: dict[int, str] = {}
        for start, loaded in self._batches(paths):
            whole = [at for at, image in enumerate(loaded) if not isinstance(image, str)]
            failures.update({start + at: text for at, text in enumerate(loaded) if isinstance(text, str)})
            if not whole:
                continue
            pixels = torch.stack([loaded[at] for at in whole])
            embedded = self._run(self.model.encode_image, pixels)
            usable = is_unit(embedded)
            failures.update({start + whole[bad]: "no finite embedding" for bad in np.flatnonzero(~usable)})
            rows += [start + whole[good] for good in np.flatnonzero(usable)]
            vectors.append(embedded[usable])
        dim = int(self.embed_names(["x"]).shape[1]) if not vectors else vectors[0].shape[1]
        found = np.concatenate(vectors) if vectors else np.empty((0, dim), dtype=np.float32)
        return ImageEmbeddings(np.array(rows, dtype=np.int64), found, failures)

    def embed_names(self, names: Sequence[str]) -> NDArray[np.float32]:
        """Embed the names' prompts, float32 [n, d].

        Raises
        ------
        InputError
            A vector is not finite: the weights are broken.
        """
        tokens = self.tokenizer([PROMPT.format(name) for name in names])
        pieces = [
            self._run(self.model.encode_text, tokens[at : at + _NAMES_AT_ONCE])
            for at in range(0, len(names), _NAMES_AT_ONCE)
        ]
        vectors = np.concatenate(pieces)
        if not is_unit(vectors).all():
            raise InputError("--clip-weights", "names get no finite embedding", fix="Check the weights.")
        return vectors

    def _batches(self, paths: Sequence[Path]) -> Iterator[tuple[int, list[Any]]]:
        """Yield (first row, images as tensors or the reason why not); one batch is read ahead."""
        with ThreadPoolExecutor(self.n_workers) as pool:
            starts = range(0, len(paths), self.batch_size)
            ahead = None
            for start in starts:
                reading = [pool.submit(self._load, path) for path in paths[start : start + self.batch_size]]
                if ahead is not None:
                    yield ahead[0], [future.result() for future in ahead[1]]
                ahead = (start, reading)
            if ahead is not None:
                yield ahead[0], [future.result() for future in ahead[1]]

    def _load(self, path: Path) -> Any:
        try:
            image = decoded(path, in_colours=False)
        except FileNotFoundError:
            return "no such file"
        except InputError as error:
            return error.what
        return self.transform(image)  # it converts to RGB itself, after resizing: the order matters

    def _run(self, encode: Callable[[Any], Any], batch: Any) -> NDArray[np.float32]:
        """Encode and normalise; when memory runs out the batch is halved, down to one image."""
        import torch

        try:
            torch.backends.cudnn.allow_tf32 = False  # it would cut convolutions to 10 bits
            with torch.inference_mode():
                encoded = encode(batch.to(self.device)).float().cpu().numpy()
        except torch.OutOfMemoryError:
            if len(batch) == 1:
                raise InputError("--device", "not even one image fits into its memory", fix="Use cpu.") from None
            torch.cuda.empty_cache()
            half = len(batch) // 2
            return np.concatenate([self._run(encode, batch[:half]), self._run(encode, batch[half:])])
        return normalised(encoded)
