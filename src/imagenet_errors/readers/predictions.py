"""From a path that the user gave to one model's predictions, matched to the annotated images."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from imagenet_errors.images import ImageIndex
from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import InputError
from imagenet_errors.readers.candidates import Reader, told_apart
from imagenet_errors.readers.match import MatchRules, match
from imagenet_errors.readers.model_files import ModelFiles, model_name
from imagenet_errors.readers.opened import opened
from imagenet_errors.readers.parts import read_image_texts, read_parts
from imagenet_errors.readers.resolve import Resolved
from imagenet_errors.tables import Annotations, Predictions


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
    given: ModelFiles | Path, annotations: Annotations, labels: LabelSpace, *, rules: ReadRules
) -> tuple[ModelReading, ...]:
    """Read predictions of any known form: one model, its parts joined, or, of a table with a column a model, several.

    Raises
    ------
    InputError
        A file cannot be read, or its classes or rows cannot be told.
    """
    files = given if isinstance(given, ModelFiles) else ModelFiles(model_name(given), (given,))
    matching = MatchRules(rules.row_order, rules.allow_partial, rules.check_order)
    images = ImageIndex(annotations.file_names)
    reader = Reader(annotations, labels, images, matching, rules.class_axis, files.path)

    def reading(header: str, resolved: Resolved) -> ModelReading:
        model = _as_file_name(header) or files.model
        return ModelReading(
            model, lambda: match(resolved, annotations, labels, model=model, path=files.path, rules=matching)
        )

    with ExitStack() as stack:
        parts = [stack.enter_context(opened(path)) for path in files.paths] if not files.is_an_image_each else []
        raw = read_parts(parts, files.path, columns=rules.columns) if parts else read_image_texts(files.paths)
        return tuple(reading(header, resolved) for header, resolved in told_apart(raw, reader))


def _as_file_name(header: str) -> str:
    """Return a column's header as a model's name, which files are called by: no slashes, nothing unprintable."""
    return re.sub(r"[^\x20-\x7e\u00a0-\U0010ffff]", "_", re.sub(r"[/\\]", "--", header.strip())).lstrip(".")


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
