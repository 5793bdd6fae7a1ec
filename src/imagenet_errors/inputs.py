"""From what the user names (annotations, evidence files, order) to all that the verdicts rest on, for any command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from imagenet_errors.chain import DEFAULT_ORDER, Chain, build_chain
from imagenet_errors.evidence.sources import OPTIONS, Evidence, load_evidence
from imagenet_errors.labels import LabelSpace, imagenet_1k
from imagenet_errors.problems import InputError
from imagenet_errors.readers.annotations import read_annotations, read_real
from imagenet_errors.tables import REJECTED_LABELS, Annotations

SHIPPED_OR_FETCHED = ("real", "multilabel")


@dataclass(frozen=True)
class Inputs:
    """Where the annotations and the evidence come from, and how they are used.

    ``annotations`` is ``real``, ``multilabel`` or a path; ``evidence``: option of a source -> the user's files, the
    shipped or computed evidence where it has none; ``rejected_labels``: one of ``tables.REJECTED_LABELS``.
    """

    annotations: str = "real"
    evidence: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    stage_order: tuple[str, ...] = DEFAULT_ORDER
    rejected_labels: str = "exclude"

    def with_evidence(self, **files: Path | tuple[Path, ...] | None) -> Inputs:
        """Return the inputs with other evidence files by option; None takes an option away.

        Raises
        ------
        InputError
            There is no such option.
        """
        unknown = [option for option in files if option not in OPTIONS]
        if unknown:
            raise InputError(unknown[0], "is no source of evidence", fix=f"There are: {', '.join(OPTIONS)}.")
        given = {key: (value,) if isinstance(value, Path) else value for key, value in files.items()}
        evidence = {option: paths for option, paths in {**self.evidence, **given}.items() if paths}
        return replace(self, evidence=evidence)

    def file(self, option: str) -> Path | None:
        """Return the first file of an evidence option, None without one."""
        return next(iter(self.evidence.get(option, ())), None)

    @property
    def annotations_place(self) -> str:
        """``real``, ``multilabel``, or the file's absolute path."""
        return self.annotations if self.annotations in SHIPPED_OR_FETCHED else str(Path(self.annotations).resolve())

    @property
    def files(self) -> tuple[Path, ...]:
        """The user's own files among them."""
        annotations = () if self.annotations in SHIPPED_OR_FETCHED else (Path(self.annotations),)
        return (*annotations, *(path for paths in self.evidence.values() for path in paths))

    def check(self) -> None:
        """Refuse a path that is not there, a folder where a file is meant, and unknown words.

        Raises
        ------
        InputError
            A named file does not exist or is a folder, or a choice is none of those there are.
        """
        folders = {path for option, paths in self.evidence.items() if OPTIONS[option].takes_folder for path in paths}
        for path in self.files:
            if not path.exists():
                raise InputError(path, "no such file", fix="Check the path.")
            if path.is_dir() and path not in folders:
                raise InputError(path, "is a folder", fix="Name a file.")
        if self.rejected_labels not in REJECTED_LABELS:
            what = f"no way {self.rejected_labels!r} to treat labels that annotators reject"
            raise InputError("--rejected-labels", what, fix=f"There are: {', '.join(REJECTED_LABELS)}.")


@dataclass(frozen=True, eq=False)
class Basis:
    """All that the verdicts rest on, loaded: whoever judges a case judges it by this."""

    inputs: Inputs
    labels: LabelSpace
    annotations: Annotations
    evidence: Evidence
    chain: Chain

    @property
    def class_names(self) -> pa.StringArray:
        """The classes' names, for sentences."""
        return pa.array(self.labels.names, type=pa.string())

    @property
    def notes(self) -> tuple[str, ...]:
        """What the annotations and the sources of evidence have to say, a sentence each."""
        return self.annotations.notes + tuple(note for notes in self.evidence.notes.values() for note in notes)


def load_basis(inputs: Inputs) -> Basis:
    """Load annotations and evidence, and build the chain.

    Raises
    ------
    InputError
        Something named cannot be used; the text says what.
    """
    inputs.check()
    labels = imagenet_1k()
    annotations = load_annotations(inputs, labels)
    evidence = load_evidence(inputs.evidence, annotations, labels)
    return Basis(inputs, labels, annotations, evidence, build_chain(evidence, inputs.stage_order))


def load_annotations(inputs: Inputs, labels: LabelSpace) -> Annotations:
    """Return the annotations ``real``, ``multilabel`` (fetched and checked once) or those of a file.

    Raises
    ------
    InputError
        They cannot be fetched or read.
    """
    return replace(_annotations(inputs.annotations, labels), rejected_labels=inputs.rejected_labels)


def _annotations(name: str, labels: LabelSpace) -> Annotations:
    if name == "real":
        return read_real(labels)
    if name == "multilabel":
        from imagenet_errors.downloads import fetched_multilabels

        return fetched_multilabels(labels)
    return read_annotations(Path(name), labels)
