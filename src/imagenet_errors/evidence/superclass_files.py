"""Read definitions of superclasses: TOML files of ours, or the published method's predicate file.

TOML, one file a domain::

    domain = "dogs"
    reviewed = false                         # only of proposals that nobody has looked through yet

    [[superclass]]
    name = "corgis"                          # a plural: "X and Y are both corgis"
    reason = "Low, long dogs with fox-like heads."
    below = ["corgi.n.01"]                   # WordNet 3.0 synsets: every class at or below
    classes = ["263 Pembroke"]               # index or wnid, and the name, which is checked
    except_below = []                        # the same, taken away again
    except_classes = []

Predicate file, one JSON object a line: name -> lists of WordNet lemma names. A class belongs where all lemmas
of any one list occur on its hypernym paths.

Source: the predicate file's layout is that of Peychev et al., NeurIPS 2023
    (eth-sri/automated-error-analysis).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import InputError, counted
from imagenet_errors.wordnet import Wordnet

NOT_REVIEWED = "proposed, not reviewed"
"""What is said with every superclass of a file that says ``reviewed = false``."""
_GUIDE = "superclasses/README.md tells how an entry is written."


@dataclass(frozen=True)
class Group:
    """One superclass as read; ``classes`` are indices, ascending."""

    domain: str
    name: str
    reason: str
    classes: tuple[int, ...]


class _Entry(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    reason: str
    below: list[str] = []
    classes: list[str] = []
    except_below: list[str] = []
    except_classes: list[str] = []


class _Domain(msgspec.Struct, forbid_unknown_fields=True):
    domain: str
    superclass: list[dict[str, Any]]
    reviewed: bool = True


def read_groups(path: Path, labels: LabelSpace, wordnet: Wordnet) -> list[Group]:
    """Read a folder of TOML files (by file name), one TOML file or a predicate file.

    Raises
    ------
    InputError
        Nothing to read, no valid TOML or JSON, an entry at fault, a name used twice.
    """
    tree = _Tree(labels, wordnet)
    if path.suffix.lower() in (".json", ".jsonl"):
        groups = list(_predicate_groups(path, tree))
    else:
        groups = [group for file in _toml_files(path) for group in _toml_groups(file, tree)]
    _check_names(groups, path)
    return groups


@dataclass(frozen=True, eq=False)
class _Tree:
    """The C classes hung into WordNet: which lie at or below a synset, which pass a lemma going up."""

    labels: LabelSpace
    wordnet: Wordnet

    @cached_property
    def _pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Every (class index, synset row at or above it), sorted by the synset."""
        rows = self.wordnet.rows_of_classes(self.labels)
        owner, ancestor = self.wordnet.ancestor_pairs(rows)
        order = np.argsort(ancestor, kind="stable")
        return owner[order], ancestor[order]

    @cached_property
    def _synset_rows(self) -> list[int]:
        """The row of every synset at or above a class, ascending."""
        ancestor = self._pairs[1]
        # Not np.unique, which imports numpy.ma: as long as all the rest.
        return [int(row) for row in ancestor[np.flatnonzero(np.diff(ancestor, prepend=-1))]]

    @cached_property
    def _by_lemma(self) -> tuple[dict[str, set[int]], dict[str, set[int]]]:
        """The classes below every lemma, with its case and without."""
        exact: dict[str, set[int]] = {}
        folded: dict[str, set[int]] = {}
        for row in self._synset_rows:
            below = self._at_or_below(row).tolist()
            for lemma in self.wordnet.lemmas(row):
                exact.setdefault(lemma, set()).update(below)
                folded.setdefault(lemma.casefold(), set()).update(below)
        return exact, folded

    def _at_or_below(self, row: int) -> NDArray[np.int64]:
        owner, ancestor = self._pairs
        return owner[np.searchsorted(ancestor, row) : np.searchsorted(ancestor, row, side="right")]

    @cached_property
    def _row_of_name(self) -> dict[str, int]:
        """The row of every synset at or above a class: far quicker than asking for single ones."""
        rows = np.array(self._synset_rows, dtype=np.int32)
        # Not pa.array, which imports pandas wherever it is installed.
        positions = pa.Array.from_buffers(pa.int32(), len(rows), [None, pa.py_buffer(rows)])
        return dict(zip(self.wordnet.names.take(positions).to_pylist(), self._synset_rows, strict=True))

    def below(self, synset: str, *, where: str) -> set[int]:
        """Return the classes at or below a synset; none at all is a slip."""
        row = self._row_of_name.get(synset)
        classes = self._at_or_below(self.wordnet.row(synset, where=where) if row is None else row)
        if not classes.size:
            fix = "Take the line out, or name a synset above a class."
            raise InputError(where, f"no class is at or below {synset!r}", fix=fix)
        return set(classes.tolist())

    def with_lemmas(self, lemmas: Iterable[str]) -> set[int]:
        """Return the classes on whose hypernym paths every one of the lemmas occurs.

        Case counts where a lemma is written just so (``Cardigan`` is a dog), else it does not.
        """
        exact, folded = self._by_lemma
        keys = [lemma.replace(" ", "_") for lemma in lemmas]
        held = [exact.get(key) or folded.get(key.casefold(), set()) for key in keys]
        return set.intersection(*held) if held else set()


