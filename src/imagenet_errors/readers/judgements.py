"""What human experts said of a model's mistakes: the files of google-research/imagenet-mistakes.

Source: Vasudevan et al. 2022 (arXiv 2205.04596): five experts, one category and one severity a mistake.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

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
    """One judged mistake a row: image, predicted class int16 [n], category as written, severity, error type."""

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
        The file is no such JSON, or a category is spelled in a way that is not known.
    """
    try:
        rows = msgspec.json.decode(path.read_bytes(), type=dict[str, _Judgement])
    except msgspec.MsgspecError as error:
        raise InputError(
            path,
            f"not a file of human judgements: {error}",
            fix='Each image needs "top_prediction", "failure category" and "failure severity".',
        ) from None
    unknown = [row.category for row in rows.values() if row.category not in ERROR_TYPE_OF_CATEGORY]
    if unknown:
        raise InputError(
            path,
            f"{counted(len(unknown), 'judgement')} of an unknown category",
            example=repr(unknown[0]),
            fix=f"Known are: {', '.join(ERROR_TYPE_OF_CATEGORY)}.",
        )
    return Judgements(
        file_names=pa.array(rows, type=pa.string()),
        prediction=np.array([row.top_prediction for row in rows.values()], dtype=np.int16),
        category=tuple(row.category for row in rows.values()),
        severity=tuple(row.severity for row in rows.values()),
        error_type=tuple(ERROR_TYPE_OF_CATEGORY[row.category] for row in rows.values()),
    )
