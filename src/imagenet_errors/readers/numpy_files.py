"""numpy's .npy files: top-1, ranked top-k or scores, never copied, never unpickled."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.problems import InputError
from imagenet_errors.readers.array_files import ArrayFile
from imagenet_errors.readers.assemble import CONFIDENCE_IS_NAN, NO_CLASS, Columns
from imagenet_errors.readers.axis_tables import head_widths
from imagenet_errors.readers.fields import POSITIONAL, WIDE
from imagenet_errors.readers.opened import Opened, opened, refusing_damage
from imagenet_errors.readers.raw import RawPredictions, ScoreSource
from imagenet_errors.readers.scores import PIECE_BYTES, ArrayScores, as_floats, rows_a_chunk

_BEYOND_ANY_CLASS = 1 << 31
_LONGEST_HEADER = 1 << 17
_SAMPLED_ROWS = 1 << 10
_MOST_TABLE = 10
"""Columns of a table that was saved as an array; more are a class axis of another data set."""
_REPEATING = 0.1
"""Share of rows that name a class twice from which on columns are no ranks."""
_NO_OBJECTS = 'Save plain arrays: numpy.save("FILE.npy", array.astype(float)) or strings with astype(str).'


def read_npy(file: Opened, stated: Mapping[str, str]) -> Columns | RawPredictions:
    """Read an array [n] of classes, [n, k] of ranked classes, [n, C] of scores, or a structured one.

    Ranks need not be sorted where their probabilities lie beside them: ``...preds....npy`` and
    ``...probs....npy`` of the same shape, as benchmarking-keras-pytorch publishes them.

    Raises
    ------
    InputError
        The file is damaged, holds Python objects, or an array of another kind.
    """
    array, path = array_in(file.content, file.path), file.path
    if array.dtype.names:
        fields = {name: arrow_column(array[name], path) for name in array.dtype.names}
        return Columns(path, "structured npy", tuple(fields), tuple(fields.values()))
    read = read_array(array, path, format="npy")
    if stated and not (isinstance(read, Columns) and len(read.headers) > 1):
        raise InputError(path, "an npy file has no columns", fix="Leave --column out.")
    return read


def read_array(array: NDArray[Any], path: Path, *, format: str) -> Columns | RawPredictions:  # noqa: A002
    """Make predictions of one array without names.

    Raises
    ------
    InputError
        It has no rows, more than two axes, or values that are neither classes nor scores.
    """
    array = np.squeeze(array, axis=tuple(i for i in range(1, array.ndim) if array.shape[i] == 1))
    if array.ndim not in (1, 2) or array.size == 0:
        fix = "Save one row an image: (n,), (n, k), (n, C); batches one behind another: array.reshape(-1, C)."
        raise InputError(path, f"an array of shape {array.shape}", fix=fix)
    if array.dtype == np.bool_ and array.ndim == 2 and array.shape[1] >= WIDE:
        array = array.view(np.uint8)  # one hot
    if is_narrow_table(array) or (array.ndim == 2 and array.dtype.kind in "US" and array.shape[1] <= _MOST_TABLE):
        columns = tuple(arrow_column(_whole(array[:, i]), path) for i in range(array.shape[1]))
        return Columns(path, format, tuple(f"{POSITIONAL} {i + 1}" for i in range(array.shape[1])), columns)
    if array.ndim == 1 and is_bfloat16(array):
        raise InputError(
            path, "classes stored as bfloat16, which holds whole numbers up to 256 only", fix="Save them as int16."
        )
    if _is_transposed(array.shape) and holds_numbers(array.dtype):
        scores = ArrayScores(np.ascontiguousarray(array.T), str(path))
        words = f"{format}, all {array.shape[0]:,} outputs"
        note = f"The array is {array.shape[0]:,} x {array.shape[1]:,}, a row a class; it was transposed."
        return RawPredictions(words, array.shape[1], n_outputs=array.shape[0], scores=scores, notes=(note,))
    if array.ndim == 1:
        column = arrow_column(array, path)
        return Columns(path, format, ("prediction",), (column,))
    if is_bfloat16(array) or (array.dtype.kind in "iuf" and not _holds_ranks(array)):
        return _of_scores(ArrayScores(array, str(path)), format)
    if array.dtype.kind not in "iuf":
        raise InputError(path, f"an array of {array.dtype}", fix="Save whole numbers (classes) or floats (scores).")
    return _ranked(array, path, format)


def _of_scores(scores: ScoreSource, format: str) -> RawPredictions:  # noqa: A002
    n_rows, n_outputs = scores.shape
    return RawPredictions(f"{format}, all {n_outputs:,} outputs", n_rows, n_outputs=n_outputs, scores=scores)


def _is_transposed(shape: tuple[int, ...]) -> bool:
    """Say whether there are as many rows as a head has outputs, and far more columns: a row a class."""
    return len(shape) == 2 and shape[0] in head_widths() and shape[1] > 2 * shape[0]


def holds_numbers(dtype: np.dtype[Any]) -> bool:
    """Say whether arrays of a type hold numbers: whole ones, floats or bfloat16."""
    return _is_bfloat16(dtype) or dtype.kind in "iuf"


@dataclass(frozen=True, eq=False)
class FileScores:
    """Scores [n, C] in an npy file behind its header, read a block of rows at a time."""

    file: ArrayFile
    n_header: int
    shape: tuple[int, int]
    dtype: np.dtype[Any]

    @property
    def where(self) -> str:
        """The file."""
        return str(self.file.path)

    def chunks(self) -> Iterator[NDArray[np.floating[Any]]]:
        """Yield blocks of rows as floats, one after the other in the same memory."""
        n_rows, n_outputs = self.shape
        n_bytes = n_outputs * self.dtype.itemsize
        first = rows_a_chunk(n_outputs, self.dtype.itemsize)
        ends = [*range(first, n_rows, PIECE_BYTES // n_bytes), n_rows]
        sizes = [n * n_bytes for n in np.diff(ends, prepend=0).tolist()]
        for number, block in enumerate(self.file.blocks([self.n_header, *sizes])):
            if number:  # behind the header
                yield as_floats(np.frombuffer(block, dtype=self.dtype).reshape(-1, n_outputs))


def scores_in_blocks(file: ArrayFile) -> RawPredictions | None:
    """Return the scores in an npy file, not yet read; None where its values tell what it holds, or that it is damaged.

    What they would be taken for by :func:`read_npy`, they are taken for here.
    """
    stream = io.BytesIO(file.start[:_LONGEST_HEADER])
    shape, columns_first, dtype = read_header(stream, file.path)
    if len(shape) != 2 or not holds_numbers(dtype) or columns_first or _is_transposed(shape):
        return None
    n_rows, n_outputs = shape
    n_header, n_bytes = stream.tell(), n_outputs * dtype.itemsize
    if n_outputs < WIDE or n_bytes > PIECE_BYTES or not n_rows or file.n_bytes != n_header + n_rows * n_bytes:
        return None
    return replace(_of_scores(FileScores(file, n_header, (n_rows, n_outputs), dtype), "npy"), unread=file)


def is_narrow_table(array: NDArray[Any]) -> bool:
    """Say whether a few columns [n, k] are neither ranks nor scores: a label beside a prediction, row numbers.

    Ranks never name a class twice in a row, and are all whole numbers; scores hardly ever are.
    """
    if array.ndim != 2 or not 1 < array.shape[1] <= _MOST_TABLE or array.dtype.kind not in "iuf":
        return False
    with np.errstate(invalid="ignore"):
        head = np.asarray(array[:_SAMPLED_ROWS], dtype=np.float64)
        is_whole = (np.isnan(head) | ((np.trunc(head) == head) & (head >= 0))).all(axis=0) & (head > 1).any(axis=0)
    if not is_whole.all():
        return bool(is_whole.any())
    ordered = np.sort(head, axis=1)
    repeats = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    return bool(repeats.mean() > _REPEATING or (len(head) > 2 and (np.diff(head[:, 0]) == 1).all()))


def _whole(column: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers that stand among floats as such."""
    if column.dtype.kind in "US":
        return column
    with np.errstate(invalid="ignore"):
        return column.astype(np.int64) if (np.trunc(column) == column).all() else np.ascontiguousarray(column)


