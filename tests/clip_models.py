"""Small CLIP models of open_clip's own kinds, with seeded random weights, and images to see with them."""

import json
from pathlib import Path

import numpy as np

CONFIG = {
    "embed_dim": 48,
    "quick_gelu": True,
    "vision_cfg": {"image_size": 64, "layers": 2, "width": 64, "head_width": 32, "patch_size": 16},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 2},
}


def write_config(folder):
    """Write the configuration of a model that embeds hundreds of images a second; return its path."""
    path = Path(folder) / "tiny-clip.json"
    path.write_text(json.dumps(CONFIG))
    return path


def write_image(path, seed):
    """Write a JPEG of coloured noise with a gradient."""
    from PIL import Image

    random = np.random.default_rng(seed)
    gradient = np.linspace(0, 160, 90)[:, None, None] * random.random(3)
    pixels = gradient + random.integers(0, 90, (90, 120, 3))
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels.astype(np.uint8)).save(path, quality=90)
    return path
