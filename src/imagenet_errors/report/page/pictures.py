"""Pictures for the page: the files of a folder found by name, small copies of some, links to the others."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.image_folder import decoded, files_of_rows
from imagenet_errors.images import ImageIndex
from imagenet_errors.problems import InputError

THUMBNAIL_PIXELS = 224
_QUALITY = 68
_N_THREADS = 2


@dataclass(frozen=True)
class Pictures:
    """By image: ``thumbnails`` are data addresses, ``links`` addresses relative to the page."""

    thumbnails: dict[int, str]
    links: dict[int, str]
    n_unreadable: int = 0


NO_PICTURES = Pictures({}, {})


def find_pictures(folder: Path, file_names: pa.StringArray) -> dict[int, Path]:
    """Return image row -> file, for those of the images that lie in the folder, at any depth.

    Raises
    ------
    InputError
        There is no such folder, or none of the images is in it.
    """
    return {row: folder / file for row, file in files_of_rows(folder, ImageIndex(file_names)).items()}


def pictures_for(found: dict[int, Path], wanted: NDArray[np.integer], *, beside: Path, n_embedded: int) -> Pictures:
    """Make small copies of the first ``n_embedded`` wanted images that were found; link all of them.

    ``wanted`` int [k] are image rows, the most important first; ``beside`` is the folder of the page.
    """
    rows = [row for row in dict.fromkeys(wanted.tolist()) if row in found]
    chosen = rows[:n_embedded]
    with ThreadPoolExecutor(_N_THREADS) as pool:
        made = list(pool.map(thumbnail, [found[row] for row in chosen]))
    thumbnails = {row: address for row, address in zip(chosen, made, strict=True) if address is not None}
    return Pictures(thumbnails, _links(found, rows, beside), len(chosen) - len(thumbnails))


def _links(found: dict[int, Path], rows: Iterable[int], beside: Path) -> dict[int, str]:
    page = beside.resolve()
    folders: dict[Path, str] = {}
    links = {}
    for row in rows:
        parent = found[row].parent
        if parent not in folders:
            folders[parent] = _address(parent.resolve(), page)
        links[row] = f"{folders[parent]}/{quote(found[row].name)}"
    return links


def _address(folder: Path, page: Path) -> str:
    try:
        return quote(Path(os.path.relpath(folder, page)).as_posix())
    except ValueError:  # another drive
        return folder.as_uri()


def thumbnail(path: Path) -> str | None:
    """Return a small copy of a picture as a ``data:`` address; None if the file is no picture."""
    from PIL import ImageOps

    try:
        picture = decoded(path, in_colours=False, draft_side=2 * THUMBNAIL_PIXELS)
        small: Any = ImageOps.exif_transpose(picture).convert("RGB")
    except (InputError, OSError, SyntaxError, ValueError):  # what is written beside the pixels may be damaged, too
        return None
    small.thumbnail((THUMBNAIL_PIXELS, THUMBNAIL_PIXELS))
    out = io.BytesIO()
    small.save(out, "WEBP", quality=_QUALITY)
    return f"data:image/webp;base64,{base64.b64encode(out.getvalue()).decode()}"
