"""The published agreement with the panel, to set beside ours, and the stage order that each figure belongs to.

Source: Peychev et al., NeurIPS 2023, comparison with the experts; the single verdicts are those that their
    program published.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.chain import DEFAULT_ORDER, ERROR_TYPES, PUBLISHED_ORDER
from imagenet_errors.images import ImageIndex
from imagenet_errors.problems import InputError, counted
from imagenet_errors.study.outcomes import CATEGORIES, PAPERS_COLUMNS, PanelOutcomes
from imagenet_errors.tables import Cases, case_codes

PAPER, PROGRAM = "the paper's", "the published program's"
ORDERS = {PAPER: DEFAULT_ORDER, PROGRAM: PUBLISHED_ORDER}
"""The two published stage orders by name; the program asks for spurious correlations one stage earlier."""
Row = dict[str, int]


@dataclass(frozen=True)
class PublishedAgreement:
    """What was published of one model: totals, and a table by the panel's category and theirs.

    ``n_agree``: stage order -> cases in the same category; an order of "" is not stated. ``n_failures`` is the
    same in both orders. ``cells`` belong to ``order_of_cells``; ``is_whole``: they are the published table,
    else what single published verdicts force, so the least that the published table can hold.
    """

    model: str
    n: int
    n_agree: dict[str, int]
    n_failures: int
    n_human: Row
    cells: dict[str, Row]
    order_of_cells: str
    is_whole: bool

    @property
    def n_settled(self) -> int:
        """Cases of which a published verdict is known."""
        return sum(sum(row.values()) for row in self.cells.values())

    def is_apart(self, ours: PanelOutcomes, human: str, column: str) -> bool:
        """Tell whether a cell of ours cannot be the published one, whatever the unknown evidence says.

        Where only the least of a published cell is known, one that stays below it is apart.
        """
        _, least, most = ours.counts.cell(human, column)
        count = self.cells[human][column]
        return most < count or (self.is_whole and least > count)


def _table(*rows: tuple[int, ...]) -> dict[str, Row]:
    return {name: dict(zip(PAPERS_COLUMNS, row, strict=True)) for name, row in zip(CATEGORIES, rows, strict=True)}


PUBLISHED = (
    PublishedAgreement(
        model="ViT-3B",
        n=378,
        n_agree={"": 225},
        n_failures=69,
        n_human=dict(zip(CATEGORIES, (242, 54, 30, 52), strict=True)),
        cells=_table((173, 13, 0, 10, 13), (7, 14, 0, 11, 4), (10, 2, 5, 3, 0), (8, 5, 0, 7, 5)),
        order_of_cells=PROGRAM,
        is_whole=False,
    ),
    PublishedAgreement(
        model="Greedy Soups",
        n=249,
        n_agree={PAPER: 164, PROGRAM: 162},
        n_failures=30,
        n_human=dict(zip(CATEGORIES, (172, 26, 19, 32), strict=True)),
        cells=_table((140, 12, 1, 7, 12), (8, 8, 0, 5, 5), (7, 1, 9, 2, 0), (7, 5, 0, 7, 13)),
        order_of_cells=PAPER,
        is_whole=True,
    ),
)
"""Greedy Soups' table is the paper's, and adds up to 164. Of ViT-3B the paper gives totals without their order;
the cells are counted from the single verdicts that the program published."""


def published_for(outcomes: PanelOutcomes) -> PublishedAgreement | None:
    """Return the published figures of the very cases, known by how many the panel put into each category."""
    counts = np.bincount(outcomes.human, minlength=len(ERROR_TYPES))
    ours = {name: int(counts[ERROR_TYPES.index(name)]) for name in CATEGORIES}
    return next((known for known in PUBLISHED if known.n_human == ours), None)


@dataclass(frozen=True, eq=False)
class PublishedVerdicts:
    """Published error types of single cases: ``codes`` int64 [m] ascending, ``error_type`` int8 [m]."""

    codes: NDArray[np.int64]
    error_type: NDArray[np.int8]

    def of(self, cases: Cases) -> NDArray[np.int8]:
        """Return int8 [n]: each case's published error type, -1 where none is known."""
        if not len(self.codes):
            return np.full(len(cases), -1, dtype=np.int8)
        at = np.minimum(np.searchsorted(self.codes, cases.codes), len(self.codes) - 1)
        return np.where(self.codes[at] == cases.codes, self.error_type[at], np.int8(-1))


def read_published_verdicts(path: Path, images: ImageIndex) -> PublishedVerdicts:
    """Read a CSV with columns ``file_name``, ``prediction``, ``error_type``; others' images are left out.

    Raises
    ------
    InputError
        A column is missing, a prediction is no number or an error type is not one of ``chain.ERROR_TYPES``.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            rows = [(row["file_name"], int(row["prediction"]), row["error_type"]) for row in csv.DictReader(lines)]
    except (OSError, UnicodeDecodeError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            path, f"no table of verdicts: {error}", fix="Give a CSV with file_name,prediction,error_type."
        ) from None
    unknown = [kind for _, _, kind in rows if kind not in ERROR_TYPES]
    if unknown:
        what = f"{counted(len(unknown), 'verdict')} of an unknown error type"
        raise InputError(path, what, example=unknown[0], fix=f"Known are: {', '.join(ERROR_TYPES)}.")
    place = images.rows(pa.array([name for name, _, _ in rows], type=pa.string()), where=path)
    codes = case_codes(place, np.array([prediction for _, prediction, _ in rows], dtype=np.int64))
    error_type = np.array([ERROR_TYPES.index(kind) for _, _, kind in rows], dtype=np.int8)
    codes, first = np.unique(codes[place >= 0], return_index=True)
    return PublishedVerdicts(codes, error_type[place >= 0][first])
