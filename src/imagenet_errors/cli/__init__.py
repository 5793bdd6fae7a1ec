"""The command line: arguments and paths, one library call each; a command a file."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from imagenet_errors import __version__
from imagenet_errors.cli.agreement import agreement
from imagenet_errors.cli.batch import batch
from imagenet_errors.cli.data import data_app
from imagenet_errors.cli.evaluate import evaluate
from imagenet_errors.cli.evidence import evidence
from imagenet_errors.cli.figures import figures
from imagenet_errors.cli.predict import predict
from imagenet_errors.cli.proposals import proposals
from imagenet_errors.cli.report import report
from imagenet_errors.cli.sensitivity import sensitivity
from imagenet_errors.cli.several import spread
from imagenet_errors.cli.summary import summary
from imagenet_errors.cli.superclasses import superclasses
from imagenet_errors.cli.why import why
from imagenet_errors.problems import InputError

app = typer.Typer(
    help="How bad are an ImageNet model's mistakes? Every top-1 error gets its least severe explanation.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def example(arguments: str) -> str:
    """Return the line at the end of a command's help."""
    return f"Example: imagenet-errors {arguments}"


app.command(epilog=example("evaluate resnet50.csv --annotations real --out runs/resnet50"))(evaluate)
app.command(epilog=example("why runs/resnet50 ILSVRC2012_val_00000293.JPEG"))(why)
app.command(epilog=example("agreement --human vit3b_mistakes.json --annotations multilabel --out runs/agreement"))(
    agreement
)
app.command(
    epilog=example("sensitivity predictions/ --human vit3b_mistakes.json --annotations multilabel --out runs/s")
)(sensitivity)
app.command(epilog=example("superclasses terriers"))(superclasses)
app.command(epilog=example("proposals swing tripod"))(proposals)
app.command(
    epilog=example("evidence runs/preds --images imagenet/val --train-images imagenet/train --out oov.parquet")
)(evidence)
app.command(epilog=example("figures runs/all --published --out figures"))(figures)
app.command(epilog=example("report runs/resnet50 --images imagenet/val"))(report)
app.command(epilog=example("predict resnet50 'vit_*' --images imagenet/val --out predictions"))(predict)
app.command(epilog=example("batch '*' --images imagenet/val --annotations multilabel --out runs/all"))(batch)
app.command(epilog=example("summary runs/all --sort model_failure --where arch_family=cnn"))(summary)
app.add_typer(data_app, name="data")

BAD_INPUT, INTERRUPTED = 2, 130


def main() -> None:
    """Run the program; what the user gave wrongly ends with status 2 and one message, no traceback."""
    try:
        app(args=spread(sys.argv[1:]))
    except InputError as error:
        typer.echo(f"Error: {error}", err=True)
        sys.exit(BAD_INPUT)
    except SystemExit as ended:
        if ended.code == INTERRUPTED:  # typer turns Ctrl-C into this
            typer.echo("Interrupted: nothing was left half-written.", err=True)
        raise


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"imagenet-errors {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """How bad are an ImageNet model's mistakes? Every top-1 error gets its least severe explanation."""
