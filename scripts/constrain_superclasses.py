"""Hold the superclasses against every published fact, one by one, and say how far facts left out are foreseen.

    python scripts/constrain_superclasses.py --published ../shared/data/published [--superclasses FOLDER|FILE]
        [--cross-validate] [--out reports/superclasses_evidence.md]

Prints the facts that the relation contradicts. The page tells of each class how many facts touch its group, and of
each membership whether facts settle it (some fact breaks without it, and no other class would mend that) or leave it
open; and how many classes facts keep out of a superclass. ``--cross-validate`` leaves a fifth of the facts out,
five times, and lets :class:`Decision` choose the memberships anew from the others: a rule that knows which groups we
could think of, how often classes are confused, how near they are in WordNet, and four fifths of the facts.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.evidence.superclasses import Superclasses, load_superclasses
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.problems import InputError
from imagenet_errors.wordnet import load_wordnet
from superclass_facts import (
    SAME_WEIGHTS,
    AnyOf,
    Confusions,
    Fact,
    Pair,
    Shares,
    Sum,
    facts_of_class,
    published_counts,
    read_confusions,
    read_facts,
)

FOLDS = 5
SWEEPS, UNLIKELY = 20, -5.0
"""At most so many rounds; log odds under which a class that is no candidate is not tried."""
KIN_WEIGHT, SUM_WEIGHT, LEMMA_WEIGHT, COUNT_SIGMA = 6.0, 5.0, 0.15, 8.0
"""Cost of a contradicted pair and sum, of each lemma that a sum is off; images that a model's count may be off."""
CONFUSED = 4
"""Images from which on a class outside a superclass is weighed in its tables."""

Table = NDArray[np.bool_]


def subtree_sizes() -> NDArray[np.int64]:
    """Return int [C, C]: the classes below the lowest WordNet synset that is above both."""
    labels, wordnet = imagenet_1k(), load_wordnet()
    owner, ancestor = wordnet.ancestor_pairs(wordnet.rows(labels.wnids))
    below: dict[int, list[int]] = defaultdict(list)
    for index, synset in zip(owner.tolist(), ancestor.tolist(), strict=True):
        below[synset].append(index)
    sizes = np.full((len(labels), len(labels)), len(labels))
    for classes in sorted(below.values(), key=len, reverse=True):
        block = np.ix_(classes, classes)
        sizes[block] = np.minimum(sizes[block], len(classes))
    return sizes


@dataclass(frozen=True, eq=False)
class Prior:
    """How likely each membership is without any fact: a logistic curve over confusions and WordNet.

    ``candidates`` bool [S, C]: the memberships as written; ``log_odds`` float [S, C]; ``near``: the (superclass,
    class) that are weighed at all: members, and classes confused with a member or near it in WordNet. Its six
    coefficients are fitted on the memberships as written.
    """

    candidates: Table
    log_odds: NDArray[np.float64]
    near: list[tuple[int, int]]


def prior_of(members: Table, images: NDArray[np.int64], sizes: NDArray[np.int64]) -> Prior:
    """Fit the prior on bool [S, C]."""
    near = [
        (row, int(index))
        for row, inside in enumerate(members)
        for index in np.flatnonzero(inside | images[inside].any(axis=0) | (sizes[inside].min(axis=0) <= 40))
    ]
    traits = np.array([_traits(members[row], index, images, sizes) for row, index in near])
    design = np.column_stack([np.ones(len(near)), (traits - traits.mean(axis=0)) / traits.std(axis=0)])
    is_member = np.array([members[key] for key in near], dtype=float)
    weights = np.zeros(design.shape[1])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-design @ weights))
        curvature = (design.T * (chance * (1 - chance))) @ design + np.eye(len(weights))
        weights += np.linalg.solve(curvature, design.T @ (is_member - chance) - weights)
    log_odds = np.full(members.shape, -12.0)
    log_odds[tuple(np.array(near).T)] = np.clip(design @ weights, -9, 4)
    return Prior(members, log_odds, near)


