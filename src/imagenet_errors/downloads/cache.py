"""A name or a path to files that can be used: from the cache, a local copy, a mirror or their public address."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from imagenet_errors.downloads.registry import (
    PublishedFile,
    PublishedSource,
    layouts,
    names_for,
    source,
    sources,
)
from imagenet_errors.downloads.transfer import PARTIAL, Transfer, unwritable
from imagenet_errors.files import sha256_of
from imagenet_errors.prepared import cache_folder
from imagenet_errors.problems import InputError, counted, refuse_absent

MIRROR_VARIABLE = "IMAGENET_ERRORS_MIRROR"
OFFLINE_VARIABLE = "IMAGENET_ERRORS_OFFLINE"
_PARTIALS, _SAME_CONTENT = ".partial", "same-content"


def _say(text: str) -> None:
    with suppress(OSError, AttributeError):  # a closed stderr, or none, costs the words only
        sys.stderr.write(f"{text}\n")


def is_offline() -> bool:
    """Tell whether nothing is to be downloaded."""
    return os.environ.get(OFFLINE_VARIABLE, "").strip().lower() not in ("", "0", "false", "no")


def go_offline() -> None:
    """Let the hub's client, which others load weights with, download nothing; it reads this when first imported."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    with suppress(ImportError):
        from huggingface_hub import constants

        constants.HF_HUB_OFFLINE = True


@dataclass(frozen=True)
class Connection:
    """Whether addresses may be asked, who hears what is fetched, and which hosts did not answer."""

    is_offline: bool = field(default_factory=is_offline)
    say: Callable[[str], None] = _say
    unreachable: set[str] = field(default_factory=set)


def resolve(name_or_path: str | Path, option: str, network: Connection | None = None) -> tuple[Path, ...]:
    """Return the files that an option such as ``--human`` means by a text: a known name, or a path.

    What is named and absent is fetched. A name goes before a file of that name in the working folder, which is
    written ``./NAME``, or given as a ``Path``.

    Raises
    ------
    InputError
        There is no such file, the name is of another option, or the source cannot be had.
    """
    names = names_for(option)
    if name_or_path in names:
        return fetch(str(name_or_path), network=network)
    if name_or_path in sources():
        takes = f"It takes {', '.join(names)}" if names else "It takes no names"
        raise InputError(option, f"{name_or_path} is not for this option", fix=f"{takes}, or a path.")
    path = Path(name_or_path)
    known = f", or name one of: {', '.join(names)}" if names else ""
    refuse_absent(path, fix=f"Check the path{known}.")
    return (path,)


def resolve_all(given: str | Path | Sequence[str | Path] | None, option: str) -> tuple[Path, ...]:
    """Return the files that an option's texts mean, one after the other; a ``Path`` stays as it is.

    Raises
    ------
    InputError
        A text is neither a path nor a name of this option, or a source cannot be had.
    """
    several = (given,) if isinstance(given, str | Path) else given or ()
    found = [(one,) if isinstance(one, Path) else resolve(one, option) for one in several]
    return tuple(path for paths in found for path in paths)


def at_hand(name: str) -> tuple[Path, ...]:
    """Return the verified files of a source as far as they lie in the cache, in any layout; nothing is fetched.

    A source that is a folder is that one path. Empty where a file is missing or not the right one.
    """
    one, cache = source(name), cache_folder()
    for layout in layouts(name):
        if not any(file.problem_of(cache / file.place) for file in layout):
            return _shown(one, layout, cache)
    same = sorted((cache / _SAME_CONTENT / name).glob("*"))
    return next(((path,) for path in same if sha256_of(path) == path.stem), ())


def target_of(name: str) -> tuple[Path, ...]:
    """Return where a source's files lie, or would lie in their preferred layout."""
    return at_hand(name) or _shown(source(name), layouts(name)[0], cache_folder())


def _shown(one: PublishedSource, layout: tuple[PublishedFile, ...], cache: Path) -> tuple[Path, ...]:
    paths = tuple(cache / file.place for file in layout)
    return (paths[0].parent,) if one.is_folder else paths


def fetch(name: str, *, copy_from: Path | None = None, network: Connection | None = None) -> tuple[Path, ...]:
    """Return the verified files of a source: the cached ones, those in ``copy_from``, or downloaded ones.

    ``copy_from`` is a file or a folder, in any known layout of the same content and under any names.

    Raises
    ------
    InputError
        The files cannot be had, or are not the ones that are meant; says which file with which hash is wanted.
    """
    one, network = source(name), network or Connection()
    if one.parts:
        return tuple(path for part in one.parts for path in fetch(part, copy_from=copy_from, network=network))
    if copy_from is None and (paths := at_hand(name)):
        return paths
    with _alone(name) as partials:
        if copy_from is not None:
            _take(name, copy_from, partials)
        elif not at_hand(name):  # another process may have been quicker
            _download(name, partials, network)
    return at_hand(name)


