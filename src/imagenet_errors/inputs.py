"""From what the user names (annotations, evidence files) to the tables the chain needs, for any command."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from imagenet_errors.chain import DEFAULT_ORDER
from imagenet_errors.evidence.co_occurrence import CoOccurrence, co_occurrence, read_co_occurrence
from imagenet_errors.evidence.non_prototypical import read_non_prototypical
from imagenet_errors.evidence.oov import read_oov_evidence
from imagenet_errors.evidence.overlaps import load_overlaps
from imagenet_errors.evidence.sources import Evidence
from imagenet_errors.evidence.superclasses import load_superclasses
from imagenet_errors.images import ImageIndex, val_numbers
from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import InputError
from imagenet_errors.readers.annotations import read_annotations, read_real
from imagenet_errors.tables import Annotations, Ragged

SHIPPED_OR_FETCHED = ("real", "multilabel")


@dataclass(frozen=True)
class Sources:
    """Where the annotations and the evidence come from; None: the shipped one, or none where there is none.

    ``annotations`` is ``real``, ``multilabel`` or a path.
    """

    annotations: str
    oov_evidence: Path | None = None
    non_prototypical: tuple[Path, ...] = ()
    co_occurrence: Path | None = None
    superclasses: Path | None = None
    stage_order: tuple[str, ...] = DEFAULT_ORDER

    @classmethod
    def given(cls, annotations: str, *, stage_order: str = "", **paths: Any) -> Sources:
        """Build from what a command line says; ``stage_order`` is names joined by commas, or empty.

        Raises
        ------
        InputError
            No annotations are named.
        """
        if not annotations:
            raise InputError("--annotations", "is needed", fix="Pass real, multilabel or a file.")
        order = tuple(stage_order.replace(" ", "").split(",")) if stage_order else DEFAULT_ORDER
        return cls(annotations, stage_order=order, **paths)

    @property
    def files(self) -> tuple[Path, ...]:
        """The user's own files among them."""
        own = (self.oov_evidence, *self.non_prototypical, self.co_occurrence, self.superclasses)
        named = () if self.annotations in SHIPPED_OR_FETCHED else (Path(self.annotations),)
        return (*named, *(path for path in own if path is not None))

    @property
    def annotations_place(self) -> str:
        """``real``, ``multilabel``, or the file's absolute path."""
        return self.annotations if self.annotations in SHIPPED_OR_FETCHED else str(Path(self.annotations).resolve())

    def check_files(self) -> None:
        """Refuse a path that is not there, and a folder where a file is meant.

        Raises
        ------
        InputError
            A named file does not exist or is a folder.
        """
        for path in self.files:
            if not path.exists():
                raise InputError(path, "no such file", fix="Check the path.")
            if path.is_dir() and path != self.superclasses:
                raise InputError(path, "is a folder", fix="Name a file.")


def load_annotations(name: str, labels: LabelSpace) -> Annotations:
    """Return the annotations ``real``, ``multilabel`` (fetched and checked once) or those of a file."""
    if name == "real":
        return read_real(labels)
    from imagenet_errors.downloads import resolve

    (path,) = resolve(name, "--annotations")
    annotations = read_annotations(path, labels)
    return replace(annotations, name=name) if name in SHIPPED_OR_FETCHED else annotations


def load_evidence(sources: Sources, annotations: Annotations, labels: LabelSpace) -> Evidence:
    """Load everything the stages look up, matched to the annotated images."""
    images = ImageIndex(annotations.file_names)
    superclasses = load_superclasses(sources.superclasses)
    pairs = _co_occurrence(sources, annotations, labels).without(superclasses.shares)
    oov, lists = sources.oov_evidence, sources.non_prototypical
    return Evidence(
        overlaps=load_overlaps(labels),
        superclasses=superclasses,
        oov=None if oov is None else read_oov_evidence(oov, images),
        non_prototypical=read_non_prototypical(lists, images) if lists else None,
        co_occurrence=pairs,
    )


def _co_occurrence(sources: Sources, annotations: Annotations, labels: LabelSpace) -> CoOccurrence:
    if sources.co_occurrence is not None:
        return read_co_occurrence(sources.co_occurrence, labels)
    if sources.annotations == "real":
        return co_occurrence(with_labels(annotations), len(labels), source="all ReaL images")
    accepted = other_real_images(annotations, labels)
    return co_occurrence(accepted, len(labels), source="ReaL images outside the annotations")


def other_real_images(annotations: Annotations, labels: LabelSpace) -> Ragged:
    """Return the labels of the ReaL images that the annotations do not name, problematic ones counting as
    named.

    Source: Peychev et al., NeurIPS 2023, section 3: co-occurrence is learnt outside the evaluated images.
    """
    real = read_real(labels)
    numbers = val_numbers(annotations.file_names)
    named = np.zeros(len(real) + 1, dtype=np.bool_)
    named[numbers[(numbers > 0) & (numbers <= len(real))]] = True
    chosen = np.flatnonzero(~named[1:])
    return with_labels(
        Annotations(
            real.name,
            real.file_names,
            real.label[chosen],
            real.accepted.take(chosen),
            real.problematic[chosen],
        )
    )


def with_labels(real: Annotations) -> Ragged:
    """Return ReaL labels plus the original one, each once; images without ReaL labels are left out."""
    chosen = np.flatnonzero(real.accepted.lengths > 0)
    kept = real.accepted.take(chosen)
    values = np.insert(kept.values, kept.offsets[:-1], real.label[chosen])
    return Ragged(kept.offsets + np.arange(len(kept.offsets)), values).ascending()
