"""Is the thing in the image outside the classes, and kin of the prediction? Decided for all cases at once.

A case is out-of-vocabulary when (a) at least one of the image's 10 nearest images of the pool is of a class that shares
a superclass with the prediction, and (b) of all names proposed around the prediction, CLIP's best match is the name
of a synset that is not one of the classes. Score: softmax of 100 x cosine over the proposed names.

Source: Peychev et al., NeurIPS 2023 (fine-grained OOV errors); 100 is CLIP's learnt temperature, at its bound.
Differs: where one name belongs to a class and to another synset, the class counts as the best match: such a name
    is no sign of anything outside. Cosines and sums are exact, so a case's row depends on no other case.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.evidence.oov import OOV_SCHEMA
from imagenet_errors.oov.cosine import Float64, cosines, on_grid
from imagenet_errors.oov.neighbours import N_USED
from imagenet_errors.oov.proposals import Proposer
from imagenet_errors.tables import Ragged
from imagenet_errors.workers import n_cores, one_blas_thread

TEMPERATURE = 100.0
N_TOP = 5
_FINE = 2.0**40
_NEGLIGIBLE = -29.0
"""exp(-29) is less than half of 2**-40."""
_NAME = 0xFFFFFFFF
_GROUP_ROWS = 2048


@dataclass(frozen=True, eq=False)
class OovCases:
    """n cases to decide, and what is known of their images.

    ``file_names`` [n]; ``prediction``, ``target`` int16 [n]; ``image`` int64 [n]: row of ``vectors`` float32
    [I, d], unit; ``neighbours`` int16 [I, >= 0]: classes, nearest first, -1 where there are fewer.
    """

    file_names: pa.StringArray
    prediction: NDArray[np.int16]
    target: NDArray[np.int16]
    image: NDArray[np.int64]
    vectors: NDArray[np.float32]
    neighbours: NDArray[np.int16]

    def __len__(self) -> int:
        """Return the number of cases n."""
        return len(self.prediction)

    def take(self, chosen: NDArray[np.integer]) -> OovCases:
        """Return the chosen cases, with the images that they show."""
        shown, at = np.unique(self.image[chosen], return_inverse=True)
        return OovCases(
            self.file_names.take(pa.array(chosen)),
            self.prediction[chosen],
            self.target[chosen],
            at,
            self.vectors[shown],
            self.neighbours[shown],
        )

    @cached_property
    def nearest(self) -> NDArray[np.int16]:
        """int16 [n, up to 10]: the classes of each case's nearest images of the pool."""
        return self.neighbours[self.image, :N_USED]


@dataclass(frozen=True, eq=False)
class OovDecider:
    """Decides cases; ``name_vectors`` float32 [V, d]: unit vectors of the proposer's vocabulary.

    Rows of names that no case proposes may hold anything. ``encoder`` and ``pool``: what to call them in the rows.
    """

    proposer: Proposer
    name_vectors: NDArray[np.float32]
    encoder: str
    pool: str

    def decide(self, cases: OovCases) -> pa.Table:
        """Return one row a case, in their order, with the columns of ``oov.OOV_SCHEMA``."""
        best = self._best(cases)
        is_kin = self.proposer.shares[cases.prediction[:, None], cases.nearest] & (cases.nearest >= 0)
        is_kin |= cases.nearest == cases.prediction[:, None]
        support = is_kin.sum(axis=1)
        outside = best.entry[:, 0] >= len(self.proposer.labels)
        columns = {
            "file_name": cases.file_names,
            "prediction": cases.prediction,
            "is_oov": outside & (support > 0),
            "neighbour_support": support.astype(np.int16),
            "proposal_count": best.count,
            "best_synset": self._wnids.take(pa.array(best.synset[:, 0])),
            "best_name": self.proposer.vocabulary.take(pa.array(best.name[:, 0])),
            "best_score": best.score[:, 0],
            "top_proposals": self._top_proposals(best),
            "encoder": pa.repeat(self.encoder, len(cases)),
            "pool": pa.repeat(self.pool, len(cases)),
            "neighbour_classes": _lists(cases.nearest, cases.nearest >= 0),
            "neighbour_is_kin": _lists(is_kin, cases.nearest >= 0),
        }
        return pa.table([columns[field.name] for field in OOV_SCHEMA], schema=OOV_SCHEMA)

    @cached_property
    def _wnids(self) -> pa.StringArray:
        wordnet = self.proposer.wordnet
        return pa.array([f"n{offset:08d}" for offset in wordnet.synsets.tolist()])

    @cached_property
    def _class_of(self) -> NDArray[np.int64]:
        """int64 [S]: each synset's class index; past the last class for synsets that are none."""
        class_of = np.arange(len(self.proposer.wordnet), dtype=np.int64) + len(self.proposer.labels)
        class_of[self._synset_of_class] = np.arange(len(self.proposer.labels))
        return class_of

    @cached_property
    def _synset_of_class(self) -> NDArray[np.int32]:
        return self.proposer.wordnet.rows_of_classes(self.proposer.labels)

    def _top_proposals(self, best: _Best) -> pa.ListArray:
        is_there = best.score >= 0
        fields = OOV_SCHEMA.field("top_proposals").type.value_type
        structs = pa.StructArray.from_arrays(
            [
                self._wnids.take(pa.array(best.synset[is_there])),
                self.proposer.vocabulary.take(pa.array(best.name[is_there])),
                pa.array(best.score[is_there]),
            ],
            fields=list(fields),
        )
        return pa.ListArray.from_arrays(_offsets(is_there), structs)

    @cached_property
    def _name_grid(self) -> Float64:
        return on_grid(self.name_vectors)

    def _best(self, cases: OovCases) -> _Best:
        best = _Best.empty(len(cases))
        pairs, pair_of = np.unique(
            cases.prediction.astype(np.int64) << 16 | cases.target.astype(np.int64), return_inverse=True
        )
        proposals = self.proposer.propose(pairs >> 16, pairs & 0xFFFF)
        codes = self._class_of[proposals.synsets] << 32 | proposals.names
        images = on_grid(cases.vectors)

        def score(chosen: NDArray[np.int64]) -> None:
            near = images[cases.image[chosen]]
            self._score(chosen, pair_of[chosen], Ragged(proposals.offsets, codes), near, best)

        with one_blas_thread(), ThreadPoolExecutor(n_cores()) as threads:
            for _ in threads.map(score, _groups(cases.prediction)):
                pass
        best.count[:] = proposals.counts[pair_of]
        return best

    def _score(
        self, chosen: NDArray[np.int64], pair_of: NDArray[np.int64], proposals: Ragged, images: Float64, best: _Best
    ) -> None:
        """Fill in the best five of cases [m] that share a prediction: one product of images and names.

        ``proposals``: (class << 32 | name) of every pair's proposals; pairs of one prediction stand together.
        """
        first, last = int(pair_of.min()), int(pair_of.max()) + 1
        bounds = proposals.offsets[first : last + 1]
        columns, column = np.unique(proposals.values[bounds[0] : bounds[-1]], return_inverse=True)
        offered = np.zeros((last - first, len(columns)), dtype=np.bool_)
        offered[np.repeat(np.arange(last - first), np.diff(bounds)), column] = True
        # Columns of classes come first: of equal cosines the first wins.
        cosine = cosines(images, self._name_grid[columns & _NAME])
        np.copyto(cosine, -np.inf, where=~offered[pair_of - first])
        top, score = _softmax_top(cosine)
        n_top = top.shape[1]
        entry = columns[top] >> 32
        best.entry[chosen, :n_top] = entry
        best.name[chosen, :n_top] = (columns[top] & _NAME).astype(np.int32)
        best.synset[chosen, :n_top] = self._synset_of(entry)
        best.score[chosen, :n_top] = score

    def _synset_of(self, entry: NDArray[np.int64]) -> NDArray[np.int32]:
        n_classes = len(self.proposer.labels)
        own = self._synset_of_class[np.minimum(entry, n_classes - 1)]
        return np.where(entry < n_classes, own, entry - n_classes).astype(np.int32)