def is_bfloat16(array: NDArray[Any]) -> bool:
    """Say whether an array holds bfloat16, which numpy reads back as two bytes without a type."""
    return _is_bfloat16(array.dtype)


def _is_bfloat16(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "V" and dtype.names is None and dtype.itemsize == 2


def _holds_ranks(array: NDArray[Any]) -> bool:
    """Say whether rows [n, k] hold ranked classes: few whole numbers, some beyond k if they are floats."""
    if array.shape[1] >= WIDE:
        return False
    if array.dtype.kind in "iu":
        return True
    with np.errstate(invalid="ignore"):  # a damaged file can hold NaNs that signal
        head = np.asarray(array[:_SAMPLED_ROWS], dtype=np.float64)
    head = head[np.isfinite(head)]
    return bool((np.trunc(head) == head).all() and (head >= 0).all() and (head > array.shape[1]).any())


def _ranked(array: NDArray[Any], path: Path, format: str) -> RawPredictions:  # noqa: A002
    with np.errstate(invalid="ignore"):
        is_class = np.isfinite(array) & (np.abs(array) < _BEYOND_ANY_CLASS)
    classes = np.where(is_class, array, -1).astype(np.int64)
    probs, notes = _sibling(array, path)
    words = f"{format}, top-{array.shape[1]}"
    stored_as = array.dtype.name if array.dtype.itemsize == 1 else ""
    if probs is None:
        rows = np.flatnonzero(~is_class[:, 0])
        invalid = {NO_CLASS: rows} if rows.size else {}
        index = classes[:, 0]
        return RawPredictions(
            words, len(array), index=index, ranks=classes, invalid=invalid, notes=notes, stored_as=stored_as
        )
    largest = probs.max(axis=1)
    is_best = probs == largest[:, None]
    beyond = np.iinfo(np.int64).max
    index = np.where(is_best, classes, beyond).min(axis=1)  # of several best the lowest class, as for scores
    unusable = np.isnan(largest)
    invalid = {CONFIDENCE_IS_NAN: np.flatnonzero(unusable)} if unusable.any() else {}
    return RawPredictions(
        words,
        len(array),
        index=np.where(unusable, -1, index),
        confidence=largest.astype(np.float32),
        invalid=invalid,
        n_ties=int((is_best.sum(axis=1) > 1).sum()),
        notes=notes,
        stored_as=stored_as,
    )


def _sibling(array: NDArray[Any], path: Path) -> tuple[NDArray[np.floating[Any]] | None, tuple[str, ...]]:
    """Return the probabilities [n, k] that lie beside ranked classes, and what to say about the order."""
    taken_as_ranked = ("The columns were taken as ranked, best first; nothing in the file tells.",)
    other = path.with_name(path.name.replace("preds", "probs"))
    if other == path or not other.is_file():
        return None, taken_as_ranked
    with opened(other) as file:
        probs = array_in(file.content, other)
    if probs.shape != array.shape or probs.dtype.kind != "f":
        return None, (
            *taken_as_ranked,
            f"{other.name} beside it has another shape, {probs.shape}; it was not used.",
        )
    return as_floats(np.asarray(probs)), (f"The best of each row was chosen by the probabilities in {other.name}.",)


def array_in(content: memoryview, where: Path | str) -> NDArray[Any]:
    """Return the array that the bytes of an npy file hold, as a view of them.

    Raises
    ------
    InputError
        There are fewer or more bytes than the header says, or Python objects in them.
    """
    stream = io.BytesIO(content[:_LONGEST_HEADER])
    shape, columns_first, dtype = read_header(stream, where)
    refuse_objects(dtype, where)
    start, n_values = stream.tell(), math.prod(shape)
    n_bytes, n_expected = len(content) - start, n_values * dtype.itemsize
    if n_bytes < n_expected:
        raise InputError(
            where,
            "the file is cut short or damaged",
            example=f"{n_bytes:,} bytes of values, {n_expected:,} expected",
            fix="Copy it again, or write it again from the model's outputs.",
        )
    if n_bytes > n_expected:
        raise InputError(
            where,
            f"{n_bytes - n_expected:,} bytes behind the array of shape {shape}: two arrays in one file?",
            fix="Save one array a file (numpy.save), or several with numpy.savez.",
        )
    with refusing_damage(where):
        values = np.frombuffer(content, dtype=dtype, count=n_values, offset=start) if n_values else np.empty(0, dtype)
        return values.reshape(shape, order="F" if columns_first else "C")


def refuse_objects(dtype: np.dtype[Any], path: Path | str) -> None:
    """Refuse arrays that only unpickling could read.

    Raises
    ------
    InputError
        The type is, or has a field of, Python objects.
    """
    if dtype.hasobject:
        raise InputError(path, "the array holds pickled Python objects, which run code when loaded", fix=_NO_OBJECTS)


def read_header(file: IO[bytes], where: Path | str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read an npy header: shape, whether columns come first in memory, and type.

    Raises
    ------
    InputError
        It is cut short, or of a version that only structured arrays with non-latin names have.
    """
    with refusing_damage(where), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        version = np.lib.format.read_magic(file)
        if version == (1, 0):
            return np.lib.format.read_array_header_1_0(file)
        return np.lib.format.read_array_header_2_0(file)


def arrow_column(values: NDArray[Any], where: Path | str) -> pa.Array:
    """Return one Arrow column [n] of an array [n], or a list column of [n, k].

    Raises
    ------
    InputError
        Values of a type that no predictions have.
    """
    with refusing_damage(where):
        if is_bfloat16(values):
            values = as_floats(values)
        if values.dtype.kind == "S":
            values = np.char.decode(values, "utf-8")
        native = np.ascontiguousarray(values).astype(values.dtype.newbyteorder("="), copy=False)
        if native.dtype == np.float16:
            native = native.astype(np.float32)
        flat = pa.array(native.reshape(-1))
        if values.ndim == 1:
            return flat
        offsets = np.arange(len(values) + 1, dtype=np.int32) * int(np.prod(values.shape[1:], dtype=np.int64))
        return pa.ListArray.from_arrays(pa.array(offsets), flat)
