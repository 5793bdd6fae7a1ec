"""The table of out-of-vocabulary evidence: what CLIP and WordNet said of single cases, computed beforehand.

Source: Peychev et al., NeurIPS 2023, section 3 (fine-grained OOV errors).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from imagenet_errors.evidence.source import Loaded, Source, Subject
from imagenet_errors.images import ImageIndex
from imagenet_errors.labels import LabelSpace, imagenet_1k
from imagenet_errors.problems import InputError, counted
from imagenet_errors.readers.tables import Column, Kind, read_table
from imagenet_errors.tables import Annotations, Cases, case_codes, split_codes

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
        ("neighbour_classes", pa.list_(pa.int16())),
        ("neighbour_is_kin", pa.list_(pa.bool_())),
        ("pool", pa.string()),
    ]
)
"""The first three columns are needed; the others say why, where they are known. The last three: the classes of the 10
nearest images of the pool, nearest first; which of them share a superclass with the prediction; what the pool is."""

_ENOUGH_CASES, _FEW = 100, 0.02
_NEEDED = ("file_name", "prediction", "is_oov")


@dataclass(frozen=True, eq=False)
class OovEvidence:
    """One row a case, sorted by ``codes`` int64 [m] (see ``tables.case_codes``), none double.

    ``table`` has the columns of OOV_SCHEMA, in the order of ``codes``; ``n_unknown``: rows left out because
    their image is not annotated.
    """

    codes: NDArray[np.int64]
    table: pa.Table
    n_unknown: int
    labels: LabelSpace = field(default_factory=imagenet_1k)

    @property
    def is_oov(self) -> NDArray[np.bool_]:
        """bool [m]: the decision for each row."""
        decided: NDArray[np.bool_] = self.table["is_oov"].to_numpy()
        return decided

    @property
    def details(self) -> pa.StringArray:
        """What else each row says, as the end of a sentence; empty where only the decision is known."""
        name, score, support = (self.table[key] for key in ("best_name", "best_score", "neighbour_support"))
        percent = pc.cast(pc.round(pc.multiply(pc.cast(score, pa.float64()), 100), 1), pa.string())
        best = pc.binary_join_element_wise(": the best proposal is “", name, "”", "")
        scored = pc.binary_join_element_wise(" (", percent, " %)", "")
        near = pc.binary_join_element_wise("; neighbours that are kin: ", pc.cast(support, pa.string()), " of 10", "")
        parts = [pc.fill_null(part, "") for part in (best, scored, near)]
        return pc.binary_join_element_wise(*parts, "").combine_chunks()

    def shown(self, row: int, names: pa.StringArray) -> tuple[str, ...]:
        """Return all that one row says, a line each, for a reader who doubts it; ``names``: the classes'."""
        known = {key: self.table[key][row].as_py() for key in self.table.column_names}
        lines = []
        if known["neighbour_classes"]:
            near = zip(known["neighbour_classes"], known["neighbour_is_kin"] or repeat(False), strict=False)
            told = (f"{names[index]} (kin)" if is_kin else str(names[index]) for index, is_kin in near)
            lines.append(f"nearest images of {known['pool'] or 'the training set'}: {', '.join(told)}")
        if known["neighbour_support"] is not None:
            lines.append(f"kin of the prediction among the 10 nearest: {known['neighbour_support']} (1 is enough)")
        for place, proposal in enumerate(known["top_proposals"] or (), start=1):
            inside = self.labels.index_of_wnid.get(proposal["synset"])
            where = "outside the classes" if inside is None else f"class {names[inside]}"
            lines.append(f"{place}. {proposal['name']} {proposal['score']:.1%} ({proposal['synset']}, {where})")
        if known["proposal_count"] is not None:
            lines.append(f"of {known['proposal_count']} proposals, scored by {known['encoder'] or 'CLIP'}")
        return tuple(lines)

    def rows_of(self, cases: Cases) -> NDArray[np.int64]:
        """Return int64 [n]: the table's row for each case, -1 where it has none."""
        if not len(self.codes):
            return np.full(len(cases), -1, dtype=np.int64)
        rows = np.minimum(np.searchsorted(self.codes, cases.codes), len(self.codes) - 1)
        return np.where(self.codes[rows] == cases.codes, rows, -1)


