"""``imagenet-errors evidence``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter
from cyclopts.validators import Number

from imagenet_errors.cli import options
from imagenet_errors.cli.options import (
    COMPUTING,
    INPUTS,
    SOME_FAILED,
    BasisOptions,
    EvidenceFiles,
    ReadingOptions,
    needed,
)
from imagenet_errors.cli.screen import console, meter, next_step, progress, say_json
from imagenet_errors.problems import InputError, refuse_absent

if TYPE_CHECKING:
    from collections.abc import Iterable

    from imagenet_errors.oov.clip import EncoderSpec
    from imagenet_errors.oov.request import PoolChoice


evidence = App(
    name="evidence",
    help="Find out-of-vocabulary evidence for every mistake that needs it: CLIP, WordNet, neighbours; once a case.",
    help_format="plaintext",
    help_epilogue="Example: imagenet-errors evidence runs/preds --images imagenet/val --out oov.parquet",
)


@Parameter(name="*", group=INPUTS)
@dataclass(frozen=True, kw_only=True)
class NeighbourOptions:
    """Where an image's nearest neighbours come from."""

    pool: Annotated[
        Path | None,
        Parameter(
            help="Where neighbours are looked for: a folder of images in class folders, of shards, or one of the files "
            "below; by default the evaluated images themselves, none its own neighbour."
        ),
    ] = None
    pool_per_class: Annotated[
        int | None, Parameter(help="So many images of each class of the pool, instead of all.")
    ] = None
    train_images: Annotated[Path | None, Parameter(help="The training images as the pool, as published.")] = None
    train_embeddings: Annotated[
        Path | None, Parameter(help="Instead: train_clip_embeddings.npz, or a folder of shards.")
    ] = None
    neighbours: Annotated[
        Path | None, Parameter(help="Instead: valid_clip_knn.npz, or a table of file_name, neighbour_classes.")
    ] = None
    samples: Annotated[Path | None, Parameter(help="The samples_info.npz of valid_clip_knn.npz, if not beside it.")] = (
        None
    )

    def choice(self) -> PoolChoice:
        """Return what the library takes.

        Raises
        ------
        InputError
            ``--pool`` is given beside another one.
        """
        from imagenet_errors.oov.request import PoolChoice

        named = PoolChoice(self.train_images, self.train_embeddings, self.neighbours, self.samples, self.pool_per_class)
        if self.pool is None:
            return named
        if named.place is not None:
            raise InputError("--pool", f"given beside {named.place}", fix="Pass one of them.")
        refuse_absent(self.pool, what="no such file or folder", fix="Check --pool.")
        return PoolChoice.of(self.pool, samples=self.samples, per_class=self.pool_per_class)


@Parameter(name="*", group=COMPUTING)
@dataclass(frozen=True, kw_only=True)
class Encoding:
    """The encoder and how it is run."""

    clip_model: Annotated[
        str, Parameter(help="Any open_clip model, such as ViT-B-32, or a JSON file with a configuration.")
    ] = "ViT-L-14-336-quickgelu"
    clip_weights: Annotated[str, Parameter(help="A pretrained tag, a checkpoint file, or random:SEED for a trial.")] = (
        "openai"
    )
    device: Annotated[str, Parameter(help="auto, cuda, mps or cpu.")] = "auto"
    batch_size: Annotated[
        int | None, Parameter(help="Images at once; by itself if not given.", validator=Number(gte=1))
    ] = None
    workers: Annotated[int, Parameter(help="Threads that read images.", validator=Number(gte=1))] = 4
    engine: Annotated[str, Parameter(help="local, or ray: a task a shard of the pool.")] = "local"

    def spec(self) -> EncoderSpec:
        """Return what the library takes."""
        from imagenet_errors.oov.clip import EncoderSpec

        return EncoderSpec(self.clip_model, self.clip_weights, self.device, self.batch_size, self.workers)


_TRAINING, _PUBLISHED = NeighbourOptions(), Encoding()


