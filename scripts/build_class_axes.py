"""Build data/class_axes.csv: where the 1000 classes sit among the outputs of other models' heads.

Columns `axis,width,position,index,wnid`: output `position` of a head that is `width` wide is class `index`.
Positions that are none of the 1000 are left out, and so is a class that a head lacks.

| axis | head |
|---|---|
| 1001 | background first, then the 1000 (TF-slim, TF-hub, MLPerf) |
| 10450, 11221 | ImageNet-21k as cleaned by Ridnik et al. 2021 (arXiv 2104.10972), winter and autumn release |
| 11821 | timm's 12k |
| 21841, 21843 | ImageNet-22k; 21k of Google's models |
| 21842 | 22k of Microsoft's models: the 1000 first |
| devkit | the 1000 in the order of ILSVRC2012_ID, less one: ILSVRC's development kit, darknet's models |
| imagenet-a, imagenet-r | the 200 classes of Hendrycks et al. (arXiv 1907.07174; 2006.16241) |

Source: timm's package data; devkit: darknet's (Debian). Needs data/imagenet1k_classes.csv (scripts/build_classes.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from imagenet_errors.labels import LabelSpace, imagenet_1k
from imagenet_errors.problems import InputError, counted
from package_source import DARKNET, TIMM, unpacked
from shipped_table import parser, run, write_csv

HEADER = ("axis", "width", "position", "index", "wnid")


@dataclass(frozen=True)
class Head:
    """A head's class list in timm, its width, and how many of the 1000 classes it is known to lack."""

    axis: str
    source: str
    width: int
    n_lacking: int


HEADS = (
    Head("10450", "imagenet21k_miil_w21_synsets.txt", 10_450, 9),
    Head("11221", "imagenet21k_miil_synsets.txt", 11_221, 9),
    Head("11821", "imagenet12k_synsets.txt", 11_821, 7),
    Head("21841", "imagenet22k_synsets.txt", 21_841, 1),
    Head("21842", "imagenet22k_ms_synsets.txt", 21_842, 0),
    Head("21843", "imagenet21k_goog_synsets.txt", 21_843, 1),
    Head("imagenet-a", "imagenet_a_synsets.txt", 200, 800),
    Head("imagenet-r", "imagenet_r_synsets.txt", 200, 800),
)
DEVKIT = Head("devkit", "imagenet.labels.list", 1_000, 0)


def main() -> str:
    """Build the table, check it and write it."""
    args = parser(__doc__, out="class_axes.csv").parse_args()
    labels = imagenet_1k()
    rows = [("1001", 1_001, index + 1, index, wnid) for index, wnid in enumerate(labels.wnids)]
    with unpacked(TIMM, DARKNET, given=args.given) as contents:
        for head in HEADS:
            wnids = Path(contents, "timm/data/_info", head.source).read_text().split()
            rows += head_rows(head, wnids, labels)
        kit = Path(contents, "usr/share/darknet/data", DEVKIT.source).read_text().split()
        rows += head_rows(DEVKIT, kit[: DEVKIT.width], labels)  # behind them come the classes of ImageNet-22k
    write_csv(args.out, HEADER, rows)
    return f"{args.out}: {counted(len(rows), 'position')} on {len(HEADS) + 2} axes"


def head_rows(head: Head, wnids: list[str], labels: LabelSpace) -> list[tuple[str, int, int, int, str]]:
    """Return the rows of one head.

    Raises
    ------
    InputError
        The list has another width, names a class twice, or lacks more or fewer classes than is known.
    """
    found = [
        (head.axis, head.width, position, labels.index_of_wnid[wnid], wnid)
        for position, wnid in enumerate(wnids)
        if wnid in labels.index_of_wnid
    ]
    n_lacking = len(labels) - len({row[3] for row in found})
    if (len(set(wnids)), len(wnids), n_lacking) != (head.width, head.width, head.n_lacking):
        what = f"{len(wnids):,} lines that lack {counted(n_lacking, 'class', 'classes')}"
        raise InputError(head.source, f"{what}, not {head.width:,} and {head.n_lacking:,}")
    return found


if __name__ == "__main__":
    run(main)
