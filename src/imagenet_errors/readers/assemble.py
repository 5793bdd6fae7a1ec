"""From columns with roles to RawPredictions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from imagenet_errors.problems import InputError, counted
from imagenet_errors.readers.batches import without_batches
from imagenet_errors.readers.cells import refuse_alphabetical
from imagenet_errors.readers.columns import choose_roles
from imagenet_errors.readers.contents import Content
from imagenet_errors.readers.fields import Field, fields_of
from imagenet_errors.readers.headers import is_in_percent, words_of
from imagenet_errors.readers.raw import Candidate, RawPredictions
from imagenet_errors.readers.roles import Claim, Roles
from imagenet_errors.readers.scores import ArrayScores, rows_a_chunk
from imagenet_errors.readers.values import class_indices, has_no_value, numbers, pick, to_numpy, value_matrix
from imagenet_errors.recent import remembered, shared

NO_CLASS = "no class given"
CONFIDENCE_IS_NAN = "the confidence is NaN"
"""timm's inference.py writes class 0 and NaN for an image whose outputs are NaN: that is no tench."""
CONFIDENCE_IS_INFINITE = "the confidence is infinite"
MOST_COLUMNS = 50 * 10**3
"""More than twice the widest head (21,843 classes)."""
MOST_ROWS = 5_000_000
"""More than three times the training images of ImageNet."""
_WRAPPED_NAME = r"""^[\[(]*b?(['"])([^'"]*)['"](?:\s*,.*)?[\])]*$"""
"""A name as Python prints it in bytes or in a batch of one: ``b'a.JPEG'``, ``('a.JPEG',)``, ``('a.JPEG', 65)``."""
_ABOVE_ONE = 1e-3
"""How far rounding may lift a probability above 1."""

_ENOUGH_ROWS = 10
"""From so many rows on, values that are all 0 or 1 are no probabilities."""
_PERCENT = 100
_NEAR_100 = 90
_ENOUGH_NEAR_100 = 20
_SHARE_NEAR_100 = 0.02
"""Percentages are known by so many values, and this share of them, from 90 to 100, and none beyond."""
_RANKED_SAMPLE = 200
"""Rows looked at to tell whether names stand in alphabetical order."""

_BLOCKS_AT_ONCE = 16
"""So many blocks of rows are put together from columns at a time: each column costs something each time."""


@dataclass(frozen=True, eq=False)
class ColumnScores:
    """Scores with a column a class: C arrays [n]."""

    field: Field
    where: str

    @property
    def shape(self) -> tuple[int, int]:
        """Rows n and outputs C."""
        return len(self.field.members[0]), len(self.field.members)

    def chunks(self) -> Iterator[NDArray[np.floating[Any]]]:
        """Yield blocks of rows as float64."""
        step = rows_a_chunk(self.shape[1], 8)
        for start in range(0, self.shape[0], _BLOCKS_AT_ONCE * step):
            part = tuple(member[start : start + _BLOCKS_AT_ONCE * step] for member in self.field.members)
            field = Field(self.field.header, self.field.meaning, self.field.content, part)
            rows = value_matrix(field, where=self.where)
            yield from (rows[first : first + step] for first in range(0, len(rows), step))


@dataclass(frozen=True, eq=False)
class Columns:
    """What a table holds: the file, its format in a few words, headers and Arrow columns [n], and what the format's
    reader has already decided, a sentence each."""

    path: Path
    format: str
    headers: tuple[str, ...]
    arrays: tuple[pa.Array | pa.ChunkedArray, ...]
    notes: tuple[str, ...] = ()


def refuse_size(what: str, found: int, most: int, path: Path) -> None:
    """Refuse more of something than predictions have.

    Raises
    ------
    InputError
        ``found`` is above ``most``.
    """
    if found > most:
        raise InputError(path, f"{found:,} {what}; at most {most:,} are read", fix="Write a row an image.")