def _traits(inside: Table, index: int, images: NDArray[np.int64], sizes: NDArray[np.int64]) -> list[float]:
    """Describe how a class stands to the other members of a superclass."""
    others = np.flatnonzero(inside)
    others = others[others != index]
    confused, near = images[index, others], sizes[index, others]
    return [
        float(np.log1p(confused).mean()),
        float(np.log1p(confused.sum())),
        float(np.log(near.min())),
        float(np.log(np.median(near))),
        float(np.log(len(others))),
    ]


class ModelCounts:
    """The published fine-grained counts of models whose predictions are known: sums over their confusions.

    ``cases`` int16 [m, models x groups]: which counts each distinct case adds to; ``of_pair``: the cases that a pair
    of classes explains; ``wanted``: the published counts.
    """

    def __init__(self, confusions: Confusions, published: Path) -> None:
        made = confusions.made[[confusions.models.index(model) for model in SAME_WEIGHTS]]
        cases = made[:, None, :] & confusions.in_group[None, :, :]
        self.cases = cases.reshape(-1, cases.shape[2]).T.astype(np.int16)
        self.wanted = published_counts(published).ravel()
        self.of_pair: dict[tuple[int, int], list[int]] = defaultdict(list)
        for case in np.flatnonzero(self.cases.any(axis=1)):
            for label in confusions.accepted[case]:
                pair = sorted((label, int(confusions.prediction[case])))
                self.of_pair[pair[0], pair[1]].append(int(case))

    def of_change(self, index: int, others: Iterable[int]) -> NDArray[np.int64]:
        """Return the cases that pairs of a class with others explain, a case as often as pairs do."""
        pairs = ((index, other) if index < other else (other, index) for other in others)
        return np.array([case for pair in pairs for case in self.of_pair.get(pair, ())], dtype=np.int64)


