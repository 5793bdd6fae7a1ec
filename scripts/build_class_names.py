"""Build data/class_names.csv: other names for the 1000 classes that prediction files carry.

Columns `vocabulary,index,name`: `torchvision` (the categories of its pretrained classifiers' weights) and
`open_clip` (the names that zero-shot classifiers are prompted with, Radford et al. 2021, arXiv 2103.00020).
A name may stand for two classes of its vocabulary, or for different classes in different vocabularies, so
look names up within one vocabulary and treat a repeated one as ambiguous.

Both lists are read from the packages' source text; nothing is imported. Class order is that of the wnids.
"""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

from imagenet_errors.labels import imagenet_1k
from imagenet_errors.problems import InputError
from package_source import OPEN_CLIP, TORCHVISION, unpacked
from shipped_table import parser, run, write_csv

HEADER = ("vocabulary", "index", "name")
VOCABULARIES = {
    "torchvision": ("torchvision/models/_meta.py", "_IMAGENET_CATEGORIES"),
    "open_clip": ("open_clip/zero_shot_metadata.py", "IMAGENET_CLASSNAMES"),
}


def main() -> str:
    """Build the table, check it and write it."""
    args = parser(__doc__, out="class_names.csv").parse_args()
    with unpacked(TORCHVISION, OPEN_CLIP, given=args.given) as contents:
        names = {
            vocabulary: read_names(contents / source, variable)
            for vocabulary, (source, variable) in VOCABULARIES.items()
        }
    rows = [(vocabulary, index, name) for vocabulary, own in names.items() for index, name in enumerate(own)]
    write_csv(args.out, HEADER, rows)
    return "\n".join([f"{args.out}: {len(rows):,} names", *map(describe, names, names.values())])


def read_names(path: Path, variable: str) -> list[str]:
    """Return a list of names from the source text of a module.

    Raises
    ------
    InputError
        The module assigns no such list, or the list has not one name a class.
    """
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == variable:
            names = ast.literal_eval(statement.value)
            if len(names) == len(imagenet_1k()):
                return [str(name) for name in names]
            raise InputError(path.name, f"{len(names):,} names in {variable}")
    raise InputError(path.name, f"no list {variable}", fix="See where the package keeps its names now.")


def describe(vocabulary: str, names: list[str]) -> str:
    """Say which names stand for several classes."""
    repeated = {name: [i for i, own in enumerate(names) if own == name] for name, n in Counter(names).items() if n > 1}
    return f"  {vocabulary}: repeated names {repeated}"


if __name__ == "__main__":
    run(main)
