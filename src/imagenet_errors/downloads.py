"""Files that are too large, or not ours, to ship: where they come from, and a checked copy in the cache.

Nothing is used before its sha256 is verified. A copy from anywhere is accepted if its hash is right.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import InputError
from imagenet_errors.readers.annotations import annotations_table, read_annotations
from imagenet_errors.shipped import shipped
from imagenet_errors.tables import Annotations

CACHE_VARIABLE = "IMAGENET_ERRORS_CACHE"
_TIMEOUT_SECONDS = 30
_N_RETRIES = 2


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of ``data/sources.toml``; ``sha256`` and ``size`` (bytes) are empty where not known."""

    title: str
    file_name: str
    url: list[str]
    licence: str
    paper: str
    used_by: str
    sha256: str = ""
    size: int | None = None


def sources(path: Path | None = None) -> dict[str, Source]:
    """Return every source by its name."""
    text = (path or shipped("data", "sources.toml")).read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), type=dict[str, Source])


def source(name: str) -> Source:
    """Return one source.

    Raises
    ------
    InputError
        There is none of that name.
    """
    known = sources()
    if name not in known:
        raise InputError("data", f"no source {name!r}", fix=f"Known are: {', '.join(known)}.")
    return known[name]


def cache_folder() -> Path:
    """Return the folder for downloads: ``$IMAGENET_ERRORS_CACHE``, or the user's cache."""
    import pooch

    own = os.environ.get(CACHE_VARIABLE)
    return Path(own) if own else Path(pooch.os_cache("imagenet-errors"))


def cached_path(name: str) -> Path:
    """Return where the source's file lies, or would lie."""
    return cache_folder() / source(name).file_name


def fetch(name: str, *, copy_from: Path | None = None, progressbar: bool = False) -> Path:
    """Return the path of a verified file: the cached one, a copy of ``copy_from``, or a download.

    Raises
    ------
    InputError
        The file cannot be had, or is not the one that is meant; says which file with which hash goes where.
    """
    wanted, target = source(name), cached_path(name)
    if copy_from is not None:
        if not copy_from.is_file():
            raise InputError(copy_from, "no such file", fix="Check the path.")
        check_file(copy_from, wanted)
        _copy(copy_from, target)
    elif target.is_file():
        check_file(target, wanted)
    else:
        _download(name, wanted, target, progressbar=progressbar)
    return target


def check_file(path: Path, wanted: Source) -> None:
    """Compare size and sha256 with what is known.

    Raises
    ------
    InputError
        They differ; shows the first bytes, since a web page saved under the file's name is the usual reason.
    """
    size = path.stat().st_size
    if wanted.size is not None and size != wanted.size:
        raise _wrong(path, f"{size:,} bytes instead of {wanted.size:,}")
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if wanted.sha256 and digest != wanted.sha256:
        raise _wrong(path, f"sha256 {digest} instead of {wanted.sha256}")


def _wrong(path: Path, how: str) -> InputError:
    with path.open("rb") as file:
        start = file.read(40)
    page = "; it looks like a web page" if start.lstrip().startswith(b"<") else ""
    return InputError(
        path,
        f"not the file that is meant: {how}{page}, it starts with {start!r}",
        fix="Delete it and fetch it again.",
    )


def _copy(given: Path, target: Path) -> None:
    if given.resolve() == target.resolve():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        shutil.copyfile(given, partial)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _download(name: str, wanted: Source, target: Path, *, progressbar: bool) -> None:
    """Try each address; pooch downloads to a temporary name, verifies, and only then renames."""
    import pooch

    reasons = []
    for url in wanted.url:
        registry = pooch.create(
            target.parent,
            base_url="",
            registry={target.name: f"sha256:{wanted.sha256}" if wanted.sha256 else None},
            urls={target.name: url},
            retry_if_failed=_N_RETRIES,
        )
        try:
            registry.fetch(target.name, downloader=_downloader(progressbar=progressbar))
            return
        except (OSError, ValueError) as error:  # requests' errors are OSErrors; a wrong hash is a ValueError
            reasons.append(f"{url}: {' '.join(str(error).split())[:300]}")
    expected = f"sha256 {wanted.sha256}" if wanted.sha256 else "its hash is not known"
    size = "" if wanted.size is None else f", {wanted.size:,} bytes"
    raise InputError(
        name,
        f"{wanted.file_name} could not be downloaded: {'; '.join(reasons)}",
        fix=f"Get the file by other means ({expected}{size}) and put it at {target}, "
        f"or run: imagenet-errors data fetch {name} --from FILE",
    )


def _downloader(*, progressbar: bool) -> Any:
    import pooch

    return pooch.HTTPDownloader(timeout=_TIMEOUT_SECONDS, progressbar=_RichBar() if progressbar else False)


class _RichBar:
    """A progress bar with the four methods that pooch calls (it asks for tqdm's, and we use rich's)."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import Progress

        self._bar = Progress(console=Console(stderr=True))
        self._task = self._bar.add_task("Downloading", total=None)
        self._bar.start()

    @property
    def total(self) -> int:
        """Expected bytes."""
        return int(self._bar.tasks[0].total or 0)

    @total.setter
    def total(self, n_bytes: int) -> None:
        self._bar.update(self._task, total=n_bytes)

    def update(self, n_bytes: int) -> None:
        """Add bytes."""
        self._bar.advance(self._task, n_bytes)

    def reset(self) -> None:
        """Start again."""
        self._bar.reset(self._task)

    def close(self) -> None:
        """Leave the bar as it is."""
        self._bar.stop()


def fetched_multilabels(labels: LabelSpace, *, progressbar: bool = False) -> Annotations:
    """Return the official expert multi-labels; the 200 MB JSON is parsed once and kept as Parquet beside it."""
    import pyarrow.parquet as pq

    path = fetch("multilabel", progressbar=progressbar)
    small = path.with_suffix(".labels.parquet")
    if not small.is_file() or small.stat().st_mtime < path.stat().st_mtime:
        partial = small.with_name(f".{small.name}.{os.getpid()}")
        pq.write_table(annotations_table(read_annotations(path, labels)), partial)
        partial.replace(small)
    return read_annotations(small, labels)