class Decision:
    """Choose memberships: start from the candidates, then take out or put in one at a time while that pays.

    The cost is that of contradicted facts, of models' counts that are off and of unlikely memberships. Every
    candidate and every near class is tried, again and again until no change pays, so a membership stays only if
    the prior or a fact at hand speaks for it.
    """

    def __init__(self, prior: Prior, facts: Sequence[Fact], counts: ModelCounts | None = None) -> None:
        self.prior, self.counts = prior, counts
        n_classes = prior.log_odds.shape[1]
        self.members = np.zeros(prior.log_odds.shape, dtype=np.bool_)
        self.n_shared = np.zeros((n_classes, n_classes), dtype=np.int16)
        self.pair_cost = np.zeros((n_classes, n_classes))
        for fact in facts:
            if isinstance(fact, Pair):
                self.pair_cost[[fact.a, fact.b], [fact.b, fact.a]] = -KIN_WEIGHT if fact.kin else KIN_WEIGHT
        self.sums = [fact for fact in facts if isinstance(fact, Sum)]
        self.adds = np.array([fact.adds for fact in self.sums]).reshape(-1, n_classes)
        self.off = -np.array([fact.lemmas for fact in self.sums], dtype=np.int64)
        self.sums_of: dict[int, list[int]] = defaultdict(list)
        for row, fact in enumerate(self.sums):
            self.sums_of[fact.prediction].append(row)
        self.choices = [fact for fact in facts if isinstance(fact, AnyOf)]
        self.choices_of: dict[tuple[int, int], list[int]] = defaultdict(list)
        for row, choice in enumerate(self.choices):
            for label in choice.labels:
                self.choices_of[choice.prediction, label].append(row)
                self.choices_of[label, choice.prediction].append(row)
        self.n_chosen = np.zeros(len(self.choices), dtype=np.int64)
        if counts:
            self.n_explained = np.zeros(len(counts.cases), dtype=np.int16)
            self.totals = -counts.wanted
        for row, index in np.argwhere(prior.candidates).tolist():
            self.change(row, index)

    @property
    def shares(self) -> Shares:
        """The relation bool [C, C] as it stands."""
        shares: Shares = self.n_shared > 0
        np.fill_diagonal(shares, val=True)
        return shares

    def change(self, row: int, index: int, *, keep: bool = True) -> float:
        """Take a class into a superclass or out of it; return what that costs, and undo it unless ``keep``."""
        sign = -1 if self.members[row, index] else 1
        others = np.flatnonzero(self.members[row])
        others = others[others != index]
        now = self.n_shared[index, others]
        turned = others[now == (0 if sign > 0 else 1)]
        cost = -sign * float(self.prior.log_odds[row, index]) + sign * float(self.pair_cost[index, turned].sum())
        cost += self._sum_cost(index, turned, sign, keep=keep)
        cost += self._choice_cost(index, turned, sign, keep=keep)
        cost += self._count_cost(index, turned, sign, keep=keep)
        if keep:
            self.members[row, index] = sign > 0
            self.n_shared[index, others] += sign
            self.n_shared[others, index] += sign
        return cost

    def _sum_cost(self, index: int, turned: NDArray[np.int64], sign: int, *, keep: bool) -> float:
        change: Counter[int] = Counter()
        for row in self.sums_of.get(index, ()):
            change[row] += sign * int(self.adds[row, turned].sum())
        for other in turned.tolist():
            for row in self.sums_of.get(other, ()):
                change[row] += sign * int(self.adds[row, index])
        cost = 0.0
        for row, lemmas in change.items():
            if lemmas:
                cost += _off_cost(self.off[row] + lemmas) - _off_cost(self.off[row])
                self.off[row] += lemmas if keep else 0
        return cost

    def _choice_cost(self, index: int, turned: NDArray[np.int64], sign: int, *, keep: bool) -> float:
        cost = 0.0
        touched = [row for other in turned.tolist() for row in self.choices_of.get((index, other), ())]
        for row in touched:
            before = self.n_chosen[row]
            self.n_chosen[row] += sign
            cost += KIN_WEIGHT * (int(self.n_chosen[row] == 0) - int(before == 0))
        for row in touched if not keep else ():
            self.n_chosen[row] -= sign
        return cost

    def _count_cost(self, index: int, turned: NDArray[np.int64], sign: int, *, keep: bool) -> float:
        if self.counts is None:
            return 0.0
        cases = self.counts.of_change(index, turned.tolist())
        if not cases.size:
            return 0.0
        explained = self.n_explained.copy() if not keep else self.n_explained
        distinct = np.unique(cases)
        before = explained[distinct] > 0
        np.add.at(explained, cases, sign)
        change = self.counts.cases[distinct].T.astype(np.int64) @ ((explained[distinct] > 0).astype(np.int64) - before)
        cost = float((change * (2 * self.totals + change)).sum()) / (2 * COUNT_SIGMA**2)
        if keep:
            self.totals = self.totals + change
        return cost

    def settle(self, seed: int = 0) -> None:
        """Try every change until none pays."""
        order = [key for key in self.prior.near if self.members[key] or self.prior.log_odds[key] > UNLIKELY]
        draw = random.Random(seed)
        for _ in range(SWEEPS):
            draw.shuffle(order)
            paying = [key for key in order if self._pays(key)]
            if not paying:
                break

    def _pays(self, key: tuple[int, int]) -> bool:
        """Make a change if it pays."""
        pays = self.change(*key, keep=False) < 0
        if pays:
            self.change(*key)
        return pays


def _off_cost(lemmas: int) -> float:
    return 0.0 if lemmas == 0 else SUM_WEIGHT + LEMMA_WEIGHT * min(abs(lemmas), 20)


@dataclass(frozen=True, eq=False)
class Evidence:
    """Everything that is held against a relation."""

    superclasses: Superclasses
    facts: list[Fact]
    confusions: Confusions
    counts: ModelCounts

    @cached_property
    def members(self) -> Table:
        """The memberships as written, bool [S, C]."""
        table = np.zeros((len(self.superclasses), self.superclasses.n_classes), dtype=np.bool_)
        for row, classes in enumerate(self.superclasses.members):
            table[row, classes] = True
        return table

    @cached_property
    def prior(self) -> Prior:
        """What confusions and WordNet alone make of the memberships."""
        return prior_of(self.members, self.confusions.images, subtree_sizes())


