"""From a path that the user gave to one model's predictions, matched to the annotated images."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from imagenet_errors.images import index_of
from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import InputError
from imagenet_errors.readers.candidates import Reader, told_apart
from imagenet_errors.readers.class_axis import refuse_class_list
from imagenet_errors.readers.match import MatchRules, match
from imagenet_errors.readers.memory import InMemory
from imagenet_errors.readers.model_files import ModelFiles, model_name
from imagenet_errors.readers.parts import read_together
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
    given: Path | ModelFiles | InMemory,
    annotations: Annotations,
    labels: LabelSpace,
    *,
    rules: ReadRules,
    name: str = "",
) -> tuple[ModelReading, ...]:
    """Read predictions of any known form: one model, its parts joined, or, of a table with a column a model, several.

    ``name``: what a single model is called; otherwise it is named by its file.

    Raises
    ------
    InputError
        The file cannot be read, or its classes or rows cannot be told.
    """
    path = given if isinstance(given, Path) else given.path
    called = name or (model_name(given) if isinstance(given, Path) else given.model)
    matching = MatchRules(rules.row_order, rules.allow_partial, rules.check_order)
    images = index_of(annotations.file_names)
    reader = Reader(annotations, labels, images, matching, rules.class_axis, path, rules.mask_classes)

    def reading(header: str, resolved: Resolved) -> ModelReading:
        model = _as_file_name(header) or called

        def predictions() -> Predictions:
            with _class_lists_told(path, labels):
                return match(resolved, annotations, labels, model=model, path=path, rules=matching)

        return ModelReading(model, predictions)

    def readings(raw: RawPredictions) -> tuple[ModelReading, ...]:
        if not rules.setting or raw.names is None or not _has_settings(raw, rules.setting):
            return tuple(reading(header, resolved) for header, resolved in told_apart(raw, reader))
        alone = reader.resolve(raw)
        return tuple(
            reading(f"{called} {setting}", rows_taken(alone, rows)) for setting, rows in _settings(raw, rules.setting)
        )

    if isinstance(given, InMemory):
        return readings(given.raw)
    paths = given if isinstance(given, ModelFiles) else (given,)
    with _class_lists_told(path, labels), read_together(paths, columns=rules.columns) as raw:
        return readings(raw)


@contextmanager
def _class_lists_told(path: Path, labels: LabelSpace) -> Iterator[None]:
    """Say of a file that was refused, for whatever reason, if it is a list of the classes."""
    try:
        yield
    except InputError:
        refuse_class_list(path, labels)
        raise


def _as_file_name(header: str) -> str:
    """Return a column's header as a model's name, which is a file's name too: no slashes, nothing unprintable."""
    return re.sub(r"[/\\\x00-\x1f\x7f]+", "_", header.strip()).strip(".")


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
