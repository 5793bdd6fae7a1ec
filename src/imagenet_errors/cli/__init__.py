"""The command line: arguments and paths, one library call each; a command a file, loaded when it is asked for."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from cyclopts import App, CycloptsError, Parameter

from imagenet_errors import __version__
from imagenet_errors.problems import InputError

COMMANDS = {
    "evaluate": "evaluate resnet50.csv --annotations real --out runs/resnet50",
    "why": "why runs/resnet50 ILSVRC2012_val_00000293.JPEG",
    "report": "report runs/resnet50 --images imagenet/val",
    "summary": "summary runs/all --sort model_failure --where \"arch_family = 'cnn'\"",
    "figures": "figures runs/all --published --out figures",
    "predict": "predict resnet50 'vit_*' --images imagenet/val --out predictions",
    "batch": "batch 'resnet*' --images imagenet/val --annotations multilabel --out runs/all",
    "evidence": "evidence runs/preds --images imagenet/val --train-images imagenet/train --out oov.parquet",
    "agreement": "agreement --human vit3b_mistakes.json --annotations multilabel --out runs/agreement",
    "sensitivity": "sensitivity predictions/ --human vit3b_mistakes.json --annotations multilabel --out runs/s",
    "superclasses": "superclasses terriers",
    "proposals": "proposals swing tripod",
    "data": "data list",
}
"""Every command, in the order of the help, with an example that stands under its own."""

BAD_INPUT, INTERRUPTED = 2, 130


def usage_text(error: CycloptsError) -> str:
    """Return a fault in the command line as one readable line."""
    return f"Error: {error}"


def program(arguments: Sequence[str]) -> App:
    """Return the program with the command that is asked for, or with all where help is."""
    app = App(
        name="imagenet-errors",
        help="How bad are an ImageNet model's mistakes? Every top-1 error gets its least severe explanation.",
        version=f"imagenet-errors {__version__}",
        error_formatter=usage_text,
        suppress_keyboard_interrupt=False,
        result_action="return_value",
        help_format="plaintext",
        default_parameter=Parameter(allow_repeating=True),
    )
    asked = [name for name in arguments[:1] if name in COMMANDS]
    for name in asked or COMMANDS:
        command = getattr(import_module(f"imagenet_errors.cli.{name}"), name)
        if isinstance(command, App):
            app.command(command, name=name)
        else:
            app.command(command, name=name, help_epilogue=f"Example: imagenet-errors {COMMANDS[name]}")
    return app


def main() -> None:
    """Run the program; what the user gave wrongly ends with status 2 and one message, no traceback."""
    try:
        status = program(sys.argv[1:])(sys.argv[1:])
    except InputError as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except KeyboardInterrupt:
        print("Interrupted: nothing was left half-written.", file=sys.stderr)
        sys.exit(INTERRUPTED)
    sys.exit(status or 0)
