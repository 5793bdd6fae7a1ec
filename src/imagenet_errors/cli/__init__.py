"""The command line: arguments and paths, one library call each; a command a file, loaded when it is asked for."""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module

from cyclopts import App, CycloptsError, Parameter

from imagenet_errors import __version__
from imagenet_errors.problems import InputError, printable

COMMANDS = {
    "evaluate": "evaluate resnet50.csv --annotations real --out runs/resnet50",
    "why": "why runs/resnet50 293",
    "report": "report runs/resnet50 --images imagenet/val",
    "summary": "summary runs/all --sort model_failure --where \"arch_family = 'cnn'\"",
    "compare": "compare runs/all:resnet50 runs/all:vit_base --format markdown",
    "check": "check runs/resnet50 --fail-if 'model_failure > 0.35' --fail-if 'mla < 0.88'",
    "figures": "figures runs/all --published --out figures",
    "export": "export runs/resnet50 --to fiftyone --images imagenet/val --out for_fiftyone",
    "predict": "predict resnet50 'vit_*' --images imagenet/val --out predictions",
    "batch": "batch 'resnet*' --images imagenet/val --annotations multilabel --out runs/all",
    "evidence": "evidence runs/preds --images imagenet/val --train-images imagenet/train --out oov.parquet",
    "explain": "explain runs/all --model resnet50 --images imagenet/val",
    "agreement": "agreement --human vit3b --human greedy-soups --oov-evidence oov.parquet --out runs/agreement",
    "sensitivity": "sensitivity predictions/ --label-set labels.csv --oov-evidence oov.parquet --out runs/s",
    "superclasses": "superclasses terriers",
    "proposals": "proposals swing tripod",
    "data": "data list",
}
"""Every command, in the order of the help, with an example that stands under its own."""

ANSWERS_IN_FILES = frozenset(
    ("evaluate", "report", "figures", "predict", "batch", "evidence", "agreement", "sensitivity", "explain", "export")
)
"""The commands that ``--quiet`` lets print nothing but what failed; the answer of the others is what they print."""
QUIET = "--quiet"
_EPILOGUE = f"With {QUIET}, remarks and progress are left out; commands that write files print only what failed."

BAD_INPUT, INTERRUPTED, TERMINATED = 2, 130, 143


def usage_text(error: CycloptsError) -> str:
    """Return a fault in the command line as one readable line."""
    return f"Error: {error}"


def program(arguments: Sequence[str]) -> App:
    """Return the program with the command that is asked for, or with all where help is."""
    app = App(
        name="imagenet-errors",
        help="How bad are an ImageNet model's mistakes? Every top-1 error gets its least severe explanation.",
        help_epilogue=_EPILOGUE,
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
            app.command(command, name=name, help_epilogue=f"Example: imagenet-errors {COMMANDS[name]}\n\n{_EPILOGUE}")
    return app


_LATER_SECONDS = 0.05


class Terminated(KeyboardInterrupt):
    """The program was asked to end, by SIGTERM: it cleans up as after Ctrl-C."""


_usual_hook = sys.unraisablehook


def _send_again(unraisable: sys.UnraisableHookArgs) -> None:
    """Send an interrupt that came while a finaliser ran once more: Python drops what is raised there."""
    if not isinstance(unraisable.exc_value, KeyboardInterrupt):
        _usual_hook(unraisable)
        return
    number = signal.SIGTERM if isinstance(unraisable.exc_value, Terminated) else signal.SIGINT
    resend = threading.Timer(_LATER_SECONDS, os.kill, (os.getpid(), number))
    resend.daemon = True
    resend.start()


def _end_on_signals() -> None:
    """Let Ctrl-C and SIGTERM (of Slurm, docker, timeout) interrupt the program; processes forked from it just end."""
    program_id = os.getpid()

    def end(signum: int, _frame: object) -> None:
        if os.getpid() == program_id:
            raise Terminated
        signal.signal(signum, signal.SIG_DFL)
        os.kill(os.getpid(), signum)

    if threading.current_thread() is threading.main_thread():
        if sys.unraisablehook is not _send_again:
            global _usual_hook
            _usual_hook, sys.unraisablehook = sys.unraisablehook, _send_again
        signal.signal(signal.SIGTERM, end)
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # as nohup and shells leave it in the background
            signal.signal(signal.SIGINT, signal.default_int_handler)


class _NoPandas:
    """Finds no pandas, wherever it is installed."""

    def find_spec(self, fullname: str, _path: object = None, _target: object = None) -> None:
        """Refuse pandas; leave all others to the next finder."""
        if fullname == "pandas":
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


def _spare_pandas() -> None:
    """Let pyarrow ask for pandas once and find none: it would import it to see whether a list is one of its columns.

    Nothing of this program is. ``to_pandas`` asks again, and finds it.
    """
    import pyarrow as pa

    absent = _NoPandas()
    sys.meta_path.insert(0, absent)
    try:
        pa.array([])
    finally:
        sys.meta_path.remove(absent)


def main() -> None:
    """Run the program; what the user gave wrongly ends with status 2 and one message, no traceback."""
    _spare_pandas()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal whose encoding has no bars still shows the figures
    sys.exit(_run(sys.argv[1:]))


def _run(arguments: list[str]) -> int:
    try:
        arguments = _heard(arguments)
        app = program(arguments)
        if not gc.isenabled():  # it rested while the program was loaded
            gc.freeze()
            gc.enable()
        _end_on_signals()
        status = app(arguments) or 0
        sys.stdout.flush()
    except InputError as error:
        return _end(f"Error: {error}", BAD_INPUT)
    except Terminated:
        return _end("Terminated: nothing was left half-written.", TERMINATED)
    except KeyboardInterrupt:
        return _end("Interrupted: nothing was left half-written.", INTERRUPTED)
    except BrokenPipeError:
        _silence()  # whoever read has seen enough
        return 0
    except MemoryError:
        return _end("Error: memory ran out. Evaluate fewer files at once, or on a machine with more.", BAD_INPUT)
    except OSError as error:
        _silence()
        place = error.filename or "what was to be written"
        return _end(f"Error: {place}: {error.strerror or error}. Nothing was left half-written.", BAD_INPUT)
    return int(status)


def _heard(arguments: list[str]) -> list[str]:
    """Take ``--quiet`` out of the command line, wherever before ``--`` it stands, and be quiet."""
    from imagenet_errors.cli.screen import speak

    end = arguments.index("--") if "--" in arguments else len(arguments)
    is_quiet = QUIET in arguments[:end]
    kept = [one for place, one in enumerate(arguments) if one != QUIET or place >= end]
    speak(answers=not is_quiet or not ANSWERS_IN_FILES.intersection(kept[:1]), remarks=not is_quiet)
    return kept


def _end(message: str, status: int) -> int:
    with suppress(OSError):
        print(printable(message), file=sys.stderr)
    return status


def _silence() -> None:
    """Send what is still buffered nowhere, so that the interpreter does not fail on it once more."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
