"""Superclasses proposed for classes that have wnids: WordNet's largest groups of few enough classes, to be edited.

Never from confusions: what models confuse would become excusable. A run only tells how often they confuse inside each
proposal, so that its reader knows where to look first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.evidence.superclass_files import NOT_REVIEWED
from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import InputError, counted
from imagenet_errors.wordnet import Wordnet

MAX_LEAVES = 25
"""Of 5 to 40, the size at which such groups agree best with the published method's (kappa .54 on its class pairs)."""


@dataclass(frozen=True)
class Proposal:
    """One group: the classes at or below a synset, ascending; ``paths``: how WordNet leads from each class to it."""

    synset: str
    lemma: str
    classes: tuple[int, ...]
    paths: tuple[str, ...]


def propose(labels: LabelSpace, wordnet: Wordnet, *, max_leaves: int = MAX_LEAVES) -> tuple[Proposal, ...]:
    """Return the largest groups below one synset of 2 to ``max_leaves`` classes; a class may be in several.

    Raises
    ------
    InputError
        Fewer than two classes have a wnid, or ``max_leaves`` is below 2.
    """
    known = [index for index, wnid in enumerate(labels.wnids) if wnid]
    if max_leaves < 2 or len(known) < 2:
        what = f"{counted(len(known), 'class', 'classes')} with a wnid, groups of at most {max_leaves}"
        raise InputError("superclasses propose", what, fix="Give two or more classes wnids, and groups two classes.")
    rows = wordnet.rows([labels.wnids[index] for index in known], where="label space")
    owners, ancestors = wordnet.ancestor_pairs(rows)
    below: dict[int, set[int]] = {}
    for owner, ancestor in zip(owners.tolist(), ancestors.tolist(), strict=True):
        below.setdefault(ancestor, set()).add(known[owner])
    fitting = {synset: held for synset, held in below.items() if 2 <= len(held) <= max_leaves}
    groups: dict[frozenset[int], int] = {}
    for synset in sorted(fitting, key=lambda row: (-len(fitting[row]), -_depth(row, wordnet))):
        held = frozenset(fitting[synset])
        if not any(held <= other for other in groups):
            groups[held] = synset
    row_of = dict(zip(known, rows.tolist(), strict=True))
    return tuple(
        Proposal(
            wordnet.name(synset),
            wordnet.lemmas(synset)[0].replace("_", " "),
            tuple(sorted(held)),
            tuple(_path(row_of[index], synset, wordnet) for index in sorted(held)),
        )
        for held, synset in groups.items()
    )


def _depth(row: int, wordnet: Wordnet) -> int:
    return max(map(len, wordnet.hypernym_paths(row)))


def _path(row: int, synset: int, wordnet: Wordnet) -> str:
    """Return the shortest way up from a class to its group's synset."""
    ways = [path[path.index(synset) :] for path in wordnet.hypernym_paths(row) if synset in path]
    return " < ".join(wordnet.name(step) for step in reversed(min(ways, key=len)))


def confusions(run: Path, n_classes: int) -> NDArray[np.int64]:
    """Return int64 [C, C]: how often the models of a run predicted each class for images of each label.

    Raises
    ------
    InputError
        The folder is no run, or one of other classes.
    """
    from imagenet_errors.runs.directory import VERDICTS, read_run_table
    from imagenet_errors.runs.manifest import read_manifest

    table = np.zeros((n_classes, n_classes), dtype=np.int64)
    for model in read_manifest(run).models:
        path = run / "verdicts" / f"{model}.parquet"
        verdicts = read_run_table(path, VERDICTS, needed=("target", "prediction"), only=True)
        target, prediction = (verdicts[name].to_numpy() for name in ("target", "prediction"))
        if max(target.max(initial=0), prediction.max(initial=0)) >= n_classes:
            raise InputError(run, f"is not about these {n_classes} classes", fix="Pass the --classes of that run.")
        np.add.at(table, (target, prediction), 1)
    return table


def as_toml(
    proposals: tuple[Proposal, ...],
    labels: LabelSpace,
    *,
    max_leaves: int,
    confused: NDArray[np.int64] | None = None,
) -> str:
    """Return the file: a reason for each group, and for each class how WordNet leads to it."""
    lines = [
        f"# {NOT_REVIEWED.capitalize()}: WordNet's largest groups of at most {max_leaves} classes.",
        "# Would an untrained person confuse the classes of a group? Cut groups, join them, name them in the plural;",
        "# then take the line 'reviewed' out.",
        "reviewed = false",
        'domain = "proposed"',
    ]
    names: set[str] = set()
    ordered = proposals if confused is None else sorted(proposals, key=lambda one: -_inside(one, confused))
    for one in ordered:
        name = one.lemma if one.lemma not in names else f"{one.lemma} ({one.synset})"
        names.add(name)
        lines += ["", *_entry(one, name, labels, confused)]
    alone = sorted(set(range(len(labels))) - {index for one in proposals for index in one.classes})
    if alone:
        lines += ["", f"# In no group, {counted(len(alone), 'class', 'classes')}:"]
        lines += [f"# {index} {labels.names[index]}{'' if labels.wnids[index] else ' (no wnid)'}" for index in alone]
    return "\n".join(lines) + "\n"


def _inside(one: Proposal, confused: NDArray[np.int64]) -> int:
    """Return how often models took a class of the group for another one of it."""
    block = confused[np.ix_(one.classes, one.classes)]
    return int(block.sum() - np.trace(block))


def _entry(one: Proposal, name: str, labels: LabelSpace, confused: NDArray[np.int64] | None) -> Iterator[str]:
    reason = f"At or below WordNet's {one.synset}; the group above holds too many classes."
    if confused is not None:
        reason += f" Models of the run confuse them {_inside(one, confused):,} times."
    yield "[[superclass]]"
    yield f"name = {_quoted(name)}"
    yield f"reason = {_quoted(reason)}"
    yield "classes = ["
    for index, path in zip(one.classes, one.paths, strict=True):
        yield f"  {_quoted(f'{index} {labels.names[index]}')},  # {path}"
    yield "]"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
