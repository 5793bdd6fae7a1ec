"""How far a wrong prediction is from what is right, by WordNet: a dog for a dog is not a jellyfish for a bus.

The distance of two classes is the number of hypernym steps from one up to a synset that both are kinds of, and down
to the other, along the shortest such way. It grades errors of one type; it changes no verdict.

Source: Deng et al. 2010 (hierarchical cost of ImageNet errors); Rada et al. 1989 (path length between concepts).
Differs: steps are counted, rather than the height of the common ancestor, since WordNet's branches differ in depth.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from imagenet_errors.labels import LabelSpace
from imagenet_errors.prepared import prepared, stamp
from imagenet_errors.problems import InputError
from imagenet_errors.shipped import shipped
from imagenet_errors.tables import Cases, Ragged
from imagenet_errors.wordnet import Wordnet, load_wordnet

UNKNOWN = -1
SAYS_NOTHING = (
    *("entity.n.01", "physical_entity.n.01", "abstraction.n.06", "object.n.01", "whole.n.02", "artifact.n.01"),
    *("instrumentality.n.03", "living_thing.n.01", "organism.n.01", "matter.n.03", "causal_agent.n.01"),
)
"""Kinds so wide that nobody would say of two things that they are still both of that kind."""
_FAR = 1 << 14
_CHUNK = 4096


@dataclass(frozen=True, eq=False)
class Grades:
    """How severe n errors are: ``steps`` int16 [n] to the nearest accepted label (-1 unknown), ``shared`` strings [n].

    ``shared`` is the kind that both are, null where WordNet knows none that says anything.
    """

    steps: NDArray[np.int16]
    shared: pa.StringArray


@dataclass(frozen=True, eq=False)
class GradedSentences:
    """One sentence a case, and ``steps`` int16 [n] in WordNet to the nearest accepted label (-1: none or unknown)."""

    explanation: pa.StringArray
    steps: NDArray[np.int16]


def grades(cases: Cases, labels: LabelSpace) -> Grades:
    """Return how far each case's prediction is from the nearest of its accepted labels.

    Classes without a WordNet 3.0 synset are of unknown distance.
    """
    climbs = _climbs_of(labels)
    if climbs is None or not len(cases):
        return Grades(np.full(len(cases), UNKNOWN, dtype=np.int16), pa.nulls(len(cases), pa.string()))
    steps, shared = climbs.between(cases.prediction_of_accepted, cases.accepted.values)
    nearness = np.where(steps < 0, 0, _FAR - steps)
    best = Ragged(cases.accepted.offsets, np.arange(len(steps))).best_of(nearness)
    has_one = best >= 0
    at = np.where(has_one, best, 0)
    return Grades(
        np.where(has_one, steps[at], UNKNOWN).astype(np.int16),
        climbs.names(np.where(has_one, shared[at], UNKNOWN)),
    )


@dataclass(frozen=True, eq=False)
class _Climbs:
    """Each class's ancestors: places int32 [C, K] among ``rows``; the steps there int16 [C, K].

    ``rows`` int64 [A] are WordNet's rows, ascending, the first, UNKNOWN, for places that fill up. ``depths`` int16 [A]:
    their fewest steps from a root; ``lemmas`` [A]: what each is called, null where that says nothing.
    """

    ancestors: NDArray[np.int32]
    steps: NDArray[np.int16]
    rows: NDArray[np.int64]
    depths: NDArray[np.int16]
    lemmas: pa.StringArray

    def names(self, shared: NDArray[np.integer]) -> pa.StringArray:
        """Return each shared synset's first lemma, ``"hunting dog"``; null where it says nothing or is UNKNOWN."""
        return self.lemmas.take(pa.array(np.searchsorted(self.rows, shared)))

    def between(
        self, first: NDArray[np.integer], second: NDArray[np.integer]
    ) -> tuple[NDArray[np.int16], NDArray[np.int32]]:
        """Return for n pairs of classes the fewest steps, int16 [n], and the WordNet row passed, int32 [n]; or -1.

        Of several synsets on equally short ways, the deepest is given.
        """
        pairs, of = np.unique(first.astype(np.int64) << 32 | second.astype(np.int64), return_inverse=True)
        steps = np.full(len(pairs), UNKNOWN, dtype=np.int16)
        shared = np.full(len(pairs), UNKNOWN, dtype=np.int32)
        for start in range(0, len(pairs), _CHUNK):
            chunk = slice(start, start + _CHUNK)
            steps[chunk], shared[chunk] = self._nearest(pairs[chunk] >> 32, pairs[chunk] & 0xFFFFFFFF)
        return steps[of], shared[of]

    def _nearest(
        self, first: NDArray[np.int64], second: NDArray[np.int64]
    ) -> tuple[NDArray[np.int16], NDArray[np.int32]]:
        classes, of = np.unique(second, return_inverse=True)
        steps_of = np.full((len(classes), len(self.rows)), UNKNOWN, dtype=np.int16)
        steps_of[np.arange(len(classes))[:, None], self.ancestors[classes]] = self.steps[classes]
        steps_of[:, 0] = UNKNOWN
        above = self.ancestors[first]
        other = steps_of[of[:, None], above]
        way = self.steps[first] + other
        rank = (way << 6) - np.minimum(self.depths, 63)[above]
        place = np.where(other >= 0, rank, _FAR).argmin(axis=1)
        row = np.arange(len(first))
        found = other[row, place] >= 0
        steps = np.where(found, way[row, place], UNKNOWN).astype(np.int16)
        return steps, np.where(found, self.rows[above[row, place]], UNKNOWN).astype(np.int32)


