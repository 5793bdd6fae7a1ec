"""Which class a label written as text means: wnid, whole description, or a name that only one class has.

19 lemmas belong to two classes (crane, cardigan, polecat, ...), so a single synonym is never enough by itself; and
names are compared case-sensitively first (Cardigan is a dog, cardigan a garment), without case only where a file's
texts fit no other way, and then both are meant by ``cardigan``."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from imagenet_errors.labels import LabelSpace, imagenet_1k
from imagenet_errors.shipped import shipped

AMBIGUOUS, UNKNOWN, OUTSIDE, UNMAPPED = -2, -3, -4, -5
"""What a text can mean instead of a class index."""

REASONS = {
    AMBIGUOUS: "the label text means more than one class",
    UNKNOWN: "the label text is no class name",
    OUTSIDE: "the wnid is none of the classes",
    UNMAPPED: "the label is <unmapped>",
}

_WNID = re.compile(r"(?:(?!n\d{8}(?!\d)).*[/\\])?(?P<wnid>n\d{8})(?!\d)", re.IGNORECASE)
"""A wnid in front, or as the folder that a path ends with."""
_NUMBERED = re.compile(r"(?:LABEL|class|cls)[_ ]?(\d{1,9})", re.IGNORECASE)
_VALUED = re.compile(r"(\d{1,9})\s*[:(@=\[]\s*(?:[01]?\.\d+|\d{1,3}(?:\.\d+)?\s*%)[)\]]?")
"""``65 (97.3%)``, ``65:0.973``: the confidence behind an index."""
_UNMAPPED = "<unmapped"
_PROMPT = re.compile(
    r"(?:(?:this|it|that) is )?(?:(?:an?|the)? ?(?:photo|picture|image) (?:of|shows|contains|depicts) )?(?:an? |the )?"
    r"(?P<name>.+)",
    re.IGNORECASE,
)
_PLACE = re.compile(r"(?P<index>\d{1,9})[\s:;,.\-)]+(?P<name>\D.*)")
"""``65 sea snake``: the class index in front of its name."""
_AHEAD = re.compile(r"(?:\d*\.\d+|\d+(?=\s*%))\s*%?[\s:,\-]+(?P<name>\D.*)")
"""``97.3% sea snake``: the confidence in front of a name."""
_BEHIND = re.compile(r"(?P<name>.*\D)[\s(\[:@=]+(?:(?P<index>\d{1,9})|\d*\.?\d+\s*%|\d*\.\d+)[)\]]?")
"""``sea snake (65)``, ``sea snake 97.3%``: the index or the confidence behind a name."""
_DETAILS = {
    "large long-necked wading bird": "n02012849",
    "lifts and moves heavy objects": "n03126707",
}
"""How the definitions of the two cranes begin, whose lemmas are alike; timm writes ``crane: lifts and moves ...``."""
_ENOUGH_TO_KNOW_A_VOCABULARY = 20
"""Distinct labels, nearly all of one published list, from which on that list's own reading of a name is taken."""
_NEARLY_ALL = 0.95

