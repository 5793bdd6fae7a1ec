"""Which class a label written as text means: wnid, whole description, or a name that only one class has.

19 lemmas belong to two classes (crane, cardigan, polecat, ...), so a single synonym is never enough by itself; and
names are compared case-sensitively first (Cardigan is a dog, cardigan a garment).
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

from imagenet_errors.labels import LabelSpace
from imagenet_errors.shipped import shipped

AMBIGUOUS, UNKNOWN, OUTSIDE, UNMAPPED = -2, -3, -4, -5
"""What a text can mean instead of a class index."""

REASONS = {
    AMBIGUOUS: "the label text means more than one class",
    UNKNOWN: "the label text is no class name",
    OUTSIDE: "the wnid is none of the 1000 classes",
    UNMAPPED: "the label is <unmapped>",
}

_ENOUGH_TO_KNOW_A_VOCABULARY = 20
"""Distinct labels, all of one published list, from which on that list's own reading of a name is taken."""

Meanings = dict[str, frozenset[int]]


@dataclass(frozen=True, eq=False)
class LabelTexts:
    """The ways to write the classes of a label space."""

    labels: LabelSpace

    @cached_property
    def descriptions(self) -> Meanings:
        """Whole lemma lists: ``"tench, Tinca tinca"``; ``"crane"`` means two classes."""
        return _meanings(zip(self.labels.descriptions, range(len(self.labels)), strict=True))

    @cached_property
    def lemmas(self) -> Meanings:
        """Every single lemma and every name of a published list, with all the classes it could mean."""
        pairs = [
            (lemma, index)
            for index, description in enumerate(self.labels.descriptions)
            for lemma in (self.labels.names[index], *description.split(", "))
        ]
        return _meanings(pairs + [pair for names in _published().values() for pair in names])

    @cached_property
    def vocabularies(self) -> tuple[Meanings, ...]:
        """Lists that people's labels come from: our names, first lemmas, torchvision's, open_clip's."""
        firsts = [(text.split(", ")[0], index) for index, text in enumerate(self.labels.descriptions)]
        ours = list(zip(self.labels.names, range(len(self.labels)), strict=True))
        return tuple(_meanings(names) for names in (ours, firsts, *_published().values()))

    def classes_of(self, texts: Iterable[str]) -> dict[str, int]:
        """Return for each distinct text its class index, or one of the negative reasons."""
        meant = {text: self._exact(text) for text in texts}
        names = [text for text, classes in meant.items() if classes is None]
        lists = [known for known in self.vocabularies if all(_unspaced(name) in known for name in names)]
        if len(meant) < _ENOUGH_TO_KNOW_A_VOCABULARY or not lists:
            lists = [self.lemmas]
        for name in names:
            meant[name] = frozenset().union(*(known.get(_unspaced(name), frozenset()) for known in lists))
        return {text: self._one(text, classes or frozenset()) for text, classes in meant.items()}

    def _exact(self, text: str) -> frozenset[int] | None:
        """Return the classes that a wnid, description or numbered label means; None if it is none of these."""
        wnid = re.match(r"n\d{8}\b", text)
        if wnid:
            index = self.labels.index_of_wnid.get(wnid.group())
            return frozenset() if index is None else frozenset([index])
        numbered = re.fullmatch(r"LABEL_(\d+)", text)
        if numbered and int(numbered.group(1)) < len(self.labels):
            return frozenset([int(numbered.group(1))])
        if text.startswith("<unmapped"):
            return frozenset()
        return self.descriptions.get(text) or self.descriptions.get(text.partition(": ")[0])

    def _one(self, text: str, classes: frozenset[int]) -> int:
        if len(classes) == 1:
            return min(classes)
        if classes:
            return AMBIGUOUS
        if text.startswith("<unmapped"):
            return UNMAPPED
        return OUTSIDE if re.match(r"n\d{8}\b", text) else UNKNOWN

    def could_mean(self, text: str) -> frozenset[int]:
        """Return every class that the text could mean."""
        return self._exact(text) or self.lemmas.get(_unspaced(text), frozenset())


def _unspaced(name: str) -> str:
    """Keras writes ``great_white_shark``; no class name of ours has an underscore."""
    return name.replace("_", " ").strip()


def _meanings(pairs: Iterable[tuple[str, int]]) -> Meanings:
    meanings = defaultdict(set)
    for name, index in pairs:
        meanings[name].add(index)
    return {name: frozenset(classes) for name, classes in meanings.items()}


@lru_cache(maxsize=1)
def _published() -> dict[str, list[tuple[str, int]]]:
    names = defaultdict(list)
    with shipped("data", "class_names.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            names[row["vocabulary"]].append((row["name"], int(row["index"])))
    return names
