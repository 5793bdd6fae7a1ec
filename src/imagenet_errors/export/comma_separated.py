"""CSV for spreadsheets: one row a verdict; what a spreadsheet would take for a formula is text.

Source: OWASP, *CSV Injection*: cells that begin with ``= + - @``, a tab or a carriage return.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from imagenet_errors.export.rows import ModelRows, RunToExport

OPEN = "Open {out}/verdicts.csv in a spreadsheet; an apostrophe before = + - @ keeps text from being a formula."
_FORMULA = r"^[=+\-@\t\r]"
_TEXTS = ("model", "file_name", "target_name", "prediction_name", "error_type", "explanation")
SCHEMA = pa.schema(
    [
        ("model", pa.string()),
        ("file_name", pa.string()),
        ("target", pa.int16()),
        ("target_name", pa.string()),
        ("prediction", pa.int16()),
        ("prediction_name", pa.string()),
        ("confidence", pa.float32()),
        ("accepted", pa.string()),
        ("accepted_names", pa.string()),
        ("error_type", pa.string()),
        ("explanation", pa.string()),
    ]
)


def write(run: RunToExport, folder: Path) -> None:
    """Write ``verdicts.csv``: all models, one after the other."""
    with pyarrow.csv.CSVWriter(folder / "verdicts.csv", SCHEMA) as writer:
        for rows in run.rows():
            writer.write_table(_as_text(rows))


def _as_text(rows: ModelRows) -> pa.Table:
    accepted = rows.accepted()
    names = pa.array(rows.class_names, type=pa.string()).take(pa.array(accepted.values))
    lists = {
        "accepted": pa.array(accepted.values).cast(pa.string()),
        "accepted_names": names,
    }
    columns = {name: escaped(rows.table[name].cast(pa.string())) for name in _TEXTS}
    columns |= {
        name: escaped(pc.binary_join(pa.ListArray.from_arrays(accepted.offsets, values), "; "))
        for name, values in lists.items()
    }
    whole = [columns[name] if name in columns else rows.table[name] for name in SCHEMA.names]
    return pa.table(whole, schema=SCHEMA)


def escaped(texts: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    """Return the texts, those that begin like a formula behind an apostrophe."""
    marked = pc.binary_join_element_wise("'", texts, "")
    return pc.if_else(pc.match_substring_regex(texts, _FORMULA), marked, texts)
