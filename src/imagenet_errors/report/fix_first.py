"""What to fix first: the groups of a model's errors that are larger than they should be, and what each is worth.

A group's excess is the number of its errors over what would be expected, with a 95 % interval, and groups are ranked by
the lower end, never by raw counts. "Severe" here are model failures; where evidence was missing, all errors that no
stage which ran explains, so that groups compare.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec
import numpy as np
from numpy.typing import NDArray

from imagenet_errors.chain import COUNTS_AS, ERROR_TYPES
from imagenet_errors.evidence.superclasses import Superclasses
from imagenet_errors.measure import wilson
from imagenet_errors.report.comparison import NEARLY_ALL, all_peers
from imagenet_errors.report.fits import poisson
from imagenet_errors.runs.tables import NOT_EVALUATED, RunTables

SURE = 0.9
"""A model that gives its answer more than this is confident of it."""
_CONFIDENCE_STEPS = 10**3  # as the page keeps them
_LEAST_EXCESS = 1.0
_FEWEST_PEERS = 3
KEYS = ("superclass", "label")
_IS_MULTI_LABEL = np.array([COUNTS_AS[name] != "right" for name in ERROR_TYPES])
_CODE = 1 << 15

Bools = NDArray[np.bool_]
Rows = NDArray[np.int64]
"""Images by their places in the run, ascending."""


class Lead(msgspec.Struct, frozen=True):
    """A group of errors: how many, how many were expected, how much accuracy they cost, and how to see them.

    ``kind`` says what the group is: superclass, class, pair, peers, sure, unique, nearly_all or label_issue. What is
    compared with ``expected`` are ``n_compared`` errors among ``n_images``; ``low`` and ``high`` bound the excess.
    ``worth`` is in percentage points of MLA, ``worth_top1`` of top-1 accuracy. ``question`` is the explorer's, with
    classes and superclasses by index.
    """

    kind: str
    n_errors: int
    n_images: int
    n_compared: int
    expected: float | None
    low: float
    high: float
    worth: float
    worth_top1: float
    question: Mapping[str, str | int]

    @property
    def excess(self) -> float:
        """How many errors more than expected."""
        return self.n_compared - (self.expected or 0.0)


@dataclass(frozen=True, eq=False)
class Severities:
    """All M models of a run on I images of C classes, by how severe their errors are.

    ``severe`` are the error types that count as severe here; ``superclasses`` None where they are gone.
    """

    run: RunTables
    severe: tuple[str, ...]
    superclasses: Superclasses | None
    n_classes: int

    @cached_property
    def is_severe(self) -> Bools:
        """bool [M, I]: images with a severe error of each model."""
        severe: Bools = _is_one_of(self.severe)[self.run.error_type]
        return severe

    @cached_property
    def is_wrong(self) -> Bools:
        """bool [M, I]: images that each model gets wrong by every accepted label."""
        wrong: Bools = np.append(_IS_MULTI_LABEL, False)[self.run.error_type]
        return wrong

    @cached_property
    def per_class(self) -> NDArray[np.int64]:
        """int64 [M, C]: severe errors of each model by class."""
        return np.stack([self.count(images) for images in self.is_severe])

    @cached_property
    def seen_per_class(self) -> NDArray[np.int64]:
        """int64 [M, C]: how many images each model was evaluated on, by class."""
        return np.stack([self.count(kinds != NOT_EVALUATED) for kinds in self.run.error_type])

    @cached_property
    def peers(self) -> tuple[NDArray[np.int64], ...]:
        """For each model, the places of the models that it is compared with."""
        return all_peers(self.run)

    def expected(self, over: str) -> NDArray[np.float64]:
        """Return float64 [M, C]: severe errors by class at a model's ``average`` rate, or spread like its ``peers``."""
        basis = self.seen_per_class
        if over == "peers":
            basis = np.stack([self.per_class[peers].sum(axis=0) for peers in self.peers])
        total, whole = self.per_class.sum(axis=1), np.maximum(basis.sum(axis=1), 1)
        expected: NDArray[np.float64] = basis * (total / whole)[:, None]
        return expected

    @cached_property
    def _counts(self) -> dict[tuple[str, str], NDArray[np.float64]]:
        return {}

    def counts(self, key: str, over: str) -> NDArray[np.float64]:
        """Return float64 [5, M, n]: severe errors, images, expected errors, and the excess's bounds.

        ``key``: by class of the ``label``, or by its ``superclass``.
        """
        if (key, over) not in self._counts:
            sums = np.stack([self.per_class, self.seen_per_class, self.expected(over)])
            sums = sums @ self.membership.T if key == "superclass" else sums
            low, high = (np.nan_to_num(bound) * sums[1] - sums[2] for bound in wilson(sums[0], sums[1]))
            self._counts[key, over] = np.stack([*sums, low, high])
        return self._counts[key, over]

    @cached_property
    def _ranked(self) -> dict[tuple[str, str], NDArray[np.int64]]:
        return {}

    def ranked(self, key: str, over: str) -> NDArray[np.int64]:
        """Return int64 [M, n]: places of the classes or superclasses, the highest lower end of an excess first."""
        if (key, over) not in self._ranked:
            low = self.counts(key, over)[3]
            self._ranked[key, over] = np.argsort(-low, axis=1, kind="stable")
        return self._ranked[key, over]

    def count(self, images: Bools) -> NDArray[np.int64]:
        """Return int64 [C]: how many of the images (bool [I]) are of each class."""
        return np.bincount(self.run.label[images], minlength=self.n_classes)

    @cached_property
    def membership(self) -> NDArray[np.float64]:
        """float64 [S, C]: 1 where a class is in a superclass; no rows without superclasses."""
        members = () if self.superclasses is None else self.superclasses.members
        holds = np.zeros((len(members), self.n_classes))
        for row, classes in enumerate(members):
            holds[row, classes] = 1
        return holds


