"""The design choices of the method, each varied alone: what could as well have been decided otherwise.

A variant is the annotations, the evidence and the order that the stages get; everything else stays as it is.
The out-of-vocabulary evidence is never made anew, though its making rests on superclasses, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow.compute as pc

from imagenet_errors.chain import COUNTS_AS, DEFAULT_ORDER, PUBLISHED_ORDER
from imagenet_errors.evidence.co_occurrence import MIN_IMAGES, CoOccurrence, read_co_occurrence
from imagenet_errors.evidence.oov import OovEvidence
from imagenet_errors.evidence.sources import Evidence
from imagenet_errors.evidence.superclasses import Superclasses
from imagenet_errors.images import ImageIndex
from imagenet_errors.inputs import Inputs
from imagenet_errors.labels import LabelSpace
from imagenet_errors.readers.annotations import read_real
from imagenet_errors.tables import Annotations
from imagenet_errors.wordnet import load_wordnet

BASE = "as it is"
DEPTHS = (6, 8, 10, 12, 14)
"""Where WordNet is cut: classes are alike that share an ancestor so many steps below *entity*."""
CO_OCCURRENCE_THRESHOLDS = (1, 2, 3, 5)
NEIGHBOUR_THRESHOLDS = tuple(range(1, 11))
"""Of the 10 nearest training images, how many must be kin (Peychev et al., section 3: one)."""


@dataclass(frozen=True, eq=False)
class Variant:
    """One way to decide: ``choice`` is what is varied, ``name`` how."""

    choice: str
    name: str
    annotations: Annotations
    evidence: Evidence
    order: tuple[str, ...]


@dataclass(frozen=True)
class NotVaried:
    """A choice that could not be varied with what was given, and why."""

    choice: str
    reason: str


def variants(
    inputs: Inputs, annotations: Annotations, evidence: Evidence, *, labels: LabelSpace
) -> tuple[tuple[Variant, ...], tuple[NotVaried, ...]]:
    """Return the base and every variant of it, and the choices that cannot be varied here."""
    base = Variant(BASE, BASE, annotations, evidence, inputs.stage_order)
    made: list[Variant] = [base]
    not_varied: list[NotVaried] = []
    for one in (
        *_orders(base),
        *_superclasses(base, inputs, labels),
        *_neighbours(base),
        *_co_occurrences(base),
        *_lists(base),
        *_labels(base, labels),
    ):
        if isinstance(one, Variant):
            made.append(one)
        else:
            not_varied.append(one)
    return tuple(made), tuple(not_varied)


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


def on_same_images(real: Annotations, annotations: Annotations) -> Annotations:
    """Return the annotations with ReaL's accepted labels; what was problematic stays excluded.

    Images without ReaL labels are excluded, too.
    """
    rows = ImageIndex(real.file_names).rows(annotations.file_names, where="ReaL")
    accepted = real.accepted.take(np.maximum(rows, 0))
    return Annotations(
        "real on the same images",
        annotations.file_names,
        annotations.label,
        accepted,
        annotations.problematic | (rows < 0),
    )


def _orders(base: Variant) -> Iterator[Variant]:
    right = tuple(name for name in DEFAULT_ORDER if COUNTS_AS[name] == "right")
    errors = tuple(name for name in DEFAULT_ORDER if name not in right)
    for name, order in {
        "the paper's": DEFAULT_ORDER,
        "the published program's": PUBLISHED_ORDER,
        "errors reversed": (*right, *reversed(errors)),
        "all reversed": tuple(reversed(DEFAULT_ORDER)),
    }.items():
        if order != base.order:
            yield replace(base, choice="stage order", name=name, order=order)


def _superclasses(base: Variant, inputs: Inputs, labels: LabelSpace) -> Iterator[Variant]:
    """Cut WordNet; the co-occurrence pairs, which must not be kin, follow."""
    for depth in DEPTHS:
        superclasses = wordnet_cut(depth, labels)
        pairs = _pairs(base.evidence, inputs, labels).without(superclasses.shares)
        evidence = base.evidence.replace(superclasses=superclasses, co_occurrence=pairs)
        yield replace(base, choice="superclasses", name=f"WordNet at depth {depth}", evidence=evidence)


def _pairs(evidence: Evidence, inputs: Inputs, labels: LabelSpace) -> CoOccurrence:
    """Return the pairs as they were before kin was taken out."""
    given = inputs.file("co_occurrence")
    if given is not None:
        return read_co_occurrence(given, labels)
    pairs: CoOccurrence = evidence["co_occurrence"].at_least(MIN_IMAGES)
    return pairs


def _neighbours(base: Variant) -> Iterator[Variant | NotVaried]:
    choice, oov = "neighbour support", base.evidence.get("oov")
    if oov is None or oov.table["neighbour_support"].null_count == len(oov.table):
        reason = (
            "no out-of-vocabulary evidence was given"
            if oov is None
            else "the evidence does not say how many neighbours are kin"
        )
        yield NotVaried(choice, reason)
        return
    for n_least in NEIGHBOUR_THRESHOLDS:
        evidence = base.evidence.replace(oov=with_support(oov, n_least))
        yield replace(base, choice=choice, name=f"{n_least} of 10", evidence=evidence)


def _co_occurrences(base: Variant) -> Iterator[Variant | NotVaried]:
    choice, known = "co-occurrence", base.evidence["co_occurrence"]
    if not known.n_images.any():
        yield NotVaried(choice, "the pairs were given without the number of images")
        return
    for n_least in CO_OCCURRENCE_THRESHOLDS:
        pairs = known.at_least(n_least).without(base.evidence["superclasses"].shares)
        evidence = base.evidence.replace(co_occurrence=pairs)
        name = f"in {n_least} image{'s' if n_least > 1 else ''}"
        yield replace(base, choice=choice, name=name, evidence=evidence)


def _lists(base: Variant) -> Iterator[Variant | NotVaried]:
    choice = "non-prototypical images"
    if base.evidence.get("non_prototypical") is None:
        yield NotVaried(choice, "no list was given")
        return
    yield replace(base, choice=choice, name="no list", evidence=base.evidence.replace(non_prototypical=None))


def _labels(base: Variant, labels: LabelSpace) -> Iterator[Variant | NotVaried]:
    choice = "accepted labels"
    if base.annotations.name == "real":
        yield NotVaried(choice, "the annotations are ReaL's already")
        return
    annotations = on_same_images(read_real(labels), base.annotations)
    if not annotations.evaluated.any():
        yield NotVaried(choice, "no annotated image has ReaL labels")
        return
    yield replace(base, choice=choice, name="ReaL, same images", annotations=annotations)
