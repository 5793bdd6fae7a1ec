"""From what the user names (annotations, evidence files, order) to all that the verdicts rest on, for any command."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from imagenet_errors.chain import DEFAULT_ORDER, ERROR_TYPES, STAGES, Chain, Walk, build_chain
from imagenet_errors.datasets import IMAGENET, REAL, Dataset, load_dataset
from imagenet_errors.downloads import FileFacts, at_hand, facts_of, names_for, resolve, resolve_all
from imagenet_errors.evidence.sources import OPTIONS, Evidence, load_evidence
from imagenet_errors.label_sets import COMBINATIONS
from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import InputError, refuse_absent
from imagenet_errors.readers.annotations import (
    LabelRules,
    UnlabelledError,
    assembled,
    labels_told_by,
    read_real,
)
from imagenet_errors.readers.label_files import MIN_PROBABILITY, LabelFile, read_label_file
from imagenet_errors.readers.model_files import model_files
from imagenet_errors.readers.opened import changed, state_of
from imagenet_errors.readers.original_labels import CLASS_FOLDER
from imagenet_errors.severity import graded
from imagenet_errors.tables import REJECTED_LABELS, Annotations, Verdicts


def is_named(annotations: str) -> bool:
    """Tell whether annotations are called by a name (``real``, or one that ``data fetch`` knows), not by a path."""
    return annotations == REAL or annotations in names_for("--annotations")


def _name_meant(written: str) -> str:
    """Return the known name that is written with other capitals or hyphens; else what is written."""
    names = ("real", *names_for("--annotations"))
    bare = {name.replace("-", "").replace("_", ""): name for name in names}
    return bare.get(written.casefold().replace("-", "").replace("_", ""), written)


@dataclass(frozen=True)
class Inputs:
    """Where the annotations and the evidence come from, and how they are used.

    Parameters
    ----------
    annotations
        ``real`` (of other data sets: their own labels), another name that ``data fetch`` knows, or a path.
    evidence
        Option of a source -> the user's files; the shipped or computed evidence where it has none.
    rejected_labels
        One of ``tables.REJECTED_LABELS``.
    dataset
        The name of a data set, or its TOML file.
    classes
        A file of one's own classes.
    more_annotations
        Further label sets, or files that tell original labels; ``combine`` (one of ``label_sets.COMBINATIONS``) says
        how label sets are joined.
    min_label_probability
        From which probability or weight on a label is accepted, in files that give one.
    labels_from
        A predictions file that tells original labels where no annotations file does; see ``load_basis``.
    """

    annotations: str = REAL
    evidence: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    stage_order: tuple[str, ...] = DEFAULT_ORDER
    rejected_labels: str = "exclude"
    dataset: str = IMAGENET
    classes: Path | None = None
    more_annotations: tuple[str, ...] = ()
    combine: str = COMBINATIONS[0]
    min_label_probability: float = MIN_PROBABILITY
    labels_from: Path | None = None

    @classmethod
    def given(
        cls,
        annotations: str | Path | Sequence[str | Path],
        *,
        dataset: str | Path,
        classes: str | Path | None,
        rejected_labels: str,
    ) -> Inputs:
        """Return the inputs of what Python functions are given: one set of annotations or several."""
        several = [annotations] if isinstance(annotations, str | Path) else annotations
        if not isinstance(several, Sequence) or not several or not all(isinstance(one, str | Path) for one in several):
            fix = "Give a name of data list, the path of a file, or several; write labels that you have into a file."
            raise InputError("annotations", f"a {type(annotations).__name__} names no label files", fix=fix)
        if not isinstance(classes, str | Path | None):
            fix = "Give the path of a table index,name."
            raise InputError("classes", f"a {type(classes).__name__} is no file of classes", fix=fix)
        first, *more = several
        return cls(
            str(first),
            rejected_labels=rejected_labels,
            dataset=str(dataset),
            classes=None if classes is None else Path(classes),
            more_annotations=tuple(map(str, more)),
        )

    @cached_property
    def data_set(self) -> Dataset:
        """What is known of the data set.

        Raises
        ------
        InputError
            There is none of that name, or its file or that of the classes is at fault.
        """
        return load_dataset(self.dataset, self.classes)

    @property
    def label_sets(self) -> tuple[str, ...]:
        """The names and paths of all annotations; ``real`` stands for the data set's own, which may be none."""
        own = self.annotations if self.annotations != REAL else self.data_set.annotations
        return tuple(name for name in (own, *self.more_annotations) if name)

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
        """The first annotations' name, or the file's absolute path."""
        return _place(self.annotations)

    @property
    def more_places(self) -> list[str]:
        """The same of the further ones."""
        return [_place(name) for name in self.more_annotations]

    @property
    def files(self) -> tuple[Path, ...]:
        """The user's own files among them."""
        annotations = [Path(name) for name in self.label_sets if not is_named(name)]
        told_by = [path for path in (self.classes, self.labels_from) if path is not None]
        own = [Path(self.dataset)] if self.dataset.endswith(".toml") else []
        return (*annotations, *own, *told_by, *(path for paths in self.evidence.values() for path in paths))

    @property
    def published_files(self) -> tuple[Path, ...]:
        """The files that stand for the annotations' names, once they were fetched."""
        return tuple(path for name in self.label_sets if name != REAL and is_named(name) for path in at_hand(name))

    def check(self) -> None:
        """Refuse a path that is not there, a folder where a file is meant, and unknown words.

        Raises
        ------
        InputError
            A named file does not exist or is a folder, or a choice is none of those there are.
        """
        folders = {path for option, paths in self.evidence.items() if OPTIONS[option].takes_folder for path in paths}
        for name in self.label_sets:
            if not is_named(name):
                resolve(name, "--annotations")
        for path in self.files:
            refuse_absent(path)
            if path.is_dir() and path not in folders:
                raise InputError(path, "is a folder", fix="Name a file.")
        if self.rejected_labels not in REJECTED_LABELS:
            what = f"no way {self.rejected_labels!r} to treat labels that annotators reject"
            raise InputError("--rejected-labels", what, fix=f"There are: {', '.join(REJECTED_LABELS)}.")
        if self.combine not in COMBINATIONS:
            what = f"no way {self.combine!r} to combine label sets"
            raise InputError("--combine", what, fix=f"There are: {', '.join(COMBINATIONS)}.")
        if not 0 < self.min_label_probability <= 1:
            what = f"{self.min_label_probability:g} is no probability above 0"
            raise InputError("--min-label-probability", what, fix="Write a number such as 0.5.")


