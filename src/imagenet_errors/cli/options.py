"""Options that several commands have, spelled once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Predictions = Annotated[
    list[Path] | None,
    typer.Argument(help="Files or folders; each file is one model, named by its stem.", show_default=False),
]
Annotations = Annotated[
    str,
    typer.Option(
        help="real (shipped ReaL labels), multilabel (official expert labels, fetched once) or FILE.",
        show_default=False,
    ),
]
Out = Annotated[Path | None, typer.Option(help="The folder to write.", show_default=False)]
OovEvidence = Annotated[Path | None, typer.Option(help="Out-of-vocabulary evidence, Parquet or CSV.")]
NonPrototypical = Annotated[
    list[Path] | None, typer.Option(help="Human judgements, or an image name a line. May be repeated.")
]
CoOccurrence = Annotated[
    Path | None, typer.Option(help="CSV of class pairs a,b instead of those computed from ReaL labels.")
]
Superclasses = Annotated[Path | None, typer.Option(help="Folder or file of superclasses instead of the shipped ones.")]
StageOrder = Annotated[
    str,
    typer.Option(help="Stages by name, in the order to ask them, separated by commas.", show_default=False),
]
AllowPartial = Annotated[
    bool, typer.Option("--allow-partial", help="Evaluate just the annotated images that a file has.")
]
RowOrder = Annotated[
    str, typer.Option(help="Order of rows: name, imagefolder, or FILE of image names.", show_default=False)
]
ClassAxis = Annotated[
    str,
    typer.Option(help="Order of outputs: imagenet-1k, 1001, 21841, ... or FILE of wnids.", show_default=False),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(metavar="ROLE=NAME", help="Which column is name, index, label, confidence or scores."),
]
CheckOrder = Annotated[
    bool, typer.Option(help="Refuse files whose accuracy is at chance (wrong row order or classes).")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
