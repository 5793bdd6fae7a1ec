"""Build data/class_names.csv: other names for the 1000 classes that prediction files carry.

Columns `vocabulary,index,name`: `torchvision` (the categories of its pretrained classifiers' weights),
`open_clip` (the names that zero-shot classifiers are prompted with, Radford et al. 2021, arXiv 2103.00020) and
`simple_labels` (anishathalye/imagenet-simple-labels, public domain, which Ultralytics prints and from which CLIP's
authors made theirs: written down here is where the two differ).
A name may stand for two classes of its vocabulary, or for different classes in different vocabularies, so
look names up within one vocabulary and treat a repeated one as ambiguous.

The packages' lists are read from their source text; nothing is imported. Class order is that of the wnids.
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
SIMPLE_LABELS = {
    7: "cock",
    21: "kite",
    68: "sidewinder",
    84: "peacock",
    87: "grey parrot",
    133: "bittern",
    134: "crane (bird)",
    215: "Brittany",
    219: "Cocker Spaniels",
    224: "Groenendael",
    233: "Bouvier des Flandres",
    256: "Newfoundland",
    257: "Pyrenean Mountain Dog",
    262: "Griffon Bruxellois",
    268: "Mexican hairless dog",
    271: "red wolf",
    312: "cricket",
    315: "mantis",
    321: "red admiral",
    322: "ringlet",
    324: "small white",
    339: "common sorrel",
    348: "ram",
    352: "impala",
    354: "dromedary",
    380: "titi",
    389: "snoek",
    391: "coho salmon",
    392: "rock beauty",
    395: "garfish",
    412: "waste container",
    421: "baluster",
    439: "military cap",
    442: "bell-cot",
    443: "bib",
    456: "bow",
    458: "brass",
    478: "carton",
    492: "chest",
    494: "chime",
    506: "coil",
    509: "confectionery store",
    517: "crane (machine)",
    555: "fire engine",
    556: "fire screen sheet",
    570: "gas mask",
    581: "grille",
    584: "barrette",
    595: "harvester",
    602: "horizontal bar",
    607: "jack-o'-lantern",
    612: "pulled rickshaw",
    623: "paper knife",
    632: "speaker",
    633: "loupe",
    636: "mail bag",
    639: "tank suit",
    644: "match",
    648: "medicine chest",
    661: "Model T",
    666: "mortar",
    667: "square academic cap",
    670: "scooter",
    677: "nail",
    680: "nipple",
    687: "organ",
    692: "packet",
    705: "passenger car",
    725: "pitcher",
    726: "hand plane",
    730: "plow",
    736: "billiard table",
    738: "pot",
    744: "projectile",
    758: "reel",
    769: "ruler",
    770: "running shoe",
    782: "CRT screen",
    789: "shoji",
    796: "ski mask",
    810: "space bar",
    836: "sunglass",
    842: "swimsuit",
    844: "switch",
    876: "tub",
    884: "vault",
    885: "velvet",
    903: "wig",
    908: "wing",
    914: "yawl",
    919: "traffic sign",
    929: "ice pop",
    935: "mashed potato",
    948: "Granny Smith",
    956: "custard apple",
    968: "cup",
    970: "alp",
    977: "shoal",
    978: "seashore",
    995: "earth star",
    996: "hen-of-the-woods",
    998: "ear of corn",
}
"""Class index -> name in imagenet-simple-labels, where open_clip has another one."""


def main() -> str:
    """Build the table, check it and write it."""
    args = parser(__doc__, out="class_names.csv").parse_args()
    with unpacked(TORCHVISION, OPEN_CLIP, given=args.given) as contents:
        names = {
            vocabulary: read_names(contents / source, variable)
            for vocabulary, (source, variable) in VOCABULARIES.items()
        }
    names["simple_labels"] = [SIMPLE_LABELS.get(index, name) for index, name in enumerate(names["open_clip"])]
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
