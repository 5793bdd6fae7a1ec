"""An array file that is read a block at a time, so that it need not fit into memory."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from imagenet_errors.readers.opened import ARRAY_START, cache_aligned, changed, unchanged

_ARRAY_HEAD = (1 << 21) + (1 << 17)
"""Bytes of an .npy file that are kept: its header and the first block of rows, which tells what the others are."""


class ArrayFile:
    """An .npy file that is read and hashed a block at a time: what is hashed are the bytes that were handed out.

    ``start``: its first bytes, read once and kept, for they are looked at before the others. ``sha256``: of all bytes;
    empty before :meth:`blocks` was gone through to its end.
    """

    def __init__(self, path: Path, file: io.FileIO, n_bytes: int) -> None:
        self.path = path
        self.n_bytes = n_bytes
        self.start = file.read(_ARRAY_HEAD)
        self.sha256 = ""
        self._file = file

    def blocks(self, sizes: Sequence[int]) -> Iterator[memoryview]:
        """Yield the file in blocks of these sizes in bytes, its size together; each is gone with the next.

        Raises
        ------
        InputError
            The file was cut short meanwhile, or its bytes are others than those of an earlier pass.
        """
        digest, n_read = hashlib.sha256(), 0
        memory = cache_aligned(max(sizes))
        for size in sizes:
            block = memory[:size]
            self._read_into(block, n_read)
            n_read += size
            digest.update(block)
            yield block.toreadonly()
        if self.sha256 not in ("", digest.hexdigest()):
            raise changed(self.path)
        self.sha256 = digest.hexdigest()

    def _read_into(self, block: memoryview, at: int) -> None:
        known = self.start[at : at + len(block)]
        block[: len(known)] = known
        left = block[len(known) :]
        self._file.seek(at + len(known))
        while len(left):
            n_new = self._file.readinto(left)
            if not n_new:
                raise changed(self.path)
            left = left[n_new:]


@contextmanager
def opened_array(path: Path) -> Iterator[ArrayFile | None]:
    """Open an .npy file to read it a block at a time; None of any other file.

    Raises
    ------
    InputError
        As of :func:`opened`.
    """
    if not path.is_file():  # what is read of a pipe is gone from it
        yield None
        return
    with unchanged(path) as (file, facts):
        is_array = file.read(len(ARRAY_START)) == ARRAY_START
        file.seek(0)
        yield ArrayFile(path, file, facts.st_size) if is_array else None
