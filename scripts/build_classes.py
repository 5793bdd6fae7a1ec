"""Build data/imagenet1k_classes.csv: index, wnid, synset, name, description and group of the 1000 classes.

The order and the descriptions are timm's (imagenet_synsets.txt, imagenet_synset_to_lemma.txt); a description
is the whole lemma list of WordNet 3.0, which is checked. `name` is short and unique: the first lemma, made
clear where several classes share it whatever the case (crane, cardigan, maillot).

`group` follows the hypernyms, instance hypernyms included: a lemma `organism`, a lemma `artifact`, neither.
Source of the groups: Peychev et al., NeurIPS 2023 (arXiv 2401.02430).

Needs data/wordnet_nouns.parquet (scripts/build_wordnet.py).
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from imagenet_errors.problems import InputError, counted
from imagenet_errors.wordnet import Wordnet, load_wordnet
from package_source import TIMM, unpacked
from shipped_table import parser, run, write_csv

HEADER = ("index", "wnid", "synset", "name", "description", "group")
GROUP_SIZES = {"organism": 410, "artifact": 522, "other": 68}


def main() -> str:
    """Build the table, check it and write it."""
    args = parser(__doc__, out="imagenet1k_classes.csv").parse_args()
    with unpacked(TIMM, given=args.given) as contents:
        folder = contents / "timm/data/_info"
        wnids = Path(folder, "imagenet_synsets.txt").read_text().split()
        written = read_descriptions(folder / "imagenet_synset_to_lemma.txt")
    wordnet = load_wordnet()
    synsets = wordnet.rows(wnids).tolist()
    descriptions = [", ".join(wordnet.lemmas(row)).replace("_", " ") for row in synsets]
    check_descriptions(wnids, descriptions, written)
    names = display_names(wordnet, synsets)
    groups = [group_of(wordnet, row) for row in synsets]
    check_groups(groups)
    columns = (range(len(wnids)), wnids, map(wordnet.name, synsets), names, descriptions, groups)
    write_csv(args.out, HEADER, zip(*columns, strict=True))
    return f"{args.out}: {counted(len(wnids), 'class', 'classes')}, {dict(Counter(groups))}"


def read_descriptions(path: Path) -> dict[str, str]:
    """Return timm's description of each wnid."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t") for line in lines)


def check_descriptions(wnids: list[str], ours: list[str], written: dict[str, str]) -> None:
    """Refuse a source whose descriptions are not WordNet 3.0's lemmas."""
    differ = [wnid for wnid, description in zip(wnids, ours, strict=True) if written[wnid] != description]
    if differ:
        count = counted(len(differ), "description")
        raise InputError("imagenet_synset_to_lemma.txt", f"{count} not WordNet's lemmas", example=differ[0])


def check_groups(groups: list[str]) -> None:
    """Refuse groups of other sizes than the published ones."""
    if Counter(groups) != GROUP_SIZES:
        raise InputError("groups", f"sizes are {dict(Counter(groups))}, not {GROUP_SIZES}")


def display_names(wordnet: Wordnet, synsets: list[int]) -> list[str]:
    """Return a unique name for each class."""
    lemmas = [[lemma.replace("_", " ") for lemma in wordnet.lemmas(row)] for row in synsets]
    shared = Counter(own[0].lower() for own in lemmas)
    names = [own[0] if shared[own[0].lower()] == 1 else clear_name(own) for own in lemmas]
    still_shared = Counter(name.lower() for name in names)
    return [
        name if still_shared[name.lower()] == 1 else f"{name} ({first_lemma_above(wordnet, row)})"
        for name, row in zip(names, synsets, strict=True)
    ]


def clear_name(lemmas: list[str]) -> str:
    """Return a name that the second lemma makes clear: Cardigan Welsh corgi, maillot (tank suit)."""
    first, second = (*lemmas, "")[:2]
    if first in second:
        return second
    return f"{first} ({second})" if second else first


def first_lemma_above(wordnet: Wordnet, row: int) -> str:
    """Return what kind of thing the class is: wading bird, lifting device."""
    return wordnet.lemmas(int(wordnet.hypernyms(row)[0]))[0].replace("_", " ")


def group_of(wordnet: Wordnet, row: int) -> str:
    """Return organism, artifact or other."""
    lemmas = {lemma for above in wordnet.ancestors(row).tolist() for lemma in wordnet.lemmas(above)}
    return next((group for group in ("organism", "artifact") if group in lemmas), "other")


if __name__ == "__main__":
    run(main)
