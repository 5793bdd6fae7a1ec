"""Two models on the same images: what both get wrong, what one fixes and introduces, and whether it is chance.

Source: McNemar 1947 (paired test of proportions), in its exact form: a two-sided sign test on the images where
just one of the two models makes a severe error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.report.looks import SEVERE
from imagenet_errors.runs.tables import NOT_EVALUATED, RunTables

_N_TYPES = len(ERROR_TYPES)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Model a against model b: ``moves`` int64 [T, T], images by (type in a, type in b).

    Row 0 and column 0 are ``correct``. ``n_same`` images get one and the same wrong prediction from both.
    """

    a: int
    b: int
    moves: NDArray[np.int64]
    n_same: int

    @property
    def n_images(self) -> int:
        """Images that both models were evaluated on."""
        return int(self.moves.sum())

    @property
    def n_both(self) -> int:
        """Images that both get wrong."""
        return int(self.moves[1:, 1:].sum())

    @property
    def fixed(self) -> NDArray[np.int64]:
        """int64 [T]: errors of a, by type, on images that b gets right."""
        return np.where(np.arange(_N_TYPES) > 0, self.moves[:, 0], 0)

    @property
    def introduced(self) -> NDArray[np.int64]:
        """int64 [T]: errors of b, by type, on images that a gets right."""
        return np.where(np.arange(_N_TYPES) > 0, self.moves[0], 0)

    @property
    def severe_only(self) -> tuple[int, int]:
        """Images with a severe error of a alone, and of b alone."""
        place = ERROR_TYPES.index(SEVERE)
        both = self.moves[place, place]
        return int(self.moves[place].sum() - both), int(self.moves[:, place].sum() - both)

    @property
    def p_value(self) -> float:
        """How likely so uneven a split of the severe errors is if the models are equally prone to them."""
        return sign_test(*self.severe_only)


def compare(run: RunTables, a: int, b: int) -> Comparison:
    """Compare two models of a run, by their places in it, on the images that both were evaluated on."""
    first, second = run.error_type[a], run.error_type[b]
    shared = (first != NOT_EVALUATED) & (second != NOT_EVALUATED)
    codes = first[shared].astype(np.int64) * _N_TYPES + second[shared]
    moves = np.bincount(codes, minlength=_N_TYPES**2).reshape(_N_TYPES, _N_TYPES)
    same = shared & (first > 0) & (run.prediction[a] == run.prediction[b])
    return Comparison(a, b, moves, int(same.sum()))


def all_comparisons(run: RunTables, *, most: int) -> list[Comparison]:
    """Compare every two of the first ``most`` models of a run, each pair once, the better model first."""
    n_models = min(len(run.models), most)
    return [compare(run, a, b) for a in range(n_models) for b in range(a + 1, n_models)]


def sign_test(n_first: int, n_second: int) -> float:
    """Return the exact two-sided probability of a split at least as uneven as this, were both equally likely."""
    n, fewer = n_first + n_second, min(n_first, n_second)
    if n == 0:
        return 1.0
    log_factorial = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, n + 1)))))
    k = np.arange(fewer + 1)
    log_terms = log_factorial[n] - log_factorial[k] - log_factorial[n - k] - n * np.log(2)
    return float(min(1.0, 2 * np.exp(log_terms).sum()))
