"""Libraries that only some commands need: imported when they are, with a message that names the extra."""

from __future__ import annotations

import importlib
from types import ModuleType

from imagenet_errors.problems import InputError


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