def _toml_files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    files = sorted(path.glob("*.toml")) if path.is_dir() else []
    if not files:
        what = "holds no .toml file" if path.is_dir() else "no such file or folder"
        fix = "Give a folder of TOML files, one TOML file, or a predicate file (.json)."
        raise InputError(path, what, fix=fix)
    return files


def _toml_groups(path: Path, tree: _Tree) -> list[Group]:
    """Read one domain's file."""
    try:
        domain = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), _Domain)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(path, f"no valid TOML: {error}", fix="Correct it there.") from error
    except msgspec.ValidationError as error:
        raise InputError(path, str(error), fix=_GUIDE) from error
    groups = []
    for number, table in enumerate(domain.superclass, 1):
        where = _place(path, number, table)
        entry = _entry(table, where)
        classes = _classes_of(entry, tree, where=where)
        name = entry.name if domain.reviewed else f"{entry.name} ({NOT_REVIEWED})"
        groups.append(Group(domain.domain, name, entry.reason, classes))
    return groups


def _place(path: Path, number: int, table: dict[str, Any]) -> str:
    """Say which entry is meant, as its writer knows it."""
    return f"{path}, superclass {str(table['name'])!r}" if table.get("name") else f"{path}, superclass {number}"


def _entry(table: dict[str, Any], where: str) -> _Entry:
    try:
        entry = msgspec.convert(table, _Entry)
    except msgspec.ValidationError as error:
        raise InputError(where, str(error), fix=_GUIDE) from error
    for part, text in (("name", entry.name), ("reason", entry.reason)):
        if not text.strip() or "\n" in text:
            raise InputError(where, f"the {part} is not one line of text", fix=f"Write the {part} in one line.")
    return entry


def _classes_of(entry: _Entry, tree: _Tree, *, where: str) -> tuple[int, ...]:
    """Return the members: all below and all named, but the exceptions; each must take one away."""
    held = {tree.labels.find(written, where=where) for written in entry.classes}
    for synset in entry.below:
        held |= tree.below(synset, where=where)
    exceptions = [(synset, tree.below(synset, where=where)) for synset in entry.except_below]
    exceptions += [(written, {tree.labels.find(written, where=where)}) for written in entry.except_classes]
    for written, classes in exceptions:
        if not held & classes:
            fix = "Take the exception out, or correct it."
            raise InputError(where, f"the exception {written!r} takes no class away", fix=fix)
    kept = held.difference(*(classes for _, classes in exceptions))
    if len(kept) < 2:
        fix = "Name two or more; a class in no superclass is one of its own without an entry."
        raise InputError(where, f"it has {counted(len(kept), 'class', 'classes')}", fix=fix)
    return tuple(sorted(kept))


def _predicate_groups(path: Path, tree: _Tree) -> Iterator[Group]:
    """Read the published method's file; a superclass that fits no class is left out."""
    for where, name, alternatives in _predicates(path):
        if not alternatives or not all(alternatives):
            fix = 'Write lists of lemmas: {"terrier": [["terrier"], ["toy_terrier"]]}.'
            raise InputError(where, f"{name!r} has an empty list of lemmas", fix=fix)
        held: set[int] = set().union(*(tree.with_lemmas(lemmas) for lemmas in alternatives))
        if held:
            reason = "by lemmas: " + " or ".join(" & ".join(lemmas) for lemmas in alternatives)
            yield Group(path.stem, name, reason.replace("_", " "), tuple(sorted(held)))


def _predicates(path: Path) -> Iterator[tuple[str, str, list[list[str]]]]:
    """Yield (place, name, lists of lemmas) from one JSON object a line, or from one for the whole file."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(path, f"cannot be read: {error}", fix="Give a JSON file of lemma predicates.") from error
    try:
        objects = [(str(path), msgspec.json.decode(text, type=dict[str, list[list[str]]]))]
    except msgspec.MsgspecError:
        objects = [
            (f"{path}, line {number}", _json_object(line, f"{path}, line {number}"))
            for number, line in enumerate(text.splitlines(), 1)
            if line.strip()
        ]
    for where, predicates in objects:
        for name, alternatives in predicates.items():
            yield where, name, alternatives


def _json_object(line: str, where: str) -> dict[str, list[list[str]]]:
    try:
        return msgspec.json.decode(line, type=dict[str, list[list[str]]])
    except msgspec.MsgspecError as error:
        fix = 'Write one object a line: {"terrier": [["terrier"], ["toy_terrier"]]}.'
        raise InputError(where, f"no lemma predicate: {error}", fix=fix) from error


def _check_names(groups: Sequence[Group], path: Path) -> None:
    """Refuse a name used twice: people and ``--json`` know a superclass by its name."""
    names = [group.name for group in groups]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        domains = " and ".join(repr(group.domain) for group in groups if group.name == twice[0])
        what = f"{counted(len(twice), 'name')} used twice"
        raise InputError(path, what, example=f"{twice[0]!r} in {domains}", fix="Give each superclass its own name.")
    if not groups:
        raise InputError(path, "it defines no superclass that holds a class", fix=_GUIDE)
