"""One model's predictions as a Parquet file that says what made it, and whether it is what is wanted now.

Columns, a row an image in the order of names: ``file_name`` str, ``predicted_class`` int16 and
``predicted_probability`` float32 (null in an invalid row), ``top5_classes`` list<int16> and
``top5_probabilities`` list<float32>, best first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from imagenet_errors.image_folder import ImageFolder
from imagenet_errors.predict.inference import Outputs
from imagenet_errors.readers.arrow_tables import OUR_METADATA, our_metadata

LAYOUT = 1
"""Raised when files of before can no longer stand for what is written now."""

SCHEMA = pa.schema(
    [
        ("file_name", pa.string()),
        ("predicted_class", pa.int16()),
        ("predicted_probability", pa.float32()),
        ("top5_classes", pa.list_(pa.int16())),
        ("top5_probabilities", pa.list_(pa.float32())),
    ]
)


def prediction_bytes(images: ImageFolder, outputs: Outputs, facts: Mapping[str, Any]) -> bytes:
    """Return the Parquet file; ``facts`` are what its metadata says (JSON under ``imagenet-errors``)."""
    import pyarrow.parquet as pq

    invalid = outputs.classes[:, 0] < 0
    blank = outputs.classes < 0
    lengths = np.where(invalid, 0, (~blank).sum(axis=1))
    offsets = pa.array(np.concatenate(([0], np.cumsum(lengths))).astype(np.int32))
    columns = [
        pa.array(images.names, type=pa.string()),
        pa.array(outputs.classes[:, 0], mask=invalid),
        pa.array(outputs.probabilities[:, 0], mask=invalid),
        pa.ListArray.from_arrays(offsets, pa.array(outputs.classes[~blank])),
        pa.ListArray.from_arrays(offsets, pa.array(outputs.probabilities[~blank])),
    ]
    table = pa.table(columns, schema=SCHEMA.with_metadata({OUR_METADATA: json.dumps(facts).encode()}))
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", use_dictionary=False, write_page_checksum=True)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def why_not_done(path: Path, images: ImageFolder, wanted: Mapping[str, Any]) -> str | None:
    """Return None when the file holds the predictions that are wanted, else why it does not.

    Its content decides: every page's checksum, the image names, and each of the ``wanted`` facts.
    """
    import pyarrow.parquet as pq

    if not path.is_file():
        return "not predicted yet"
    facts = our_metadata(path)
    if facts is None:
        return "the file is damaged, or not of this program"
    for key, value in wanted.items():
        if facts.get(key) != value:
            return f"{key.replace('_', ' ')} was {_short(facts.get(key))}, now {_short(value)}"
    try:
        table = pq.read_table(path, page_checksum_verification=True)
    except (OSError, pa.ArrowException):
        return "the file is damaged"
    if table.schema.remove_metadata() != SCHEMA or table["file_name"].to_pylist() != list(images.names):
        return "its rows are not these images"
    return None


def _short(value: Any) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= 24 else f"{text[:12]}..."
