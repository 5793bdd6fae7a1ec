"""What evidence is asked for, by what, and where it goes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from imagenet_errors.inputs import Inputs
from imagenet_errors.oov.encoder import EncoderSpec
from imagenet_errors.oov.engines import ENGINES
from imagenet_errors.oov.neighbour_source import NeighbourSource
from imagenet_errors.problems import InputError
from imagenet_errors.readers.predictions import ReadRules


@dataclass(frozen=True)
class Request:
    """What to find evidence for, by what, and where to put it."""

    predictions: tuple[Path, ...]
    inputs: Inputs
    images: Path
    neighbours: NeighbourSource
    out: Path
    encoder: EncoderSpec = field(default_factory=EncoderSpec)
    work: Path | None = None
    engine: str = "local"
    redo: bool = False
    rules: ReadRules = field(default_factory=lambda: ReadRules(allow_partial=True))


def check_request(request: Request) -> None:
    """Refuse what cannot be before anything slow is begun.

    Raises
    ------
    InputError
        A path does not exist, there is no such engine, or ``out`` is a folder.
    """
    request.inputs.check()
    request.neighbours.check()
    if request.engine not in ENGINES:
        raise InputError("--engine", f"no engine {request.engine!r}", fix=f"There are: {', '.join(ENGINES)}.")
    if request.out.is_dir():
        raise InputError(request.out, "is a folder", fix="Let --out name a .parquet file.")


def work_folder(request: Request) -> Path:
    """Return the folder that keeps embeddings and neighbours: ``oov.work`` beside ``oov.parquet``."""
    return request.work or request.out.with_name(f"{request.out.stem}.work")


def encoder_folder(request: Request) -> Path:
    """Return the part of it that one encoder's embeddings are in."""
    return work_folder(request) / re.sub(r"[^\w.-]+", "-", request.encoder.identity)
