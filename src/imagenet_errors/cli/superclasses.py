"""``imagenet-errors superclasses``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from imagenet_errors.cli import options
from imagenet_errors.cli.screen import console, remark, say
from imagenet_errors.evidence.superclasses import SOURCE
from imagenet_errors.problems import InputError

superclasses = App(
    name="superclasses",
    help="Show the superclasses: all of them, one with its members, or those of a class; or propose some.",
    help_format="plaintext",
    help_epilogue="Example: imagenet-errors superclasses terriers",
)


@superclasses.default
def show(
    name: Annotated[
        str,
        Parameter(
            help="A superclass, a class by index, wnid or name, or a kind such as dog; all without.",
            group=options.INPUTS,
        ),
    ] = "",
    /,
    *,
    superclasses: Annotated[Path | None, Parameter(help=SOURCE.help, group=options.EVIDENCE)] = None,
    classes: options.Classes = None,
    as_json: options.AsJson = False,
) -> None:
    """Show the superclasses: all of them, one with its members, or those of a class."""
    from imagenet_errors.datasets import load_dataset
    from imagenet_errors.evidence.superclasses import load_superclasses
    from imagenet_errors.report.superclasses import all_view, class_view, find, superclass_view
    from imagenet_errors.report.superclasses import as_json as as_object

    labels = load_dataset(classes=classes).labels
    relation = load_superclasses(superclasses, labels=labels)
    found = find(name, relation, labels) if name else None
    if as_json:
        everything = as_object(relation)
        chosen = (
            everything
            if found is None
            else {relation.names[row]: everything[relation.names[row]] for row in found.rows}
        )
        say(json.dumps(chosen, ensure_ascii=False))
    elif found is None:
        console().print(all_view(relation, labels))
    elif found.is_kind:
        console().print(all_view(relation, labels, rows=found.rows))
    elif found.class_index is None:
        console().print(superclass_view(found.rows[0], relation, labels))
    else:
        console().print(class_view(found.class_index, relation, labels))


@superclasses.command(help_epilogue="Example: imagenet-errors superclasses propose --wordnet --out superclasses.toml")
def propose(
    *,
    wordnet: Annotated[
        bool, Parameter(help="From WordNet, the one source there is.", group=options.INPUTS, negative=())
    ] = False,
    max_leaves: Annotated[int, Parameter(help="The most classes a group may hold.", group=options.INPUTS)] = 25,
    confusions: Annotated[
        Path | None,
        Parameter(help="A run: say how often its models confuse the classes of each group.", group=options.INPUTS),
    ] = None,
    classes: options.Classes = None,
    out: Annotated[
        Path | None, Parameter(help="The TOML file to write; by default printed.", group=options.OUTPUT)
    ] = None,
) -> None:
    """Propose superclasses for classes with wnids: a TOML file with reasons, to be edited before it is used."""
    from imagenet_errors.datasets import load_dataset
    from imagenet_errors.files import write_whole
    from imagenet_errors.study import proposed_superclasses as proposing
    from imagenet_errors.wordnet import load_wordnet

    if not wordnet:
        fix = "Pass --wordnet; what models confuse is no reason to excuse it, so confusions alone propose nothing."
        raise InputError("superclasses propose", "no source of groups was named", fix=fix)
    labels = load_dataset(classes=classes).labels
    groups = proposing.propose(labels, load_wordnet(), max_leaves=max_leaves)
    confused = None if confusions is None else proposing.confusions(confusions, len(labels))
    text = proposing.as_toml(groups, labels, max_leaves=max_leaves, confused=confused)
    if out is None:
        say(text.rstrip())
    else:
        write_whole(out, text.encode())
        remark(f"{len(groups):,} groups, not reviewed: {out}")
