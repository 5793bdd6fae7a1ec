"""Data sets by name, a TOML file each in ``data/datasets/``, or in a file of one's own; and classes of one's own.

A data set says which classes models choose from and which of them occur, how an image's name tells its original label,
where accepted labels come from, and which stages have nothing to go by there, and why.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from imagenet_errors.labels import LabelSpace, imagenet_1k
from imagenet_errors.problems import InputError, counted
from imagenet_errors.readers.class_axis import IMAGENET_1K, class_axis
from imagenet_errors.readers.original_labels import CLASS_FOLDER, INDEX_FOLDER, RULES, WNID_FOLDER, NameRule
from imagenet_errors.shipped import shipped

IMAGENET = "imagenet"
REAL = "real"
ANNOTATED = "annotated"
"""Of ``occurring``: the classes that the annotations name as original labels."""


class _Numbers(msgspec.Struct, forbid_unknown_fields=True):
    prefix: str
    n_digits: int
    ending: str
    n_images: int
    beside: list[str] = []


class _File(msgspec.Struct, forbid_unknown_fields=True):
    """The content of a data set's TOML file."""

    title: str
    classes: str = IMAGENET_1K
    paper: str = ""
    url: str = ""
    licence: str = ""
    n_images: int = 0
    label: list[str] = []
    occurring: str | list[int] = []
    annotations: str = ""
    labels_beside: str = ""
    superclasses: str = ""
    setting: str = ""
    published: str = ""
    not_run: dict[str, str] = {}
    notes: list[str] = []
    numbering: _Numbers | None = None


@dataclass(frozen=True, eq=False)
class Dataset:
    """What is known of a data set before any file of the user's is read.

    Parameters
    ----------
    place
        Its name, or its file's absolute path: what ``run.json`` keeps.
    labels
        The classes that models choose from; ``labels.occurring`` are those that its images show.
    name_rule
        How an image's name tells its original label.
    annotations
        The label set that counts unless another is given: ``real``, a name that ``data fetch`` knows, a path, or
        empty: then the original labels alone count, as the predictions' names tell them.
    labels_beside
        What files are called that lie beside label files and tell the original labels.
    setting
        A regular expression for the part of a name by which one file holds several settings, each a model of its own.
    occurs_as_annotated
        Whether the classes that occur are those among the original labels.
    published
        What ``data fetch`` calls the published counts on this data set; empty without any.
    not_run
        Stage -> why it has nothing to go by here, unless the user gives evidence for it.
    """

    place: str
    title: str
    labels: LabelSpace
    name_rule: NameRule
    annotations: str = ""
    labels_beside: str = ""
    superclasses: Path | None = None
    setting: str = ""
    occurs_as_annotated: bool = False
    published: str = ""
    not_run: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name, or the file's stem."""
        return Path(self.place).stem

    @property
    def maskable(self) -> LabelSpace:
        """The classes, where those that occur are known without the annotations.

        Raises
        ------
        InputError
            Only the annotations tell which classes occur.
        """
        if self.occurs_as_annotated:
            what = f"which classes occur in {self.name} is told by its annotations alone"
            raise InputError("--mask-classes", what, fix="Use batch with --annotations, or mask when you evaluate.")
        return self.labels


def dataset_names() -> tuple[str, ...]:
    """Return the names of the data sets that are known without a file, ImageNet's own first."""
    found = sorted(path.stem for path in shipped("data", "datasets").glob("*.toml"))
    return (IMAGENET, *(name for name in found if name != IMAGENET))


def load_dataset(given: str = IMAGENET, classes: Path | None = None) -> Dataset:
    """Return the data set of a name or a TOML file; ``classes``: a file of one's own classes in place of its own.

    Raises
    ------
    InputError
        There is no such data set, or a file is at fault.
    """
    return _loaded(given, None if classes is None else classes.resolve())


@lru_cache(maxsize=8)
def _loaded(given: str, classes: Path | None) -> Dataset:
    if classes is not None and given == IMAGENET:
        return _of_classes(classes)
    path = Path(given).resolve()
    is_shipped = given in dataset_names()
    if is_shipped:
        path = shipped("data", "datasets", f"{given}.toml")
    elif not path.is_file():
        names = ", ".join(dataset_names())
        raise InputError("--dataset", f"no data set and no file {given!r}", fix=f"There are: {names}; or name a TOML.")
    found = _dataset(_read(path), path, given if is_shipped else str(path))
    return found if classes is None else replace(found, labels=_read_classes(classes))


def _read_classes(path: Path) -> LabelSpace:
    from imagenet_errors.readers.own_classes import read_classes  # only few runs have classes of their own

    return read_classes(path)


def _of_classes(path: Path) -> Dataset:
    labels = _read_classes(path)
    by_name = {name.casefold(): (index,) for index, name in enumerate(labels.names)}
    rule = NameRule((WNID_FOLDER, CLASS_FOLDER, INDEX_FOLDER), by_name)
    return Dataset(IMAGENET, f"{counted(len(labels), 'class', 'classes')} of {path.name}", labels, rule)


def _read(path: Path) -> _File:
    try:
        return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), _File)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError, msgspec.ValidationError) as error:
        raise InputError(
            path, f"describes no data set: {error}", fix="docs/datasets.md tells how one is written."
        ) from None


def _dataset(told: _File, path: Path, place: str) -> Dataset:
    labels = imagenet_1k() if told.classes == IMAGENET_1K else _read_classes(path.parent / told.classes)
    unknown = [way for way in told.label if way not in RULES]
    if unknown:
        raise InputError(
            path, f"no way {unknown[0]!r} to tell labels from names", fix=f"There are: {', '.join(RULES)}."
        )
    try:
        pc.match_substring_regex(pa.array([""]), told.setting)
    except pa.ArrowInvalid as error:
        raise InputError(path, f"setting is no regular expression: {error}", fix="RE2 has no lookahead.") from None
    occurring = _occurring(told, labels)
    strange = [index for index in occurring if not 0 <= index < len(labels)]
    if strange or len({*occurring}) < len(occurring):
        what = f"occurring names class {strange[0]}" if strange else "occurring names a class twice"
        raise InputError(path, what, fix=f"List class indices 0..{len(labels) - 1}, each once.")
    beside = path.parent / told.annotations
    own = labels is not imagenet_1k()
    folders = {name.casefold(): (index,) for index, name in enumerate(labels.names)} if own else {}
    return Dataset(
        place=place,
        title=told.title,
        labels=replace(labels, occurring=occurring) if occurring else labels,
        name_rule=NameRule(tuple(told.label), folders),
        annotations=str(beside) if told.annotations and beside.is_file() else told.annotations,
        labels_beside=told.labels_beside,
        superclasses=path.parent / told.superclasses if told.superclasses else None,
        setting=told.setting,
        occurs_as_annotated=told.occurring == ANNOTATED,
        published=told.published,
        not_run=told.not_run,
        notes=tuple(told.notes),
    )


def _occurring(told: _File, labels: LabelSpace) -> tuple[int, ...]:
    """Return the classes that occur, in the order in which a head of so many outputs has them; none for all."""
    if told.occurring == ANNOTATED:
        return ()
    if isinstance(told.occurring, str):
        return tuple(int(index) for index in class_axis(told.occurring, labels).class_at)
    return tuple(told.occurring)
