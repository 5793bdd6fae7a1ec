"""Data inside a page: columns as short text, and JSON that cannot end the element it stands in."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_UNSIGNED = ((0xFF, "u1"), (0xFFFF, "u2"), (0xFFFFFFFF, "u4"))
# "<" could open </script> or <!--, the two separators end a line in old scripts, "&" could be taken for a reference.
_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def script_json(content: Any) -> str:
    """Return JSON that is safe inside ``<script type="application/json">``, whatever its texts hold."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # subtle: a lone surrogate (from an odd file name) cannot be written as UTF-8.
    return text.translate(_ESCAPES).encode("utf-8", "replace").decode("utf-8")


def column(values: NDArray[Any]) -> list[str]:
    """Return ``[type, base64]`` of unsigned integers, little-endian, of the narrowest type that holds them.

    Raises
    ------
    ValueError
        A value is negative or needs more than 32 bits.
    """
    least, most = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    fitting = [name for limit, name in _UNSIGNED if most <= limit]
    if least < 0 or not fitting:
        raise ValueError(f"values from {least} to {most} are no 32-bit unsigned integers")
    return [fitting[0], base64.b64encode(values.astype(f"<{fitting[0]}").tobytes()).decode()]


def bits(claim: NDArray[np.bool_]) -> str:
    """Return booleans as base64, eight a byte, the first in the lowest bit."""
    return base64.b64encode(np.packbits(claim, bitorder="little").tobytes()).decode()


def texts(values: pa.StringArray) -> dict[str, Any]:
    """Return texts as their distinct ones and a column of places among them."""
    encoded = pc.dictionary_encode(pc.fill_null(values, ""))
    return {"texts": encoded.dictionary.to_pylist(), "of": column(encoded.indices.to_numpy())}


def packed(content: Any) -> str:
    """Return JSON, compressed by gzip, as base64: for what is long, repeats itself and is seldom looked at."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), 6, mtime=0)).decode()
