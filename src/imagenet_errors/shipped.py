"""What this installation has: the tables that travel with the package, and libraries that are optional."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

from imagenet_errors.problems import InputError

_NAME = "imagenet-errors"
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
        fix = f"Install it with: {install_command(extra)}."
        raise InputError(error.name, "is needed for this and not installed", fix=fix) from None


def install_command(extra: str) -> str:
    """Return the pip command that adds an extra to this installation, wherever it was installed from.

    Source: PEP 610, ``direct_url.json``: installed from a folder, a repository or a file; from an index without it.
    """
    import json
    from importlib.metadata import PackageNotFoundError, distribution  # takes longer to load than a file of labels

    try:
        recorded = distribution(_NAME).read_text("direct_url.json")
    except PackageNotFoundError:
        recorded = None
    origin: dict[str, Any] = json.loads(recorded) if recorded else {}
    return f"pip install {_requirement(origin, extra)}"


def _requirement(origin: dict[str, Any], extra: str) -> str:
    from urllib.parse import unquote, urlsplit

    named, url = f"{_NAME}[{extra}]", origin.get("url", "")
    if "dir_info" in origin:
        editable = "--editable " if origin["dir_info"].get("editable") else ""
        return f'{editable}"{unquote(urlsplit(url).path)}[{extra}]"'
    if "vcs_info" in origin:
        vcs = origin["vcs_info"]
        commit = vcs.get("requested_revision") or vcs.get("commit_id") or "HEAD"
        return f'"{named} @ {vcs["vcs"]}+{url}@{commit}"'
    return f'"{named} @ {url}"' if url else f'"{named}"'
