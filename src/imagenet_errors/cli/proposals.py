"""``imagenet-errors proposals``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from imagenet_errors.cli import options
from imagenet_errors.cli.screen import say
from imagenet_errors.evidence.superclasses import SOURCE
from imagenet_errors.problems import InputError, counted


def proposals(
    prediction: Annotated[str, Parameter(help="Predicted class: index, wnid or name.", group=options.INPUTS)] = "",
    target: Annotated[str, Parameter(help="Original label: index, wnid or name.", group=options.INPUTS)] = "",
    /,
    *,
    cases: Annotated[
        Path | None, Parameter(help="CSV with columns prediction,target: many pairs at once.", group=options.INPUTS)
    ] = None,
    classes: Annotated[
        Path | None, Parameter(help="Classes of one's own, with wnids: a table index,name,wnid.", group=options.INPUTS)
    ] = None,
    superclasses: Annotated[Path | None, Parameter(help=SOURCE.help, group=options.EVIDENCE)] = None,
    out: Annotated[
        Path | None, Parameter(help="CSV to write: prediction,target,synset,name.", group=options.OUTPUT)
    ] = None,
) -> None:
    """Say what an image may show besides the classes, when a model took it for one of them."""
    from imagenet_errors.datasets import load_dataset
    from imagenet_errors.oov.proposals import proposer_of, read_pairs, write_proposals

    labels = load_dataset(classes=classes).labels
    proposer = proposer_of(labels, superclasses)
    if cases is not None and out is not None and not prediction:
        n_rows = write_proposals(proposer, *read_pairs(cases, labels), out)
        say(f"{counted(n_rows, 'proposal')} written to {out}")
    elif cases is None and out is None and prediction and target:
        pair = (labels.look_up(written, where="proposals") for written in (prediction, target))
        for synset, name in proposer.names(*pair):
            say(f"{synset}  {name}")
    else:
        raise InputError("proposals", "needs PREDICTION TARGET, or --cases FILE with --out FILE", fix="See --help.")
