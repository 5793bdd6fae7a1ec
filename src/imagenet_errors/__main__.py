"""``python -m imagenet_errors`` and the program ``imagenet-errors``."""

import gc
import os
import signal
import sys
import threading


def _leave(_signum: int, _frame: object) -> None:
    os._exit(130)


def _open_streams() -> None:
    """Let what was closed by whoever started the program (``>&-``) lead nowhere.

    Else the next file that is opened gets its number, and what is printed goes into it; and Python, which has None
    for a closed stderr, prints its lines to stdout.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8", closefd=False))  # noqa: SIM115


def main() -> None:
    """Run the program; Ctrl-C while it is still being loaded just ends it: nothing was begun that needs cleaning.

    An exception would not do: raised while C code of a library is loaded it comes out as any other.
    """
    _open_streams()
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
    gc.disable()  # loading makes a hundred thousand objects and leaves none to collect
    from imagenet_errors.cli import main as run

    try:
        run()
    finally:
        gc.freeze()  # what the system frees at once, the interpreter need not look through


if __name__ == "__main__":
    main()
