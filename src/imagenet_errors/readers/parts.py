"""One model in several files: the parts that workers wrote, joined; a text an image, as YOLO writes them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from imagenet_errors.problems import InputError, counted
from imagenet_errors.readers.array_files import opened_array
from imagenet_errors.readers.assemble import Columns, read_columns
from imagenet_errors.readers.formats import raw_of
from imagenet_errors.readers.model_files import ModelFiles
from imagenet_errors.readers.opened import Opened, opened
from imagenet_errors.readers.raw import RawPredictions, ScoreSource

_LINE = re.compile(r"(?P<prob>\d*\.\d+(?:e-?\d+)?)\s+(?P<label>\S.*)|(?P<index>\S+)\s+(?P<after>\d*\.\d+)")
"""Ultralytics writes ``0.98 sea snake``, others ``65 0.98``; the best class comes first."""


@dataclass(frozen=True, eq=False)
class JoinedScores:
    """Scores of several files, one behind another."""

    parts: tuple[ScoreSource, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows n and outputs C."""
        return sum(part.shape[0] for part in self.parts), self.parts[0].shape[1]

    @property
    def where(self) -> str:
        """The first file."""
        return self.parts[0].where

    def chunks(self) -> Iterator[NDArray[np.floating[Any]]]:
        """Yield blocks of rows, file by file."""
        for part in self.parts:
            yield from part.chunks()


@contextmanager
def read_together(given: ModelFiles | Sequence[Path], *, columns: Mapping[str, str]) -> Iterator[RawPredictions]:
    """Read a model's files, mostly one, and join them in their order; they stay open for what is read later.

    Raises
    ------
    InputError
        A file cannot be read, the parts do not say the same things, or most images are in two of them.
    """
    paths = given.paths if isinstance(given, ModelFiles) else given
    if isinstance(given, ModelFiles) and given.is_an_image_each:
        yield _image_texts(paths)
        return
    with ExitStack() as stack:
        if len(paths) == 1 and not columns:
            scores = stack.enter_context(_scores_alone(paths[0]))
            if scores is not None:
                yield scores
                return
        files = [stack.enter_context(opened(path)) for path in paths]
        raws = [replace(raw_of(file, columns=columns), sha256=file.sha256) for file in files]
        yield raws[0] if len(raws) == 1 else _together(raws, files)


@contextmanager
def _scores_alone(path: Path) -> Iterator[RawPredictions | None]:
    """Open an npy file of nothing but scores, which are read as they are gone through; None of any other file."""
    with opened_array(path) as file:
        if file is None:
            yield None
            return
        from imagenet_errors.readers.numpy_files import scores_in_blocks

        yield scores_in_blocks(file)


def _together(raws: Sequence[RawPredictions], files: Sequence[Opened]) -> RawPredictions:
    _refuse_unlike(raws, files)
    note = f"{len(files)} files were joined as parts of one model ({files[0].path.name} to {files[-1].path.name})."
    sha256 = hashlib.sha256("".join(file.sha256 for file in files).encode()).hexdigest()
    return replace(_joined(raws), notes=tuple(dict.fromkeys([note, *_notes(raws)])), sha256=sha256)


def _notes(raws: Sequence[RawPredictions]) -> Iterator[str]:
    for raw in raws:
        yield from raw.notes


def _says(raw: RawPredictions) -> tuple[object, ...]:
    """Return what must be alike in all parts."""
    given = (raw.names, raw.index, raw.text, raw.scores)
    headers = tuple(candidate.header for candidate in raw.candidates)
    return (*(one is not None for one in given), headers, None if raw.scores is None else raw.scores.shape[1])


