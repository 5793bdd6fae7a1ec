"""What a source of evidence declares of itself, once; options, loading, hashes, ``run.json``, ``why`` and the page
loop over these declarations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from imagenet_errors.images import ImageIndex
from imagenet_errors.labels import LabelSpace
from imagenet_errors.tables import Annotations


@dataclass(frozen=True, eq=False)
class Subject:
    """What evidence is about: the annotated images and the classes; ``parts``: evidence that was loaded before."""

    annotations: Annotations
    labels: LabelSpace
    parts: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def images(self) -> ImageIndex:
        """Finds an annotated image by its name."""
        return ImageIndex(self.annotations.file_names)


@dataclass(frozen=True, eq=False)
class Loaded:
    """What came of loading: the evidence, or None and the reason; ``notes``: sentences for whoever reads the run."""

    value: Any
    notes: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class Source:
    """One source of evidence.

    Parameters
    ----------
    name
        What a stage that needs it calls its field.
    load
        Gives the evidence from the user's files, none for the shipped or computed one.
    option
        The keyword of ``evaluate`` and, with hyphens, the flag of the command line; empty: the user gives none.
    help
        The flag's help.
    many
        Whether the flag may be given several times.
    takes_folder
        Whether the flag may name a folder.
    """

    name: str
    load: Callable[[tuple[Path, ...], Subject], Loaded]
    option: str = ""
    help: str = ""
    many: bool = False
    takes_folder: bool = False

    @property
    def flag(self) -> str:
        """The option as it is typed."""
        return f"--{self.option.replace('_', '-')}"
