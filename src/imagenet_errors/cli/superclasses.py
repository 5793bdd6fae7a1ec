"""``imagenet-errors superclasses``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from imagenet_errors.cli import options
from imagenet_errors.cli.screen import console, say
from imagenet_errors.evidence.superclasses import SOURCE


def superclasses(
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
    as_json: options.AsJson = False,
) -> None:
    """Show the superclasses: all of them, one with its members, or those of a class."""
    from imagenet_errors.evidence.superclasses import load_superclasses
    from imagenet_errors.labels import imagenet_1k
    from imagenet_errors.report.superclass_tables import all_view, class_view, superclass_view
    from imagenet_errors.report.superclasses import as_json as as_object
    from imagenet_errors.report.superclasses import find

    relation, labels = load_superclasses(superclasses), imagenet_1k()
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
