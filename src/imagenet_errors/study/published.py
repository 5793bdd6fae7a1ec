"""The published agreement with the panel, to set beside ours, and the stage order that each figure belongs to.

Source: Peychev et al., NeurIPS 2023, comparison with the experts; the single verdicts are those that their
    program published.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from imagenet_errors.chain import DEFAULT_ORDER, ERROR_TYPES, PUBLISHED_ORDER
from imagenet_errors.study.outcomes import CATEGORIES, PAPERS_COLUMNS, PanelOutcomes

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
