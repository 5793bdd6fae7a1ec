"""What this installation has: the tables that travel with the package, and libraries that are optional."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

from imagenet_errors.problems import InputError

_PACKAGE = Path(__file__).resolve().parent


def shipped(*parts: str) -> Path:
    """Return the path of a shipped file or folder, such as ``shipped("data", "sources.toml")``.

    Raises
    ------
    FileNotFoundError
        The installation lacks it.
    """
    for root in (_PACKAGE, _PACKAGE.parents[1]):
        path = root.joinpath(*parts)
        if path.exists():
            return path
    raise FileNotFoundError(f"{'/'.join(parts)} is missing from this installation; install imagenet-errors again")


def needs(module: str, *, extra: str) -> ModuleType:
    """Import and return a library of an optional extra.

    Raises
    ------
    InputError
        It is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        fix = f'Install it with: pip install "imagenet-errors[{extra}]".'
        raise InputError(error.name, "is needed for this and not installed", fix=fix) from None
