"""The mistakes that the panel of experts sorted, as cases: exactly their images and predictions.

Source: Vasudevan et al. 2022 (arXiv 2205.04596): five experts sorted what was left of a model's mistakes
    after the multi-labels; the files are those of google-research/imagenet-mistakes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.downloads import facts_of, resolve_all
from imagenet_errors.images import ImageIndex
from imagenet_errors.problems import InputError, counted
from imagenet_errors.readers.judgements import Judgements, read_judgements
from imagenet_errors.tables import Annotations, Cases, cases_of

BOTH = "panel"
"""What ``data fetch`` calls both of the panel's public files."""
SEVERITIES = ("Major", "Minor", "Borderline")
"""The panel's severities, worst first (Vasudevan et al. 2022)."""


@dataclass(frozen=True, eq=False)
class PanelMistakes:
    """The n mistakes, file after file.

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
        """Return the number of mistakes n."""
        return len(self.human)

    def take(self, chosen: NDArray[np.integer]) -> PanelMistakes:
        """Return the chosen mistakes."""
        rows = pa.array(chosen)
        return PanelMistakes(
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


@dataclass(frozen=True)
class SharedMistakes:
    """What two of the panel's files say of the mistakes that both hold.

    ``n_images``: images in both, whatever the prediction; ``n_cases``: those with the same prediction, of which
    so many have the same category, severity, and both, to the letter.
    """

    models: tuple[str, str]
    n_images: int
    n_cases: int
    n_same_category: int
    n_same_severity: int
    n_same_both: int

    @property
    def is_copied(self) -> bool:
        """Every shared case reads the same to the letter, so it was not sorted twice."""
        return self.n_cases > 0 and self.n_same_both == self.n_cases


def panel_files(given: tuple[str | Path, ...] = (BOTH,)) -> dict[str, Path]:
    """Return model -> file for names that ``data fetch`` knows and paths; what is named and not here is fetched.

    A model is named by its file's stem, a copy of a published file by that of the published one.

    Raises
    ------
    InputError
        Two files would be the same model, or a text is neither a path nor a name.
    """
    files: dict[str, Path] = {}
    for path in resolve_all(given, "--human"):
        if not path.is_file():
            raise InputError(path, "no such file", fix="Check the path.")
        (facts,) = facts_of(path)
        model = Path(facts.file_name).stem
        if model in files:
            raise InputError(
                path,
                f"another file is of {model}, too",
                fix="A model is named by its file's stem; rename one of them, or give it once.",
            )
        files[model] = path
    return files


def read_panel(human: Mapping[str, Path], annotations: Annotations) -> PanelMistakes:
    """Read the panel's files (model -> file) and match them to the annotated images.

    Images that the annotations exclude are kept here; see :func:`evaluated`.

    Raises
    ------
    InputError
        No file is given, one cannot be read or holds no judgement, an image is not annotated, or a prediction
        is no class or is the image's original label (so no mistake).
    """
    if not human:
        raise InputError("--human", "is needed", fix="Pass the panel's file, such as vit3b_mistakes.json.")
    images = ImageIndex(annotations.file_names)
    files = [_read(path) for path in human.values()]
    rows = [_rows(file, images, path) for file, path in zip(files, human.values(), strict=True)]
    for file, of_file, path in zip(files, rows, human.values(), strict=True):
        _check_predictions(file, annotations.label[of_file], path)
    return PanelMistakes(
        cases=cases_of(annotations, np.concatenate(rows), np.concatenate([file.prediction for file in files])),
        models=tuple(human),
        model=np.repeat(np.arange(len(files), dtype=np.int16), [len(file.prediction) for file in files]),
        human=np.array([ERROR_TYPES.index(kind) for file in files for kind in file.error_type], dtype=np.int8),
        category=pa.array([text for file in files for text in file.category], type=pa.string()),
        severity=pa.array([text for file in files for text in file.severity], type=pa.string()),
    )


def evaluated(mistakes: PanelMistakes, annotations: Annotations) -> tuple[PanelMistakes, PanelMistakes]:
    """Part the mistakes into those on images that count and those on excluded ones.

    Raises
    ------
    InputError
        None of the images counts.
    """
    counts = annotations.evaluated[mistakes.cases.rows]
    if not counts.any():
        raise InputError(
            "--annotations",
            f"exclude every judged image, {len(mistakes):,} in all (problematic, or no accepted label)",
            fix="Pass the annotations that the panel used: multilabel.",
        )
    return mistakes.take(np.flatnonzero(counts)), mistakes.take(np.flatnonzero(~counts))


def shared_mistakes(mistakes: PanelMistakes) -> tuple[SharedMistakes, ...]:
    """Compare every two files; none for a single one."""
    return tuple(_compare(mistakes, a, b) for a, b in combinations(mistakes.models, 2))


def _compare(mistakes: PanelMistakes, a: str, b: str) -> SharedMistakes:
    of_a, of_b = (np.flatnonzero(mistakes.of_model(name)) for name in (a, b))
    rows, codes = mistakes.cases.rows, mistakes.cases.codes
    _, in_a, in_b = np.intersect1d(codes[of_a], codes[of_b], return_indices=True)
    same_category, same_severity = (
        _same(written, of_a[in_a], of_b[in_b]) for written in (mistakes.category, mistakes.severity)
    )
    return SharedMistakes(
        models=(a, b),
        n_images=len(np.intersect1d(rows[of_a], rows[of_b])),
        n_cases=len(in_a),
        n_same_category=int(same_category.sum()),
        n_same_severity=int(same_severity.sum()),
        n_same_both=int((same_category & same_severity).sum()),
    )


def _same(written: pa.StringArray, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.bool_]:
    texts = np.array(written.to_pylist(), dtype=object)
    same: NDArray[np.bool_] = (texts[first] == texts[second]).astype(np.bool_)
    return same


def _read(path: Path) -> Judgements:
    if not path.is_file():
        raise InputError(path, "no such file", fix="Check the path.")
    if not path.stat().st_size:
        raise InputError(path, "the file is empty", fix="Fetch it again.")
    judgements = read_judgements(path)
    if not len(judgements.prediction):
        raise InputError(path, "it holds no judgement", fix="Fetch it again.")
    return judgements


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
