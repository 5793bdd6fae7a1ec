"""What an encoder of images and names is, and which one is meant; nothing here needs torch."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

PROMPT = "A photo of a {}"
"""Source: Peychev et al., NeurIPS 2023 (fine-grained OOV errors)."""
MODEL, WEIGHTS = "ViT-L-14-336-quickgelu", "openai"
"""Source: the same: CLIP ViT-L/14@336px with OpenAI's weights, which want QuickGELU."""
RANDOM = "random:"


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

    ``model``: a name that open_clip knows, or a JSON file with a configuration. ``weights``: a pretrained
    tag, a checkpoint file, or ``random:SEED``. ``device``: ``auto``, ``cuda``, ``mps``, ``cpu``.
    """

    model: str = MODEL
    weights: str = WEIGHTS
    device: str = "auto"
    batch_size: int | None = None
    n_workers: int = 4

    @cached_property
    def identity(self) -> str:
        """The name pinned into every file; the device does not matter, files count by their content."""
        return f"{_pinned(self.model)}/{_pinned(self.weights)}"


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
    from imagenet_errors.oov.clip import load_open_clip

    return load_open_clip(spec)
