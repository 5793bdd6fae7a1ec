"""The sources of evidence, and all that the stages look things up in, each part there or not, with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from dataclasses import replace as changed
from pathlib import Path
from typing import Any

from imagenet_errors.evidence import co_occurrence, non_prototypical, oov, overlaps, superclasses
from imagenet_errors.evidence.source import Source, Subject
from imagenet_errors.labels import LabelSpace
from imagenet_errors.tables import Annotations

SOURCES: tuple[Source, ...] = (
    overlaps.SOURCE,
    superclasses.SOURCE,
    oov.SOURCE,
    non_prototypical.SOURCE,
    co_occurrence.SOURCE,
)
"""In the order of loading: a source may look at what was loaded before it. A new one is its file and its line here."""

OPTIONS: dict[str, Source] = {source.option: source for source in SOURCES if source.option}
"""The sources that the user can give, by option."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """Source name -> what it gave; a stage runs when all of its fields are among ``parts``.

    ``absent``: source name -> why there is none; ``notes``: source name -> sentences for whoever reads the run.
    """

    parts: Mapping[str, Any]
    absent: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        """Return one part; raises KeyError where it is absent."""
        return self.parts[name]

    def get(self, name: str) -> Any:
        """Return one part, None where it is absent."""
        return self.parts.get(name)

    def replace(self, **parts: Any) -> Evidence:
        """Return the evidence with other parts; None takes one away."""
        kept = {name: value for name, value in {**self.parts, **parts}.items() if value is not None}
        return changed(self, parts=kept)


def load_evidence(files: Mapping[str, tuple[Path, ...]], annotations: Annotations, labels: LabelSpace) -> Evidence:
    """Load every source, matched to the annotated images; ``files``: option -> the user's files.

    Raises
    ------
    InputError
        A file cannot be used.
    """
    parts: dict[str, Any] = {}
    absent: dict[str, str] = {}
    notes: dict[str, tuple[str, ...]] = {}
    subject = Subject(annotations, labels, parts)
    for source in SOURCES:
        loaded = source.load(files.get(source.option, ()), subject)
        if loaded.value is None:
            absent[source.name] = loaded.reason
        else:
            parts[source.name] = loaded.value
        if loaded.notes:
            notes[source.name] = loaded.notes
    return Evidence(parts, absent, notes)
