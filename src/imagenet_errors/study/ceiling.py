"""How far the panel agrees with itself: the same image and the same prediction, judged for two models.

Nobody can be expected to agree with the panel more than it does with itself.

Source: Vasudevan et al. 2022 judged the mistakes of two models in separate sittings; they state no such
    figure.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from imagenet_errors.study.judged import Judged
from imagenet_errors.study.outcomes import confusion, kappa, kappa_interval


@dataclass(frozen=True)
class Ceiling:
    """What two files say of the cases that both judge.

    ``n_images``: images in both files, whatever the prediction; ``n_cases``: those with the same prediction,
    of which so many have the same category, severity, and both. ``kappa`` is that of the categories.
    """

    models: tuple[str, str]
    n_images: int
    n_cases: int
    n_same_category: int
    n_same_severity: int
    n_same_both: int
    kappa: float
    kappa_interval: tuple[float, float]

    @property
    def agreement(self) -> float:
        """The share of the cases put into the same category; NaN without cases."""
        return self.n_same_category / self.n_cases if self.n_cases else float("nan")


def ceilings(judged: Judged) -> tuple[Ceiling, ...]:
    """Compare every two files; none for a single one."""
    return tuple(_compare(judged, a, b) for a, b in combinations(judged.models, 2))


def _compare(judged: Judged, a: str, b: str) -> Ceiling:
    of_a, of_b = (np.flatnonzero(judged.of_model(name)) for name in (a, b))
    rows, codes = judged.cases.rows, judged.cases.codes
    _, in_a, in_b = np.intersect1d(codes[of_a], codes[of_b], return_indices=True)
    first, second = of_a[in_a], of_b[in_b]
    severity = np.array(judged.severity.to_pylist(), dtype=object)
    same_category = judged.human[first] == judged.human[second]
    same_severity = severity[first] == severity[second]
    table = confusion(judged.human[first], judged.human[second])
    return Ceiling(
        models=(a, b),
        n_images=len(np.intersect1d(rows[of_a], rows[of_b])),
        n_cases=len(first),
        n_same_category=int(same_category.sum()),
        n_same_severity=int(same_severity.sum()),
        n_same_both=int((same_category & same_severity).sum()),
        kappa=float(kappa(table)),
        kappa_interval=kappa_interval(table),
    )
