"""How to predict: device, precision, batches, and what is changed of the models' own preprocessing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import InputError, refuse_below

PRECISIONS = ("float32", "bfloat16", "float16")
CROP_MODES = ("center", "squash", "border")
INTERPOLATIONS = ("nearest", "bilinear", "bicubic", "box", "hamming", "lanczos")


@dataclass(frozen=True)
class Settings:
    """``device`` auto, cpu, cuda, cuda:1, mps; ``workers`` processes decode images, None: by the cores.

    ``data`` replaces parts of every model's data config; ``register`` are Python files that register models
    of one's own with timm: they are run as code. ``precision`` other than float32 is automatic mixed precision.
    ``test_size``: each model's own test size and crop instead of those that it was trained with. ``classes``: the
    indices that may be predicted, all others masked before the softmax; None: every class.
    """

    device: str = "auto"
    precision: str = "float32"
    batch_size: int = 256
    workers: int | None = None
    channels_last: bool = False
    data: tuple[tuple[str, Any], ...] = ()
    register: tuple[Path, ...] = ()
    offline: bool = False
    delete_weights: bool = False
    test_size: bool = False
    classes: tuple[int, ...] | None = None

    def masked_to(self, labels: LabelSpace) -> Settings:
        """Return the settings with the classes that occur in a data set as the only ones to be predicted."""
        return replace(self, classes=labels.occurring or None)

    @property
    def preprocessing(self) -> str:
        """How images are sized and cropped, in one sentence."""
        if self.test_size:
            return "Images get each model's test size and crop where it has them, as in timm's tables of results."
        return "Images get each model's training size and crop; timm's tables of results use --test-size."

    def __post_init__(self) -> None:
        """Refuse what cannot be.

        Raises
        ------
        InputError
            An unknown precision, a batch without images, or fewer than no workers.
        """
        if self.precision not in PRECISIONS:
            raise InputError("--precision", f"no precision {self.precision!r}", fix=f"Known: {', '.join(PRECISIONS)}.")
        refuse_below("--batch-size", self.batch_size, 1)
        refuse_below("--workers", self.workers or 0, 0)


def data_stated(stated: Sequence[str]) -> tuple[tuple[str, Any], ...]:
    """Return the data config's changes out of ``KEY=VALUE`` texts, lists joined by commas.

    timm takes an unknown ``crop_mode`` for ``center``, and a ``crop_pct`` of 0 for none stated: what it would not
    refuse is refused here, since another preprocessing gives other predictions.

    Raises
    ------
    InputError
        A key is none of DATA_KEYS or is stated twice, or its value is none that it can have.

    Example
    -------
    >>> data_stated(["crop_pct=1.0", "input_size=224"])
    (('crop_pct', 1.0), ('input_size', (3, 224, 224)))
    """
    changes = dict(_stated(text) for text in stated)
    if len(changes) < len(stated):
        raise InputError("--data", f"states a key twice: {' '.join(stated)}", fix="State each key once.")
    return tuple(sorted(changes.items()))


def _stated(text: str) -> tuple[str, Any]:
    key, _, value = (part.strip() for part in text.partition("="))
    if key not in DATA_KEYS:
        raise InputError("--data", f"cannot read {text}", fix=f"Write KEY=VALUE, KEY one of {', '.join(DATA_KEYS)}.")
    read, rule = DATA_KEYS[key]
    try:
        return key, read(value)
    except ValueError:
        raise InputError("--data", f"cannot read {text}", fix=rule) from None


def _size(text: str) -> tuple[int, int, int]:
    sizes = [int(part) for part in text.split(",")]
    *channels, height, width = sizes * 2 if len(sizes) == 1 else sizes
    if channels not in ([], [3]) or min(height, width) < 1:
        raise ValueError(text)
    return 3, height, width


def _share(text: str) -> float:
    share = float(text)
    if not 0 < share <= 1:
        raise ValueError(text)
    return share


def _colours(text: str) -> tuple[float, ...]:
    values = tuple(float(part) for part in text.split(","))
    if len(values) not in (1, 3) or not all(0 <= value <= 1 for value in values):
        raise ValueError(text)
    return values * 3 if len(values) == 1 else values


def _deviations(text: str) -> tuple[float, ...]:
    values = _colours(text)
    if 0 in values:
        raise ValueError(text)
    return values


def _one_of(known: tuple[str, ...]) -> Callable[[str], str]:
    return lambda text: known[known.index(text)]


_SCALED = (
    "Write one number, or one each for red, green and blue, on a scale of 0 to 1: divide those of 0 to 255 by 255."
)
DATA_KEYS: dict[str, tuple[Callable[[str], Any], str]] = {
    "input_size": (_size, "Write a side in pixels (224), height and width (256,192), or 3 channels first (3,256,192)."),
    "interpolation": (_one_of(INTERPOLATIONS), f"Write one of {', '.join(INTERPOLATIONS)}."),
    "crop_pct": (_share, "Write the share of each side that is kept: above 0, at most 1."),
    "crop_mode": (_one_of(CROP_MODES), f"Write one of {', '.join(CROP_MODES)}."),
    "mean": (_colours, _SCALED),
    "std": (_deviations, f"{_SCALED} None is 0."),
}
"""The parts of timm's data config (``timm.data.resolve_data_config``) that can be set: how each is read, its rule."""
