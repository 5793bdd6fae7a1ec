"""Models on the same images: what two of them get wrong alike, what one fixes and introduces, what all agree on.

Source: McNemar 1947 (paired test of proportions), in its exact form: a two-sided sign test on the images where just
    one of two models makes a severe error. Geirhos, Meding, Wichmann, NeurIPS 2020 (error consistency: Cohen's kappa
    of being right or wrong on the same images).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.chain import COUNTS_AS, ERROR_TYPES
from imagenet_errors.measure import sign_test
from imagenet_errors.report.looks import SEVERE
from imagenet_errors.runs.tables import NOT_EVALUATED, RunTables

_N_TYPES = len(ERROR_TYPES)
_IS_ERROR = np.array([name != "correct" for name in ERROR_TYPES])
_CORRECT = ERROR_TYPES.index("correct")
N_PEERS = 10
"""A model's peers are so many models of the run whose multi-label accuracy is nearest to its own."""
NEARLY_ALL = 0.9
_CHUNK = 2048


@dataclass(frozen=True, eq=False)
class Comparison:
    """Model a against model b: ``moves`` int64 [T, T], images by (type in a, type in b).

    ``n_same`` images get one and the same wrong prediction from both; ``p_value``: how likely so uneven a split of the
    severe errors is if the models are equally prone to them.
    """

    a: int
    b: int
    moves: NDArray[np.int64]
    n_same: int
    p_value: float

    @property
    def n_images(self) -> int:
        """Images that both models were evaluated on."""
        return int(self.moves.sum())

    @property
    def n_both(self) -> int:
        """Images that both get wrong."""
        return int(self.moves[np.ix_(_IS_ERROR, _IS_ERROR)].sum())

    @property
    def fixed(self) -> NDArray[np.int64]:
        """int64 [T]: errors of a, by type, on images that b gets right."""
        return np.where(_IS_ERROR, self.moves[:, _CORRECT], 0)

    @property
    def introduced(self) -> NDArray[np.int64]:
        """int64 [T]: errors of b, by type, on images that a gets right."""
        return np.where(_IS_ERROR, self.moves[_CORRECT], 0)

    @property
    def severe_only(self) -> tuple[int, int]:
        """Images with a severe error of a alone, and of b alone."""
        place = ERROR_TYPES.index(SEVERE)
        both = self.moves[place, place]
        return int(self.moves[place].sum() - both), int(self.moves[:, place].sum() - both)

    @property
    def kappa(self) -> float:
        """Error consistency: agreement on which images are wrong beyond what two accuracies alone would give.

        1 for the same images, 0 for chance, NaN where it is undefined.
        """
        return float(kappas(self.moves[None])[0])


@dataclass(frozen=True, eq=False)
class Comparisons:
    """P pairs of models: ``a``, ``b`` and ``n_same`` int64 [P], ``moves`` int64 [P, T, T], ``p_value`` float64 [P]."""

    a: NDArray[np.int64]
    b: NDArray[np.int64]
    moves: NDArray[np.int64]
    n_same: NDArray[np.int64]
    p_value: NDArray[np.float64]

    def __len__(self) -> int:
        """Return the number of pairs P."""
        return len(self.a)

    def __getitem__(self, pair: int) -> Comparison:
        """Return the comparison of one pair."""
        a, b, n_same = (int(values[pair]) for values in (self.a, self.b, self.n_same))
        return Comparison(a, b, self.moves[pair], n_same, float(self.p_value[pair]))

    def __iter__(self) -> Iterator[Comparison]:
        """Yield the comparison of each pair."""
        return map(self.__getitem__, range(len(self)))


