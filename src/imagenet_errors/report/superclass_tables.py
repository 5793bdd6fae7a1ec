"""Superclasses in the terminal: all in a table, one with its members, those of a class."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from imagenet_errors.evidence.superclasses import Superclasses
from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import counted

_SHOWN = 6


def all_view(superclasses: Superclasses, labels: LabelSpace, *, rows: Sequence[int] | None = None) -> RenderableType:
    """Return a row a superclass, in file order, with its first members; only of ``rows``, if given."""
    table = Table(show_edge=False, pad_edge=False)
    for column in ("domain", "superclass", "classes", "members"):
        table.add_column(column, justify="right" if column == "classes" else "left")
    chosen = range(len(superclasses)) if rows is None else rows
    for row in chosen:
        domain, name, classes = superclasses.domains[row], superclasses.names[row], superclasses.members[row]
        shown = ", ".join(labels.names[index] for index in classes[:_SHOWN])
        more = f", ... {len(classes) - _SHOWN} more" if len(classes) > _SHOWN else ""
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
        return Group(head, Text("in no superclass: no mistake with it is fine-grained"))
    parts: list[RenderableType] = [head]
    for row in rows:
        others = [labels.names[other] for other in superclasses.members[row] if other != index]
        told = Text(f"{superclasses.names[row]}: ", style="bold")
        told.append(f"{superclasses.reasons[row]} With {', '.join(others)}.", style="not bold")
        parts.append(told)
    return Group(*parts)
