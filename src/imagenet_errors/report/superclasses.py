"""What people see of the superclasses: in the terminal, all on a page, and their sizes beside the published.

Source of the published sizes: Peychev et al., NeurIPS 2023, and the outputs of their program.
"""

from __future__ import annotations

import difflib
import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from imagenet_errors.evidence.superclasses import Superclasses
from imagenet_errors.labels import GROUPS, LabelSpace
from imagenet_errors.problems import InputError, counted
from imagenet_errors.wordnet import load_wordnet

_STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --soft: #59636e; --line: #d1d9e0; --ground: #fff; --tile: #f6f8fa; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --soft: #9198a1; --line: #3d444d; --ground: #0d1117; --tile: #151b23; }
}
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--ground);
  max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }
nav a { margin-right: .8rem; white-space: nowrap; }
a { color: inherit; }
h2 { border-bottom: 1px solid var(--line); margin-top: 2.5rem; }
section { display: grid; grid-template-columns: repeat(auto-fill, minmax(20rem, 1fr)); gap: .8rem; }
article { background: var(--tile); border: 1px solid var(--line); border-radius: .5rem; padding: .7rem .9rem; }
h3 { margin: 0; font-size: 1rem; }
h3 small, .reason { color: var(--soft); font-weight: normal; }
.reason { margin: .2rem 0 .5rem; }
.members { margin: 0; }
.members span { white-space: nowrap; }
.members i { color: var(--soft); font-style: normal; font-size: .8em; }
"""


_SHOWN_MEMBERS = 6


@dataclass(frozen=True)
class Found:
    """What a person's word means: superclasses, and the class if it is one's name (else None).

    ``is_kind``: the word names no superclass and no class but a kind of thing that members of these superclasses are.
    """

    rows: tuple[int, ...]
    class_index: int | None = None
    is_kind: bool = False


def find(written: str, superclasses: Superclasses, labels: LabelSpace) -> Found:
    """Return the superclass of that name, the superclasses of the class meant by an index, a wnid or a name, or those
    that hold what WordNet calls so: ``dog`` finds whatever contains dogs.

    Raises
    ------
    InputError
        Nothing is called so; the text suggests names.
    """
    folded = [name.casefold() for name in superclasses.names]
    key = " ".join(written.replace("_", " ").split()).casefold()
    if key in folded:
        return Found((folded.index(key),))
    try:
        index = labels.look_up(written, where="superclasses")
    except InputError as error:
        holding = containing(key, superclasses, labels)
        if holding:
            return Found(holding, is_kind=True)
        close = difflib.get_close_matches(key, folded, n=3)
        if not close:
            raise
        also = f" The superclasses most like it: {', '.join(close)}."
        what = f"no superclass or class {written!r}"
        raise InputError("superclasses", what, fix=f"{error.fix}{also}") from error
    return Found(superclasses.of_class(index), index)


def containing(word: str, superclasses: Superclasses, labels: LabelSpace) -> tuple[int, ...]:
    """Return the superclasses with a member that is a ``word`` by WordNet, or with the word in their name."""
    wordnet = load_wordnet()
    words = {word, word.removesuffix("s"), word.removesuffix("es")}
    rows = [wordnet.row(wnid) for wnid in labels.wnids if wnid]
    owner, ancestor = wordnet.ancestor_pairs(np.asarray(rows, dtype=np.int64))
    above, place = np.unique(ancestor, return_inverse=True)
    lemmas = wordnet.lemma_lists.take(pa.Array.from_buffers(pa.int32(), len(above), [None, pa.py_buffer(above)]))
    is_meant = [any(lemma.replace("_", " ").casefold() in words for lemma in names) for names in lemmas.to_pylist()]
    kin = np.unique(owner[np.asarray(is_meant, dtype=np.bool_)[place]])
    with_wnid = np.flatnonzero([bool(wnid) for wnid in labels.wnids])[kin]
    return tuple(
        row
        for row, (name, classes) in enumerate(zip(superclasses.names, superclasses.members, strict=True))
        if words & {*name.casefold().split()} or np.isin(classes, with_wnid).any()
    )


def as_json(superclasses: Superclasses) -> dict[str, list[int]]:
    """Return name -> class indices, for superclasses of two or more classes."""
    pairs = zip(superclasses.names, superclasses.members, strict=True)
    return {name: classes.tolist() for name, classes in pairs if len(classes) > 1}


@dataclass(frozen=True)
class Change:
    """Pairs of classes that came to share a superclass, and pairs that no longer do; int64 [n, 2], a < b."""

    gained: NDArray[np.int64]
    lost: NDArray[np.int64]


def changed_pairs(before: NDArray[np.bool_], after: NDArray[np.bool_]) -> Change:
    """Compare two ``shares`` matrices, bool [C, C]."""
    gained, lost = np.triu(after & ~before, 1), np.triu(before & ~after, 1)
    return Change(np.argwhere(gained), np.argwhere(lost))


@dataclass(frozen=True)
class ShapeRow:
    """One figure of the relation's shape, in words, ours and the published method's."""

    what: str
    ours: str
    published: str


_PUBLISHED_SHAPE = {
    "all": ("161", "2 to 31", "6.65", "4", "74"),
    "organism": ("50", "2 to 31", "9.8", "7.5", "8"),
    "artifact": ("101", "2 to 26", "5.3", "4", "59"),
    "other": ("16", "2 to 18", "6.3", "4", "7"),
}
_PUBLISHED_PAIRS = 5_476


def shape_rows(superclasses: Superclasses, labels: LabelSpace) -> list[ShapeRow]:
    """Return the relation's sizes beside the published ones; a superclass counts in each group it touches."""
    rows = []
    for group in GROUPS:
        figures = _shape(superclasses, labels.in_group(group))
        kinds = ("superclasses", "sizes", "mean size", "median size", "classes alone")
        rows += [
            ShapeRow(f"{group}: {kind}", ours, published)
            for kind, ours, published in zip(kinds, figures, _PUBLISHED_SHAPE[group], strict=True)
        ]
    n_pairs = int(np.triu(superclasses.shares, 1).sum())
    rows.append(ShapeRow("pairs of classes that share one", f"{n_pairs:,}", f"{_PUBLISHED_PAIRS:,}"))
    return rows


