"""Rows that hold a batch each, as a loop over a data loader writes them: unpacked to a row an image."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from imagenet_errors.problems import counted
from imagenet_errors.readers.contents import looks_like_image
from imagenet_errors.readers.nested import plain

_SAMPLE = 20


Arrays = tuple[pa.Array | pa.ChunkedArray, ...]


def without_batches(columns: Sequence[pa.Array | pa.ChunkedArray]) -> tuple[Arrays, str]:
    """Return columns with a row an image, and what was done, where a row holds several images; else "".

    A batch's names and the values beside them are lists of one length; single values hold for the whole batch.
    """
    arrays = [_plain(array) for array in columns]
    names = next((array for array in arrays if _holds_names(array)), None)
    if names is None:
        return tuple(columns), ""
    lengths = _lengths(names)
    owner = np.repeat(np.arange(len(lengths)), lengths)
    unpacked = tuple(
        array.flatten() if _is_list(array) and np.array_equal(_lengths(array), lengths) else array.take(pa.array(owner))
        for array in arrays
    )
    return unpacked, f"{counted(len(lengths), 'row')} of several images each were read as {counted(len(owner), 'row')}."


def _plain(array: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    return plain(array) if _is_list(array) else array


def _is_list(array: pa.Array | pa.ChunkedArray) -> bool:
    kind = array.type
    return bool(pt.is_list(kind) or pt.is_large_list(kind) or pt.is_fixed_size_list(kind))


def _lengths(array: pa.Array) -> NDArray[np.int64]:
    lengths: NDArray[np.int64] = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
    return lengths.astype(np.int64)


def _holds_names(array: pa.Array | pa.ChunkedArray) -> bool:
    """Say whether rows are lists of image names, some of several."""
    if not _is_list(array) or not pt.is_string(array.type.value_type):
        return False
    sample = [text for text in array[:_SAMPLE].flatten().to_pylist() if text]
    is_name = bool(sample) and all(map(looks_like_image, sample))
    return is_name and bool((_lengths(array) > 1).any())
