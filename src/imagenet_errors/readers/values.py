"""Arrow columns to numpy: whole numbers, numbers, and one value out of several a row, each row checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from imagenet_errors.problems import InputError, counted
from imagenet_errors.readers.cells import unwrapped
from imagenet_errors.readers.fields import Field

_MISSING_NUMBERS = pa.array(
    ["", "none", "null", "na", "n/a", "<na>", "#n/a", "#na", "missing", "nothing", "nil", "-", "--", "."]
)
_THOUSANDS = r"^\d{1,3}(,\d{3})+$"


def numbers(array: pa.Array, *, where: Path | str, header: str) -> pa.DoubleArray:
    """Return float64 [n], null where the cell is empty or says null; NaN stays NaN.

    Raises
    ------
    InputError
        A cell is no number.
    """
    if not pt.is_string(array.type):
        return array.cast(pa.float64(), safe=False)
    try:
        return array.cast(pa.float64())
    except pa.ArrowInvalid:
        return _odd_numbers(array, where=where, header=header)


def _odd_numbers(array: pa.StringArray, *, where: Path | str, header: str) -> pa.DoubleArray:
    """Read numbers with blanks around them, missing ones, decimal commas and percent signs."""
    texts = pc.utf8_trim_whitespace(unwrapped(array))
    missing = pc.is_in(pc.utf8_lower(texts), _MISSING_NUMBERS)
    texts = pc.if_else(missing, pa.scalar(None, pa.string()), texts)
    texts = pc.replace_substring_regex(texts, r"^([+-]?\d*),(\d+)((?:[eE][+-]?\d+)?(?:\s*%)?)$", r"\1.\2\3")
    texts = pc.replace_substring_regex(texts, r"(?i)^[+-]?(1\.#(qnan|snan|ind)\d*|nan\((ind|snan)\))$", "nan")
    texts = pc.replace_substring_regex(texts, r"(?i)^([+-]?)1\.#inf0*$", r"\1inf")
    is_percent = pc.fill_null(pc.ends_with(texts, "%"), False)
    texts = pc.replace_substring_regex(texts, r"\s*%$", "")
    is_number = pc.match_substring_regex(texts, r"(?i)^[+-]?(nan|inf(inity)?|(\d+\.?\d*|\.\d+)(e[+-]?\d+)?)$")
    wrong = pc.fill_null(pc.invert(is_number), False)
    if pc.any(wrong).as_py():
        row = pc.index(wrong, True).as_py()
        raise InputError(
            where,
            f"no number in {counted(pc.sum(wrong).as_py(), 'cell')} of column {header!r}",
            example=f"row {row + 1}: {array[row].as_py()!r}",
            fix="Correct the file, or name another column with --column.",
        )
    values = pc.replace_substring_regex(texts, r"^\+", "").cast(pa.float64())
    return pc.if_else(is_percent, pc.divide(values, 100.0), values)


def class_indices(array: pa.Array, *, where: Path | str, header: str) -> NDArray[np.int64]:
    """Return int64 [n], -1 where the cell gives no class (empty, null or -1); 65.0 is 65.

    Raises
    ------
    InputError
        A cell is no whole number, or below -1.
    """
    if pt.is_integer(array.type) or pt.is_string(array.type):
        try:
            index = _int64(array)
        except pa.ArrowInvalid:
            index = _from_floats(array, where=where, header=header)
    else:
        index = _from_floats(array, where=where, header=header)
    negative = np.flatnonzero(index < -1)
    if negative.size:
        _refuse_class(array, negative, where=where, header=header)
    return index


def _int64(array: pa.Array) -> NDArray[np.int64]:
    filled = array.cast(pa.int64()).fill_null(-1)
    return np.asarray(filled.to_numpy(zero_copy_only=False), dtype=np.int64)


def _without_thousands(array: pa.Array) -> pa.Array:
    """Drop commas between thousands (``1,000``) where other cells have none; else they may be decimal ones."""
    if not pt.is_string(array.type):
        return array
    is_parted = pc.match_substring_regex(array, _THOUSANDS)
    is_comma = pc.match_substring(array, ",")
    if pc.any(pc.xor(is_parted, is_comma)).as_py() or pc.all(is_comma).as_py():
        return array
    return pc.if_else(pc.fill_null(is_parted, False), pc.replace_substring(array, ",", ""), array)


def _from_floats(array: pa.Array, *, where: Path | str, header: str) -> NDArray[np.int64]:
    array = _without_thousands(array)
    values = to_numpy(numbers(array, where=where, header=header))
    missing = np.isnan(values)
    whole = missing | ((np.trunc(values) == values) & (np.abs(values) < 2**53))
    if not whole.all():
        _refuse_class(array, np.flatnonzero(~whole), where=where, header=header)
    return np.where(missing, -1, values).astype(np.int64)


def _refuse_class(array: pa.Array, rows: NDArray[np.int64], *, where: Path | str, header: str) -> None:
    raise InputError(
        where,
        f"no class index in {counted(rows.size, 'row')} of column {header!r}",
        example=f"row {rows[0] + 1}: {array[int(rows[0])].as_py()!r}",
        fix="Correct the file, or name the column of class indices with --column index=NAME.",
    )


def to_numpy(values: pa.DoubleArray) -> NDArray[np.float64]:
    """Return float64 [n], NaN for null."""
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)


def pick(field: Field, place: NDArray[np.int64], *, where: Path | str) -> pa.Array:
    """Return [n]: of each row's values the one at ``place`` [n] (0: the first); null in an empty list."""
    if field.n_values == 1 and not field.is_list:
        return field.members[0]
    if not field.is_list:
        if not place.any():
            return field.members[0]
        stacked = pa.concat_arrays([member.cast(field.members[0].type) for member in field.members])
        return stacked.take(pa.array(place * len(place) + np.arange(len(place))))
    flat, filled = _flat_list(field, where=where)
    at = np.cumsum(filled) - 1
    return flat.take(pa.array(at * field.n_values + place, mask=~filled))


