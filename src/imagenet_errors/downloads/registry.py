"""What is known of files published elsewhere: ``data/sources.toml``, and the facts of a file by its bytes."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from imagenet_errors.files import sha256_of
from imagenet_errors.problems import InputError
from imagenet_errors.shipped import shipped


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file of a source: a ``path`` in its repository or a ``url`` of its own; unknown hashes are empty."""

    path: str = ""
    url: str = ""
    n_bytes: int | None = msgspec.field(default=None, name="bytes")
    sha256: str = ""


@dataclass(frozen=True)
class PublishedFile:
    """A file as it was published.

    ``place`` is its path below a cache or a mirror (OWNER/REPOSITORY/COMMIT/PATH, or HOST/PATH), ``addresses``
    are tried in their order; ``n_bytes`` is None and ``sha256`` empty where they are not known.
    """

    place: str
    addresses: tuple[str, ...]
    n_bytes: int | None
    sha256: str

    @property
    def file_name(self) -> str:
        """The last part of its path."""
        return self.place.rpartition("/")[2]

    @property
    def identity(self) -> str:
        """Size and hash in words."""
        size = "" if self.n_bytes is None else f"{self.n_bytes:,} bytes, "
        return size + (f"sha256 {self.sha256}" if self.sha256 else "its hash is not known")

    def problem_of(self, path: Path) -> str:
        """Return what tells a file from this one, and how it starts; empty when it is this one."""
        if not path.is_file():
            return "it is no file"
        n_bytes = path.stat().st_size
        if self.n_bytes is not None and n_bytes != self.n_bytes:
            return self.differs(n_bytes, "", start_of(path))
        return self.differs(n_bytes, sha256_of(path) if self.sha256 else "", start_of(path))

    def differs(self, n_bytes: int, sha256: str, start: bytes) -> str:
        """Return how bytes of this size, hash and start differ from the file; empty when they do not."""
        page = " looks like a web page and" if start.lstrip().startswith(b"<") else ""
        shown = f"; it{page} starts with {start[:40]!r}"
        if self.n_bytes is not None and n_bytes != self.n_bytes:
            return f"{n_bytes:,} bytes instead of {self.n_bytes:,}{shown}"
        if self.sha256 and sha256 != self.sha256:
            return f"sha256 {sha256} instead of {self.sha256}{shown}"
        return f"not what is wanted{shown}" if page and not self.sha256 else ""


class PublishedSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of ``data/sources.toml``: files that belong together, or ``parts``, the names of such."""

    title: str
    licence: str
    paper: str
    options: tuple[str, ...]
    repository: str = ""
    commit: str = ""
    files: tuple[_Entry, ...] = ()
    other_layouts: tuple[_Entry, ...] = ()
    content: str = ""
    parts: tuple[str, ...] = ()
    is_folder: bool = False


class _Registry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    mirrors: tuple[str, ...]
    sources: dict[str, PublishedSource]


def registry() -> _Registry:
    """Read ``data/sources.toml``."""
    path = shipped("data", "sources.toml")
    return _parsed(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=1)
def _parsed(path: Path, _modified: int) -> _Registry:
    return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), type=_Registry)


def sources() -> dict[str, PublishedSource]:
    """Return every source by its name."""
    return registry().sources


def names_for(option: str) -> tuple[str, ...]:
    """Return the names that an option such as ``--human`` takes."""
    return tuple(name for name, one in sources().items() if option in one.options)


def source(name: str) -> PublishedSource:
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


def layouts(name: str) -> tuple[tuple[PublishedFile, ...], ...]:
    """Return the sets of files that a source may consist of, the preferred one first."""
    one = source(name)
    if one.parts:
        return (tuple(file for part in one.parts for file in layouts(part)[0]),)
    return (
        tuple(_published(name, one, entry) for entry in one.files),
        *((_published(name, one, entry),) for entry in one.other_layouts),
    )


def _published(name: str, one: PublishedSource, entry: _Entry) -> PublishedFile:
    addresses: tuple[str, ...] = ()
    if entry.url:
        parts = urlsplit(entry.url)
        place, addresses = f"{parts.netloc}{parts.path}", (entry.url,)
    elif one.repository:
        fields = {"repository": one.repository, "commit": one.commit, "path": entry.path}
        place = "{repository}/{commit}/{path}".format(**fields)
        addresses = tuple(mirror.format(**fields) for mirror in registry().mirrors)
    else:
        place = f"{name}/{entry.path}"
    return PublishedFile(place, addresses, entry.n_bytes, entry.sha256)


class FileFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is told of a file that judged something; all but the first three are empty for a file of the user's.

    A copy of a published file is known by its bytes wherever it lies, and told in the same words.
    """

    file_name: str
    sha256: str
    n_bytes: int
    source: str = ""
    title: str = ""
    address: str = ""
    commit: str = ""
    licence: str = ""


def facts_of(*paths: Path) -> tuple[FileFacts, ...]:
    """Return the facts of each file, those of a folder by name."""
    by_hash = _by_hash()
    files = [file for path in paths for file in (sorted(path.iterdir()) if path.is_dir() else [path])]
    return tuple(_facts(file, by_hash) for file in files if file.is_file())


def _facts(path: Path, by_hash: dict[str, FileFacts]) -> FileFacts:
    sha256 = sha256_of(path)
    own = FileFacts(file_name=path.name, sha256=sha256, n_bytes=path.stat().st_size)
    name = path.parent.name
    if sha256 in by_hash or name not in sources():
        return by_hash.get(sha256, own)
    one = source(name)  # a copy without a known hash lies in the cache in a folder of its source's name
    return msgspec.structs.replace(own, source=name, title=one.title, licence=one.licence)


def _by_hash() -> dict[str, FileFacts]:
    return {
        file.sha256: FileFacts(
            file_name=file.file_name,
            sha256=file.sha256,
            n_bytes=file.n_bytes or 0,
            source=name,
            title=one.title,
            address=file.addresses[0] if file.addresses else "",
            commit=one.commit if one.commit in file.place else "",
            licence=one.licence,
        )
        for name, one in sources().items()
        if not one.parts
        for layout in layouts(name)
        for file in layout
        if file.sha256
    }


def start_of(path: Path) -> bytes:
    """Return a file's first bytes, to show what it is."""
    with path.open("rb") as file:
        return file.read(40)