def kappas(moves: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return float64 [P]: the error consistency of each of P comparisons, from their moves int64 [P, T, T]."""
    n = moves.sum(axis=(1, 2)).astype(np.float64)
    n[n == 0] = np.nan
    right = moves[:, _CORRECT].sum(axis=1) / n, moves[:, :, _CORRECT].sum(axis=1) / n
    both_right = moves[:, _CORRECT, _CORRECT] / n
    observed = 1 - right[0] - right[1] + 2 * both_right
    expected = right[0] * right[1] + (1 - right[0]) * (1 - right[1])
    beyond = np.full(len(n), np.nan)
    np.divide(observed - expected, 1 - expected, out=beyond, where=expected < 1)
    return beyond


def compare(run: RunTables, a: int, b: int) -> Comparison:
    """Compare two models of a run, by their places in it, on the images that both were evaluated on."""
    first, second = run.error_type[a], run.error_type[b]
    shared = (first != NOT_EVALUATED) & (second != NOT_EVALUATED)
    codes = first[shared].astype(np.int64) * _N_TYPES + second[shared]
    moves = np.bincount(codes, minlength=_N_TYPES**2).reshape(_N_TYPES, _N_TYPES)
    same = shared & (first > 0) & (run.prediction[a] == run.prediction[b])
    return _compared(np.array([a]), np.array([b]), moves[None], np.array([same.sum()]))[0]


def all_comparisons(run: RunTables, *, most: int) -> Comparisons:
    """Compare every two of the first ``most`` models of a run, each pair once, the better model first."""
    n_models = min(len(run.models), most)
    a, b = np.triu_indices(n_models, 1)
    if not len(a):
        return _compared(a, b, np.zeros((0, _N_TYPES, _N_TYPES), dtype=np.int64), a)
    return _compared(a, b, _all_moves(run.error_type[:n_models], a, b), _all_same(run, n_models)[a, b])


def _compared(
    a: NDArray[np.int64], b: NDArray[np.int64], moves: NDArray[np.int64], n_same: NDArray[np.int64]
) -> Comparisons:
    """Return the comparisons of P pairs from their moves int64 [P, T, T], all tests at once."""
    place = ERROR_TYPES.index(SEVERE)
    both = moves[:, place, place]
    p_values = sign_test(moves[:, place].sum(axis=1) - both, moves[:, :, place].sum(axis=1) - both)
    return Comparisons(a, b, moves, n_same, np.atleast_1d(p_values))


def _all_moves(error_type: NDArray[np.int8], a: NDArray[np.integer], b: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return int64 [P, T, T]: images by type in model a, type in model b, for P pairs of models.

    Counted are the types of errors alone, over the images that any model gets wrong; what is right in either model is
    what is left of the images that both were evaluated on.
    """
    kinds = np.unique(error_type[error_type > 0])
    seen = _seen_by_both(error_type != NOT_EVALUATED)[a, b]
    some_wrong = error_type[:, (error_type > 0).any(axis=0)]
    indicated = kinds if (some_wrong != NOT_EVALUATED).all() else np.append(kinds, NOT_EVALUATED)
    n_kinds = len(kinds)
    counts = _product(some_wrong[:, None] == indicated[None, :, None])
    of_each = np.einsum("mkmk->mk", counts)[:, :n_kinds]
    both = counts[a, :, b]
    wrong = both[:, :n_kinds, :n_kinds]
    moves = np.zeros((len(a), _N_TYPES, _N_TYPES), dtype=np.int64)
    moves[:, kinds[:, None], kinds] = wrong
    # What is past the types, if anything: images that the other model was not evaluated on.
    moves[:, kinds, _CORRECT] = of_each[a] - both[:, :n_kinds, n_kinds:].sum(axis=2) - wrong.sum(axis=2)
    moves[:, _CORRECT, kinds] = of_each[b] - both[:, n_kinds:, :n_kinds].sum(axis=1) - wrong.sum(axis=1)
    moves[:, _CORRECT, _CORRECT] = seen - moves.sum(axis=(1, 2))
    return moves


def _seen_by_both(is_seen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return int64 [M, M]: images that two models were evaluated on, from bool [M, I]."""
    if is_seen.all():
        return np.full((len(is_seen),) * 2, is_seen.shape[1], dtype=np.int64)
    return _product(is_seen[:, None])[:, 0, :, 0]


def _product(is_so: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return int64 [M, K, M, K]: over how many images two claims of bool [M, K, I] hold together."""
    n_models, n_claims, n_images = is_so.shape
    total = np.zeros((n_models * n_claims,) * 2, dtype=np.float32)  # exact below 2 ** 24 images
    for start in range(0, n_images, _CHUNK):
        rows = is_so[:, :, start : start + _CHUNK].astype(np.float32).reshape(len(total), -1)
        total += rows @ rows.T
    return total.astype(np.int64).reshape(n_models, n_claims, n_models, n_claims)


def _all_same(run: RunTables, n_models: int) -> NDArray[np.int64]:
    """Return int64 [M, M]: how many errors two models share."""
    cases = run.cases
    of = np.repeat(np.arange(len(cases)), cases.n_makers)
    total = np.zeros((n_models, n_models), dtype=np.float32)
    for start in range(0, len(cases), _CHUNK):
        inside = slice(cases.offsets[start], cases.offsets[min(start + _CHUNK, len(cases))])
        makes = np.zeros((len(run.models), _CHUNK), dtype=np.float32)
        makes[cases.makers[inside], of[inside] - start] = 1
        total += makes[:n_models] @ makes[:n_models].T
    return total.astype(np.int64)


@dataclass(frozen=True, eq=False)
class Consensus:
    """What M models agree on, over the k images that all were evaluated on.

    ``n_wrong`` int64 [k] models get each image wrong by every accepted label, ``n_alike`` of them with the same class;
    ``images`` int64 [k] are the images' rows, ``n_models`` those that count: the models evaluated on all images.
    """

    images: NDArray[np.int64]
    n_wrong: NDArray[np.int64]
    n_alike: NDArray[np.int64]
    n_models: int

    @property
    def histogram(self) -> NDArray[np.int64]:
        """int64 [n_models + 1]: images by how many models get them wrong."""
        return np.bincount(self.n_wrong, minlength=self.n_models + 1)

    @property
    def nearly_all(self) -> NDArray[np.int64]:
        """The rows of images that at least nine in ten models get wrong: look at the label first."""
        is_doubtful: NDArray[np.bool_] = np.greater_equal(self.n_wrong, NEARLY_ALL * self.n_models)
        return self.images[is_doubtful]


def consensus(run: RunTables) -> Consensus:
    """Return what the models that were evaluated on every image agree on."""
    complete, n_images, cases = whole_models(run), run.error_type.shape[1], run.cases
    counts = np.isin(np.arange(len(run.models)), complete)[cases.makers]
    n_makers = np.add.reduceat(np.append(counts, False), cases.offsets[:-1], dtype=np.int64)
    is_multi_label = np.array([COUNTS_AS[name] != "right" for name in ERROR_TYPES])[cases.error_type]
    image, n_makers = cases.image[is_multi_label], n_makers[is_multi_label]
    wrong, alike = np.zeros((2, n_images), dtype=np.int64)
    np.add.at(wrong, image, n_makers)
    np.maximum.at(alike, image, n_makers)
    return Consensus(np.arange(n_images), wrong, alike, len(complete))


def whole_models(run: RunTables) -> NDArray[np.int64]:
    """Return the places of the models that were evaluated on all images of the run."""
    return np.flatnonzero((run.error_type != NOT_EVALUATED).all(axis=1))


def all_peers(run: RunTables) -> tuple[NDArray[np.int64], ...]:
    """Return the places of each model's peers: whole models of the nearest multi-label accuracy, at most N_PEERS."""
    mla = run.figures.accuracies["mla"][:, 0]
    whole = whole_models(run)
    whole = whole[np.isfinite(mla[whole])]
    distance = np.abs(mla[:, None] - mla[whole])
    distance[whole, np.arange(len(whole))] = np.inf  # no model is its own peer
    nearest = whole[np.argsort(distance, axis=1, kind="stable")[:, :N_PEERS]]
    return tuple(
        np.sort(row[row != model]) if np.isfinite(mla[model]) else row[:0] for model, row in enumerate(nearest)
    )
