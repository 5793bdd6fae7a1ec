"""safetensors files: named arrays without names of images, as torch users save what should hold no code.

Source: github.com/huggingface/safetensors, README, "Format": the length of the header in 8 bytes, the header in JSON
(name -> dtype, shape, data_offsets), the values.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.problems import InputError
from imagenet_errors.readers.opened import Opened, refusing_damage

_LENGTH = 8
_LONGEST_HEADER = 100_000_000
_DTYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "BF16": "V2",
    "BOOL": "u1",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "u1",
}
"""bfloat16 as numpy keeps it: two bytes without a type."""


@dataclass(frozen=True)
class Tensor:
    """An array in the file: its name, shape, type, and where its bytes begin."""

    key: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    start: int


def is_safetensors(file: Opened) -> bool:
    """Say whether a file begins like one: a length that fits in it, then JSON."""
    n_bytes = int.from_bytes(file.head[:_LENGTH], "little")
    return file.head[_LENGTH : _LENGTH + 2] == b'{"' and 2 <= n_bytes <= min(_LONGEST_HEADER, len(file.content))


def tensors_in(file: Opened) -> list[Tensor]:
    """Return the arrays of a file by its header.

    Raises
    ------
    InputError
        The header is damaged, or the file is shorter than it says.
    """
    n_header = int.from_bytes(file.head[:_LENGTH], "little")
    tensors = []
    with refusing_damage(file.path):
        header = json.loads(bytes(file.content[_LENGTH : _LENGTH + n_header]))
        for key, told in header.items():
            if key == "__metadata__" or told["dtype"] not in _DTYPES:
                continue
            dtype, shape = np.dtype(_DTYPES[told["dtype"]]), tuple(map(int, told["shape"]))
            start = _LENGTH + n_header + int(told["data_offsets"][0])
            if start + math.prod(shape) * dtype.itemsize > len(file.content):
                raise EOFError(f"{key} of shape {shape} lies beyond the end")
            tensors.append(Tensor(key, shape, dtype, start))
    if not tensors:
        raise InputError(file.path, "a safetensors file without arrays of numbers", fix="Save the scores or classes.")
    return tensors


def values_of(file: Opened, tensor: Tensor) -> NDArray[Any]:
    """Return a tensor as a view of the file's bytes."""
    n_values = math.prod(tensor.shape)
    values = np.frombuffer(file.content, dtype=tensor.dtype, count=n_values, offset=tensor.start)
    return values.reshape(tensor.shape)
