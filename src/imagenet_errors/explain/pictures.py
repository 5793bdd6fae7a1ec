"""What the page shows of an explained image: the picture as the network sees it, small."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SIDE = 160
_QUALITY = 60


def small_picture(colours: NDArray[np.uint8]) -> bytes:
    """Return a WebP file of a picture uint8 [H, W, 3], at most 160 pixels a side; the same bytes each time."""
    from PIL import Image

    picture = Image.fromarray(colours)
    picture.thumbnail((_SIDE, _SIDE))
    out = io.BytesIO()
    picture.save(out, "WEBP", quality=_QUALITY)
    return out.getvalue()


def write_pictures(folder: Path, pictures: Mapping[str, Any]) -> None:
    """Write uint8 [H, W, 3] pictures as PNG files under their images' names (``NAME.png`` for ``NAME.JPEG``)."""
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    for name, colours in pictures.items():
        Image.fromarray(colours).save(folder / f"{Path(name).stem}.png")