def read_oov_evidence(path: Path, images: ImageIndex, labels: LabelSpace | None = None) -> OovEvidence:
    """Read an evidence table, Parquet or CSV, and match it to the annotated images; ``labels``: ImageNet's if None.

    Raises
    ------
    InputError
        A column is missing or cannot be read as its type, a prediction is no class, no image is annotated,
        or two rows of one case disagree.
    """
    labels = labels or imagenet_1k()
    table = conformed_table(path, labels)
    rows = images.rows(table["file_name"].combine_chunks(), where=path)
    if len(rows) and (rows < 0).all():
        what = f"none of its {counted(len(rows), 'row')} is about an annotated image"
        raise InputError(path, what, example=table["file_name"][0], fix="Check the image names.")
    codes = case_codes(rows, table["prediction"].to_numpy())
    order = np.flatnonzero(rows >= 0)
    order = order[np.argsort(codes[order], kind="stable")]
    codes, decided = codes[order], table["is_oov"].to_numpy()[order]
    again, torn = np.zeros((2, len(codes)), dtype=np.bool_)
    again[1:] = codes[1:] == codes[:-1]
    torn[1:] = again[1:] & (decided[1:] != decided[:-1])
    if torn.any():
        row = int(order[np.argmax(torn)])
        raise InputError(
            path,
            f"{counted(int(torn.sum()), 'case')} judged both ways",
            example=f"{table['file_name'][row]}, class {table['prediction'][row]}",
            fix="Keep one row for each file_name and prediction.",
        )
    return OovEvidence(codes[~again], table.take(pa.array(order[~again])), int((rows < 0).sum()), labels)


def conformed_table(path: Path, labels: LabelSpace | None = None) -> pa.Table:
    """Read an evidence table as one with exactly the columns and types of OOV_SCHEMA; unknown values are null.

    Raises
    ------
    InputError
        It is no table, lacks a column, or a column is of another type.
    """
    table = read_table(path, [_wanted(field) for field in OOV_SCHEMA], labels=labels or imagenet_1k())
    columns = [_column(table, field, path) for field in OOV_SCHEMA]
    return pa.table(columns, schema=OOV_SCHEMA)


def _wanted(field: pa.Field) -> Column:
    if field.name == "prediction":
        return Column(field.name, Kind.CLASS)
    if field.name == "is_oov":
        return Column(field.name, Kind.FLAG)
    kinds = {pa.string(): Kind.TEXT, pa.int16(): Kind.WHOLE, pa.int32(): Kind.WHOLE, pa.float32(): Kind.NUMBER}
    return Column(field.name, kinds.get(field.type, Kind.ANY), needed=field.name in _NEEDED)


def _column(table: pa.Table, wanted: pa.Field, path: Path) -> pa.ChunkedArray:
    """Return one column as its type; lists written out as text, as in CSV, count as unknown."""
    given = table[wanted.name] if wanted.name in table.column_names else pa.nulls(len(table))
    if pa.types.is_list(wanted.type) and not pa.types.is_list(given.type):
        given = pa.nulls(len(table))
    try:
        return given.cast(wanted.type)
    except pa.ArrowException as error:
        raise InputError(
            path, f"column {wanted.name} is not {wanted.type}: {error}", fix="Make the table again."
        ) from None


def _refuse_from_1(path: Path, oov: OovEvidence, annotations: Annotations) -> None:
    """Refuse rows of which many predict the original label, which no mistake does, and none with every class -1."""
    rows, prediction = split_codes(oov.codes)
    counts = ~annotations.label_is_rejected[rows]
    label, prediction = annotations.label[rows][counts], prediction[counts]
    as_written, less = (int((label == prediction - by).sum()) for by in (0, 1))
    if len(label) >= _ENOUGH_CASES and as_written > _FEW * len(label) and not less:
        raise InputError(
            path,
            f"{as_written:,} of {len(label):,} rows are about a prediction that equals the original label, none with "
            "every class -1: the classes count from 1",
            fix="Write class indices from 0 on (subtract 1), or wnids.",
        )


def _load(paths: tuple[Path, ...], subject: Subject) -> Loaded:
    if not paths:
        return Loaded(None, reason="no out-of-vocabulary evidence was given: pass --oov-evidence FILE")
    oov = read_oov_evidence(paths[0], subject.images, subject.labels)
    _refuse_from_1(paths[0], oov, subject.annotations)
    left_out = f"{counted(oov.n_unknown, 'row')} of {paths[0].name} left out: no annotated image"
    made_with = [
        f"Out-of-vocabulary evidence rests on {what} {value} in {n_rows:,} of {len(oov.table):,} rows"
        for what, column in (("the encoder", "encoder"), ("neighbours among", "pool"))
        for value, n_rows in _counts(oov.table[column])
    ]
    return Loaded(oov, (*((left_out,) if oov.n_unknown else ()), *made_with))


def _counts(column: pa.ChunkedArray) -> list[tuple[str, int]]:
    """Return each value of a column that is known, the commonest first, with its number of rows."""
    counts = pc.value_counts(column.drop_null()).to_pylist()
    return sorted(((each["values"], each["counts"]) for each in counts), key=lambda each: (-each[1], each[0]))


SOURCE = Source("oov", _load, option="oov_evidence", help="Out-of-vocabulary evidence, Parquet or CSV.")