def _refuse_unlike(raws: Sequence[RawPredictions], files: Sequence[Opened]) -> None:
    for raw, file in zip(raws[1:], files[1:], strict=True):
        if _says(raw) != _says(raws[0]):
            raise InputError(
                file.path,
                f"looks like a part of the model in {files[0].path.name} by its name, but holds other columns",
                fix="Give the files of different models names that differ in more than a number.",
            )
    if raws[0].names is None:
        return
    seen = pa.concat_arrays([pc.unique(raw.names) for raw in raws])
    counts = pc.value_counts(seen)
    n_shared = int(pc.sum(pc.greater(counts.field("counts"), 1)).as_py() or 0)
    if 2 * n_shared > len(counts):
        raise InputError(
            files[-1].path,
            f"looks like a part of the model in {files[0].path.name} by its name, but {n_shared:,} images are in both",
            fix="Give the files of different models names that differ in more than a number.",
        )


def _joined(raws: Sequence[RawPredictions]) -> RawPredictions:
    first = raws[0]
    starts = np.concatenate(([0], np.cumsum([raw.n_rows for raw in raws])))
    invalid: dict[str, NDArray[np.int64]] = {}
    for raw, start in zip(raws, starts, strict=False):
        for reason, rows in raw.invalid.items():
            invalid[reason] = np.concatenate([invalid.get(reason, np.zeros(0, np.int64)), rows + start])
    has_ranks = all(raw.ranks is not None and raw.ranks.shape[1:] == _width(first) for raw in raws)
    return replace(
        first,
        n_rows=int(starts[-1]),
        names=_texts([raw.names for raw in raws]),
        index=_numbers([raw.index for raw in raws]),
        text=_texts([raw.text for raw in raws]),
        confidence=_numbers([raw.confidence for raw in raws]),
        ranks=_numbers([raw.ranks for raw in raws]) if has_ranks else None,
        invalid=invalid,
        n_ties=sum(raw.n_ties for raw in raws),
        scores=None if first.scores is None else JoinedScores(tuple(raw.scores for raw in raws if raw.scores)),
        candidates=tuple(
            replace(
                candidate,
                index=_numbers([raw.candidates[place].index for raw in raws]),
                text=_texts([raw.candidates[place].text for raw in raws]),
            )
            for place, candidate in enumerate(first.candidates)
        ),
    )


def _width(raw: RawPredictions) -> tuple[int, ...]:
    return () if raw.ranks is None else raw.ranks.shape[1:]


def _texts(parts: Sequence[pa.StringArray | None]) -> pa.StringArray | None:
    given = [part for part in parts if part is not None]
    return pa.concat_arrays(given) if len(given) == len(parts) else None


def _numbers(parts: Sequence[NDArray[Any] | None]) -> Any:
    given = [part for part in parts if part is not None]
    return np.concatenate(given) if len(given) == len(parts) else None


def _image_texts(paths: Sequence[Path]) -> RawPredictions:
    """Read a folder with a text an image, the best class in its first line, as YOLO's ``save_txt`` writes it.

    Raises
    ------
    InputError
        A first line is no class with its probability.
    """
    labels, probabilities = [], []
    digest = hashlib.sha256()
    for path in paths:
        with opened(path) as file:
            digest.update(file.sha256.encode())
            line = file.head.decode("utf-8", "replace").lstrip().partition("\n")[0].strip()
        found = _LINE.fullmatch(line)
        if line and found is None:
            fix = "Write a line such as '0.98 sea snake', the best class first."
            raise InputError(path, "no class with its probability in the first line", example=line[:60], fix=fix)
        labels.append(None if found is None else found["label"] or found["index"])
        probabilities.append(None if found is None else float(found["prob"] or found["after"]))
    names = pa.array([path.stem for path in paths])
    arrays = (names, pa.array(labels, type=pa.string()), pa.array(probabilities, type=pa.float64()))
    table = Columns(paths[0].parent, "a text an image", ("file_name", "prediction", "prob"), arrays)
    note = f"{counted(len(paths), 'file')} were read as one model, a text an image."
    return replace(read_columns(replace(table, notes=(note,))), sha256=digest.hexdigest())
