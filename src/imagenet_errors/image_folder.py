"""The image files of a folder: in class folders (ImageFolder) or flat, in an order that never changes.

This is the one listing: whoever takes images takes them from here, with the same endings, through links or not.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.images import ImageIndex
from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import InputError, counted

ENDINGS = (".jpeg", ".jpg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff")
_WNID = re.compile(r"n\d{8}")
_N_THREADS = 4
_N_LOOKED_FOR = 100


def image_files(folder: Path) -> list[str]:
    """Return the images' paths within the folder, with forward slashes, ascending; hidden ones are passed over.

    Links are followed. A folder that several ways lead to is read once, by its own name rather than by a link's.

    Raises
    ------
    InputError
        There is no such folder, no image in it, or an image is a link to nowhere, or named by no text.
    """
    if not folder.is_dir():
        raise InputError(folder, "no such folder", fix="Check the path.")
    images: list[str] = []
    dangling: list[str] = []
    for place, entries in _folders_below(folder):
        for entry in entries:
            if entry.name.lower().endswith(ENDINGS) and not entry.is_dir():
                (images if entry.is_file() else dangling).append((place / entry.name).relative_to(folder).as_posix())
    strange = dangling or [path for path in images if not _is_text(path)]
    if strange:
        what = "links lead nowhere" if dangling else "names are not UTF-8"
        fix = "Mend or remove them." if dangling else "Rename them."
        raise InputError(folder, f"{counted(len(strange), 'image')} whose {what}", example=ascii(strange[0]), fix=fix)
    if not images:
        raise InputError(folder, "no image in this folder", fix=f"Known endings: {', '.join(ENDINGS)}.")
    return sorted(images)


def _folders_below(folder: Path) -> Iterator[tuple[Path, list[os.DirEntry[str]]]]:
    """Yield every folder once, with what is in it: real folders first, so that a link to one of them adds nothing."""
    waiting, links, seen = deque([folder]), deque[Path](), set()
    while waiting or links:
        place = waiting.popleft() if waiting else links.popleft()
        status = place.stat()
        if (status.st_dev, status.st_ino) in seen:
            continue
        seen.add((status.st_dev, status.st_ino))
        entries = sorted((entry for entry in os.scandir(place) if entry.name[0] != "."), key=lambda entry: entry.name)
        for entry in entries:
            if entry.is_dir():
                (links if entry.is_symlink() else waiting).append(place / entry.name)
        yield place, entries


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def decoded(path: Path, *, in_colours: bool = True, draft_side: int = 0) -> Any:
    """Return an image as Pillow has it, its pixels decoded; ``draft_side``: a JPEG may be decoded this small.

    Raises
    ------
    InputError
        It cannot be decoded, or would take more memory than pictures do. A file that is not there and memory that
        ran out are raised as they are: then something else is wrong than the image.
    """
    from PIL import Image

    try:
        with Image.open(path) as image:
            if draft_side:
                image.draft("RGB", (draft_side, draft_side))
            image.load()
            return image.convert("RGB") if in_colours else image
    except (FileNotFoundError, MemoryError):
        raise
    except Exception as error:  # decoders raise all kinds on damaged files
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(path, f"cannot be read as an image: {reason}", fix="Replace the file.") from None


def files_of_rows(folder: Path, images: ImageIndex) -> dict[int, str]:
    """Return annotation row -> path within the folder, for the annotated images that are there.

    Raises
    ------
    InputError
        There is no such folder, or no annotated image in it.
    """
    files = image_files(folder)
    rows = images.rows(pa.array(files, type=pa.string()), where=folder)
    found = {row: file for row, file in zip(rows.tolist(), files, strict=True) if row >= 0}
    if not found:
        what = f"none of its {counted(len(files), 'image')} is annotated"
        raise InputError(folder, what, example=files[0], fix="Check --images.")
    return found


@dataclass(frozen=True)
class ImageFolder:
    """n images: ``names`` (base names of validation images, paths below ``root`` of others), ascending.

    The folder of another image may be all that tells its label.

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
    """List and hash the images of a folder and its subfolders.

    Raises
    ------
    InputError
        There is no such folder, no image in it, or an image cannot be read.
    """
    paths = image_files(root)
    root = root.resolve()
    named = sorted(zip(_names(paths), paths, strict=True))
    names, paths_by_name = zip(*named, strict=True)
    try:
        sha256 = _hash(root, named)
    except OSError as error:
        raise InputError(error.filename or root, f"cannot be read: {error.strerror}", fix="Check the images.") from None
    return ImageFolder(root, names, paths_by_name, sha256)


def _names(paths: Sequence[str]) -> Sequence[str]:
    bases = pa.array([path.rpartition("/")[2] for path in paths], type=pa.string())
    return bases.to_pylist() if ImageIndex(bases).is_val else paths


def file_sha256(path: Path) -> bytes:
    """Return the digest of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def _hash(root: Path, named: list[tuple[str, str]]) -> str:
    """Return one hash of names and contents; 50,000 validation images are 6.4 GB, read once a run."""
    whole = hashlib.sha256()
    with ThreadPoolExecutor(_N_THREADS) as pool:
        digests = pool.map(file_sha256, [root / path for _, path in named])
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


@dataclass(frozen=True, eq=False)
class LabelledImages:
    """Images with their labels: ``files`` n paths within ``folder``, ascending; ``classes`` int16 [n]."""

    folder: Path
    files: tuple[str, ...]
    classes: NDArray[np.int16]

    def sample(self, n_per_class: int) -> LabelledImages:
        """Return that many images of each class, or all where there are fewer: the same ones every time.

        Images are taken by the hash of their path, so that no order of shooting or naming decides.
        """
        digests = [hashlib.sha256(file.encode()).digest() for file in self.files]
        order = sorted(range(len(self.files)), key=digests.__getitem__)
        n_taken: Counter[int] = Counter()
        chosen = []
        for row in order:
            n_taken[self.classes[row]] += 1
            if n_taken[self.classes[row]] <= n_per_class:
                chosen.append(row)
        chosen.sort()
        return LabelledImages(self.folder, tuple(self.files[row] for row in chosen), self.classes[chosen])


def labelled_images(folder: Path, labels: LabelSpace) -> LabelledImages:
    """Find images of known class; the wnid is the class folder's name or begins the file's (``n01440764_18.JPEG``).

    The folders of classes of one's own may be called by name, too.

    Raises
    ------
    InputError
        There is no such folder or no image in it, or a file's class cannot be told.
    """
    files = image_files(folder)
    by_name = {} if labels.is_imagenet else {name.casefold(): index for index, name in enumerate(labels.names)}
    classes = np.array([_class_of(file, labels, by_name) for file in files], dtype=np.int16)
    strangers = np.flatnonzero(classes < 0)
    if strangers.size:
        raise InputError(
            folder,
            f"{counted(strangers.size, 'image')} of no known class",
            example=files[strangers[0]],
            fix="Put images into folders named by their wnid"
            + (" or class." if by_name else ", or let file names begin with it."),
        )
    return LabelledImages(folder, tuple(files), classes)


def _class_of(file: str, labels: LabelSpace, by_name: Mapping[str, int]) -> int:
    *folders, name = file.split("/")
    if folders and folders[-1].casefold() in by_name:
        return by_name[folders[-1].casefold()]
    parts = [name.partition("_")[0], *folders[-1:]]
    wnids = [part for part in reversed(parts) if _WNID.fullmatch(part)]
    return labels.index_of_wnid.get(wnids[0], -1) if wnids else -1