def read_columns(found: Columns, *, columns: Mapping[str, str] | None = None) -> RawPredictions:
    """Make predictions of columns: choose each one's role, then read it.

    Raises
    ------
    InputError
        No rows, no class, several candidates for one role, or a cell that cannot be what its column is.
    """
    if not found.arrays or len(found.arrays[0]) == 0:
        raise InputError(found.path, "the file has no rows", fix="Predict again.")
    arrays, note = without_batches(found.arrays)
    if note:
        found = replace(found, arrays=arrays, notes=(*found.notes, note))
    fields = fields_of(found.headers, found.arrays, where=found.path)
    _refuse_uneven(fields, found.path)
    roles = choose_roles(fields, where=found.path, columns=columns)
    best = best_rows(fields, roles, where=found.path)
    if best is None:
        return assemble(roles, found, n_rows=len(found.arrays[0]))
    note = f"The table has a row a rank; the best of each of {counted(len(best), 'image')} was read."
    kept = tuple(array.take(pa.array(best)) for array in found.arrays)
    found = replace(found, arrays=kept, notes=(*found.notes, note))
    fields = fields_of(found.headers, kept, where=found.path)
    roles = choose_roles(fields, where=found.path, columns=columns)
    return assemble(roles, found, n_rows=len(best))


def _refuse_uneven(fields: Sequence[Field], path: Path) -> None:
    lengths = {len(member): field.header for field in fields for member in field.members}
    if len(lengths) > 1:
        listed = ", ".join(f"{header!r} with {counted(n, 'value')}" for n, header in list(lengths.items())[:3])
        raise InputError(path, f"columns of different lengths: {listed}", fix="Write a row an image.")


def best_rows(fields: Sequence[Field], roles: Roles, *, where: Path) -> NDArray[np.int64] | None:
    """Return int64 [m]: each image's best row in a long table with a row a rank; None for other tables.

    Such a table has a column of ranks, or for each image equally many rows with different classes and a confidence.
    """
    states = roles.index or roles.label
    if roles.name is None or states is None or states.n_values > 1 or states.is_list:
        return None
    image = _image_codes(shared(roles.name.members[0]))
    n_images = int(image.max(initial=-1)) + 1
    if n_images == len(image):
        return None
    ranks = [field for field in fields if "rank" in words_of(field.header) and field.content is Content.INTEGER]
    if ranks:
        worth = -class_indices(ranks[0].members[0], where=where, header=ranks[0].header).astype(np.float64)
    elif (
        roles.confidence is not None
        and roles.confidence.n_values == 1
        and _are_ranked(image, _codes(states.members[0]))
    ):
        values = to_numpy(numbers(roles.confidence.members[0], where=where, header=roles.confidence.header))
        worth = np.where(np.isnan(values), np.inf, values)
    else:
        return None
    order = np.lexsort((np.arange(len(image)), -worth, image))
    _, first = np.unique(image[order], return_index=True)
    return np.sort(order[first])


def _codes(column: pa.Array) -> NDArray[np.int64]:
    """Return int64 [n]: one number for each distinct value."""
    encoded = pc.dictionary_encode(column.cast(pa.string()), null_encoding="encode")
    codes: NDArray[np.int64] = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


_image_codes = remembered(_codes)


def _are_ranked(image: NDArray[np.int64], state: NDArray[np.int64]) -> bool:
    """Say whether each image has equally many rows, of different classes."""
    rows_an_image = np.bincount(image)
    pairs = image * (int(state.max(initial=0)) + 1) + state
    return bool((rows_an_image == rows_an_image[0]).all() and len(np.unique(pairs)) == len(pairs))