def gather(superclasses: Superclasses, published: Path) -> Evidence:
    """Read facts, confusions and counts."""
    confusions = read_confusions(published)
    return Evidence(superclasses, read_facts(published), confusions, ModelCounts(confusions, published))


KINDS = ("share a superclass", "share none", "as many proposals")


def kind_of(fact: Fact) -> str:
    """Return the kind that a fact is counted as."""
    if isinstance(fact, Sum):
        return KINDS[2]
    return KINDS[1] if isinstance(fact, Pair) and not fact.kin else KINDS[0]


def shares_met(facts: Iterable[Fact], shares: Shares) -> Counter[tuple[str, bool]]:
    """Count the facts of each kind that hold and that do not."""
    return Counter((kind_of(fact), fact.holds(shares)) for fact in facts)


def cross_validate(evidence: Evidence, *, seed: int = 0) -> dict[str, Counter[tuple[str, bool]]]:
    """Leave each fifth of the facts out; count how many of those left out hold: by prior alone, and by the rule.

    A choice among labels is used only where all its pairs may be.
    """
    facts = list(evidence.facts)
    fold_of = _folds(facts, seed)
    met: dict[str, Counter[tuple[str, bool]]] = {"prior alone": Counter(), "rule": Counter()}
    blind = Decision(evidence.prior, [])
    blind.settle(seed)
    for fold in range(FOLDS):
        left_out = [fact for fact in facts if fold_of.get(fact) == fold]
        hidden = {(fact.a, fact.b) for fact in left_out if isinstance(fact, Pair)}
        used = [fact for fact in facts if fold_of.get(fact) != fold and not (_pairs(fact) & hidden)]
        decision = Decision(evidence.prior, used, evidence.counts)
        decision.settle(seed)
        met["prior alone"] += shares_met(left_out, blind.shares)
        met["rule"] += shares_met(left_out, decision.shares)
    return met


def _folds(facts: Sequence[Fact], seed: int) -> dict[Fact, int]:
    """Deal pairs and sums out; choices among labels are never left out, being no more than hints."""
    dealt = [fact for fact in facts if not isinstance(fact, AnyOf)]
    random.Random(seed).shuffle(dealt)
    return {fact: number % FOLDS for number, fact in enumerate(dealt)}


def _pairs(fact: Fact) -> set[tuple[int, int]]:
    if not isinstance(fact, AnyOf):
        return set()
    return {(min(fact.prediction, label), max(fact.prediction, label)) for label in fact.labels}


def table_rows(met: dict[str, Counter[tuple[str, bool]]]) -> list[tuple[str, ...]]:
    """Return one row a kind of fact: how many were left out, and the share met by each decision."""
    rows = []
    for kind in KINDS:
        n = {name: (count[kind, True], count[kind, True] + count[kind, False]) for name, count in met.items()}
        rows.append((kind, f"{n['rule'][1]:,}", *(f"{held / all_:.1%}" for held, all_ in n.values())))
    return rows


@dataclass(frozen=True)
class Standing:
    """How facts stand to the memberships of one superclass; each list holds names of classes.

    ``settled``: a fact breaks without the class. ``exchangeable``: so too, but another class could stand in
    its place, which is given. ``open``: no fact breaks. ``forbidden``: no member, and a fact would break.
    """

    settled: list[str]
    exchangeable: list[str]
    open: list[str]
    forbidden: list[str]


def standings(evidence: Evidence) -> list[Standing]:
    """Try every membership without, every near class with, and every exchange of one for the other."""
    decision = Decision(Prior(evidence.members, np.zeros(evidence.members.shape), []), evidence.facts)
    names = imagenet_1k().names
    found = [Standing([], [], [], []) for _ in evidence.members]
    confused = evidence.members.astype(np.int64) @ evidence.confusions.images
    beside: dict[int, list[int]] = defaultdict(list)
    for row, index in evidence.prior.near:
        if not evidence.members[row, index] and confused[row, index] >= CONFUSED:
            beside[row].append(index)
            if decision.change(row, index, keep=False) > 0:
                found[row].forbidden.append(names[index])
    for row, index in np.argwhere(evidence.members).tolist():
        broken = decision.change(row, index)
        substitutes = [other for other in beside[row] if broken + decision.change(row, other, keep=False) <= 0]
        decision.change(row, index)
        if broken <= 0:
            found[row].open.append(names[index])
        elif substitutes:
            best = max(substitutes, key=lambda other: int(confused[row, other]))
            found[row].exchangeable.append(f"{names[index]} ({names[best]})")
        else:
            found[row].settled.append(names[index])
    return found


