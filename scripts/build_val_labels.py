"""Build data/imagenet_val.parquet: original and ReaL labels of the 50,000 ILSVRC 2012 validation images.

One row an image: `image` int32 (1..50000, the number in ILSVRC2012_val_00000001.JPEG), `label` int16 (the
original label's class index), `real` list<int16> (ReaL labels as published; empty where it gives none).

Both sources list the images by number, so line i is image i + 1; the agreement of the two is checked, which
any other order would bring down to chance.

Sources: Russakovsky et al. 2015 (arXiv 1409.0575), wnids from tensorflow-datasets; Beyer et al. 2020
(arXiv 2006.07159), real.json as timm ships it. Needs data/imagenet1k_classes.csv (scripts/build_classes.py).
"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa

from imagenet_errors.labels import imagenet_1k
from imagenet_errors.problems import InputError
from package_source import TENSORFLOW_DATASETS, TIMM, unpacked
from shipped_table import parser, run, write_parquet

N_IMAGES = 50_000
N_WITHOUT_REAL = 3_163
"""Images that ReaL gives no label: Beyer et al. 2020 keep 46,837 of 50,000."""
N_AGREEING = 42_164
"""Images whose original label is one of their ReaL labels: counted in the two files."""

SCHEMA = pa.schema({"image": pa.int32(), "label": pa.int16(), "real": pa.list_(pa.int16())})


def main() -> str:
    """Build the table, check it and write it."""
    args = parser(__doc__, out="imagenet_val.parquet").parse_args()
    with unpacked(TENSORFLOW_DATASETS, TIMM, given=args.given) as contents:
        labels = read_labels(contents / "tensorflow_datasets/datasets/imagenet2012/validation_labels.txt")
        real = json.loads(Path(contents, "timm/data/_info/imagenet_real_labels.json").read_text())
    check("images", len(labels), N_IMAGES)
    check("lists of ReaL labels", len(real), N_IMAGES)
    check("images without a ReaL label", sum(not accepted for accepted in real), N_WITHOUT_REAL)
    agreeing = sum(label in accepted for label, accepted in zip(labels, real, strict=True))
    check("images whose original label is a ReaL label", agreeing, N_AGREEING)
    table = pa.table({"image": range(1, N_IMAGES + 1), "label": labels, "real": real}, schema=SCHEMA)
    write_parquet(args.out, table)
    return f"{args.out}: {N_IMAGES:,} images, {N_WITHOUT_REAL:,} without ReaL labels, {agreeing:,} agree"


def read_labels(path: Path) -> list[int]:
    """Return each image's class index, in the order of the image numbers."""
    index_of_wnid = imagenet_1k().index_of_wnid
    return [index_of_wnid[wnid] for wnid in path.read_text().split()]


def check(what: str, found: int, known: int) -> None:
    """Refuse sources that differ from the published figures."""
    if found != known:
        raise InputError("validation labels", f"{found:,} {what}, not {known:,}")


if __name__ == "__main__":
    run(main)