@dataclass(frozen=True, eq=False)
class Situation:
    """One model among the others of its run, with what its groups of errors are measured by."""

    among: Severities
    model: int

    @property
    def run(self) -> RunTables:
        """The run."""
        return self.among.run

    @cached_property
    def severe(self) -> Rows:
        """The images with a severe error of this model."""
        return np.flatnonzero(self.among.is_severe[self.model])

    @property
    def is_wrong(self) -> Bools:
        """bool [I]: images that it gets wrong by every accepted label."""
        wrong: Bools = self.among.is_wrong[self.model]
        return wrong

    @property
    def prediction(self) -> NDArray[np.int16]:
        """int16 [I]: its answers."""
        answers: NDArray[np.int16] = self.run.prediction[self.model]
        return answers

    @cached_property
    def n_seen(self) -> int:
        """How many images it was evaluated on."""
        return int(self.among.seen_per_class[self.model].sum())

    @cached_property
    def weight(self) -> NDArray[np.float64]:
        """float64 [C]: percentage points of MLA that one more right image of a class is worth."""
        per_class = self.among.seen_per_class[self.model]
        worth: NDArray[np.float64] = 100 / (np.maximum(per_class, 1) * max(1, int((per_class > 0).sum())))
        return worth

    @property
    def peers(self) -> NDArray[np.int64]:
        """The places of the models that it is compared with."""
        return self.among.peers[self.model]

    @cached_property
    def n_peers_wrong(self) -> NDArray[np.int16]:
        """int16 [I]: how many of its peers get each image wrong."""
        counts: NDArray[np.int16] = self.among.is_wrong[self.peers].sum(axis=0, dtype=np.int16)
        return counts

    def lead(
        self, kind: str, group: Rows, question: Mapping[str, str | int], *, bounds: tuple[float, float, float] | None
    ) -> Lead:
        """Return the lead of a group of images; ``bounds``: expected errors, and the excess's lower and upper end."""
        expected, low, high = bounds or (None, 0.0, 0.0)
        return Lead(
            kind,
            len(group),
            self.n_seen,
            len(group),
            expected,
            low,
            high,
            worth=float(self.weight[self.run.label[group[self.is_wrong[group]]]].sum()),
            worth_top1=100 * len(group) / max(1, self.n_seen),
            question={"type": ",".join(self.among.severe)} | dict(question),
        )


def leads(situation: Situation) -> list[Lead]:
    """Return what is worth fixing, groups of errors with more excess first, then what is only the model's own."""
    groups = [*_group_leads(situation), _pair_lead(situation)]
    ranked = sorted((lead for lead in groups if lead is not None), key=lambda lead: -lead.low)
    others = (_sure_lead(situation), _unique_lead(situation))
    return [*ranked, *(lead for lead in others if lead is not None)]


def not_worth(situation: Situation) -> list[Lead]:
    """Return what no training will mend: labels and classes at fault, and images that nearly all models get wrong."""
    run, kinds = situation.run, [name for name in ERROR_TYPES if name != "correct" and COUNTS_AS[name] == "right"]
    group = np.flatnonzero(_is_one_of(kinds)[run.error_type[situation.model]])
    found = []
    if len(group):
        found.append(situation.lead("label_issue", group, {"type": ",".join(kinds)}, bounds=None))
    doubtful = np.flatnonzero(situation.is_wrong & (situation.n_peers_wrong >= NEARLY_ALL * len(situation.peers)))
    if len(situation.peers) >= _FEWEST_PEERS and len(doubtful):
        wrong = ",".join(name for name, is_one in zip(ERROR_TYPES, _IS_MULTI_LABEL, strict=True) if is_one)
        found.append(situation.lead("nearly_all", doubtful, {"type": wrong, "peers": "most"}, bounds=None))
    return found


def _is_one_of(names: Sequence[str]) -> Bools:
    """Return bool [T + 1]: by error type, whether it is one of these; the last stands for NOT_EVALUATED, -1."""
    return np.append(np.isin(ERROR_TYPES, list(names)), False)


