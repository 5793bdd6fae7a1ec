"""What human experts said of a model's mistakes: the files of google-research/imagenet-mistakes.

Source: Vasudevan et al. 2022 (arXiv 2205.04596): five experts, one category and one severity a mistake.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.labels import imagenet_1k
from imagenet_errors.problems import InputError, counted

ERROR_TYPE_OF_CATEGORY = {
    "Fine-grained error": "fine_grained",
    "Fine-grained with Multilabel Options": "fine_grained",
    "Fine-grained error with OOV": "fine_grained_oov",
    "Fine-grained with OOV": "fine_grained_oov",
    "Non-prototypical": "non_prototypical",
    "Spurious Correlation": "spurious_correlation",
}
"""The panel's spellings; two of them mean the same, and any other is refused."""


@dataclass(frozen=True, eq=False)
class Judgements:
    """One judged mistake a row; ``prediction`` int16 [n], ``category`` as written, ``error_type`` ours."""

    file_names: pa.StringArray
    prediction: NDArray[np.int16]
    category: tuple[str, ...]
    severity: tuple[str, ...]
    error_type: tuple[str, ...]


class _Judgement(msgspec.Struct):
    top_prediction: int
    category: str = msgspec.field(name="failure category")
    severity: str = msgspec.field(name="failure severity")


def read_judgements(path: Path) -> Judgements:
    """Read ``{image: {"top_prediction": int, "failure category": str, "failure severity": str}}``.

    Raises
    ------
    InputError
        The file is no such JSON, or a class or category is none of the known ones.
    """
    try:
        rows = msgspec.json.decode(path.read_bytes(), type=dict[str, _Judgement])
    except msgspec.MsgspecError as error:
        raise InputError(
            path,
            f"not a file of human judgements: {error}",
            fix='Each image needs "top_prediction", "failure category" and "failure severity".',
        ) from None
    _refuse_unknown(path, "category", [row.category for row in rows.values()], ERROR_TYPE_OF_CATEGORY)
    _refuse_unknown(path, "class", [row.top_prediction for row in rows.values()], range(len(imagenet_1k())))
    return Judgements(
        file_names=pa.array(rows, type=pa.string()),
        prediction=np.array([row.top_prediction for row in rows.values()], dtype=np.int16),
        category=tuple(row.category for row in rows.values()),
        severity=tuple(row.severity for row in rows.values()),
        error_type=tuple(ERROR_TYPE_OF_CATEGORY[row.category] for row in rows.values()),
    )


def _refuse_unknown(path: Path, what: str, said: list[Any], known: Collection[Any]) -> None:
    unknown = [value for value in said if value not in known]
    if unknown:
        choice = f"{known[0]} to {known[-1]}" if isinstance(known, range) else ", ".join(known)
        raise InputError(
            path,
            f"{counted(len(unknown), 'judgement')} of an unknown {what}",
            example=repr(unknown[0]),
            fix=f"Known are: {choice}.",
        )
