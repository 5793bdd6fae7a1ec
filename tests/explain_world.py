"""Classifiers whose answers can be reckoned: classes are colours, and the brightest colour wins."""

import numpy as np
import pyarrow.parquet as pq

from imagenet_errors.predict.settings import Settings
from timm_world import needs_timm

needs_timm()
import torch  # noqa: E402

from imagenet_errors.explain.classifier import Classifier  # noqa: E402

RED, GREEN, BLUE, NOTHING = range(4)
SIDE = 32


def colours(pixels):
    """Logits: how much red, green and blue there is above zero, and a fourth class that never wins."""
    amounts = pixels.clamp(min=0).mean(dim=(2, 3)) * 100
    return torch.cat([amounts, torch.full_like(amounts[:, :1], -5.0)], dim=1)


def classifier_of(model=colours, name="colours", batch_size=16, **settings):
    chosen = Settings(device="cpu", batch_size=batch_size, **settings)
    config = {"input_size": (3, SIDE, SIDE), "mean": (0.5,) * 3, "std": (0.5,) * 3, "crop_pct": 1.0}
    device = torch.device("cpu")
    return Classifier(name, model, model, config, chosen, device, "none", output_of=np.arange(4))


def picture(*patches, level=-1.0):
    """Return pixels [3, 32, 32] of one level with patches: (channel, rows, columns, value)."""
    pixels = torch.full((3, SIDE, SIDE), level)
    for channel, rows, columns, value in patches:
        pixels[channel, slice(*rows), slice(*columns)] = value
    return pixels


def column(path, name):
    return pq.read_table(path)[name].to_pylist()


def without(table, *names):
    return table.drop_columns(list(names)).to_pylist()


def seeded(seed=0):
    return np.random.default_rng(seed)
