"""The label space: class index <-> wnid <-> name, and the group of every class."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.problems import InputError, counted
from imagenet_errors.shipped import shipped

ALL = "all"
GROUPS = (ALL, "organism", "artifact", "other")
"""ImageNet's groups of classes that figures are given for; every class is in ``all`` and in one of the others."""


@dataclass(frozen=True, eq=False)
class LabelSpace:
    """The C classes a model chooses from, in index order (ImageNet-1k: wnids ascending).

    ``wnids`` and ``groups`` are empty strings where a class has none.

    ``names`` are unique and short, for people; ``descriptions`` are WordNet's whole lemma lists
    (``"tench, Tinca tinca"``), as timm and the original class list write them, and may repeat.
    """

    wnids: tuple[str, ...]
    names: tuple[str, ...]
    descriptions: tuple[str, ...]
    groups: tuple[str, ...]
    occurring: tuple[int, ...] = ()
    """The classes that a data set's images show, in the order of a head made for them; empty: all C."""

    def __len__(self) -> int:
        """Return the number of classes C."""
        return len(self.wnids)

    @cached_property
    def index_of_wnid(self) -> dict[str, int]:
        """The class index of every wnid."""
        return {wnid: index for index, wnid in enumerate(self.wnids) if wnid}

    @cached_property
    def group_names(self) -> tuple[str, ...]:
        """The groups that figures are given for: all classes first, then ImageNet's in their order, then others."""
        found = dict.fromkeys(group for group in self.groups if group)
        usual = [group for group in GROUPS if group in found]
        return (ALL, *usual, *(group for group in found if group not in GROUPS))

    def rule(self, *, masked: bool) -> str:
        """Say what models choose from: all classes, or (``masked``) only those that occur in the data set."""
        n_occurring = len(self.occurring)
        if masked and n_occurring:
            return f"the best of the {n_occurring:,} classes that occur"
        whole = f"the best of {counted(len(self), 'class', 'classes')}"
        return f"{whole}, {len(self) - n_occurring:,} of which do not occur" if n_occurring else whole

    @property
    def ways_to_write(self) -> str:
        """How a file may name classes, as messages say it."""
        whole = f"class indices 0..{len(self) - 1}"
        return f"{whole} in the order of ascending wnids, wnids or names" if all(self.wnids) else f"{whole} or names"

    def __repr__(self) -> str:
        """Return how many classes there are, and the first."""
        return f"<LabelSpace: {counted(len(self), 'class', 'classes')}, {', '.join(self.names[:3])}, ...>"

    @property
    def is_imagenet(self) -> bool:
        """True for the classes of ImageNet-1k, whose tables travel with the package."""
        return self is imagenet_1k() or self.wnids == imagenet_1k().wnids

    def in_group(self, group: str) -> NDArray[np.bool_]:
        """Return bool [C]: which classes are in the group; ``all`` holds every class."""
        return np.array([group in (ALL, own) for own in self.groups], dtype=np.bool_)

    def find(self, written: str, *, where: Path | str) -> int:
        """Return the index of a class written as ``"5 electric ray"`` or ``"n01496331 electric ray"``.

        The number alone is refused: the name is what a reader checks, and what catches a slip.

        Raises
        ------
        InputError
            No name is given, there is no such class, or the name is another class's.
        """
        key, _, name = written.strip().partition(" ")
        index = self.index_of_wnid.get(key, int(key) if key.isdecimal() else -1)
        if not 0 <= index < len(self):
            raise InputError(where, f"no class {key!r}", fix='Write a class as "5 electric ray".')
        if name.strip() != self.names[index]:
            raise InputError(
                where,
                f"class {key} is {self.names[index]!r}, not {name.strip()!r}",
                fix=f'Write "{key} {self.names[index]}".',
            )
        return index

    def look_up(self, written: str, *, where: Path | str) -> int:
        """Return the index of the class that a person means by an index, a wnid, or a name of it.

        Case is ignored where no class is written just so; a name that several classes have is refused.

        Raises
        ------
        InputError
            No class is called so, or several are.
        """
        key = written.strip()
        if key.isdecimal() and int(key) < len(self):
            return int(key)
        if key in self.names:
            return self.names.index(key)
        exact, folded = self._meanings
        found = exact.get(key) or folded.get(key.casefold().replace("_", " ")) or ()
        if len(found) == 1:
            return found[0]
        if found:
            either = " or ".join(f"{index} ({self.names[index]})" for index in found)
            raise InputError(where, f"{written!r} names {len(found)} classes", fix=f"Write {either}.")
        import difflib

        close = difflib.get_close_matches(key.casefold(), folded, n=3)
        fix = f"Did you mean {' or '.join(close)}?" if close else f"Write an index 0..{len(self) - 1} or a wnid."
        raise InputError(where, f"no class {written!r}", fix=fix)

    @cached_property
    def _meanings(self) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
        """What wnids, names and single lemmas mean, as written and with case folded."""
        exact: dict[str, list[int]] = {}
        for index, (wnid, name, description) in enumerate(zip(self.wnids, self.names, self.descriptions, strict=True)):
            for key in dict.fromkeys(filter(None, (wnid, name, description, *description.split(", ")))):
                exact.setdefault(key, []).append(index)
        folded: dict[str, list[int]] = {}
        for key, classes in exact.items():
            folded[key.casefold()] = sorted({*folded.get(key.casefold(), []), *classes})
        return exact, folded


@lru_cache(maxsize=1)
def imagenet_1k() -> LabelSpace:
    """Load the classes of ImageNet-1k from ``data/imagenet1k_classes.csv``."""
    with shipped("data", "imagenet1k_classes.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    return LabelSpace(
        wnids=tuple(row["wnid"] for row in rows),
        names=tuple(row["name"] for row in rows),
        descriptions=tuple(row["description"] for row in rows),
        groups=tuple(row["group"] for row in rows),
    )
