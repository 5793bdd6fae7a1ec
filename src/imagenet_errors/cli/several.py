"""Options that take several files: ``--non-prototypical A B`` as well as ``--non-prototypical A --non-prototypical B``.

Where a command also takes files of its own, those must come first: ``evaluate P.csv --non-prototypical A B``. What
stands before them, ``evaluate --non-prototypical A P.csv``, is read as one file of the option and the command's own.
"""

from __future__ import annotations

from collections.abc import Sequence

_TAKE_SEVERAL = ("--human", "--non-prototypical")
_FLAGS = ("--allow-partial", "--check-order", "--demo", "--json", "--no-check-order", "--no-panel-list", "--no-figure")
_WITHOUT_FILES = ("agreement",)


def spread(arguments: Sequence[str]) -> list[str]:
    """Repeat the option before each of its further files; every other argument stays as it is.

    Example
    -------
    >>> spread(["evaluate", "p.csv", "--non-prototypical", "a.json", "b.json", "--out", "run"])[3:7]
    ['a.json', '--non-prototypical', 'b.json', '--out']
    """
    told: list[str] = []
    option, n_values = "", 0
    has_own = bool(arguments) and arguments[0] in _WITHOUT_FILES
    for place, argument in enumerate(arguments):
        if argument.startswith("-"):
            option, n_values = argument.partition("=")[0], int("=" in argument or argument in _FLAGS)
        elif option in _TAKE_SEVERAL and n_values and has_own:
            told.append(option)
        elif option and not n_values:
            n_values = 1
        elif place:
            has_own = True
        if argument == "--demo":
            has_own = True
        told.append(argument)
    return told
