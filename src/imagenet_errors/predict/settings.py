"""How to predict: device, precision, batches, and what is changed of the models' own preprocessing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import InputError

PRECISIONS = ("float32", "bfloat16", "float16")
DATA_KEYS = ("input_size", "interpolation", "crop_pct", "crop_mode", "mean", "std")
"""The parts of timm's data config (``timm.data.resolve_data_config``) that can be set."""


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
            An unknown precision, or a batch without images.
        """
        if self.precision not in PRECISIONS:
            raise InputError("--precision", f"no precision {self.precision!r}", fix=f"Known: {', '.join(PRECISIONS)}.")
        if self.batch_size < 1:
            raise InputError("--batch-size", "is less than 1", fix="Pass 1 or more.")


def data_stated(stated: Sequence[str]) -> tuple[tuple[str, Any], ...]:
    """Return the data config's changes out of ``KEY=VALUE`` texts, lists joined by commas.

    Raises
    ------
    InputError
        The key is none of DATA_KEYS, or the value is of another kind.

    Example
    -------
    >>> data_stated(["crop_pct=1.0", "input_size=224"])
    (('crop_pct', 1.0), ('input_size', (3, 224, 224)))
    """
    return tuple(sorted(_stated(text) for text in stated))


def _stated(text: str) -> tuple[str, Any]:
    key, _, value = text.partition("=")
    try:
        if key == "crop_pct":
            return key, float(value)
        if key in ("mean", "std"):
            values = tuple(float(part) for part in value.split(","))
            return key, values * 3 if len(values) == 1 else values
        if key == "input_size":
            sizes = [int(part) for part in value.split(",")]
            return key, (3, sizes[0], sizes[-1])
    except ValueError:
        raise InputError("--data", f"cannot read {text}", fix="Write numbers joined by commas.") from None
    if key not in DATA_KEYS or not value:
        raise InputError("--data", f"cannot read {text}", fix=f"Write KEY=VALUE, KEY one of {', '.join(DATA_KEYS)}.")
    return key, value