def _shape(superclasses: Superclasses, in_group: NDArray[np.bool_]) -> tuple[str, ...]:
    touches = np.array([in_group[classes].any() for classes in superclasses.members], dtype=np.bool_)
    sizes = superclasses.sizes[touches & (superclasses.sizes > 1)]
    n_alone = str(int(in_group[superclasses.singles].sum()))
    if not sizes.size:
        return ("0", "–", "–", "–", n_alone)
    spread = f"{sizes.min()} to {sizes.max()}"
    return (str(len(sizes)), spread, f"{sizes.mean():.2f}", f"{np.median(sizes):g}", n_alone)


def page(superclasses: Superclasses, labels: LabelSpace, *, note: str = "") -> str:
    """Return one HTML page that lists all superclasses by domain, and the classes alone."""
    by_domain = [
        (domain, list(rows))
        for domain, rows in groupby(range(len(superclasses)), key=lambda row: superclasses.domains[row])
    ]
    return "\n".join(_page_lines(by_domain, superclasses, labels, note=note)) + "\n"


def _page_lines(
    by_domain: list[tuple[str, list[int]]], superclasses: Superclasses, labels: LabelSpace, *, note: str
) -> Iterator[str]:
    yield '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>Superclasses</title>\n<style>{_STYLE}</style>\n<h1>{len(superclasses)} superclasses</h1>"
    yield f"<p>{html.escape(note)}</p>\n<nav>"
    yield from (f'<a href="#{domain}">{domain}</a>' for domain, _ in by_domain)
    yield '<a href="#alone">classes alone</a></nav>'
    for domain, rows in by_domain:
        yield f'<h2 id="{domain}">{html.escape(domain)}</h2>\n<section>'
        yield from (_card(row, superclasses, labels) for row in rows)
        yield "</section>"
    alone = _listed(superclasses.singles, labels)
    yield f'<h2 id="alone">{len(superclasses.singles)} classes alone</h2>\n<p class="members">{alone}</p>\n</html>'


def _card(row: int, superclasses: Superclasses, labels: LabelSpace) -> str:
    classes = superclasses.members[row]
    return (
        f"<article><h3>{html.escape(superclasses.names[row])} <small>{len(classes)}</small></h3>"
        f'<p class="reason">{html.escape(superclasses.reasons[row])}</p>'
        f'<p class="members">{_listed(classes, labels)}</p></article>'
    )


def _listed(classes: NDArray[np.integer], labels: LabelSpace) -> str:
    """Return the classes' names, each with its index in small."""
    names = (f"<span>{html.escape(labels.names[index])} <i>{index}</i></span>" for index in classes)
    return ", ".join(names)


def all_view(superclasses: Superclasses, labels: LabelSpace, *, rows: Sequence[int] | None = None) -> RenderableType:
    """Return a row a superclass, in file order, with its first members; only of ``rows``, if given."""
    table = Table(show_edge=False, pad_edge=False)
    for column in ("domain", "superclass", "classes", "members"):
        table.add_column(column, justify="right" if column == "classes" else "left")
    for row in range(len(superclasses)) if rows is None else rows:
        domain, name, classes = superclasses.domains[row], superclasses.names[row], superclasses.members[row]
        shown = ", ".join(labels.names[index] for index in classes[:_SHOWN_MEMBERS])
        more = f", ... {len(classes) - _SHOWN_MEMBERS} more" if len(classes) > _SHOWN_MEMBERS else ""
        table.add_row(Text(domain), Text(name), str(len(classes)), Text(shown + more))
    if rows is not None:
        return Group(table, Text(counted(len(rows), "superclass", "superclasses")))
    n_alone = len(superclasses.singles)
    return Group(table, Text(f"{len(superclasses)} superclasses; {counted(n_alone, 'class', 'classes')} alone"))


def superclass_view(row: int, superclasses: Superclasses, labels: LabelSpace) -> RenderableType:
    """Return one superclass: why its members are confusable, and each of them."""
    head = Text(f"{superclasses.names[row]} ({superclasses.domains[row]})\n", style="bold")
    head.append(superclasses.reasons[row], style="not bold")
    table = Table(show_edge=False, pad_edge=False)
    table.add_column("class", justify="right")
    table.add_column("wnid")
    table.add_column("name")
    for index in superclasses.members[row]:
        table.add_row(str(index), labels.wnids[index], Text(labels.names[index]))
    return Group(head, table)


def class_view(index: int, superclasses: Superclasses, labels: LabelSpace) -> RenderableType:
    """Return a class and each of its superclasses with all members."""
    rows = superclasses.of_class(index)
    head = Text(f"{index} {labels.wnids[index]} {labels.names[index]}", style="bold")
    if not rows:
        return Group(head, Text("in no superclass: no error with it is fine-grained"))
    parts: list[RenderableType] = [head]
    for row in rows:
        others = [labels.names[other] for other in superclasses.members[row] if other != index]
        line = Text(f"{superclasses.names[row]}: ", style="bold")
        line.append(f"{superclasses.reasons[row]} With {', '.join(others)}.", style="not bold")
        parts.append(line)
    return Group(*parts)
