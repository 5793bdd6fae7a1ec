"""Superclasses: groups of classes that an untrained person confuses; a class may be in several.

The definitions are data, in ``superclasses/*.toml``; how to write them is told in ``superclasses/README.md``,
how they are read in :mod:`imagenet_errors.evidence.superclass_files`.

Source: Peychev et al., NeurIPS 2023, section 3 (fine-grained errors): 161 superclasses of two or more classes
    and 74 classes alone. Their list is not published in a form that can be shipped; ours is our own.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.evidence.source import Loaded, Source, Subject
from imagenet_errors.evidence.superclass_files import NOT_REVIEWED, Group, read_groups
from imagenet_errors.labels import LabelSpace, imagenet_1k
from imagenet_errors.prepared import prepared, stamp
from imagenet_errors.problems import InputError, counted
from imagenet_errors.shipped import shipped
from imagenet_errors.wordnet import load_wordnet

ClassIndices = NDArray[np.int16]


@dataclass(frozen=True, eq=False)
class Superclasses:
    """The S superclasses over C classes, in file order; a superclass is a row 0..S-1 here.

    ``members`` holds one ascending int16 array of class indices a superclass. ``domains``, ``names``
    (unique, a plural: "X and Y are both *terriers*") and ``reasons`` have S entries each.
    """

    names: tuple[str, ...]
    reasons: tuple[str, ...]
    domains: tuple[str, ...]
    members: tuple[ClassIndices, ...]
    n_classes: int

    def __len__(self) -> int:
        """Return the number of superclasses S."""
        return len(self.names)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """int64 [S]: how many classes each holds."""
        return np.array([len(classes) for classes in self.members], dtype=np.int64)

    @cached_property
    def shares(self) -> NDArray[np.bool_]:
        """bool [C, C], symmetric: True where two classes share a superclass, and on the diagonal.

        So a class in no superclass forms one of its own.
        """
        shares = self._smallest_shared >= 0
        np.fill_diagonal(shares, val=True)
        shares.flags.writeable = False
        return shares

    @cached_property
    def singles(self) -> ClassIndices:
        """The classes in no superclass, int16 ascending."""
        return np.flatnonzero(np.diagonal(self._smallest_shared) < 0).astype(np.int16)

    @cached_property
    def _smallest_shared(self) -> NDArray[np.int16]:
        """int16 [C, C]: the smallest superclass that holds both, the first of equals; -1 if none does."""
        table = np.full((self.n_classes, self.n_classes), -1, dtype=np.int16)
        # Largest first, so that what is written last, and stays, is the smallest.
        for row in np.lexsort((-np.arange(len(self)), -self.sizes)):
            classes = self.members[row]
            table[np.ix_(classes, classes)] = row
        return table

    def first_shared(self, a: NDArray[np.integer], b: NDArray[np.integer]) -> NDArray[np.int16]:
        """Return the smallest, so most telling, superclass that holds both of each pair of classes.

        Parameters
        ----------
        a, b
            Class indices [n].

        Returns
        -------
        int16 [n]
            Rows of superclasses, the first in file order among equally small ones; -1 where none holds both.
        """
        rows: NDArray[np.int16] = self._smallest_shared[a, b]
        return rows

    def shared_by(self, a: int, b: int) -> tuple[str, ...]:
        """Return the names of all superclasses that hold both classes, in file order."""
        held = set(self.of_class(a)) & set(self.of_class(b))
        return tuple(self.names[row] for row in sorted(held))

    def of_class(self, index: int) -> tuple[int, ...]:
        """Return the rows of the superclasses that hold a class, ascending; none for a class alone."""
        return tuple(row for row, classes in enumerate(self.members) if index in classes)


def load_superclasses(path: Path | None = None, *, labels: LabelSpace | None = None) -> Superclasses:
    """Load superclasses over ImageNet-1k: the shipped ones, or a user's own.

    Parameters
    ----------
    path
        A folder of TOML files, one TOML file, or the published method's predicate file (JSON);
        None for the definitions that travel with the package.
    labels
        The label space that indices, wnids and names refer to; ImageNet-1k unless given.

    Raises
    ------
    InputError
        There is nothing to read at ``path``, or a file or an entry in it is at fault; the text names the
        file, the entry and the way out.
    """
    if path is None and (labels is None or labels.is_imagenet):
        return _shipped_superclasses()
    if path is None:
        fix = "Pass --superclasses FILE; with wnids, imagenet-errors superclasses propose writes one to begin with."
        raise InputError("superclasses", "those that ship are of ImageNet's classes, not of these", fix=fix)
    labels = labels or imagenet_1k()
    return _relation(read_groups(path, labels, load_wordnet()), len(labels))


@lru_cache(maxsize=1)
def _shipped_superclasses() -> Superclasses:
    labels, folder = imagenet_1k(), shipped("superclasses")
    tables = [shipped("data", name) for name in ("imagenet1k_classes.csv", "wordnet_nouns.parquet")]
    code = [Path(__file__), Path(__file__).with_name("superclass_files.py")]

    def make() -> pa.Table:
        groups = read_groups(folder, labels, load_wordnet())
        columns = {part.name: [getattr(group, part.name) for group in groups] for part in fields(Group)}
        return pa.table({**columns, "classes": pa.array(columns["classes"], type=pa.list_(pa.int16()))})

    kept = prepared(["superclasses", stamp([*folder.glob("*.toml"), *tables, *code])], make)
    return _relation([Group(**{**row, "classes": tuple(row["classes"])}) for row in kept.to_pylist()], len(labels))


def _relation(groups: list[Group], n_classes: int) -> Superclasses:
    return Superclasses(
        names=tuple(group.name for group in groups),
        reasons=tuple(group.reason for group in groups),
        domains=tuple(group.domain for group in groups),
        members=tuple(np.array(group.classes, dtype=np.int16) for group in groups),
        n_classes=n_classes,
    )


def _load(paths: tuple[Path, ...], subject: Subject) -> Loaded:
    if not paths and not subject.labels.is_imagenet:
        return Loaded(None, reason="no superclasses of these classes were given: pass --superclasses DIR")
    if not paths:
        return Loaded(load_superclasses(labels=subject.labels))
    found = load_superclasses(paths[0], labels=subject.labels)
    n_open = sum(name.endswith(f"({NOT_REVIEWED})") for name in found.names)
    return Loaded(found, (f"{counted(n_open, 'superclass', 'superclasses')} {NOT_REVIEWED}",) if n_open else ())


SOURCE = Source(
    "superclasses",
    _load,
    option="superclasses",
    help="Folder or file of superclasses instead of the shipped ones.",
    takes_folder=True,
)
