"""Files that are too large, or not ours, to ship: where they come from, and a checked copy in the cache.

Nothing is used before its sha256 is verified. A copy from anywhere is accepted if its hash is right.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from imagenet_errors.files import written_whole
from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import InputError
from imagenet_errors.readers.annotations import annotations_table, read_annotations
from imagenet_errors.shipped import shipped
from imagenet_errors.tables import Annotations

CACHE_VARIABLE = "IMAGENET_ERRORS_CACHE"
_TIMEOUT_SECONDS = 30
_MADE_FROM = b"made from sha256"


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
        if not copy_from.exists():
            raise InputError(copy_from, "no such file", fix="Check the path.")
        if copy_from.is_file() or wanted.sha256:
            check_file(copy_from, wanted)
        _copy(copy_from, target)
    elif target.is_file():
        check_file(target, wanted)
    elif not target.exists():
        _download(name, wanted, target, progressbar=progressbar)
    return target


def check_file(path: Path, wanted: Source) -> None:
    """Compare size and sha256 with what is known.

    Raises
    ------
    InputError
        They differ; shows the first bytes, since a web page saved under the file's name is the usual reason.
    """
    problem = _problem(path, wanted)
    if problem:
        fix = f"Get {wanted.file_name} again ({_identity(wanted)})."
        raise InputError(path, f"not the file that is meant: {problem}", fix=fix)


def _problem(path: Path, wanted: Source) -> str:
    """Return what tells the file from the one that is meant, and how it starts; empty when nothing does."""
    if not path.is_file():
        return "it is a folder"
    size = path.stat().st_size
    if wanted.size is not None and size != wanted.size:
        return f"{size:,} bytes instead of {wanted.size:,}{_start(path)}"
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if wanted.sha256 and digest != wanted.sha256:
        return f"sha256 {digest} instead of {wanted.sha256}{_start(path)}"
    return ""


def _start(path: Path) -> str:
    with path.open("rb") as file:
        start = file.read(40)
    page = " looks like a web page and" if start.lstrip().startswith(b"<") else ""
    return f"; it{page} starts with {start!r}"


def _identity(wanted: Source) -> str:
    size = "" if wanted.size is None else f"{wanted.size:,} bytes, "
    return size + (f"sha256 {wanted.sha256}" if wanted.sha256 else "its hash is not known")


def _copy(given: Path, target: Path) -> None:
    if given.resolve() == target.resolve():
        return
    try:
        if given.is_dir():
            shutil.copytree(given, target, dirs_exist_ok=True)
        else:
            with written_whole(target) as partial:
                shutil.copyfile(given, partial)
    except OSError as error:
        raise _unwritable(target, error) from None


def _unwritable(target: Path, error: OSError) -> InputError:
    fix = f"Make room there, or set {CACHE_VARIABLE} to another folder."
    return InputError(target.parent, f"cannot be written: {error.strerror or error}", fix=fix)


def _download(name: str, wanted: Source, target: Path, *, progressbar: bool) -> None:
    """Try each address in turn."""
    reasons = []
    for url in wanted.url:
        reason = _attempt(url, wanted, target, progressbar=progressbar)
        if not reason:
            return
        reasons.append(reason)
    what = "could not be downloaded" if wanted.url else "has no address that is known to work"
    raise InputError(
        name,
        f"{wanted.file_name} {what}{': ' * bool(reasons)}{'; '.join(reasons)}",
        fix=f"Get the file by other means ({_identity(wanted)}; {wanted.licence}) and put it at {target}, "
        f"or run: imagenet-errors data fetch {name} --from FILE",
    )


def _attempt(url: str, wanted: Source, target: Path, *, progressbar: bool) -> str:
    """Download to a temporary name, verify, rename; return why it failed, or nothing."""
    import pooch

    pooch.get_logger().setLevel("WARNING")
    registry = pooch.create(target.parent, base_url="", registry={target.name: None}, urls={target.name: url})
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        registry.fetch(target.name, downloader=_verifying(wanted, progressbar=progressbar))
    except (OSError, ValueError) as error:  # requests' errors are OSErrors
        return f"{url}: {' '.join(str(error).split())[:400]}"
    return ""


def _verifying(wanted: Source, *, progressbar: bool) -> Callable[[str, Any, Any], None]:
    """Return a downloader that verifies what came before pooch gives it its name."""
    import pooch

    download = pooch.HTTPDownloader(timeout=_TIMEOUT_SECONDS, progressbar=_RichBar() if progressbar else False)

    def verified(url: str, output: Any, registry: Any) -> None:
        download(url, output, registry)
        problem = _problem(Path(output), wanted)
        if problem:
            raise ValueError(f"not the file that is meant: {problem}")

    return verified


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
    """Return the official expert multi-labels.

    The 200 MB JSON is parsed once; what counts of it is kept as Parquet beside it, with the JSON's hash.
    """
    import pyarrow.parquet as pq

    wanted = source("multilabel")
    small = cached_path("multilabel").with_suffix(".labels.parquet")
    if not _is_made_from(small, wanted):
        path = fetch("multilabel", progressbar=progressbar)
        table = annotations_table(read_annotations(path, labels))
        table = table.replace_schema_metadata({_MADE_FROM: wanted.sha256.encode()})
        try:
            with written_whole(small) as partial:
                pq.write_table(table, partial)
        except OSError as error:
            raise _unwritable(small, error) from None
    return read_annotations(small, labels)


def _is_made_from(small: Path, wanted: Source) -> bool:
    """Return True when the table is whole and was made from the file that is meant."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        metadata = pq.read_schema(small).metadata or {}
    except (OSError, pa.ArrowException):
        return False
    return bool(metadata.get(_MADE_FROM) == wanted.sha256.encode())