@lru_cache(maxsize=4)
def _climbs_of(labels: LabelSpace) -> _Climbs | None:
    """Return the ancestors of all classes; None where a class is no WordNet 3.0 synset."""
    made_of = ["climbs", *labels.wnids, stamp([shipped("data", "wordnet_nouns.parquet"), Path(__file__)])]
    table = prepared(["\n".join(made_of)], lambda: _climbs_table(labels))
    if not len(table):
        return None
    owner, ancestor, steps, depth = (table[name].to_numpy() for name in ("owner", "ancestor", "steps", "depth"))
    offsets = np.searchsorted(owner, np.arange(len(labels) + 1))
    column = np.arange(len(owner)) - offsets[owner]
    shape = (len(labels), int(np.diff(offsets).max(initial=1)))
    ancestors, climbed = np.zeros(shape, dtype=np.int32), np.zeros(shape, dtype=np.int16)
    distinct, first, place = np.unique(ancestor, return_index=True, return_inverse=True)
    ancestors[owner, column], climbed[owner, column] = 1 + place, steps
    lemmas = table["lemma"].combine_chunks().take(pa.array(np.append(0, first)))
    lemmas = pc.if_else(pa.array(np.arange(len(lemmas)) > 0), lemmas, None)
    rows = np.append(UNKNOWN, distinct).astype(np.int64)
    return _Climbs(ancestors, climbed, rows, np.append(0, depth[first]).astype(np.int16), lemmas)


def _climbs_table(labels: LabelSpace) -> pa.Table:
    """Return a row for each class and each of its ancestors, by class; none where a class is no synset."""
    wordnet = load_wordnet()
    try:
        rows = wordnet.rows(labels.wnids).astype(np.int64)
    except InputError:
        return pa.table({"owner": []})
    owner, ancestor, steps = _climb(rows, wordnet)
    columns = [owner.astype(np.int32), ancestor.astype(np.int32), steps, _depths(wordnet)[ancestor]]
    return pa.table(
        [*map(pa.array, columns), _lemmas(ancestor, wordnet)], ["owner", "ancestor", "steps", "depth", "lemma"]
    )


def _climb(rows: NDArray[np.int64], wordnet: Wordnet) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int16]]:
    """Return every (class, ancestor) once, by class, with the fewest steps between; a class is its own ancestor."""
    level, levels = np.arange(len(rows)) * len(wordnet) + rows, []
    while len(level):
        levels.append(level)
        owner, at = np.divmod(level, len(wordnet))
        above = wordnet.hypernym_links.take(at)
        level = np.unique(owner[above.owners] * len(wordnet) + above.values)
    steps = np.repeat(np.arange(len(levels), dtype=np.int16), [len(level) for level in levels])
    pairs, first = np.unique(np.concatenate(levels), return_index=True)  # levels ascend: the first has fewest steps
    owner, ancestor = np.divmod(pairs, len(wordnet))
    return owner, ancestor, steps[first]


def _depths(wordnet: Wordnet) -> NDArray[np.int16]:
    """Return int16 [S]: each synset's fewest steps from a root."""
    depth = np.full(len(wordnet), -1, dtype=np.int16)
    level = np.flatnonzero(wordnet.hypernym_links.lengths == 0)
    links = wordnet.hypernym_links
    depth[level] = 0
    for steps in range(1, 40):
        below = (depth[links.values] == steps - 1) & (depth[links.owners] < 0)
        if not below.any():
            break
        depth[links.owners[below]] = steps
    return depth


def _lemmas(rows: NDArray[np.integer], wordnet: Wordnet) -> pa.StringArray:
    """Return each synset's first lemma as people write it, ``"hunting dog"``; null where it says nothing."""
    kinds, of = np.unique(rows, return_inverse=True)
    empty = set(wordnet.rows(SAYS_NOTHING).tolist())
    names = [None if row in empty else wordnet.lemmas(row)[0].replace("_", " ") for row in kinds.tolist()]
    return pa.array(names, type=pa.string()).take(pa.array(of))


def graded(explanation: pa.StringArray, cases: Cases, failed: NDArray[np.bool_], labels: LabelSpace) -> GradedSentences:
    """Grade the failures among n cases: their sentences end in what both are and how far apart, where that is known.

    ``failed`` bool [n]: the cases that nothing explains; the others keep their sentences and have no distance.
    """
    steps = np.full(len(cases), UNKNOWN, dtype=np.int16)
    chosen = np.flatnonzero(failed)
    if not len(chosen):
        return GradedSentences(explanation, steps)
    found = grades(cases.take(chosen), labels)
    steps[chosen] = found.steps
    shared = found.shared.take(pa.array(np.cumsum(failed) - 1, mask=~failed))
    told = pc.binary_join_element_wise(
        explanation, " Both are a kind of ", shared, " (", pc.cast(pa.array(steps), pa.string()), " steps apart).", ""
    )
    return GradedSentences(pc.coalesce(told, explanation), steps)
