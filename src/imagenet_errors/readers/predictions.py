"""From a path that the user gave to one model's predictions, matched to the annotated images."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from imagenet_errors.images import ImageIndex
from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import InputError
from imagenet_errors.readers.candidates import Reader, told_apart
from imagenet_errors.readers.formats import ENDINGS, raw_of
from imagenet_errors.readers.match import MatchRules, match
from imagenet_errors.readers.memory import InMemory
from imagenet_errors.readers.opened import opened
from imagenet_errors.readers.resolve import Resolved
from imagenet_errors.tables import Annotations, Predictions

_PART = re.compile(r"(?i)(?:rank|part|shard|chunk|worker|gpu|proc(?:ess)?|device)[-_. ]?\d+|\d+[-_]of[-_]\d+")
"""What tells a part of a model's predictions by its name: a number behind one of these words."""


@dataclass(frozen=True)
class ReadRules:
    """What the user stated about predictions files; everything else is proven from the file or refused.

    ``class_axis`` is a known axis or a file of wnids; ``columns`` role -> column name; for ``row_order`` and
    the rest see ``match.MatchRules``."""

    row_order: str | None = None
    class_axis: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    allow_partial: bool = False
    check_order: bool = True


@dataclass(frozen=True)
class ModelReading:
    """One model of a file: its name, and how to match its rows to the images; :meth:`predictions` may fail alone."""

    model: str
    predictions: Callable[[], Predictions]


def read_models(
    given: Path | InMemory, annotations: Annotations, labels: LabelSpace, *, rules: ReadRules, name: str = ""
) -> tuple[ModelReading, ...]:
    """Read predictions of any known form: one model, or, of a table with a column a model, several.

    ``name``: what a single model is called; otherwise it is named by its file.

    Raises
    ------
    InputError
        The file cannot be read, or its classes or rows cannot be told.
    """
    path = given.path if isinstance(given, InMemory) else given
    matching = MatchRules(rules.row_order, rules.allow_partial, rules.check_order)
    images = ImageIndex(annotations.file_names)
    reader = Reader(annotations, labels, images, matching, rules.class_axis, path)

    def reading(header: str, resolved: Resolved) -> ModelReading:
        model = header or name or model_name(path)
        return ModelReading(model, lambda: match(resolved, annotations, labels, model=model, path=path, rules=matching))

    if isinstance(given, InMemory):
        return tuple(reading(header, resolved) for header, resolved in told_apart(given.raw, reader))
    with opened(path) as file:
        raw = replace(raw_of(file, columns=rules.columns), sha256=file.sha256)
        return tuple(reading(header, resolved) for header, resolved in told_apart(raw, reader))


def read_predictions(path: Path, annotations: Annotations, labels: LabelSpace, *, rules: ReadRules) -> Predictions:
    """Read the predictions of a file that holds one model.

    Raises
    ------
    InputError
        The file cannot be read, holds several models, its classes or rows cannot be told, or it does not cover the
        annotated images.
    """
    first, *others = read_models(path, annotations, labels, rules=rules)
    if others:
        raise InputError(
            path,
            f"{1 + len(others)} models, a column each: {first.model}, {others[0].model}, ...",
            fix="Say which is meant: --column index=NAME.",
        )
    return first.predictions()


def model_name(path: Path) -> str:
    """Return the model's name: the stem; for the published program's ``MODEL/preds.npz``, the folder."""
    name = path.name
    if name == "preds.npz":
        return path.resolve().parent.name
    while Path(name).suffix.lower() in ENDINGS:
        name = Path(name).stem
    return name


def prediction_files(given: Sequence[Path]) -> tuple[Path, ...]:
    """Return the files meant by files and folders, folders' files in the order of their names.

    Raises
    ------
    InputError
        A path does not exist, a folder holds no predictions, or two files would be the same model.
    """
    files: list[Path] = []
    for path in given:
        if not path.exists():
            raise InputError(path, "no such file or folder", fix="Check the path.")
        found = _inside(path) if path.is_dir() else [path]
        if not found:
            raise InputError(path, "no predictions in this folder", fix=f"Known endings: {', '.join(ENDINGS)}.")
        files += found
    if not files:
        raise InputError("PREDICTIONS", "no file given", fix="Name files or folders of predictions, or pass --demo.")
    once: dict[Path, Path] = {}
    for path in files:
        once.setdefault(path.resolve(), path)
    files = list(once.values())
    _refuse_twins(files)
    return tuple(files)


def refuse_parts(files: Sequence[Path], annotations: Annotations, labels: LabelSpace, *, rules: ReadRules) -> None:
    """Refuse files that are parts of one model: named alike but for a number, and no image in two of them.

    Only files whose names say so (``preds-rank-0``, ``part-00001``) are read to compare their images.

    Raises
    ------
    InputError
        Two files or more are parts of one model.
    """
    alike: dict[tuple[Path, str], list[Path]] = {}
    for path in files:
        stem = _PART.sub("#", model_name(path))
        if "#" in stem:
            alike.setdefault((path.parent, stem), []).append(path)
    for parts in alike.values():
        if len(parts) > 1 and _are_disjoint(parts, annotations, labels, rules):
            raise InputError(
                parts[0],
                f"is one of {len(parts)} parts of one model: names alike but for a number, and no image in two of them",
                fix="Join them into one file (pandas.concat, or cat without the further headers).",
            )


def _are_disjoint(parts: Sequence[Path], annotations: Annotations, labels: LabelSpace, rules: ReadRules) -> bool:
    lenient = replace(rules, allow_partial=True, check_order=False)
    try:
        rows = [read_predictions(path, annotations, labels, rules=lenient).rows for path in parts]
    except InputError:  # it is told when the files are read for good
        return False
    together = np.concatenate(rows)
    return len(np.unique(together)) == len(together)


def _inside(folder: Path) -> list[Path]:
    nested = [*folder.glob("*"), *folder.glob("*/preds.npz")]
    return sorted(
        path
        for path in nested
        if path.is_file()
        and path.suffix.lower() in ENDINGS
        and path.name != "samples_info.npz"
        and not path.name.startswith(".")
        and path.stem.upper() != "README"
        and not _lies_beside(path)
    )


def _lies_beside(path: Path) -> bool:
    """Return True for a list of names (a row order) and for the probabilities that belong to classes."""
    if path.suffix == ".npy" and "probs" in path.name:
        return path.with_name(path.name.replace("probs", "preds")).is_file()
    with path.open("rb") as file:
        return path.suffix == ".json" and b"".join(file.read(64).split()).startswith(b'["')


def _refuse_twins(files: Sequence[Path]) -> None:
    owner: dict[str, Path] = {}
    for path in files:
        other = owner.setdefault(model_name(path), path)
        if other != path:
            raise InputError(
                path,
                f"is the same model as {other}: both are named {model_name(path)!r}",
                fix="A model is named by its file's stem; rename one of them.",
            )
