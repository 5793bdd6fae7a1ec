"""From what the user names (annotations, evidence files, order) to all that the verdicts rest on, for any command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from imagenet_errors.chain import DEFAULT_ORDER, Chain, build_chain
from imagenet_errors.downloads import FileFacts, at_hand, facts_of, names_for, resolve, resolve_all
from imagenet_errors.evidence.sources import OPTIONS, Evidence, load_evidence
from imagenet_errors.labels import LabelSpace, imagenet_1k
from imagenet_errors.problems import InputError
from imagenet_errors.readers.annotations import read_annotations, read_real
from imagenet_errors.tables import REJECTED_LABELS, Annotations


def is_named(annotations: str) -> bool:
    """Tell whether annotations are called by a name (``real``, or one that ``data fetch`` knows), not by a path."""
    return annotations == "real" or annotations in names_for("--annotations")


def _name_meant(written: str) -> str:
    """Return the known name that is written with other capitals or hyphens; else what is written."""
    names = ("real", *names_for("--annotations"))
    bare = {name.replace("-", "").replace("_", ""): name for name in names}
    return bare.get(written.casefold().replace("-", "").replace("_", ""), written)


@dataclass(frozen=True)
class Inputs:
    """Where the annotations and the evidence come from, and how they are used.

    ``annotations`` is ``real``, another name that ``data fetch`` knows, or a path; ``evidence``: option of a source ->
    the user's files, the shipped or computed evidence where it has none; ``rejected_labels``: one of
    ``tables.REJECTED_LABELS``.
    """

    annotations: str = "real"
    evidence: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    stage_order: tuple[str, ...] = DEFAULT_ORDER
    rejected_labels: str = "exclude"

    def __post_init__(self) -> None:
        """Understand a name however it is written: ``Real``, ``multi-label``."""
        if not Path(self.annotations).exists():
            object.__setattr__(self, "annotations", _name_meant(self.annotations))

    def with_evidence(self, **files: str | Path | tuple[str | Path, ...] | None) -> Inputs:
        """Return the inputs with other evidence files by option; None takes an option away.

        A text may be a name that ``data fetch`` knows (``non_prototypical="panel"``), fetched if it is not here.

        Raises
        ------
        InputError
            There is no such option, or a text is neither a path nor a name of that option.
        """
        unknown = [option for option in files if option not in OPTIONS]
        if unknown:
            raise InputError(unknown[0], "is no source of evidence", fix=f"There are: {', '.join(OPTIONS)}.")
        given = {option: resolve_all(value, OPTIONS[option].flag) for option, value in files.items()}
        evidence = {option: paths for option, paths in {**self.evidence, **given}.items() if paths}
        return replace(self, evidence=evidence)

    def file(self, option: str) -> Path | None:
        """Return the first file of an evidence option, None without one."""
        return next(iter(self.evidence.get(option, ())), None)

    @property
    def annotations_place(self) -> str:
        """The annotations' name, or the file's absolute path."""
        return self.annotations if is_named(self.annotations) else str(Path(self.annotations).resolve())

    @property
    def files(self) -> tuple[Path, ...]:
        """The user's own files among them."""
        annotations = () if is_named(self.annotations) else (Path(self.annotations),)
        return (*annotations, *(path for paths in self.evidence.values() for path in paths))

    @property
    def published_files(self) -> tuple[Path, ...]:
        """The files that stand for the annotations' name, once they were fetched."""
        return at_hand(self.annotations) if self.annotations != "real" and is_named(self.annotations) else ()

    def check(self) -> None:
        """Refuse a path that is not there, a folder where a file is meant, and unknown words.

        Raises
        ------
        InputError
            A named file does not exist or is a folder, or a choice is none of those there are.
        """
        folders = {path for option, paths in self.evidence.items() if OPTIONS[option].takes_folder for path in paths}
        if not is_named(self.annotations):
            resolve(self.annotations, "--annotations")
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
    judged_by: tuple[FileFacts, ...] = ()
    """The files of labels and evidence as they were loaded; published ones with address, commit and licence."""

    @cached_property
    def class_names(self) -> pa.StringArray:
        """The classes' names, for sentences."""
        return pa.array(self.labels.names, type=pa.string())

    @property
    def notes(self) -> tuple[str, ...]:
        """What the sources of evidence have to say, a sentence each."""
        return tuple(note for notes in self.evidence.notes.values() for note in notes)


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
    files = facts_of(*inputs.published_files, *inputs.files)
    return Basis(inputs, labels, annotations, evidence, build_chain(evidence, inputs.stage_order), files)


def load_annotations(inputs: Inputs, labels: LabelSpace) -> Annotations:
    """Return the annotations of a name (fetched and checked once, unless shipped) or of a file.

    Raises
    ------
    InputError
        They cannot be fetched or read.
    """
    return replace(_annotations(inputs.annotations, labels), rejected_labels=inputs.rejected_labels)


def _annotations(name: str, labels: LabelSpace) -> Annotations:
    if name == "real":
        return read_real(labels)
    (path,) = resolve(name, "--annotations")
    annotations = read_annotations(path, labels)
    return replace(annotations, name=name) if is_named(name) else annotations
