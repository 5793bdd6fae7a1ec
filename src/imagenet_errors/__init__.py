"""How bad are an ImageNet model's mistakes? Every top-1 error gets its least severe explanation.

>>> import imagenet_errors as ie
>>> run = ie.evaluate("resnet50.csv", annotations="real")  # doctest: +SKIP
>>> run.summary.to_pandas()  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from imagenet_errors.api import Run, evaluate, judge, load_run
    from imagenet_errors.chain import ERROR_TYPES
    from imagenet_errors.labels import LabelSpace
    from imagenet_errors.metric import ErrorTypes
    from imagenet_errors.problems import InputError

    classes: LabelSpace

__version__ = "0.1.0"

_HOMES = {
    "evaluate": "api",
    "load_run": "api",
    "judge": "api",
    "Run": "api",
    "ErrorTypes": "metric",
    "ERROR_TYPES": "chain",
    "InputError": "problems",
}
"""Public name -> the module that it is loaded from when it is first asked for."""

__all__ = ["ERROR_TYPES", "ErrorTypes", "InputError", "Run", "__version__", "classes", "evaluate", "judge", "load_run"]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first asked for, so that importing stays fast."""
    if name == "classes":
        from imagenet_errors.labels import imagenet_1k

        return imagenet_1k()
    if name in _HOMES:
        return getattr(import_module(f"imagenet_errors.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'imagenet_errors' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