def fetch_all(
    copy_from: Path | None = None, network: Connection | None = None
) -> Iterator[tuple[str, tuple[Path, ...] | InputError]]:
    """Fetch every source, one that cannot be had costing only itself; yield each name with its files or the reason.

    Sources without a public address are left out where nothing at hand or on the mirror has them.
    """
    network = network or Connection()
    for name, one in sources().items():
        if one.parts or not (copy_from or one.repository or at_hand(name) or _origins(layouts(name)[0][0], network)):
            continue
        try:
            yield name, fetch(name, copy_from=copy_from, network=network)
        except InputError as error:
            yield name, error


@contextmanager
def _alone(name: str) -> Iterator[Path]:
    """Give the folder for partial files of one source to one process at a time; leftovers of a kill are removed."""
    import filelock

    partials = cache_folder() / _PARTIALS / name
    try:
        partials.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(partials / "lock")
        lock.acquire()
    except OSError as error:
        raise unwritable(partials, error) from None
    try:
        for left in partials.glob(f"*{PARTIAL}"):
            left.unlink(missing_ok=True)
        yield partials
    finally:
        lock.release()


def _take(name: str, given: Path, partials: Path) -> None:
    """Copy what is given into the cache if it is the source, in whichever layout."""
    if not given.exists():
        raise InputError(given, "no such file or folder", fix="Check the path.")
    cache, missing = cache_folder(), []
    for layout in layouts(name):
        found = [_copy_of(file, given) for file in layout]
        missing.append([file for file, path in zip(layout, found, strict=True) if path is None])
        if not missing[-1]:
            for file, path in zip(layout, found, strict=True):
                _copy(file, path or given, cache / file.place, partials)
            return
    if not _has_same_content(name, given):
        raise _not_meant(name, given, missing[0])
    sha256 = sha256_of(given)
    place = f"{_SAME_CONTENT}/{name}/{sha256}{given.suffix}"
    _copy(PublishedFile(place, (), given.stat().st_size, sha256), given, cache / place, partials)


def _copy(file: PublishedFile, path: Path, target: Path, partials: Path) -> None:
    if target.exists() and target.samefile(path):
        return
    problem = Transfer(file, target, partials, lambda _: None).take_from((path,))
    if problem:
        raise InputError(path, problem.removeprefix(f"{path}: "), fix="Copy it again.")


def _copy_of(file: PublishedFile, given: Path) -> Path | None:
    """Find a file among what is given: by its path or name, then by its bytes under any name."""
    if given.is_file():
        return None if file.problem_of(given) else given
    parent = Path(file.place).parent.name
    for place in (file.place, f"{parent}/{file.file_name}", file.file_name):
        if not file.problem_of(given / place):
            return given / place
    if not file.sha256:
        return next((path for path in sorted(given.rglob(file.file_name)) if path.is_file()), None)
    sized = (path for path in given.rglob("*") if path.is_file() and path.stat().st_size == file.n_bytes)
    return next((path for path in sized if sha256_of(path) == file.sha256), None)


def _has_same_content(name: str, given: Path) -> bool:
    content = source(name).content
    return bool(content) and given.is_file() and _content(given) == content


def _content(given: Path) -> str:
    """Return the digest of an annotations file's labels; nothing if it is none."""
    from imagenet_errors.downloads.content import content_of

    try:
        return content_of(given)
    except InputError:
        return ""


def _not_meant(name: str, given: Path, missing: list[PublishedFile]) -> InputError:
    first, n_files = missing[0], len(layouts(name)[0])
    if given.is_file() and n_files == 1:
        fix = f"{name} is {first.file_name} ({first.identity})."
        if source(name).content and _content(given):
            fix += f" It can be used as it is, as a label set of its own: --annotations {given}"
        return InputError(given, f"not the file that is meant: {first.problem_of(given)}", fix=fix)
    what = f"{counted(len(missing), 'file')} of {name} not in it" if given.is_dir() else f"not all of {name}"
    fix = "Name the file itself, or a folder that has it."
    if n_files > 1:
        fix = f"Name a folder that has all {n_files}."
    return InputError(given, what, example=f"{first.file_name}, {first.identity}", fix=fix)


