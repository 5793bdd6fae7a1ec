"""The design choices of the method, each varied alone: what could as well have been decided otherwise.

A variant is the annotations, the evidence and the order that the stages get; everything else stays as it is.
The out-of-vocabulary evidence is never made anew, though its making rests on superclasses, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow.compute as pc

from imagenet_errors.chain import COUNTS_AS, DEFAULT_ORDER
from imagenet_errors.evidence.co_occurrence import MIN_IMAGES, read_co_occurrence
from imagenet_errors.evidence.oov import OovEvidence
from imagenet_errors.evidence.superclasses import Superclasses
from imagenet_errors.inputs import Basis
from imagenet_errors.label_sets import on_images_of
from imagenet_errors.labels import LabelSpace
from imagenet_errors.study.agreement import on_evidence
from imagenet_errors.study.published import ORDERS
from imagenet_errors.tables import Annotations
from imagenet_errors.wordnet import load_wordnet

BASE = "as it is"
DEPTHS = (6, 8, 10, 12, 14)
"""Where WordNet is cut: classes are alike that share an ancestor so many steps below *entity*."""
CO_OCCURRENCE_THRESHOLDS = (1, 2, 3, 5)
NEIGHBOUR_THRESHOLDS = tuple(range(1, 11))
"""Of the 10 nearest training images, how many must be kin (Peychev et al., NeurIPS 2023: one)."""


@dataclass(frozen=True, eq=False)
class Variant:
    """One way to decide: ``choice`` is what is varied, ``name`` how, ``basis`` what the verdicts then rest on."""

    choice: str
    name: str
    basis: Basis

    def differently(self, choice: str, name: str, **evidence: Any) -> Variant:
        """Return a variant with other parts of evidence."""
        parts = self.basis.evidence.replace(**evidence)
        return Variant(choice, name, on_evidence(self.basis, parts, self.basis.inputs.stage_order))


@dataclass(frozen=True)
class NotVaried:
    """A choice that could not be varied with what was given, and why."""

    choice: str
    reason: str


def variants(
    basis: Basis, *, label_sets: Mapping[str, Annotations], pools: Mapping[str, OovEvidence]
) -> tuple[tuple[Variant, ...], tuple[NotVaried, ...]]:
    """Return the base and every variant of it, and the choices that cannot be varied here.

    ``label_sets`` and ``pools``: other accepted labels and other out-of-vocabulary evidence, by name.
    """
    base = Variant(BASE, BASE, basis)
    ways = [
        base,
        *_orders(base),
        *_superclasses(base),
        *_neighbours(base),
        *_pools(base, pools),
        *_co_occurrences(base),
        *_lists(base),
        *_labels(base, label_sets),
    ]
    return (
        tuple(way for way in ways if isinstance(way, Variant)),
        tuple(way for way in ways if isinstance(way, NotVaried)),
    )


def wordnet_cut(depth: int, labels: LabelSpace) -> Superclasses:
    """Return superclasses by WordNet alone: the classes below each synset ``depth`` steps below *entity*.

    Steps are counted along hypernym paths; a class with several paths can be in several superclasses, and one
    that is nearer to *entity* is on its own.
    """
    wordnet = load_wordnet()
    members: dict[int, list[int]] = {}
    for index, row in enumerate(wordnet.rows(labels.wnids).tolist()):
        for synset in {path[depth] for path in wordnet.hypernym_paths(row) if len(path) > depth}:
            members.setdefault(synset, []).append(index)
    groups = {synset: classes for synset, classes in sorted(members.items()) if len(classes) > 1}
    return Superclasses(
        names=tuple(wordnet.name(synset) for synset in groups),
        reasons=(f"below one synset at depth {depth}",) * len(groups),
        domains=("WordNet",) * len(groups),
        members=tuple(np.array(classes, dtype=np.int16) for classes in groups.values()),
        n_classes=len(labels),
    )


def with_support(oov: OovEvidence, n_least: int) -> OovEvidence:
    """Return the evidence with a higher bar: out-of-vocabulary only where so many neighbours are kin.

    Rows that do not say how many keep their decision.
    """
    enough = pc.fill_null(pc.greater_equal(oov.table["neighbour_support"], n_least), True)
    decided = pc.and_(oov.table["is_oov"], enough)
    place = oov.table.schema.get_field_index("is_oov")
    return replace(oov, table=oov.table.set_column(place, "is_oov", decided))


def _orders(base: Variant) -> Iterator[Variant]:
    right = tuple(name for name in DEFAULT_ORDER if COUNTS_AS[name] == "right")
    errors = tuple(name for name in DEFAULT_ORDER if name not in right)
    orders = {
        **ORDERS,
        "errors reversed": (*right, *reversed(errors)),
        "all reversed": tuple(reversed(DEFAULT_ORDER)),
    }
    for name, order in orders.items():
        if order != base.basis.inputs.stage_order:
            yield Variant("stage order", name, on_evidence(base.basis, base.basis.evidence, order))


def _superclasses(base: Variant) -> Iterator[Variant]:
    """Cut WordNet; the co-occurrence pairs, which must not be kin, follow."""
    labels, given = base.basis.labels, base.basis.inputs.file("co_occurrence")
    pairs = base.basis.evidence.get("co_occurrence")
    if pairs is not None:
        pairs = pairs.at_least(MIN_IMAGES) if given is None else read_co_occurrence(given, labels)
    for depth in DEPTHS:
        superclasses = wordnet_cut(depth, labels)
        apart = None if pairs is None else pairs.without(superclasses.shares)
        name = f"WordNet at depth {depth}"
        yield base.differently("superclasses", name, superclasses=superclasses, co_occurrence=apart)


def _neighbours(base: Variant) -> Iterator[Variant | NotVaried]:
    choice, oov = "neighbour support", base.basis.evidence.get("oov")
    if oov is None:
        yield NotVaried(choice, "no out-of-vocabulary evidence was given")
    elif oov.table["neighbour_support"].null_count == len(oov.table):
        yield NotVaried(choice, "the evidence does not say how many neighbours are kin")
    else:
        for n_least in NEIGHBOUR_THRESHOLDS:
            yield base.differently(choice, f"{n_least} of 10", oov=with_support(oov, n_least))


def _pools(base: Variant, pools: Mapping[str, OovEvidence]) -> Iterator[Variant | NotVaried]:
    if not pools:
        yield NotVaried("out-of-vocabulary evidence", "no second table of it was given")
    for name, oov in pools.items():
        yield base.differently("out-of-vocabulary evidence", name, oov=oov)


def _co_occurrences(base: Variant) -> Iterator[Variant | NotVaried]:
    choice, pairs = "co-occurrence", base.basis.evidence.get("co_occurrence")
    if pairs is None:
        yield NotVaried(choice, "there are no pairs")
    elif not pairs.n_images.any():
        yield NotVaried(choice, "the pairs were given without the number of images")
    else:
        shares = base.basis.evidence["superclasses"].shares
        for n_least in CO_OCCURRENCE_THRESHOLDS:
            name = f"in {n_least} image{'s' if n_least > 1 else ''}"
            yield base.differently(choice, name, co_occurrence=pairs.at_least(n_least).without(shares))


def _lists(base: Variant) -> Iterator[Variant | NotVaried]:
    choice = "non-prototypical images"
    if base.basis.evidence.get("non_prototypical") is None:
        yield NotVaried(choice, "no list was given")
    else:
        yield base.differently(choice, "no list", non_prototypical=None)


def _labels(base: Variant, label_sets: Mapping[str, Annotations]) -> Iterator[Variant | NotVaried]:
    """Accept other labels on the same images; the evidence stays."""
    choice = "accepted labels"
    if not label_sets:
        yield NotVaried(choice, "no other label set was given")
    for name, other in label_sets.items():
        annotations = on_images_of(base.basis.annotations, other)
        if annotations.evaluated.any():
            yield Variant(choice, f"{name}, same images", replace(base.basis, annotations=annotations))
        else:
            yield NotVaried(choice, f"{name} has labels of no annotated image")
