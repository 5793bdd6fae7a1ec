"""Where the tables that travel with the package lie: inside the wheel, or at the top of a checkout."""

from __future__ import annotations

from pathlib import Path

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