def assemble(roles: Roles, source: Columns, *, n_rows: int) -> RawPredictions:
    """Read the fields by their roles; rows without a usable prediction are listed in ``invalid``."""
    where = source.path
    place, confidence, notes = _ranked(roles, n_rows, where=where)
    index = None
    if roles.index:
        index = class_indices(pick(roles.index, place, where=where), where=where, header=roles.index.header)
    text = _text(pick(roles.label, place, where=where)) if roles.label else None
    if roles.label and roles.label.n_values > 1 and roles.confidence is None and roles.index is None:
        refuse_alphabetical(_first_lists(roles.label), where)
    invalid = _without_class(index, text) if roles.scores is None and not roles.claims else {}
    share, unusable, more = _confidences(confidence, roles)
    scores = None if roles.scores is None else _scores(roles.scores, where)
    return RawPredictions(
        format=source.format + _shape_words(roles),
        n_rows=n_rows,
        names=None if roles.name is None else _names(shared(roles.name.members[0])),
        index=index,
        text=text,
        ranks=None if roles.index is None else _ranks(roles.index, place, where=where),
        candidates=tuple(_candidate(claim, where) for claim in roles.claims),
        stored_as=_narrow_type(roles.index),
        confidence=share,
        n_outputs=None if scores is None else scores.shape[1],
        invalid=invalid | unusable,
        notes=(*source.notes, *roles.notes, *notes, *more),
        scores=scores,
        axis_labels=None if roles.scores is None else roles.scores.labels,
    )


def _first_lists(field: Field) -> list[Sequence[str | None]]:
    """Return the first rows' several texts."""
    columns = [member[:_RANKED_SAMPLE].to_pylist() for member in field.members]
    return [row for row in columns[0] if row] if field.is_list else list(zip(*columns, strict=True))


def _candidate(claim: Claim, where: Path) -> Candidate:
    index, label = claim.index, claim.label
    return Candidate(
        claim.header,
        None if index is None else class_indices(_first(index, where), where=where, header=index.header),
        None if label is None else _text(_first(label, where)),
        claim.is_named,
    )


def _first(field: Field, where: Path) -> pa.Array:
    """Return the first of each row's values."""
    return pick(field, np.zeros(len(field.members[0]), dtype=np.int64), where=where)


def _ranks(field: Field, place: NDArray[np.int64], *, where: Path) -> NDArray[np.int64] | None:
    """Return int64 [n, k]: the ranked classes as written, -1 for none; None where values tell the best one."""
    if field.n_values == 1 or place.any():
        return None
    return np.nan_to_num(value_matrix(field, where=where), nan=-1).astype(np.int64)


def _narrow_type(field: Field | None) -> str:
    """Return the name of a type of one byte, which holds no class above 255."""
    kind = None if field is None else field.members[0].type
    if kind is not None and pt.is_list(kind):
        kind = kind.value_type
    return str(kind) if kind is not None and pt.is_integer(kind) and kind.bit_width == 8 else ""


@remembered
def _names(array: pa.Array) -> pa.StringArray:
    """Return names as text, exactly as written; null becomes the empty name, which no image has."""
    if pt.is_floating(array.type):  # whole numbers that a missing one turned into floats: 293.0 is 293
        array = array.cast(pa.int64(), safe=False)
    names = pc.utf8_trim_whitespace(array.cast(pa.string()).fill_null(""))
    if re.fullmatch(r"\d+\.0", names[0].as_py() or ""):  # the same in a text
        names = pc.replace_substring_regex(names, r"^(\d+)\.0$", r"\1")
    if re.match(_WRAPPED_NAME, names[0].as_py() or ""):
        names = pc.replace_substring_regex(names, _WRAPPED_NAME, r"\2")
    return names


def _text(array: pa.Array) -> pa.StringArray:
    blank = pa.array(has_no_value(array))
    return pc.if_else(blank, pa.scalar(None, pa.string()), pc.utf8_trim_whitespace(array.cast(pa.string())))


def _without_class(index: NDArray[np.int64] | None, text: pa.StringArray | None) -> dict[str, NDArray[np.int64]]:
    claims = [index < 0] if index is not None else []
    if text is not None:
        claims.append(has_no_value(text))
    lacks = np.logical_and.reduce(claims) if claims else np.zeros(0, dtype=np.bool_)
    return {NO_CLASS: np.flatnonzero(lacks)} if lacks.any() else {}


