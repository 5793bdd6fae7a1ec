"""The published agreement beside ours, cell by cell, in the page of ``agreement``."""

from __future__ import annotations

import numpy as np

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.report.markdown import decimal, interval, md_table
from imagenet_errors.study.agreement import AgreementRun, ModelAgreement
from imagenet_errors.study.agreement_cells import PAPERS_COLUMNS, bounded_cell
from imagenet_errors.study.outcomes import CATEGORIES, Outcomes, agreement, confusion, kappa
from imagenet_errors.study.published import PublishedAgreement


def published_section(model: ModelAgreement) -> str:
    """Return totals and cells, theirs and ours in the published stage order; empty for other cases."""
    known = model.published
    if known is None:
        return ""
    ours = model.in_published_order
    return "\n".join(
        [
            f"### Beside the published table ({known.model})\n",
            "Ours as if in the published program's order (spurious before non-prototypical).\n",
            _totals(known, ours),
            _legend(known),
            md_table(["panel \\ ours", *PAPERS_COLUMNS], [[name, *_row(known, ours, name)] for name in CATEGORIES]),
            _apart(known, ours),
        ]
    )


def _totals(known: PublishedAgreement, ours: Outcomes) -> str:
    figures = agreement(ours)
    rows = [
        ["cases", str(known.n), str(figures.n)],
        ["same category as the panel", str(known.n_agree), interval(figures.n_agree)],
        ["left as model failures", str(known.n_failures), interval(figures.n_failures)],
    ]
    if known.is_whole:
        rows.append(["kappa", decimal(float(kappa(known.table))), decimal(figures.kappa.value)])
    return md_table(["", "published", "ours"], rows)


def _legend(known: PublishedAgreement) -> str:
    ours = "ours, in brackets what unknown out-of-vocabulary evidence can make of it"
    if known.is_whole:
        return f"Cells: published / {ours}.\n"
    return (
        f"Of this model the paper gives totals only. Single published verdicts settle {known.n_settled} of "
        f"the {known.n} cases, and so the least of each cell; {known.n - known.n_settled} are missing. "
        f"Cells: published, at least / {ours}.\n"
    )


def _row(known: PublishedAgreement, ours: Outcomes, name: str) -> list[str]:
    mark = "" if known.is_whole else "≥ "
    return [f"{mark}{known.cells[name][column]} / {bounded_cell(ours, name, column)}" for column in PAPERS_COLUMNS]


def cells_apart(known: PublishedAgreement, ours: Outcomes) -> list[tuple[str, str]]:
    """Return the cells (panel's, ours) that cannot be the published ones, whatever the unknown evidence says.

    Where only the least of each published cell is known, a cell is apart that stays below it.
    """
    apart = []
    for name in CATEGORIES:
        for column in PAPERS_COLUMNS:
            at, count = _at(name, column), known.cells[name][column]
            if ours.high[at] < count or (known.is_whole and ours.low[at] > count):
                apart.append((name, column))
    return apart


def _apart(known: PublishedAgreement, ours: Outcomes) -> str:
    apart = cells_apart(known, ours)
    if not apart:
        told = "can be the published one" if known.is_whole else "can reach the published count"
        return f"Every cell of ours {told}, with what is known or once unknown evidence is in.\n"
    cells = ", ".join(f"{name} called {column}" for name, column in apart)
    what = "differ from" if known.is_whole else "stay below"
    return f"Cells of ours that {what} the published count whatever the unknown evidence says: {cells}.\n"


def published_verdicts_section(run: AgreementRun) -> str:
    """Compare ours with single published verdicts, case by case, and give the table that those force."""
    if run.published_verdicts is None:
        return ""
    theirs = run.published_verdicts.of(run.judged.cases)
    ours = np.concatenate([model.in_published_order.ours for model in run.models])
    known = theirs >= 0
    n_known, n_same = int(known.sum()), int((known & (theirs == ours)).sum())
    forced = confusion(run.judged.human[known], theirs[known])
    rows = [[name, *(str(forced[_at(name, column)]) for column in PAPERS_COLUMNS)] for name in CATEGORIES]
    return "\n".join(
        [
            "## Single published verdicts\n",
            f"Of {len(theirs)} judged cases {n_known} have a published verdict in the file given; ours, in "
            f"the published program's order, is the same in {n_same}. These verdicts alone put so many "
            "cases into each cell of the published table:\n",
            md_table(["panel \\ published", *PAPERS_COLUMNS], rows),
            *_differing(run, theirs, ours),
            "",
        ]
    )


def _at(human: str, ours: str) -> tuple[int, int]:
    return ERROR_TYPES.index(human), ERROR_TYPES.index(ours)


def _differing(run: AgreementRun, theirs: np.ndarray, ours: np.ndarray) -> list[str]:
    rows = np.flatnonzero((theirs >= 0) & (theirs != ours))
    names = run.annotations.file_names
    return [
        f"- `{names[int(run.judged.cases.rows[row])].as_py()}`, class {run.judged.cases.prediction[row]}: "
        f"published {ERROR_TYPES[theirs[row]]}, ours {ERROR_TYPES[ours[row]]}"
        + (" (no out-of-vocabulary evidence)" if run.outcomes.undecided[row] else "")
        for row in rows.tolist()
    ]