@dataclass(frozen=True, eq=False)
class _Best:
    """The best five of n cases [n, 5], filled group by group; ``score`` -1 where there are fewer.

    ``entry``: the class, or past the last class for what is none.
    """

    entry: NDArray[np.int64]
    synset: NDArray[np.int32]
    name: NDArray[np.int32]
    score: NDArray[np.float32]
    count: NDArray[np.int32]

    @classmethod
    def empty(cls, n: int) -> _Best:
        shape = (n, N_TOP)
        zeros = np.zeros(shape, dtype=np.int32)
        return cls(
            np.zeros(shape, dtype=np.int64),
            zeros,
            zeros.copy(),
            np.full(shape, -1, dtype=np.float32),
            np.zeros(n, dtype=np.int32),
        )


def _softmax_top(cosine: Float64) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the columns [m, 5] of highest cosine, the first of equals first, and their softmax scores; -1 for -inf.

    Terms are rounded to multiples of 2**-40, so that their sum is exact: see :mod:`imagenet_errors.oov.cosine`.
    ``cosine`` is used up.
    """
    rows = np.arange(len(cosine))
    n_top = min(N_TOP, cosine.shape[1])
    top = np.empty((len(cosine), n_top), dtype=np.int64)
    nearest = np.empty((len(cosine), n_top))
    for place in range(n_top):  # argmax finds the first of equals
        top[:, place] = cosine.argmax(axis=1)
        nearest[:, place] = cosine[rows, top[:, place]]
        cosine[rows, top[:, place]] = -np.inf
    terms, highest = _terms(cosine, nearest[:, :1]), _terms(nearest, nearest[:, :1])
    whole = terms.sum(axis=1, keepdims=True) + highest.sum(axis=1, keepdims=True)
    return top, np.where(np.isneginf(nearest), -1, highest / whole).astype(np.float32)


def _terms(cosine: Float64, highest: Float64) -> Float64:
    """Return exp(100 (cosine - highest)), rounded; less than half a step is 0 without being computed."""
    exponents = cosine - highest
    exponents *= TEMPERATURE
    terms = np.zeros_like(exponents)
    np.exp(exponents, out=terms, where=exponents > _NEGLIGIBLE)
    terms *= _FINE
    np.rint(terms, out=terms)
    terms /= _FINE
    return terms


def _groups(prediction: NDArray[np.int16]) -> Iterator[NDArray[np.int64]]:
    """Yield the cases of each predicted class, large groups in pieces."""
    order = np.argsort(prediction, kind="stable")
    cuts = np.flatnonzero(np.diff(prediction[order])) + 1
    for group in np.split(order, cuts):
        yield from (group[at : at + _GROUP_ROWS] for at in range(0, len(group), _GROUP_ROWS))


def _offsets(is_there: NDArray[np.bool_]) -> pa.Int32Array:
    return pa.array(np.concatenate(([0], np.cumsum(is_there.sum(axis=1)))), type=pa.int32())


def _lists(values: NDArray[np.int16] | NDArray[np.bool_], is_there: NDArray[np.bool_]) -> pa.ListArray:
    return pa.ListArray.from_arrays(_offsets(is_there), pa.array(values[is_there]))
