"""Turn what libraries raise on a broken file into one message that a person can act on."""

from __future__ import annotations

import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from imagenet_errors.problems import InputError

_RAISED_ON_DAMAGE = (
    pa.ArrowException,
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    tokenize.TokenError,
    EOFError,
    KeyError,
    MemoryError,
    OSError,
    OverflowError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)
"""What pyarrow, numpy, zipfile and gzip were seen to raise on files cut short or overwritten."""


@contextmanager
def refusing_damage(path: Path | str) -> Iterator[None]:
    """Wrap calls into a format library: whatever it raises becomes an InputError.

    Keep the block to those calls, so that a slip of our own is not taken for a broken file.

    Raises
    ------
    InputError
        The library could not read the file.
    """
    try:
        yield
    except _RAISED_ON_DAMAGE as problem:
        detail = (str(problem).splitlines() or [type(problem).__name__])[0]
        raise InputError(
            path,
            "the file is cut short or damaged",
            example=detail[:160],
            fix="Copy it again, or write it again from the model's outputs.",
        ) from problem
