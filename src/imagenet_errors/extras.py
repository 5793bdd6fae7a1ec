"""Libraries that only some commands need: imported when they are, with a message that says how to install them."""

from __future__ import annotations

import importlib
import json
from importlib.metadata import PackageNotFoundError, distribution
from types import ModuleType
from typing import Any
from urllib.parse import unquote, urlsplit

from imagenet_errors.problems import InputError

_NAME = "imagenet-errors"


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
        fix = f"Install it with: {install_command(extra)}."
        raise InputError(error.name, "is needed for this and not installed", fix=fix) from None


def install_command(extra: str) -> str:
    """Return the pip command that adds an extra to this installation, wherever it was installed from.

    Source: PEP 610, ``direct_url.json``: installed from a folder, a repository or a file; from an index without it.
    """
    try:
        recorded = distribution(_NAME).read_text("direct_url.json")
    except PackageNotFoundError:
        recorded = None
    origin: dict[str, Any] = json.loads(recorded) if recorded else {}
    return f"pip install {_requirement(origin, extra)}"


def _requirement(origin: dict[str, Any], extra: str) -> str:
    named, url = f"{_NAME}[{extra}]", origin.get("url", "")
    if "dir_info" in origin:
        editable = "--editable " if origin["dir_info"].get("editable") else ""
        return f'{editable}"{unquote(urlsplit(url).path)}[{extra}]"'
    if "vcs_info" in origin:
        vcs = origin["vcs_info"]
        commit = vcs.get("requested_revision") or vcs.get("commit_id") or "HEAD"
        return f'"{named} @ {vcs["vcs"]}+{url}@{commit}"'
    return f'"{named} @ {url}"' if url else f'"{named}"'
