"""Packed texts: how the files of each kind of compression begin, and what unpacks them up to a limit of bytes."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable
from typing import Any

import pyarrow as pa

_PACKED_PIECE = 1 << 14
"""Bytes that are unpacked at once: to 16 MB at most."""
_MOST_DEFLATED = 1032
"""Bytes of text that a packed one can stand for at best; files that state more are cut short."""


def _gunzipped(packed: memoryview, limit: int) -> bytes | None:
    """Return the text of all members, None if it is longer than the limit; zeros after a member are passed over.

    Raises
    ------
    EOFError
        The last member is cut short.
    """
    n_stated = int.from_bytes(packed[-4:], "little")  # of the last member; what no packing reaches was cut short
    if limit < n_stated <= _MOST_DEFLATED * len(packed):
        return None
    pieces: list[bytes] = []
    at, n_bytes = 0, 0
    while at < len(packed):
        unpack = zlib.decompressobj(wbits=31)
        while not unpack.eof:
            part = packed[at : at + _PACKED_PIECE]
            if not len(part):
                raise EOFError(_CUT_SHORT)
            pieces.append(unpack.decompress(part))
            at += len(part) - len(unpack.unused_data)
            n_bytes += len(pieces[-1])
            if n_bytes > limit:
                return None
        if at < len(packed) and not packed[at]:
            at = len(packed) - len(bytes(packed[at:]).lstrip(b"\0"))
    return b"".join(pieces)


def _streamed(packed: memoryview, limit: int, start: Callable[[], Any]) -> bytearray | None:
    """Return the text of streams that lie one behind another, None if it is longer than the limit."""
    text, rest = bytearray(), packed
    while len(rest):
        unpack = start()
        text += unpack.decompress(rest, limit + 1 - len(text))
        if len(text) > limit:
            return None
        if not unpack.eof:
            raise EOFError(_CUT_SHORT)
        rest = unpack.unused_data.lstrip(b"\0")
    return text


def _from_zstd(packed: memoryview, limit: int) -> bytes | None:
    with pa.input_stream(pa.py_buffer(packed), compression="zstd") as stream:
        text = bytes(stream.read(limit + 1))
    return None if len(text) > limit else text


_CUT_SHORT = "compressed file ended before the end-of-stream marker was reached"
UNPACKERS: dict[str, tuple[bytes, Callable[[memoryview, int], bytes | bytearray | None]]] = {
    "gzip": (b"\x1f\x8b", _gunzipped),
    "bzip2": (b"BZh", lambda packed, limit: _streamed(packed, limit, bz2.BZ2Decompressor)),
    "xz": (b"\xfd7zXZ", lambda packed, limit: _streamed(packed, limit, lzma.LZMADecompressor)),
    "zstd": (b"\x28\xb5\x2f\xfd", _from_zstd),
}
"""Kind -> how its files begin, and what unpacks them up to a limit of bytes."""