@evidence.default
def find_evidence(
    *predictions: options.Predictions,
    images: Annotated[
        Path | None,
        Parameter(help="The evaluated images, in class folders or flat. Needed.", group=INPUTS, show_default=False),
    ] = None,
    neighbours: NeighbourOptions = _TRAINING,
    basis: BasisOptions = options.AS_PUBLISHED,
    files: EvidenceFiles = options.NO_FILES,
    reading: ReadingOptions = options.READ_STRICTLY,
    offline: options.Offline = False,
    encoding: Encoding = _PUBLISHED,
    plan: Annotated[bool, Parameter(help="Say what there is to do, and stop.", negative=())] = False,
    cover: Annotated[
        float, Parameter(help="Only the commonest cases, so much of all mistakes; evidence plan says what it takes.")
    ] = 1.0,
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
    from imagenet_errors.oov.build import build, done_lines
    from imagenet_errors.oov.plan import make_plan
    from imagenet_errors.oov.request import OovRequest

    request = OovRequest(
        predictions=predictions,
        inputs=basis.inputs(files, offline=offline),
        images=needed(images, "--images", "the folder of the evaluated images"),
        pool=neighbours.choice(),
        out=needed(out, "--out", "the table to write"),
        encoder=encoding.spec(),
        work=work,
        engine=encoding.engine,
        redo=redo,
        cover=cover,
        rules=reading.rules(allow_partial=True),
    )
    planned = make_plan(request, progress=progress)
    if not as_json:
        _say_all(planned.lines())
    if plan:
        if as_json:
            say_json(planned.as_json())
        return 0
    outcome = build(planned, meter=meter)
    if as_json:
        say_json({**planned.as_json(), **outcome.as_json()})
    else:
        _say_all(done_lines(outcome, planned))
        labels = (word for name in basis.annotations for word in ("--annotations", name))
        next_step("Next", "evaluate", *predictions, *basis.as_arguments(), *labels, "--oov-evidence", request.out)
    return SOME_FAILED if outcome.n_failures else 0


def _say_all(lines: Iterable[str]) -> None:
    for line in lines:
        console().print(line, soft_wrap=True, markup=False)


Tables = Annotated[Path, Parameter(help="Evidence tables, Parquet or CSV.", group=INPUTS, show_default=False)]


@evidence.command(
    name="merge", help_epilogue="Example: imagenet-errors evidence merge ours.parquet theirs.parquet --out oov.parquet"
)
def merge_tables(
    *tables: Tables,
    out: Annotated[
        Path | None, Parameter(help="The joined table (.parquet). Needed.", group=options.OUTPUT, show_default=False)
    ] = None,
) -> int:
    """Join evidence tables of several people and machines; conflicts are listed, the first table has its way."""
    from imagenet_errors.oov.coverage import merge

    merged = merge(tables, needed(out, "--out", "the table to write"))
    _say_all(merged.lines())
    return SOME_FAILED if merged.n_conflicts else 0


@evidence.command(
    name="plan",
    help_epilogue="Example: imagenet-errors evidence plan runs/preds --oov-evidence oov.parquet --out missing.csv",
)
def plan_evidence(
    *predictions: options.Predictions,
    basis: BasisOptions = options.AS_PUBLISHED,
    files: EvidenceFiles = options.NO_FILES,
    reading: ReadingOptions = options.READ_STRICTLY,
    offline: options.Offline = False,
    out: Annotated[
        Path | None,
        Parameter(help="List the missing cases there (.csv or .parquet), the commonest first.", group=options.OUTPUT),
    ] = None,
) -> int:
    """Say which cases of a set of models have no evidence yet, and what each further share of them takes."""
    from imagenet_errors.oov.coverage import coverage_of

    inputs = basis.inputs(files, offline=offline)
    table = inputs.file("oov_evidence")
    tables = () if table is None else (table,)
    without = inputs.with_evidence(oov_evidence=None)
    rules = reading.rules(allow_partial=True)
    coverage = coverage_of(predictions, without, tables, rules=rules, progress=progress)
    _say_all(coverage.lines())
    if out is not None:
        coverage.save(out)
    return 0
