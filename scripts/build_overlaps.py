"""Build data/overlaps.csv: pairs of classes where the second is a right answer for an image of the first.

Columns `label,label_name,also_accepted,also_name,reason`, one row a direction: a Siberian husky may be called
an Eskimo dog, not the other way round.

Source of the pairs: Vasudevan et al. 2022 (arXiv 2205.04596), collapsed mappings; Peychev et al., NeurIPS
2023 (arXiv 2401.02430), class overlap. The reasons are ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

from imagenet_errors.labels import LabelSpace, imagenet_1k
from shipped_table import parser, run, write_csv

HEADER = ("label", "label_name", "also_accepted", "also_name", "reason")


@dataclass(frozen=True)
class OneWay:
    """An image of any of ``labels`` may be called ``also``."""

    labels: tuple[str, ...]
    also: str
    reason: str

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield (label, also accepted)."""
        yield from ((label, self.also) for label in self.labels)


@dataclass(frozen=True)
class Alike:
    """An image of any of ``labels`` may be called any other of them."""

    labels: tuple[str, ...]
    reason: str

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield (label, also accepted)."""
        yield from permutations(self.labels, 2)


OVERLAPS = (
    OneWay(("250 Siberian husky",), "248 Eskimo dog", "husky is another name of the Eskimo dog"),
    OneWay(("249 malamute",), "248 Eskimo dog", "a malamute is an Alaskan breed of Eskimo dog"),
    OneWay(("385 Indian elephant", "386 African elephant"), "101 tusker", "a tusker is an elephant with tusks"),
    OneWay(("504 coffee mug",), "968 cup", "a coffee mug is a kind of cup"),
    OneWay(("482 cassette player",), "848 tape player", "a cassette player plays tapes"),
    OneWay(("435 bathtub",), "876 tub", "tub is short for bathtub"),
    Alike(("836 sunglass", "837 sunglasses"), "both classes were filled with pictures of sunglasses"),
    Alike(("638 maillot", "639 maillot (tank suit)"), "both are the same one-piece garment in two classes"),
    Alike(
        ("657 missile", "744 projectile"),
        "a missile is a projectile, and the pictures of both are of missiles",
    ),
    Alike(("620 laptop", "681 notebook"), "a notebook is a laptop computer under another name"),
    Alike(("664 monitor", "782 screen"), "a monitor is known by its screen, and either names the whole"),
    Alike(
        ("356 weasel", "357 mink", "358 polecat", "359 black-footed ferret"),
        "all four are weasels of one family, whose pictures are mixed up among the four classes",
    ),
)


def main() -> str:
    """Write the table, with every class's name checked against its index."""
    args = parser(__doc__, out="overlaps.csv", needs_packages=False).parse_args()
    labels = imagenet_1k()
    rows = [
        (*read_class(labels, label), *read_class(labels, also), overlap.reason)
        for overlap in OVERLAPS
        for label, also in overlap.pairs()
    ]
    write_csv(args.out, HEADER, sorted(rows))
    return f"{args.out}: {len(rows)} directed pairs"


def read_class(labels: LabelSpace, written: str) -> tuple[int, str]:
    """Return the index and the name of a class; raises InputError where they don't belong together."""
    index = labels.find(written, where="build_overlaps.py")
    return index, labels.names[index]


if __name__ == "__main__":
    run(main)
