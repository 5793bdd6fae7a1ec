"""From a path that the user gave to one model's predictions, matched to the annotated images."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from imagenet_errors.images import ImageIndex
from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import InputError
from imagenet_errors.readers.candidates import Reader, told_apart
from imagenet_errors.readers.formats import ENDINGS, raw_of
from imagenet_errors.readers.match import MatchRules, match
from imagenet_errors.readers.memory import InMemory
from imagenet_errors.readers.opened import opened
from imagenet_errors.readers.raw import RawPredictions
from imagenet_errors.readers.resolve import Resolved, rows_taken
from imagenet_errors.tables import Annotations, Predictions


@dataclass(frozen=True)
class ReadRules:
    """What the user stated about predictions files; everything else is proven from the file or refused.

    ``class_axis`` is a known axis or a file of wnids; ``columns`` role -> column name; ``mask_classes``: of scores or
    ranks take the best class that occurs in the data set; ``setting``: a regular expression for the part of a name
    that tells settings in one file apart, which the data set knows; for ``row_order`` and the rest see
    ``match.MatchRules``."""

    row_order: str | None = None
    class_axis: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    allow_partial: bool = False
    check_order: bool = True
    mask_classes: bool = False
    setting: str = ""


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
    reader = Reader(annotations, labels, images, matching, rules.class_axis, path, rules.mask_classes)

    def reading(header: str, resolved: Resolved) -> ModelReading:
        model = _as_file_name(header) or name or model_name(path)
        return ModelReading(model, lambda: match(resolved, annotations, labels, model=model, path=path, rules=matching))

    def readings(raw: RawPredictions) -> tuple[ModelReading, ...]:
        if not rules.setting or raw.names is None or not _has_settings(raw, rules.setting):
            return tuple(reading(header, resolved) for header, resolved in told_apart(raw, reader))
        alone = reader.resolve(raw)
        return tuple(
            reading(f"{name or model_name(path)} {setting}", rows_taken(alone, rows))
            for setting, rows in _settings(raw, rules.setting)
        )

    if isinstance(given, InMemory):
        return readings(given.raw)
    with opened(path) as file:
        return readings(replace(raw_of(file, columns=rules.columns), sha256=file.sha256))


def _as_file_name(header: str) -> str:
    """Return a column's header as a model's name, which is a file's name too: without slashes."""
    return re.sub(r"[/\\]+", "_", header.strip()).strip(".")


def _written_settings(raw: RawPredictions, pattern: str) -> pa.StringArray:
    setting = pc.struct_field(pc.extract_regex(raw.names, pattern), "setting")
    return pc.fill_null(pc.replace_substring_regex(setting, r"[/\\]", " "), "")


def _has_settings(raw: RawPredictions, pattern: str) -> bool:
    """Say whether names tell more than one setting; a file of one is one model as it is."""
    return bool(pc.count_distinct(_written_settings(raw, pattern)).as_py() > 1)


def _settings(raw: RawPredictions, pattern: str) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Yield each setting, such as ``fog 1``, and its rows."""
    encoded = pc.dictionary_encode(_written_settings(raw, pattern))
    codes = encoded.indices.to_numpy()
    named = sorted(enumerate(encoded.dictionary.to_pylist()), key=lambda pair: pair[1])
    for code, setting in named:
        yield setting or "without a setting", np.flatnonzero(codes == code)


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


_NOT_READ = (".pkl", ".pickle", ".pt", ".pth", ".h5", ".hdf5", ".mat", ".xlsx", ".tar", ".zip", ".msgpack", ".joblib")


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


def unread_files(given: Sequence[Path]) -> tuple[Path, ...]:
    """Return the files in folders that look like saved predictions and are of a kind that is not read: pickles, ..."""
    folders = (path for path in given if path.is_dir())
    return tuple(sorted(path for folder in folders for path in folder.glob("*") if path.suffix.lower() in _NOT_READ))


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