def _ranked(roles: Roles, n_rows: int, *, where: Path) -> tuple[NDArray[np.int64], pa.DoubleArray | None, list[str]]:
    """Return which of each row's ranks is the best [n], its value [n], and a note if it is not the first."""
    first = np.zeros(n_rows, dtype=np.int64)
    field = roles.confidence
    if field is None:
        return first, None, []
    if field.n_values == 1:
        picked = pick(field, first, where=where)
        return first, numbers(picked, where=where, header=field.header), []
    values = value_matrix(field, where=where)
    best = np.argmax(values, axis=1)  # a NaN counts as the best here: the row is unusable whatever is chosen
    top = values[np.arange(n_rows), best]
    moved = int(np.count_nonzero(best))
    note = f"The ranks are not sorted in {counted(moved, 'row')}; the class with the largest value was taken."
    return best, pa.array(top), [note] if moved else []


def _confidences(
    given: pa.DoubleArray | None, roles: Roles
) -> tuple[NDArray[np.float32] | None, dict[str, NDArray[np.int64]], list[str]]:
    """Return probabilities float32 [n] or None, rows whose value says that the model failed, and notes."""
    if given is None or given.null_count == len(given):
        return None, {}, []
    values = to_numpy(given)
    header = roles.confidence.header if roles.confidence else ""
    if len(values) >= _ENOUGH_ROWS and np.isin(values, (0, 1)).all() and np.ptp(values):
        note = f"Column {header!r} holds nothing but 0 and 1, such as wrong and right; no confidence was read."
        return None, {}, [note]
    notes = []
    if is_in_percent(header) and np.nanmax(values) > 1 + _ABOVE_ONE:
        values = values / _PERCENT
    elif (n_near := _near_100(values)) >= max(_ENOUGH_NEAR_100, _SHARE_NEAR_100 * len(values)):
        values = values / _PERCENT
        notes = [
            f"Column {header!r} was read as percentages: no value is above 100, and {n_near:,} are from {_NEAR_100} on."
        ]
    broken = {CONFIDENCE_IS_NAN: np.isnan(values), CONFIDENCE_IS_INFINITE: np.isinf(values)}
    unusable = {reason: np.flatnonzero(mask) for reason, mask in broken.items() if mask.any()}
    outside = np.isfinite(values) & ((values < 0) | (values > 1 + _ABOVE_ONE))
    if outside.any():
        row = int(np.argmax(outside))
        note = (
            f"Column {header!r} holds values outside 0..1 (first: {values[row]:g} in row {row + 1}), "
            "such as logits; no confidence was read."
        )
        if np.nanmin(values) >= 0 and np.nanmax(values) <= _PERCENT:
            note += (
                " Percentages are read under a header with 'percent' (where there is none, write a first line such as "
                "image,prediction,confidence_percent), with a % sign behind each, or divided by 100."
            )
        return None, unusable, [note]
    return np.minimum(np.where(np.isinf(values), np.nan, values), 1).astype(np.float32), unusable, notes


def _near_100(values: NDArray[np.float64]) -> int:
    """Return how many values lie from 90 to 100; 0 where one lies outside 0..100.

    Many there and none beyond are what softmax gives in percent. Logits know no bound, and few are so large: of
    ImageNet models the largest of an image is mostly 5 to 40.
    """
    finite = values[np.isfinite(values)]
    if not len(finite) or finite.min() < 0 or finite.max() > _PERCENT * (1 + _ABOVE_ONE):
        return 0
    return int(np.count_nonzero(finite >= _NEAR_100))


def _scores(field: Field, where: Path) -> ColumnScores | ArrayScores:
    if field.is_list:
        return ArrayScores(value_matrix(field, where=where), str(where))
    return ColumnScores(field, str(where))


def _shape_words(roles: Roles) -> str:
    if roles.scores is not None:
        return f", all {roles.scores.n_values:,} outputs"
    field = roles.index or roles.label
    return f", top-{field.n_values}" if field is not None and field.n_values > 1 else ""