def _download(name: str, partials: Path, network: Connection) -> None:
    """Try each layout, and for each of its files the mirror and then the public addresses."""
    cache, one, reasons = cache_folder(), source(name), []
    for layout in layouts(name):
        absent = [file for file in layout if file.problem_of(cache / file.place)]
        origins = [_origins(file, network) for file in absent]
        if not all(origins):
            continue
        network.say(_announcement(one, name, absent, origins[0][0]))
        with _bar(name, sum(file.n_bytes or 0 for file in absent)) as advance:
            for file, places in zip(absent, origins, strict=True):
                transfer = Transfer(file, cache / file.place, partials, advance, network.unreachable)
                reasons.append(transfer.take_from(places))
                if reasons[-1]:
                    break
            else:
                return
    raise _not_to_be_had(name, "; ".join(filter(None, reasons)), network)


def _not_to_be_had(name: str, reasons: str, network: Connection) -> InputError:
    one, files = source(name), layouts(name)[0]
    why = "has no public address"
    if reasons:
        why = f"could not be downloaded: {reasons}"
    elif one.repository and network.is_offline:
        why = f"is not in the cache, and nothing is downloaded (--offline or {OFFLINE_VARIABLE})"
    what = f"{files[0].file_name} ({files[0].identity}; licence: {one.licence})"
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    return InputError(
        name,
        f"{files[0].file_name} {why}",
        fix=f"Get {what}{more} by other means and run: imagenet-errors data fetch {name} --from FILE|DIR; or set "
        f"{MIRROR_VARIABLE} to a folder that has it; or put it at {cache_folder() / files[0].place}.",
    )


def _announcement(one: PublishedSource, name: str, absent: list[PublishedFile], origin: str | Path) -> str:
    n_bytes = sum(file.n_bytes or 0 for file in absent)
    what = absent[0].file_name if len(absent) == 1 else counted(len(absent), "file")
    size = f", {sized(n_bytes)}" if n_bytes else ""
    return f"Fetching {name}: {one.title} ({what}{size}; licence: {one.licence}) from {origin}"


def sized(n_bytes: int) -> str:
    """Return ``'49 kB'`` or ``'1.4 MB'``."""
    return f"{n_bytes / 1e3:.0f} kB" if n_bytes < 999_500 else f"{n_bytes / 1e6:.1f} MB"


def _origins(file: PublishedFile, network: Connection) -> tuple[str | Path, ...]:
    """Return where to look: the mirror, a folder or an address, and then, unless offline, the public addresses."""
    mirror = os.environ.get(MIRROR_VARIABLE, "")
    is_address = mirror.startswith(("http://", "https://"))
    places: tuple[str | Path, ...] = ()
    if mirror and not is_address:
        copy = _copy_of(file, _mirror_folder(mirror))
        places = () if copy is None else (copy,)
    if network.is_offline:
        return places
    if is_address:
        parent = Path(file.place).parent.name
        paths = (file.place, f"{parent}/{file.file_name}", file.file_name)
        places = tuple(f"{mirror.rstrip('/')}/{path}" for path in dict.fromkeys(paths))
    return (*places, *file.addresses)


def _mirror_folder(mirror: str) -> Path:
    folder = Path(unquote(mirror.removeprefix("file://")) if mirror.startswith("file://") else mirror)
    if not folder.is_dir():
        raise InputError(MIRROR_VARIABLE, f"{mirror} is no folder", fix="Name a folder, or an http(s) address.")
    return folder


@contextmanager
def _bar(what: str, n_bytes: int) -> Iterator[Callable[[int], None]]:
    """Show a bar on a terminal, nothing in a pipe; give what advances it."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=n_bytes or None)
        yield lambda n_more: bar.advance(task, n_more)


def listing() -> list[dict[str, Any]]:
    """Return what can be fetched, a row a source: name, title, bytes (0: not known), licence, commit, state, ..."""
    return [_listed(name, one) for name, one in sources().items()]


def _listed(name: str, one: PublishedSource) -> dict[str, Any]:
    files, cache = layouts(name)[0], cache_folder()
    found = [at_hand(part) for part in one.parts or (name,)]
    paths = [path for part in found for path in part]
    state = "here" if all(found) else "not fetched"
    if not all(found) and any((cache / file.place).exists() for file in files):
        state = "incomplete or damaged"
    commits = {source(part).commit for part in one.parts or (name,)}
    return {
        "name": name,
        "title": one.title,
        "bytes": sum(file.n_bytes or 0 for file in files),
        "licence": one.licence,
        "paper": one.paper,
        "commit": commits.pop() if len(commits) == 1 else "",
        "addresses": [file.addresses[0] for file in files if file.addresses],
        "sha256": [file.sha256 for file in files],
        "options": list(one.options),
        "state": state,
        "paths": [str(path) for path in paths],
    }
