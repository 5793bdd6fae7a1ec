"""The images of a folder, in the order of their names, and the hash that says which images they were."""

from __future__ import annotations

import hashlib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from imagenet_errors.problems import InputError, counted

SUFFIXES = (".jpeg", ".jpg", ".png", ".webp", ".bmp", ".tif", ".tiff")
_N_THREADS = 4
_N_LOOKED_FOR = 100


@dataclass(frozen=True)
class ImageFolder:
    """n images: ``names`` (base names, or paths below ``root`` where base names repeat), ascending.

    ``paths`` below ``root``, as long; ``sha256`` is of every name and every file's content.
    """

    root: Path
    names: tuple[str, ...]
    paths: tuple[str, ...]
    sha256: str

    def __len__(self) -> int:
        """Return the number of images n."""
        return len(self.names)


def read_folder(root: Path) -> ImageFolder:
    """List and hash the images of a folder and its subfolders; hidden files are passed over.

    Raises
    ------
    InputError
        There is no such folder, or no image in it.
    """
    if not root.is_dir():
        raise InputError(root, "no such folder", fix="Pass the folder of images to --images.")
    root = root.resolve()
    found = sorted(
        path.relative_to(root).as_posix()
        for path in root.rglob("*")
        if path.suffix.lower() in SUFFIXES and not path.name.startswith(".") and path.is_file()
    )
    if not found:
        raise InputError(root, "no images in it", fix=f"Known endings: {', '.join(SUFFIXES)}.")
    named = sorted(zip(_names(found), found, strict=True))
    names, paths = zip(*named, strict=True)
    return ImageFolder(root, names, paths, _hash(root, named))


def _names(paths: list[str]) -> list[str]:
    bases = [path.rpartition("/")[2] for path in paths]
    return bases if Counter(bases).most_common(1)[0][1] == 1 else paths


def _hash(root: Path, named: list[tuple[str, str]]) -> str:
    """Return one hash of names and contents; 50,000 validation images are 6.4 GB, read once a run."""

    def digest(path: str) -> bytes:
        with (root / path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()

    whole = hashlib.sha256()
    with ThreadPoolExecutor(_N_THREADS) as pool:
        digests = pool.map(digest, [path for _, path in named])
        for (name, _), content in zip(named, digests, strict=True):
            whole.update(name.encode() + b"\0" + content)
    return whole.hexdigest()


def refuse_missing(images: ImageFolder) -> None:
    """Refuse to predict where listed images are not there, as on a machine of a cluster without them.

    A few are looked for, evenly spread: looking for 50,000 takes long over a network, and for every model.

    Raises
    ------
    InputError
        An image is not there.
    """
    looked_for = images.paths[:: max(1, len(images) // _N_LOOKED_FOR)]
    lacking = [path for path in looked_for if not (images.root / path).is_file()]
    if lacking:
        raise InputError(
            images.root,
            f"{counted(len(lacking), 'image')} of {len(looked_for):,} looked for not on this machine",
            example=lacking[0],
            fix="Every machine needs the images at the same path.",
        )