def _flat_list(field: Field, *, where: Path | str) -> tuple[pa.Array, NDArray[np.bool_]]:
    """Return the values of all lists, and bool [n]: which rows have one; all of those are equally long."""
    lists = field.members[0]
    lengths = np.asarray(pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False))
    odd = np.flatnonzero((lengths > 0) & (lengths != field.n_values))
    if odd.size:
        raise InputError(
            where,
            f"lists of different lengths in column {field.header!r}: they are neither ranks nor scores",
            example=f"row {odd[0] + 1} has {lengths[odd[0]]:,}, others {field.n_values:,}",
            fix="A file of accepted labels (such as ReaL's) goes to --annotations.",
        )
    return lists.flatten(), lengths > 0


def value_matrix(field: Field, *, where: Path | str) -> NDArray[np.float64]:
    """Return float64 [n, k]: the several numbers of each row; NaN in a row without."""
    if not field.is_list:
        columns = [to_numpy(numbers(member, where=where, header=field.header)) for member in field.members]
        return np.column_stack(columns)
    flat, filled = _flat_list(field, where=where)
    matrix = np.full((len(filled), field.n_values), np.nan)
    matrix[filled] = to_numpy(numbers(flat, where=where, header=field.header)).reshape(-1, field.n_values)
    return matrix


def has_no_value(array: pa.Array) -> NDArray[np.bool_]:
    """Return bool [n]: the cell is null or, as text, blank."""
    missing: Any = array.is_null()
    if pt.is_string(array.type):
        missing = pc.or_(missing, pc.equal(pc.fill_null(pc.utf8_trim_whitespace(array), ""), ""))
    return np.asarray(missing.to_numpy(zero_copy_only=False), dtype=np.bool_)