def told(fact: Fact, shares: Shares) -> str:
    """Say a contradicted fact in words."""
    names = imagenet_1k().names
    if isinstance(fact, Pair):
        return f"{names[fact.a]} and {names[fact.b]} {'share one' if fact.kin else 'share none'} as published"
    if isinstance(fact, AnyOf):
        return f"{names[fact.prediction]} shares one with {' or '.join(names[label] for label in fact.labels)}"
    off = int(shares[fact.prediction] @ np.array(fact.adds)) - fact.lemmas
    return f"the mates of {names[fact.prediction]} (for {names[fact.target]}) have {abs(off)} lemmas too " + (
        "many" if off > 0 else "few"
    )


def page(evidence: Evidence) -> str:
    """Return the Markdown page of memberships and classes."""
    from imagenet_errors.report.markdown import md_table

    names = imagenet_1k().names
    groups = [
        (
            name,
            str(len(classes)),
            ", ".join(held.settled),
            ", ".join(held.exchangeable),
            ", ".join(held.open),
            str(len(held.forbidden)),
        )
        for name, classes, held in zip(
            evidence.superclasses.names, evidence.superclasses.members, standings(evidence), strict=True
        )
    ]
    touched = facts_of_class(evidence.facts, evidence.superclasses.shares)
    classes = [(f"{index} {names[index]}", *(str(n) for n in touched[index])) for index in range(len(names))]
    n_facts = touched.sum(axis=1)
    return "\n\n".join(
        [
            "# Superclasses: how well founded each is",
            "Made by `python scripts/constrain_superclasses.py --published DIR --out FILE` from superclasses/*.toml.",
            "## Superclasses",
            "Settled: a published fact breaks without the class. Exchangeable: so too, but another class (given: the "
            "one most confused) could stand in its place. Open: the class can be taken out alone and no fact breaks. "
            f"Kept out: how many classes models confuse with it in {CONFUSED} images or more, but a fact forbids. "
            "Exchangeable and open classes are there by looks.",
            md_table(("superclass", "classes", "settled", "exchangeable", "open", "kept out"), groups, text_columns=5),
            "## Classes",
            f"Facts that touch each class: pairs that name it, proposals of its own, proposals that it is counted in. "
            f"Median {np.median(n_facts):.0f}; fewer than three for {int((n_facts < 3).sum())} classes, none for "
            f"{int((n_facts == 0).sum())}.",
            md_table(("class", "pairs", "own sums", "counted in"), classes),
        ]
    )


def main(arguments: list[str] | None = None) -> int:
    """Print what is contradicted, write the page, and cross-validate if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--published", type=Path, required=True, metavar="DIR", help="the published outputs")
    parser.add_argument("--superclasses", type=Path, help="a folder or file of superclasses (default: shipped)")
    parser.add_argument("--cross-validate", action="store_true", help="leave facts out (some minutes)")
    parser.add_argument("--out", type=Path, help="write the page of memberships and classes here")
    given = parser.parse_args(arguments)
    try:
        evidence = gather(load_superclasses(given.superclasses), given.published)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    shares = evidence.superclasses.shares
    for kind in KINDS:
        count = shares_met(evidence.facts, shares)
        print(f"{kind}: {count[kind, True]:,} of {count[kind, True] + count[kind, False]:,} facts hold")
    for fact in evidence.facts:
        if not fact.holds(shares):
            print(f"  {told(fact, shares)}")
    if given.out:
        given.out.write_text(page(evidence), encoding="utf-8")
    if given.cross_validate:
        for row in table_rows(cross_validate(evidence)):
            print("left out: {}: {}; prior alone {}, rule {}".format(*row))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
