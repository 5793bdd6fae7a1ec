"""The table of out-of-vocabulary evidence: what CLIP and WordNet said of single cases, computed beforehand.

Source: Peychev et al., NeurIPS 2023, section 3 (fine-grained OOV errors).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from imagenet_errors.images import ImageIndex
from imagenet_errors.problems import InputError, counted
from imagenet_errors.tables import Cases, case_codes

OOV_SCHEMA = pa.schema(
    [
        ("file_name", pa.string()),
        ("prediction", pa.int16()),
        ("is_oov", pa.bool_()),
        ("neighbour_support", pa.int16()),
        ("proposal_count", pa.int32()),
        ("best_synset", pa.string()),
        ("best_name", pa.string()),
        ("best_score", pa.float32()),
        (
            "top_proposals",
            pa.list_(pa.struct([("synset", pa.string()), ("name", pa.string()), ("score", pa.float32())])),
        ),
        ("encoder", pa.string()),
    ]
)
"""The first three columns are needed; the others say why, where they are known."""

_NEEDED = ("file_name", "prediction", "is_oov")


@dataclass(frozen=True, eq=False)
class OovEvidence:
    """One row a case, sorted by ``codes`` int64 [m] (see ``tables.case_codes``), none double.

    ``table`` has the columns of OOV_SCHEMA, in the order of ``codes``; ``n_unknown``: rows left out because
    their image is not annotated.
    """

    codes: NDArray[np.int64]
    table: pa.Table
    n_unknown: int = 0

    @property
    def is_oov(self) -> NDArray[np.bool_]:
        """bool [m]: the decision for each row."""
        return self.table["is_oov"].to_numpy()

    @property
    def details(self) -> pa.StringArray:
        """What else each row says, as the end of a sentence; empty where the table gives only the decision."""
        name, score, support = (self.table[key] for key in ("best_name", "best_score", "neighbour_support"))
        percent = pc.cast(pc.round(pc.multiply(pc.cast(score, pa.float64()), 100), 1), pa.string())
        best = pc.binary_join_element_wise(": the best proposal is “", name, "”", "")
        scored = pc.binary_join_element_wise(" (", percent, " %)", "")
        near = pc.binary_join_element_wise(
            "; neighbours that are kin: ", pc.cast(support, pa.string()), " of 10", ""
        )
        parts = [pc.fill_null(part, "") for part in (best, scored, near)]
        return pc.binary_join_element_wise(*parts, "").combine_chunks()

    def rows_of(self, cases: Cases) -> NDArray[np.int64]:
        """Return int64 [n]: the table's row for each case, -1 where it has none."""
        if not len(self.codes):
            return np.full(len(cases), -1, dtype=np.int64)
        rows = np.minimum(np.searchsorted(self.codes, cases.codes), len(self.codes) - 1)
        return np.where(self.codes[rows] == cases.codes, rows, -1)


def read_oov_evidence(path: Path, images: ImageIndex) -> OovEvidence:
    """Read an evidence table, Parquet or CSV, and match it to the annotated images.

    Raises
    ------
    InputError
        A column is missing or cannot be read as its type, or two rows of one case disagree.
    """
    table = _conformed(_read(path), path)
    rows = images.rows(table["file_name"].combine_chunks(), where=path)
    codes = case_codes(rows, table["prediction"].to_numpy())
    order = np.flatnonzero(rows >= 0)
    order = order[np.argsort(codes[order], kind="stable")]
    codes, decided = codes[order], table["is_oov"].to_numpy()[order]
    again = np.concatenate(([False], codes[1:] == codes[:-1]))
    torn = again & (np.concatenate(([False], decided[1:] != decided[:-1])))
    if torn.any():
        row = int(order[np.argmax(torn)])
        raise InputError(
            path,
            f"{counted(int(torn.sum()), 'case')} judged both ways",
            example=f"{table['file_name'][row]}, class {table['prediction'][row]}",
            fix="Keep one row for each file_name and prediction.",
        )
    return OovEvidence(codes[~again], table.take(pa.array(order[~again])), int((rows < 0).sum()))


def _read(path: Path) -> pa.Table:
    import pyarrow.csv
    import pyarrow.parquet

    try:
        with path.open("rb") as start:
            is_parquet = start.read(4) == b"PAR1"
        return pyarrow.parquet.read_table(path) if is_parquet else pyarrow.csv.read_csv(path)
    except pa.ArrowException as error:
        raise InputError(path, f"not a Parquet or CSV table: {error}", fix="Make it again.") from None


def _conformed(table: pa.Table, path: Path) -> pa.Table:
    """Return the table with exactly the columns and types of OOV_SCHEMA; unknown values are null."""
    missing = [name for name in _NEEDED if name not in table.column_names]
    if missing:
        raise InputError(
            path,
            f"no column {', '.join(missing)}; it has {', '.join(table.column_names)}",
            fix=f"An evidence table needs {', '.join(_NEEDED)}.",
        )
    columns = []
    for column in OOV_SCHEMA:
        try:
            known = column.name in table.column_names
            columns.append(
                table[column.name].cast(column.type) if known else pa.nulls(len(table), column.type)
            )
        except pa.ArrowException as error:
            raise InputError(
                path, f"column {column.name} is not {column.type}: {error}", fix="Make the table again."
            ) from None
        if column.name in _NEEDED and columns[-1].null_count:
            raise InputError(path, f"empty cells in {column.name}", fix="Fill or drop those rows.")
    return pa.table(columns, schema=OOV_SCHEMA)
