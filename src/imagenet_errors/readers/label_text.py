"""Which class a label written as text means: wnid, whole description, or a name that only one class has.

19 lemmas belong to two classes (crane, cardigan, polecat, ...), so a single synonym is never enough by
itself; and names are compared case-sensitively first (Cardigan is a dog, cardigan a garment)."""

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

_WNID, _NUMBERED = re.compile(r"n\d{8}\b"), re.compile(r"LABEL_(\d+)")
_UNMAPPED = "<unmapped"
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
        """Lists that labels come from: whole lemma lists, our names, first lemmas, published ones."""
        firsts = [(text.split(", ")[0], index) for index, text in enumerate(self.labels.descriptions)]
        ours = list(zip(self.labels.names, range(len(self.labels)), strict=True))
        return (self.descriptions, *(_meanings(names) for names in (ours, firsts, *_published().values())))

    def classes_of(self, texts: Iterable[str]) -> dict[str, int]:
        """Return for each distinct text its class index, or one of the negative reasons."""
        numbered = {text: self._numbered(text) for text in texts}
        names = {text: self._name(text) for text, classes in numbered.items() if classes is None}
        lists = [known for known in self.vocabularies if all(name in known for name in names.values())]
        if len(names) < _ENOUGH_TO_KNOW_A_VOCABULARY or not lists:
            meant = {name: self.descriptions.get(name) or self.lemmas.get(name) for name in names.values()}
        else:
            meant = {name: frozenset().union(*(known[name] for known in lists)) for name in names.values()}
        return {
            text: self._one(text, (meant[names[text]] if classes is None else classes) or frozenset())
            for text, classes in numbered.items()
        }

    def could_mean(self, text: str) -> frozenset[int]:
        """Return every class that the text could mean, in whatever vocabulary."""
        numbered, name = self._numbered(text), self._name(text)
        nothing: frozenset[int] = frozenset()
        either = self.descriptions.get(name, nothing) | self.lemmas.get(name, nothing)
        return either if numbered is None else numbered

    def _numbered(self, text: str) -> frozenset[int] | None:
        """Return the classes that a wnid or a numbered label means; None if it is neither."""
        wnid = _WNID.match(text)
        if wnid:
            index = self.labels.index_of_wnid.get(wnid.group())
            return frozenset() if index is None else frozenset([index])
        numbered = _NUMBERED.fullmatch(text)
        if numbered and int(numbered.group(1)) < len(self.labels):
            return frozenset([int(numbered.group(1))])
        return frozenset() if text.startswith(_UNMAPPED) else None

    def _name(self, text: str) -> str:
        """Return a name as the lists have it: Keras writes ``tiger_shark``, timm ``lemmas: definition``."""
        name = text.replace("_", " ").strip()  # no class name of ours has an underscore
        lemmas = name.partition(": ")[0]
        return lemmas if lemmas in self.descriptions else name

    def _one(self, text: str, classes: frozenset[int]) -> int:
        if len(classes) == 1:
            return min(classes)
        if classes:
            return AMBIGUOUS
        if text.startswith(_UNMAPPED):
            return UNMAPPED
        return OUTSIDE if _WNID.match(text) else UNKNOWN


@lru_cache(maxsize=4)
def label_texts(labels: LabelSpace) -> LabelTexts:
    """Return the texts of a label space; made once."""
    return LabelTexts(labels)


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
