"""``imagenet-errors evidence``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from imagenet_errors.cli import options
from imagenet_errors.cli.options import COMPUTING, INPUTS, SOME_FAILED, Basis, EvidenceFiles, Reading, needed
from imagenet_errors.cli.screen import console, meter, progress, say_json


@Parameter(name="*", group=INPUTS)
@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """Where an image's nearest neighbours come from."""

    train_images: Annotated[Path | None, Parameter(help="The training images, in class folders: embedded once.")] = None
    train_embeddings: Annotated[
        Path | None, Parameter(help="Instead: train_clip_embeddings.npz, or a folder of shards.")
    ] = None
    neighbours: Annotated[
        Path | None, Parameter(help="Instead: valid_clip_knn.npz, or a table of file_name, neighbour_classes.")
    ] = None
    samples: Annotated[Path | None, Parameter(help="The samples_info.npz of valid_clip_knn.npz, if not beside it.")] = (
        None
    )


@Parameter(name="*", group=COMPUTING)
@dataclass(frozen=True, kw_only=True)
class Encoding:
    """The encoder and how it is run."""

    clip_model: Annotated[str, Parameter(help="Any open_clip model, or a JSON file with a configuration.")] = (
        "ViT-L-14-336-quickgelu"
    )
    clip_weights: Annotated[str, Parameter(help="A pretrained tag, a checkpoint file, or random:SEED for a trial.")] = (
        "openai"
    )
    device: Annotated[str, Parameter(help="auto, cuda, mps or cpu.")] = "auto"
    batch_size: Annotated[
        int | None, Parameter(help="Images at once; by itself if not given.", validator=Number(gte=1))
    ] = None
    workers: Annotated[int, Parameter(help="Threads that read images.", validator=Number(gte=1))] = 4
    engine: Annotated[str, Parameter(help="local, or ray: a task a shard of training images.")] = "local"


_TRAINING, _PUBLISHED = Neighbours(), Encoding()


def evidence(
    *predictions: options.Predictions,
    images: Annotated[
        Path | None,
        Parameter(help="The evaluated images, in class folders or flat. Needed.", group=INPUTS, show_default=False),
    ] = None,
    neighbours: Neighbours = _TRAINING,
    basis: Basis = options.AS_PUBLISHED,
    evidence: EvidenceFiles = options.NO_FILES,
    reading: Reading = options.READ_STRICTLY,
    encoding: Encoding = _PUBLISHED,
    plan: Annotated[bool, Parameter(help="Say what there is to do, and stop.", negative=())] = False,
    redo: Annotated[
        bool, Parameter(help="Begin the table anew; embeddings are kept.", group=options.OUTPUT, negative=())
    ] = False,
    work: Annotated[
        Path | None, Parameter(help="Folder that keeps embeddings; beside --out if not given.", group=options.OUTPUT)
    ] = None,
    out: Annotated[
        Path | None,
        Parameter(help="The evidence table (.parquet): added to. Needed.", group=options.OUTPUT, show_default=False),
    ] = None,
    as_json: options.AsJson = False,
) -> int:
    """Find out-of-vocabulary evidence for every mistake that needs it: CLIP, WordNet, neighbours; once a case."""
    from imagenet_errors.oov.build import build
    from imagenet_errors.oov.encoder import EncoderSpec
    from imagenet_errors.oov.neighbour_source import NeighbourSource
    from imagenet_errors.oov.plan import make_plan
    from imagenet_errors.oov.request import Request
    from imagenet_errors.oov.view import done_lines

    source = NeighbourSource(
        neighbours.train_images, neighbours.train_embeddings, neighbours.neighbours, neighbours.samples
    )
    encoder = EncoderSpec(
        encoding.clip_model, encoding.clip_weights, encoding.device, encoding.batch_size, encoding.workers
    )
    request = Request(
        predictions=predictions,
        inputs=basis.inputs(evidence),
        images=needed(images, "--images", "the folder of the evaluated images"),
        neighbours=source,
        out=needed(out, "--out", "the table to write"),
        encoder=encoder,
        work=work,
        engine=encoding.engine,
        redo=redo,
        rules=reading.rules(allow_partial=True),
    )
    planned = make_plan(request, progress=progress)
    lines = () if as_json else planned.lines()
    for line in lines:
        console().print(line, soft_wrap=True, markup=False)
    if plan:
        if as_json:
            say_json(planned.as_json())
        return 0
    outcome = build(planned, meter=meter)
    if as_json:
        say_json({**planned.as_json(), **outcome.as_json()})
    else:
        for line in done_lines(outcome, planned):
            console().print(line, soft_wrap=True, markup=False)
    return SOME_FAILED if outcome.n_failures else 0
