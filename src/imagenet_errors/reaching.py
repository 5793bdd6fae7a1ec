"""The cases that reach a stage: every distinct mistake of any model that no earlier stage explains."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.chain import Chain
from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import InputError
from imagenet_errors.readers.predictions import ReadRules, read_predictions
from imagenet_errors.tables import Annotations, Cases, cases_of

Progress = Callable[[str, Iterable[Any], int], Iterator[Any]]


@dataclass(frozen=True, eq=False)
class Mistakes:
    """The distinct mistakes of n models; ``n_models_of`` int64: how many made each; ``unread``: file -> why it could not be used."""

    cases: Cases
    n_models: int
    n_models_of: NDArray[np.int64]
    unread: dict[Path, str]


def distinct_mistakes(
    files: Sequence[Path], annotations: Annotations, labels: LabelSpace, *, rules: ReadRules, progress: Progress
) -> Mistakes:
    """Read predictions file by file and return every wrong (image, prediction) once; excluded images are left out.

    Raises
    ------
    InputError
        Not one file can be used.
    """
    made = np.zeros((len(annotations), len(labels)), dtype=np.int64)
    unread: dict[Path, str] = {}
    for path in progress("Reading predictions", files, len(files)):
        try:
            predictions = read_predictions(path, annotations, labels, rules=rules)
        except InputError as error:
            if len(files) == 1:
                raise
            unread[path] = str(error)
            continue
        made[predictions.rows, predictions.top1] += 1
    if len(unread) == len(files):
        raise InputError("PREDICTIONS", "no file can be used", example=next(iter(unread.values())))
    made[np.arange(len(annotations)), annotations.label] = 0
    made[~annotations.evaluated] = 0
    rows, prediction = np.nonzero(made)
    cases = cases_of(annotations, rows.astype(np.int64), prediction.astype(np.int16))
    return Mistakes(cases, len(files) - len(unread), made[rows, prediction], unread)


def reaching(cases: Cases, chain: Chain, stage: str) -> NDArray[np.int64]:
    """Return which cases no stage before the named one explains, ascending.

    Raises
    ------
    InputError
        The stage is not in the chain.
    """
    if stage not in dict(chain.steps):
        raise InputError("--stage-order", f"{stage} is not in it", fix="Then no evidence for it is needed.")
    open_cases = np.arange(len(cases))
    for name, rule in chain.steps:
        if name == stage:
            break
        if rule is not None:
            open_cases = open_cases[~rule(cases.take(open_cases)).explains]
    return open_cases
