"""A small world that a panel judged: seven images, their annotations, evidence, and two files of judgements."""

import json
from dataclasses import dataclass
from pathlib import Path

TENCH, GOLDFISH, SHARK, RAY, HEN, OSTRICH, BRAMBLING = 0, 1, 2, 5, 8, 9, 10

ANNOTATIONS = """\
file_name,labels,label,problematic
i0.JPEG,0,0,false
i1.JPEG,0,0,false
i2.JPEG,0,0,false
i3.JPEG,5,5,false
i4.JPEG,8,8,false
i5.JPEG,8,8,false
i6.JPEG,3,3,true
"""
SUPERCLASSES = """\
domain = "animals"

[[superclass]]
name = "fish"
reason = "They swim."
classes = ["0 tench", "1 goldfish"]
"""
PAIRS = "a,b\n5,10\n"
OOV = """\
file_name,prediction,is_oov
i1.JPEG,9,true
i3.JPEG,10,false
i4.JPEG,10,false
i5.JPEG,10,false
"""
# What the panel says, and in the comment what we say.
JUDGED = (
    ("i0.JPEG", GOLDFISH, "Fine-grained error", "Minor"),  # fine_grained
    ("i1.JPEG", OSTRICH, "Fine-grained error with OOV", "Major"),  # fine_grained_oov
    ("i2.JPEG", OSTRICH, "Fine-grained with OOV", "Major"),  # model_failure; no evidence: undecided
    ("i3.JPEG", BRAMBLING, "Spurious Correlation", "Major"),  # spurious_correlation
    ("i4.JPEG", BRAMBLING, "Non-prototypical", "Borderline"),  # non_prototypical, by the panel's own list
    ("i5.JPEG", BRAMBLING, "Fine-grained error", "Minor"),  # model_failure
)
JUDGED_AGAIN = (
    ("i0.JPEG", GOLDFISH, "Fine-grained error", "Major"),  # same category, another severity
    ("i1.JPEG", OSTRICH, "Spurious Correlation", "Major"),  # another category, same severity
    ("i4.JPEG", BRAMBLING, "Non-prototypical", "Borderline"),  # both the same
    ("i5.JPEG", OSTRICH, "Fine-grained error", "Minor"),  # another prediction: not comparable
)


def write_judgements(path, *rows):
    """Write (image, prediction, category, severity) rows in the panel's layout."""
    keys = ("top_prediction", "failure category", "failure severity")
    content = {name: dict(zip(keys, judgement, strict=True)) for name, *judgement in rows}
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


@dataclass(frozen=True)
class World:
    """Where the files of this world lie."""

    folder: Path

    @property
    def human(self):
        return self.folder / "vit_mistakes.json"

    @property
    def human_again(self):
        return self.folder / "soups_mistakes.json"

    @property
    def annotations(self):
        return self.folder / "annotations.csv"

    @property
    def options(self):
        """The evidence, as options of a command."""
        names = {
            "--annotations": "annotations.csv",
            "--oov-evidence": "oov.csv",
            "--superclasses": "fish.toml",
            "--co-occurrence": "pairs.csv",
        }
        return [part for option, name in names.items() for part in (option, self.folder / name)]


def panel_world(folder):
    """Write the world's files."""
    for name, text in {
        "annotations.csv": ANNOTATIONS,
        "fish.toml": SUPERCLASSES,
        "pairs.csv": PAIRS,
        "oov.csv": OOV,
    }.items():
        (folder / name).write_text(text, encoding="utf-8")
    world = World(folder)
    write_judgements(world.human, *JUDGED)
    write_judgements(world.human_again, *JUDGED_AGAIN)
    return world