Meanings = dict[str, frozenset[int]]
_NOTHING: frozenset[int] = frozenset()


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
        return _meanings(pairs + [pair for names in _published(self.labels).values() for pair in names])

    @cached_property
    def vocabularies(self) -> tuple[Meanings, ...]:
        """Lists that labels come from: whole lemma lists, our names, first lemmas, published ones."""
        firsts = [(text.split(", ")[0], index) for index, text in enumerate(self.labels.descriptions)]
        ours = list(zip(self.labels.names, range(len(self.labels)), strict=True))
        return (self.descriptions, *(_meanings(names) for names in (ours, firsts, *_published(self.labels).values())))

    @cached_property
    def folded(self) -> LabelTexts:
        """The same without regard to letter case and hyphens: ``cardigan`` then means the dog and the garment."""
        names, descriptions = (tuple(map(_fold, texts)) for texts in (self.labels.names, self.labels.descriptions))
        return _Folded(replace(self.labels, names=names, descriptions=descriptions))

    def classes_of(self, texts: Iterable[str]) -> dict[str, int]:
        """Return for each distinct text its class index, or one of the negative reasons.

        Letter case counts unless a text fits only without it: then the file's writer folded or raised it throughout.
        """
        clear = {text: self._clear(text) for text in texts}
        names = {text: self._name(text) for text, classes in clear.items() if classes is None}
        meant = self._meant(set(names.values()))
        return {
            text: self._one(text, meant.get(names[text], _NOTHING) if classes is None else classes)
            for text, classes in clear.items()
        }

    def _meant(self, names: set[str]) -> Meanings:
        """Return what each name means: by the list that nearly all names are in, else by itself."""
        if any(not self._any(name) and self.folded._any(_fold(name)) for name in names):
            meant = self.folded._read({_fold(name) for name in names})
            return {name: meant[_fold(name)] for name in names}
        return self._read(names)

    def _read(self, names: set[str]) -> Meanings:
        alone = {name: self._alone(name) for name in names}
        known = [name for name in names if alone[name]]
        if len(known) < _ENOUGH_TO_KNOW_A_VOCABULARY:
            return alone
        lists = self._lists_of(known)
        return {name: frozenset().union(*(one.get(name, _NOTHING) for one in lists)) or alone[name] for name in names}

    def _alone(self, name: str) -> frozenset[int]:
        return self.descriptions.get(name) or self.lemmas.get(name) or _NOTHING

    def _lists_of(self, known: list[str]) -> list[Meanings]:
        """Return the lists that hold nearly all the names: one, equally good ones, or two that complete each other."""
        lists: list[Meanings] = []
        rest = known
        for _ in range(2):
            n_in = [sum(name in one for name in rest) for one in self.vocabularies]
            lists += [one for one, n in zip(self.vocabularies, n_in, strict=True) if n and n == max(n_in)]
            rest = [name for name in rest if not any(name in one for one in lists)]
            if len(rest) <= (1 - _NEARLY_ALL) * len(known):
                return lists
        return []

    def _any(self, name: str) -> frozenset[int]:
        return self.descriptions.get(name, _NOTHING) | self.lemmas.get(name, _NOTHING)

    def firsts_of(self, texts: Iterable[str], mark: str) -> dict[str, int] | None:
        """Return the first class of each text that is names joined by a mark; None where one is anything else.

        Names may hold marks themselves (``tabby, tabby cat, lynx``): where the ways to split a text begin with
        different classes, it is ambiguous.
        """
        split = [(text, [_tidy(part) for part in text.split(mark)]) for text in texts]
        within = ", " if mark == "," else f" {mark} "
        for known, fold in ((self, str), (self.folded, _fold)):
            firsts = {text: known._first_names([fold(part) for part in parts], within) for text, parts in split}
            if all(firsts.values()):
                meant = known._read(set().union(*firsts.values()))
                if mark == ",":  # which may stand between the lemmas of one class, each of them another's too
                    meant = {name: classes | known._alone(name) for name, classes in meant.items()}
                return {
                    text: self._one(text, _NOTHING.union(*(meant[name] for name in firsts[text]))) for text in firsts
                }
        return None

    def _first_names(self, parts: list[str], within: str) -> set[str]:
        """Return the names that the parts can begin with, if all of them are names; one name alone is no list.

        ``within``: how a name that holds the mark itself is written.
        """
        names: set[str] = set()
        is_list = [True]  # what stands behind the last part is well divided
        for start in reversed(range(len(parts))):
            stops = range(start + 1, min(len(parts), start + self._most_parts) + 1)
            joined = [within.join(parts[start:stop]) for stop in stops if is_list[stop - start - 1]]
            names = {name for name in joined if self._alone(name)}
            is_list.insert(0, bool(names))
        return names

    @cached_property
    def _most_parts(self) -> int:
        """The most parts between commas that a name has."""
        return 1 + max(name.count(",") for name in self.descriptions)

    def could_mean(self, text: str) -> frozenset[int]:
        """Return every class that the text could mean, in whatever vocabulary and letter case."""
        clear, name = self._clear(text), self._name(text)
        return self._any(name) | self.folded._any(_fold(name)) if clear is None else clear

    def _clear(self, text: str) -> frozenset[int] | None:
        """Return the classes that a wnid, a numbered label or a number before a name means; None if it is neither."""
        wnid = _WNID.match(text)
        if wnid:
            index = self.labels.index_of_wnid.get(wnid["wnid"].lower())
            return _NOTHING if index is None else frozenset([index])
        numbered = _NUMBERED.fullmatch(text) or _VALUED.fullmatch(text)
        if numbered and int(numbered.group(1)) < len(self.labels):
            return frozenset([int(numbered.group(1))])
        if text.startswith(_UNMAPPED):
            return _NOTHING
        detail = self._detail(text)
        place = _PLACE.fullmatch(_tidy(text)) or _BEHIND.fullmatch(_tidy(text))
        if detail is None and place and place["index"]:
            fitting = self.could_mean(place["name"]) & {int(place["index"])}
            return fitting or None
        return detail

    def _detail(self, text: str) -> frozenset[int] | None:
        """Return the class of timm's ``lemmas: definition`` where two classes have these lemmas."""
        lemmas, _, definition = _tidy(text).partition(": ")
        if not definition or len(self.descriptions.get(lemmas, _NOTHING)) < 2:
            return None
        wnid = next((wnid for start, wnid in _DETAILS.items() if definition.startswith(start)), "")
        index = self.labels.index_of_wnid.get(wnid)
        return None if index is None else frozenset([index])

    def _name(self, text: str) -> str:
        """Return a name as the lists have it: Keras writes ``tiger_shark``, timm ``lemmas: definition``."""
        name = _tidy(text)
        lemmas = name.partition(": ")[0]
        if lemmas in self.descriptions or _fold(lemmas) in self.folded.descriptions:
            return lemmas
        if self._any(name):
            return name
        for pattern in (_PLACE, _AHEAD, _BEHIND, _PROMPT):
            found = pattern.fullmatch(name)
            shorter = found["name"].strip(" ([:@=-") if found else name
            name = shorter if self._any(shorter) or pattern is not _PROMPT else shorter.rstrip(".! ")
        return name

    def _one(self, text: str, classes: frozenset[int]) -> int:
        if len(classes) == 1:
            return min(classes)
        if classes:
            return AMBIGUOUS
        if text.startswith(_UNMAPPED):
            return UNMAPPED
        return OUTSIDE if _WNID.match(text) else UNKNOWN


