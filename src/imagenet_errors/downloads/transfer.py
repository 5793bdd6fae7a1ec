"""Bytes from an address or a disk into the cache: no more of them than expected, none kept but the right ones."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from imagenet_errors import __version__
from imagenet_errors.downloads.registry import PublishedFile
from imagenet_errors.prepared import CACHE_VARIABLE
from imagenet_errors.problems import InputError

PARTIAL = ".partial"
_CONNECT_SECONDS, _READ_SECONDS = 10, 30
_CHUNK_BYTES = 1 << 16
_MOST_BYTES_UNKNOWN = 1 << 30
_HEADERS = {"Accept-Encoding": "identity", "User-Agent": f"imagenet-errors/{__version__}"}
"""As the bytes are, so that what arrives can be counted."""


@dataclass(frozen=True)
class Transfer:
    """One file on its way to ``target``, by way of a temporary name in ``partials``.

    ``advance`` hears of bytes that came; hosts that cannot be reached are added to ``unreachable`` and not
    asked again.
    """

    wanted: PublishedFile
    target: Path
    partials: Path
    advance: Callable[[int], None]
    unreachable: set[str] = field(default_factory=set)

    def take_from(self, origins: tuple[str | Path, ...]) -> str:
        """Try each origin in turn, a transfer that is cut off twice; return why all failed, or nothing."""
        reasons: dict[str, None] = {}
        for origin in origins:
            host = "" if isinstance(origin, Path) else urlsplit(origin).netloc
            if host in self.unreachable:
                reasons.setdefault(f"{host}: no answer")
                continue
            problem, is_cut = self._attempt(origin, host)
            if is_cut:
                problem, _ = self._attempt(origin, host)
            if not problem:
                return ""
            reasons[f"{origin}: {problem}"] = None
        return "; ".join(reasons)

    def _attempt(self, origin: str | Path, host: str) -> tuple[str, bool]:
        """Return why the file could not be had, and whether its bytes just ended too early."""
        with self._partial() as (partial, received):
            problem = received.copied(origin) if isinstance(origin, Path) else received.downloaded(origin)
            if received.host_is_silent and host:
                self.unreachable.add(host)
            received.close()
            problem = problem or received.problem
            if not problem:
                self._keep(partial)
        return problem, received.is_cut

    @contextmanager
    def _partial(self) -> Iterator[tuple[Path, _Received]]:
        try:
            self.partials.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.partials, suffix=PARTIAL)
        except OSError as error:
            raise unwritable(self.target, error) from None
        try:
            with os.fdopen(handle, "wb") as file:
                yield Path(name), _Received(self, file)
        finally:
            with suppress(OSError):
                Path(name).unlink(missing_ok=True)

    def _keep(self, partial: Path) -> None:
        try:
            self.target.parent.mkdir(parents=True, exist_ok=True)
            partial.chmod(0o644)
            partial.replace(self.target)
        except OSError as error:
            raise unwritable(self.target, error) from None


class _Received:
    """A file to write to that counts, hashes, and takes no more than what is expected."""

    def __init__(self, transfer: Transfer, file: IO[bytes]) -> None:
        self._transfer, self._file, self._sha256 = transfer, file, hashlib.sha256()
        self._most = transfer.wanted.n_bytes or _MOST_BYTES_UNKNOWN
        self._n_bytes, self._start = 0, b""
        self.host_is_silent = False

    def write(self, chunk: bytes) -> int:
        """Take a chunk; raise ValueError where the file goes on after it should have ended."""
        self._n_bytes += len(chunk)
        self._start = (self._start + chunk[:40])[:40]
        if self._n_bytes > self._most:
            raise ValueError(f"stopped after {self._n_bytes:,} bytes")
        self._sha256.update(chunk)
        try:
            self._file.write(chunk)
        except OSError as error:
            raise unwritable(self._transfer.target, error) from None
        self._transfer.advance(len(chunk))
        return len(chunk)

    def flush(self) -> None:
        """Do nothing: what is buffered is written out on closing."""

    def close(self) -> None:
        """Write out what is buffered, and let the file be renamed."""
        try:
            self._file.close()
        except OSError as error:
            raise unwritable(self._transfer.target, error) from None

    @property
    def is_cut(self) -> bool:
        """Whether some bytes came, and fewer than expected."""
        return 0 < self._n_bytes < (self._transfer.wanted.n_bytes or 0)

    @property
    def problem(self) -> str:
        """What tells the bytes from those that are meant; empty when they are right."""
        difference = self._transfer.wanted.differs(self._n_bytes, self._sha256.hexdigest(), self._start)
        if self._n_bytes > self._most:
            difference = difference.replace(" bytes", " bytes or more", 1)
        return f"not the file that is meant: {difference}" if difference else ""

    def copied(self, path: Path) -> str:
        """Copy from a disk; return why it could not be read."""
        try:
            with path.open("rb") as file:
                shutil.copyfileobj(file, self, _CHUNK_BYTES)
        except (OSError, ValueError) as error:
            return str(error)
        return ""

    def downloaded(self, url: str) -> str:
        """Download; return in few words why it failed, if it did."""
        import pooch
        import requests

        download = pooch.HTTPDownloader(
            chunk_size=_CHUNK_BYTES, timeout=(_CONNECT_SECONDS, _READ_SECONDS), headers=_HEADERS
        )
        try:
            download(url, self, None)
        except requests.HTTPError as error:
            return str(error).partition(" for url")[0]
        except (OSError, ValueError) as error:  # requests' errors are OSErrors
            self.host_is_silent = isinstance(error, requests.ConnectionError) and not self._n_bytes
            return self.problem if self._n_bytes else _in_short(error)
        return ""


def _in_short(error: Exception) -> str:
    """Return the innermost reason that a connection failed, without the pools and retries around it."""
    inner: Any = error
    while getattr(inner, "reason", None) or (inner.args and isinstance(inner.args[0], Exception)):
        inner = getattr(inner, "reason", None) or inner.args[0]
    said = " ".join(str(inner).split())
    return f"no answer ({(said.partition('): ')[2] or said)[:200]})"


def unwritable(target: Path, error: OSError) -> InputError:
    """Return what to tell where the cache cannot be written."""
    fix = f"Make room there, or set {CACHE_VARIABLE} to a folder that can be written."
    return InputError(target.parent, f"cannot be written: {error.strerror or error}", fix=fix)
