"""``imagenet-errors proposals``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from imagenet_errors.cli import options
from imagenet_errors.problems import InputError, counted


def proposals(
    prediction: Annotated[str, typer.Argument(help="Predicted class: index, wnid or name.", show_default=False)] = "",
    target: Annotated[str, typer.Argument(help="Original label: index, wnid or name.", show_default=False)] = "",
    cases: Annotated[Path | None, typer.Option(help="CSV with columns prediction,target: many pairs at once.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="CSV to write: prediction,target,synset,name.", show_default=False)
    ] = None,
    superclasses: options.Superclasses = None,
) -> None:
    """Say what an image may show besides the 1000 classes, when a model took it for one of them."""
    from imagenet_errors.labels import imagenet_1k
    from imagenet_errors.oov.proposals import proposer_of, read_pairs, write_proposals

    proposer = proposer_of(superclasses)
    if cases is not None and out is not None and not prediction:
        n_rows = write_proposals(proposer, *read_pairs(cases), out)
        typer.echo(f"{counted(n_rows, 'proposal')} written to {out}")
    elif cases is None and out is None and prediction and target:
        labels = imagenet_1k()
        pair = (labels.look_up(written, where="proposals") for written in (prediction, target))
        for synset, name in proposer.names(*pair):
            typer.echo(f"{synset}  {name}")
    else:
        raise InputError("proposals", "needs PREDICTION TARGET, or --cases FILE with --out FILE", fix="See --help.")
