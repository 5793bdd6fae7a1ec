"""The mistakes that the panel judged, as cases: exactly their images and predictions, whoever evaluates them.

Source: Vasudevan et al. 2022 (arXiv 2205.04596): five experts judged what was left of a model's mistakes
    after the multi-labels; the files are those of google-research/imagenet-mistakes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.images import ImageIndex
from imagenet_errors.problems import InputError, counted
from imagenet_errors.readers.judgements import Judgements, read_judgements
from imagenet_errors.tables import Annotations, Cases, cases_of

SEVERITIES = ("Major", "Minor", "Borderline")
"""The panel's severities, worst first (Vasudevan et al. 2022)."""


@dataclass(frozen=True, eq=False)
class Judged:
    """The n judged mistakes, file after file.

    ``model`` int16 [n] is a row of ``models``; ``human`` int8 [n] the panel's category as a row of
    ``chain.ERROR_TYPES``; ``category`` and ``severity`` are as written, n strings each.
    """

    cases: Cases
    models: tuple[str, ...]
    model: NDArray[np.int16]
    human: NDArray[np.int8]
    category: pa.StringArray
    severity: pa.StringArray

    def __len__(self) -> int:
        """Return the number of judged mistakes n."""
        return len(self.cases)

    def take(self, chosen: NDArray[np.integer]) -> Judged:
        """Return the chosen mistakes."""
        rows = pa.array(chosen)
        return Judged(
            self.cases.take(chosen),
            self.models,
            self.model[chosen],
            self.human[chosen],
            self.category.take(rows),
            self.severity.take(rows),
        )

    def of_model(self, name: str) -> NDArray[np.bool_]:
        """Return bool [n]: the mistakes of one model."""
        return np.equal(self.model, self.models.index(name))

    def of_severity(self, name: str) -> NDArray[np.bool_]:
        """Return bool [n]: the mistakes that the panel found so severe."""
        return np.array([severity == name for severity in self.severity.to_pylist()], dtype=np.bool_)

    @property
    def severities(self) -> tuple[str, ...]:
        """The severities that occur, worst first; spellings not known come last."""
        seen = set(self.severity.to_pylist())
        return (*(name for name in SEVERITIES if name in seen), *sorted(seen - set(SEVERITIES)))


def read_judged(paths: Sequence[Path], annotations: Annotations) -> Judged:
    """Read the panel's files, each one model named by its stem, and match them to the annotated images.

    Images that the annotations exclude are kept here; see :func:`evaluated`.

    Raises
    ------
    InputError
        No file is given, one cannot be read or holds no judgement, an image is not annotated, a prediction
        is no class or is the image's original label (so no mistake), or two files would be the same model.
    """
    if not paths:
        raise InputError("--human", "is needed", fix="Pass the panel's file, such as vit3b_mistakes.json.")
    _refuse_twins(paths)
    images = ImageIndex(annotations.file_names)
    files = [_read(path) for path in paths]
    rows = [_rows(file, images, path) for file, path in zip(files, paths, strict=True)]
    for file, own, path in zip(files, rows, paths, strict=True):
        _check_predictions(file, annotations.label[own], path)
    every = np.concatenate(rows)
    return Judged(
        cases=cases_of(annotations, every, np.concatenate([file.prediction for file in files])),
        models=tuple(path.stem for path in paths),
        model=np.repeat(np.arange(len(files), dtype=np.int16), [len(file.prediction) for file in files]),
        human=np.array([ERROR_TYPES.index(kind) for file in files for kind in file.error_type], dtype=np.int8),
        category=pa.array([text for file in files for text in file.category], type=pa.string()),
        severity=pa.array([text for file in files for text in file.severity], type=pa.string()),
    )


def evaluated(judged: Judged, annotations: Annotations) -> tuple[Judged, Judged]:
    """Part the mistakes into those on images that count and those on excluded ones.

    Raises
    ------
    InputError
        No judged image counts.
    """
    counts = annotations.evaluated[judged.cases.rows]
    if not counts.any():
        raise InputError(
            "--annotations",
            f"exclude every judged image, {len(judged):,} in all (problematic, or no accepted label)",
            fix="Pass the annotations that the panel used: multilabel.",
        )
    return judged.take(np.flatnonzero(counts)), judged.take(np.flatnonzero(~counts))


def _read(path: Path) -> Judgements:
    if not path.is_file():
        raise InputError(path, "no such file", fix="Check the path.")
    if not path.stat().st_size:
        raise InputError(path, "the file is empty", fix="Fetch it again.")
    judgements = read_judgements(path)
    if not len(judgements.prediction):
        raise InputError(path, "it holds no judgement", fix="Fetch it again.")
    return judgements


def _refuse_twins(paths: Sequence[Path]) -> None:
    names = [path.stem for path in paths]
    twice = [path for place, path in enumerate(paths) if path.stem in names[:place]]
    if twice:
        raise InputError(
            twice[0],
            f"another file is named {twice[0].stem!r}, too",
            fix="A model is named by its file's stem; rename one of them.",
        )


def _rows(file: Judgements, images: ImageIndex, path: Path) -> NDArray[np.int64]:
    rows = images.rows(file.file_names, where=path)
    missing = rows < 0
    if missing.any():
        raise InputError(
            path,
            f"{counted(int(missing.sum()), 'judged image')} of {len(rows):,} not in the annotations",
            example=file.file_names[int(np.argmax(missing))],
            fix="Pass annotations that name every judged image.",
        )
    _refuse_repeated(file, rows, path)
    return rows


def _refuse_repeated(file: Judgements, rows: NDArray[np.int64], path: Path) -> None:
    """One image may be written in two ways, which a JSON object does not notice."""
    first = np.unique(rows, return_index=True)[1]
    if len(first) < len(rows):
        again = int(np.setdiff1d(np.arange(len(rows)), first)[0])
        raise InputError(
            path,
            f"{counted(len(rows) - len(first), 'image')} judged twice",
            example=file.file_names[again],
            fix="Keep one judgement an image.",
        )


def _check_predictions(file: Judgements, label: NDArray[np.int16], path: Path) -> None:
    """Refuse predictions that are right by the original label: they are no mistakes."""
    right = file.prediction == label
    if right.any():
        row = int(np.argmax(right))
        raise InputError(
            path,
            f"{counted(int(right.sum()), 'top_prediction')} equal to the image's original label, so no mistake",
            example=f"{file.file_names[row]}: {file.prediction[row]}",
            fix="Take it out, or correct it.",
        )