def _group_leads(situation: Situation) -> list[Lead]:
    """Return the superclass and the class with the most excess over the average, and the one over the peers."""
    average = [rows[0] for key in KEYS if (rows := excesses(situation, key))]
    peers = [rows[0] for key in KEYS if (rows := excesses(situation, key, over="peers"))]
    best = sorted(peers, key=lambda row: -row.low)[:1] if len(situation.peers) >= _FEWEST_PEERS else []
    return [_group_lead(situation, row) for row in (*average, *best) if row.low >= _LEAST_EXCESS]


def _group_lead(situation: Situation, row: Excess) -> Lead:
    label = situation.run.label[situation.severe]
    is_member = label == row.place if row.key == "label" else (situation.among.membership[row.place] > 0)[label]
    group = situation.severe[is_member]
    kind = "peers" if row.over == "peers" else {"label": "class"}.get(row.key, row.key)
    lead = situation.lead(kind, group, {row.key: row.place}, bounds=(row.expected, row.low, row.high))
    return msgspec.structs.replace(lead, n_images=row.n_images)


class Excess(msgspec.Struct, frozen=True):
    """A class or superclass (``key``: label or superclass, at ``place``) with its severe errors over those expected."""

    key: str
    over: str
    place: int
    n_severe: int
    n_images: int
    expected: float
    low: float
    high: float


def excesses(situation: Situation, key: str, *, over: str = "average", most: int = 1) -> list[Excess]:
    """Return the classes or superclasses with severe errors, those whose excess has the highest lower end first.

    ``over`` the model's ``average``, or what its ``peers`` have there.
    """
    severe, seen, expected, low, high = situation.among.counts(key, over)[:, situation.model]
    best = situation.among.ranked(key, over)[situation.model, :most]
    order = [place for place in best.tolist() if severe[place]]
    return [
        Excess(
            key,
            over,
            place,
            int(severe[place]),
            int(seen[place]),
            float(expected[place]),
            float(low[place]),
            float(high[place]),
        )
        for place in order
    ]


def _pair_lead(situation: Situation) -> Lead | None:
    """Return the confusion of two classes with the most excess over what their frequencies give."""
    severe = situation.severe
    if not len(severe):
        return None
    label, prediction = (of[severe].astype(np.int64) for of in (situation.run.label, situation.prediction))
    pairs, counts = np.unique(label * _CODE + prediction, return_counts=True)
    of_label = np.bincount(label, minlength=situation.among.n_classes)[pairs // _CODE]
    of_prediction = np.bincount(prediction, minlength=situation.among.n_classes)[pairs % _CODE]
    expected = of_label * of_prediction / len(severe)
    sizes, of = np.unique(counts, return_inverse=True)  # few: the interval's functions are slow
    low, high = (bound[of] for bound in poisson(sizes))
    place = int(np.argmax(low - expected))
    if low[place] - expected[place] < _LEAST_EXCESS:
        return None
    question = {"label": int(pairs[place] // _CODE), "prediction": int(pairs[place] % _CODE)}
    group = severe[(label == question["label"]) & (prediction == question["prediction"])]
    bounds = (float(expected[place]), float(low[place] - expected[place]), float(high[place] - expected[place]))
    return situation.lead("pair", group, question, bounds=bounds)


def _sure_lead(situation: Situation) -> Lead | None:
    """Return the severe errors of which the model was sure, beside what its confidence promises."""
    confidence = np.nan_to_num(situation.run.confidence[situation.model].astype(np.float64))
    is_sure = (np.round(confidence * _CONFIDENCE_STEPS) >= SURE * _CONFIDENCE_STEPS) & (confidence <= 1)
    is_sure &= situation.run.error_type[situation.model] != NOT_EVALUATED
    group = situation.severe[is_sure[situation.severe]]
    if not len(group):
        return None
    promised, n_wrong = float((1 - confidence[is_sure]).sum()), int((is_sure & situation.is_wrong).sum())
    low, high = poisson(np.array(n_wrong))
    bounds = (promised, float(low) - promised, float(high) - promised)
    lead = situation.lead("sure", group, {"from": round(100 * SURE)}, bounds=bounds)
    return msgspec.structs.replace(lead, n_images=int(is_sure.sum()), n_compared=n_wrong)


def _unique_lead(situation: Situation) -> Lead | None:
    """Return the severe errors on images that all peers name right, beside how many such errors peers have."""
    if not len(situation.peers):
        return None
    group = situation.severe[situation.n_peers_wrong[situation.severe] == 0]
    if not len(group):
        return None
    alone = np.flatnonzero(situation.n_peers_wrong + situation.is_wrong == 1)
    theirs = situation.among.is_severe[np.ix_(situation.peers, alone)].sum(axis=1)
    expected = float(np.mean(theirs))
    low, high = poisson(np.array(len(group)))
    bounds = (expected, float(low) - expected, float(high) - expected)
    return situation.lead("unique", group, {"peers": "none"}, bounds=bounds)