class _Folded(LabelTexts):
    """The texts of a label space whose letter case was dropped; nothing is left to fold."""

    @cached_property
    def lemmas(self) -> Meanings:
        """Every lemma and published name in lower case."""
        pairs = [(_fold(name), index) for names in _published(self.labels).values() for name, index in names]
        own = [
            (lemma, index)
            for index, description in enumerate(self.labels.descriptions)
            for lemma in (self.labels.names[index], *description.split(", "))
        ]
        return _meanings(own + pairs)

    def _alone(self, name: str) -> frozenset[int]:
        return self._any(name)  # subtle: a whole description in lower case may be another class's lemma

    @cached_property
    def vocabularies(self) -> tuple[Meanings, ...]:
        """The lists that labels come from, in lower case."""
        firsts = [(text.split(", ")[0], index) for index, text in enumerate(self.labels.descriptions)]
        ours = list(zip(self.labels.names, range(len(self.labels)), strict=True))
        published = [[(_fold(name), index) for name, index in names] for names in _published(self.labels).values()]
        return (self.descriptions, *(_meanings(names) for names in (ours, firsts, *published)))


def _fold(text: str) -> str:
    """Return a name in lower case, with blanks for hyphens: some write ``sea-snake``."""
    return text.casefold().replace("-", " ")


def _tidy(text: str) -> str:
    """Return a text with single blanks for underscores (no class name of ours has one) and straight apostrophes."""
    spaced = " ".join(text.replace("_", " ").replace("\u2019", "'").split())
    return re.sub(r",(?=\S)", ", ", spaced)


@lru_cache(maxsize=4)
def label_texts(labels: LabelSpace) -> LabelTexts:
    """Return the texts of a label space; made once."""
    return LabelTexts(labels)


def _meanings(pairs: Iterable[tuple[str, int]]) -> Meanings:
    meanings = defaultdict(set)
    for name, index in pairs:
        meanings[name].add(index)
    return {name: frozenset(classes) for name, classes in meanings.items()}


@lru_cache(maxsize=4)
def _published(labels: LabelSpace) -> dict[str, list[tuple[str, int]]]:
    """Return vocabulary -> names with the class of this label space that has the same wnid."""
    wnids = imagenet_1k().wnids
    names = defaultdict(list)
    with shipped("data", "class_names.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            index = labels.index_of_wnid.get(wnids[int(row["index"])])
            if index is not None:
                names[row["vocabulary"]].append((row["name"], index))
    return names