def _place(annotations: str) -> str:
    return annotations if is_named(annotations) else str(Path(annotations).resolve())


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
    own_files: tuple[tuple[Path, int, str], ...] = ()
    """The user's own among them: path, size in bytes and sha256 of what was read."""
    told_in_memory: bool = False
    """Whether no file, but names (and labels) in memory told the original labels."""

    @cached_property
    def class_names(self) -> pa.StringArray:
        """The classes' names, for sentences."""
        return pa.array(self.labels.names, type=pa.string())

    def verdicts(self, walk: Walk) -> Verdicts:
        """Return the verdicts of a walk, with the failures graded by WordNet."""
        verdicts = walk.verdicts(self.class_names)
        failed = verdicts.error_type == ERROR_TYPES.index("model_failure")
        told = graded(verdicts.explanation, walk.cases, failed, self.labels)
        return replace(verdicts, explanation=told.explanation, steps=told.steps)

    @property
    def label_set(self) -> str:
        """What the labels that count are called: names and files, and which file told the original labels alone."""
        names = [name if is_named(name) else Path(name).name for name in self.inputs.label_sets]
        if not names:
            told_by = self.inputs.labels_from
            return "the original labels alone" + (f", as {told_by.name} tells them" if told_by else "")
        is_joined = self.annotations.name.startswith(f"{self.inputs.combine} of ")
        return f"{self.inputs.combine} of {', '.join(names)}" if is_joined else " with ".join(names)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the annotations and the sources of evidence have to say, a sentence each."""
        return tuple(note for notes in self.evidence.notes.values() for note in notes)


def load_basis(inputs: Inputs, predictions: Sequence[Path] = (), *, told_by: Sequence[LabelFile] = ()) -> Basis:
    """Load annotations and evidence, and build the chain.

    ``predictions``: files and folders, of which the first that tells the images' original labels (by their names or a
    column beside those of the models) is asked where the annotations do not; ``inputs`` of the basis then name it.
    ``told_by``: the same in memory, asked after the files.

    Raises
    ------
    InputError
        Something named cannot be used, or changed while it was read; the text says what.
    """
    inputs.check()
    before = {path: state_of(path.stat()) for path in inputs.files}
    in_memory = False
    try:
        annotations = load_annotations(inputs)
    except UnlabelledError as lacking:
        inputs, annotations, in_memory = _completed(inputs, predictions, told_by, lacking)
    labels = labels_in(inputs.data_set, annotations)
    own = inputs.data_set.superclasses
    given = {**({"superclasses": (own,)} if own else {}), **inputs.evidence}
    evidence = _told(load_evidence(given, annotations, labels), inputs.data_set, annotations)
    chain = build_chain(evidence, inputs.stage_order).without(_useless(inputs, annotations))
    facts = {path: facts_of(path) for path in inputs.files}
    judged_by = (*facts_of(*inputs.published_files), *(fact for of_one in facts.values() for fact in of_one))
    own_files = tuple(
        (path, of_one[0].n_bytes, of_one[0].sha256) for path, of_one in facts.items() if of_one and not path.is_dir()
    )
    _refuse_changed(before)
    return Basis(inputs, labels, annotations, evidence, chain, judged_by, own_files, in_memory)


def _refuse_changed(before: Mapping[Path, tuple[int, int]]) -> None:
    """Refuse files that changed since: their hashes would not be those of what was read."""
    for path, state in before.items():
        if not path.exists() or state_of(path.stat()) != state:
            raise changed(path)


def _completed(
    inputs: Inputs, predictions: Sequence[Path], told_by: Sequence[LabelFile], lacking: UnlabelledError
) -> tuple[Inputs, Annotations, bool]:
    """Ask the files beside the annotations, the predictions, then what is in memory, for what the annotations lack."""
    for path in _may_tell(inputs, predictions):
        with suppress(UnlabelledError):
            completed = replace(inputs, labels_from=path)
            return completed, load_annotations(completed), False
    for told in told_by:
        with suppress(UnlabelledError):
            return inputs, load_annotations(inputs, told_by=told), True
    if not predictions and not told_by:
        raise lacking
    raise UnlabelledError(lacking.where, lacking.what, example=lacking.example, fix=_who_may_tell(inputs.data_set))


def _who_may_tell(data_set: Dataset) -> str:
    """Say what would tell the original labels of a data set, where neither names nor columns of predictions did."""
    ways = data_set.name_rule.ways
    table = ", or one that says which classes a folder is (JSON: folder -> classes)" if CLASS_FOLDER in ways else ""
    names = " Names in a folder by class would tell, too." if ways else ""
    return f"Pass --annotations with a table of file_name and label (class indices or names){table}.{names}"


def _may_tell(inputs: Inputs, predictions: Sequence[Path]) -> Iterator[Path]:
    """Yield the files that may tell original labels, those beside the annotations first."""
    own = [Path(name) for name in inputs.label_sets if not is_named(name)]
    pattern = inputs.data_set.labels_beside
    for path in own if pattern else ():
        yield from sorted(found for found in path.parent.glob(pattern) if found not in own)
    if predictions:
        yield from (path for model in model_files(predictions) for path in model.paths)


def labels_in(data_set: Dataset, annotations: Annotations) -> LabelSpace:
    """Return the classes with those that occur, where only the annotations tell."""
    if not data_set.occurs_as_annotated:
        return data_set.labels
    seen = np.unique(annotations.originals.values)
    return replace(data_set.labels, occurring=tuple(seen.tolist()))


def _told(evidence: Evidence, data_set: Dataset, annotations: Annotations) -> Evidence:
    """Add what there is to say of the labels and the data set."""
    told = {"annotations": annotations.notes, "dataset": data_set.notes}
    return replace(evidence, notes={**evidence.notes, **{name: notes for name, notes in told.items() if notes}})


def _useless(inputs: Inputs, annotations: Annotations) -> dict[str, str]:
    """Return the stages that have nothing to go by on this data set, with the reasons; none that the user feeds."""
    given = {source.name for option, source in OPTIONS.items() if inputs.evidence.get(option)}
    fed = {stage.name for stage in STAGES if given & {part.name for part in fields(stage)}}  # type: ignore[arg-type]
    data_set = inputs.data_set
    reasons = dict(data_set.not_run)
    if not annotations.accepts_originals_alone:
        fed.add("multi_object")
    elif not annotations.states_accepted or data_set.place != IMAGENET or not data_set.labels.is_imagenet:
        reasons.setdefault("multi_object", "one label an image is given; others that are right are not known")
    return {name: reason for name, reason in reasons.items() if name not in fed}


def load_annotations(
    inputs: Inputs, labels: LabelSpace | None = None, *, told_by: LabelFile | None = None
) -> Annotations:
    """Return the annotations of names (fetched and checked once, unless shipped) and files.

    ``told_by``: what tells original labels where they do not, instead of ``labels_from``.

    Raises
    ------
    InputError
        They cannot be fetched or read; ``UnlabelledError``: another file must tell original labels.
    """
    labels = labels or inputs.data_set.labels
    return replace(_annotations(inputs, labels, told_by), rejected_labels=inputs.rejected_labels)


def _annotations(inputs: Inputs, labels: LabelSpace, told_by: LabelFile | None) -> Annotations:
    if inputs.label_sets == (REAL,):
        return read_real(labels)
    data_set = inputs.data_set
    rules = LabelRules(data_set.name_rule, inputs.min_label_probability, inputs.combine, data_set.occurs_as_annotated)
    files = [_label_file(name, labels, rules) for name in inputs.label_sets]
    if told_by is None and inputs.labels_from is not None:
        told_by = labels_told_by(inputs.labels_from, labels)
    found = assembled(files, labels, rules=rules, labels_from=told_by)
    only = inputs.label_sets[0] if len(inputs.label_sets) == 1 else ""
    found = replace(found, name=only) if only and is_named(only) else found
    return found if told_by is None else replace(found, notes=(*found.notes, f"original labels by {told_by.path.name}"))


def _label_file(name: str, labels: LabelSpace, rules: LabelRules) -> LabelFile:
    """Read one label set; ReaL's shipped labels beside others are read as a file of the same."""
    if name == REAL:
        real = read_real(labels)
        return LabelFile(Path(REAL), real.file_names, real.accepted, real.originals)
    (path,) = resolve(name, "--annotations")
    return read_label_file(path, labels, min_probability=rules.min_probability)
