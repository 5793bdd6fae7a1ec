"""The content of an annotations file, whatever its layout: one digest for the same labels of the same images."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from imagenet_errors.labels import imagenet_1k
from imagenet_errors.readers.annotations import annotations_table, read_annotations


def content_of(path: Path) -> str:
    """Return the sha256 of one line an image, by name: accepted labels, whether problematic, original label.

    Raises
    ------
    InputError
        The file is no annotations file.
    """
    table = annotations_table(read_annotations(path, imagenet_1k()))
    labels = pc.binary_join(table["labels"].combine_chunks().cast(pa.list_(pa.string())), " ")
    flags = (table[name].cast(pa.string()) for name in ("problematic", "label"))
    lines = pc.binary_join_element_wise(table["file_name"], labels, *flags, "\t")
    return hashlib.sha256("\n".join(lines.to_pylist()).encode()).hexdigest()
