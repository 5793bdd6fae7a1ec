"""What the page shows of a run's explanations: a section, what an opened error says, and what to filter errors by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.explain.section import Explanations, page_rows, stored_explanations, summarised
from imagenet_errors.images import ImageIndex
from imagenet_errors.problems import counted
from imagenet_errors.report.page.explorer import column
from imagenet_errors.runs.tables import ErrorCases, RunTables
from imagenet_errors.tables import case_codes

FILTERED = ("locate", "stability")
"""The methods whose verdicts errors are filtered by."""
_UNKNOWN_SHARE = 0xFF
_TITLES = {
    "locate": "Which part, when hidden, turns the answer",
    "stability": "Picture or framing",
    "sis": "How few pixels keep the answer",
    "maps": "Whether maps of what matters agree",
}


@dataclass(frozen=True)
class ShownExplanations:
    """The explanations that fit the run's verdicts, those that say most first.

    ``anyway``: pictures are shown even where the figures say that they are no evidence. ``notes`` tell what was left
    out.
    """

    tables: tuple[Explanations, ...] = ()
    anyway: bool = False
    notes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Tell whether there is anything to show."""
        return bool(self.tables)

    def has(self, method: str) -> bool:
        """Tell whether any model was asked by this method."""
        return any(table.method == method for table in self.tables)

    def shows_pictures(self, table: Explanations) -> bool:
        """Tell whether pictures of a table are shown."""
        return self.anyway or table.shows_pictures

    def rows(self) -> dict[str, Any]:
        """Return what opened errors show, for the script."""
        return page_rows(self.tables, anyway=self.anyway)


def explained_run(run: RunTables, *, anyway: bool) -> ShownExplanations:
    """Gather the explanations of the run's models; those of answers that it no longer gives are left out and told."""
    order = list(_TITLES)
    tables, notes = [], []
    for stored in stored_explanations(run.folder):
        if stored.model not in run.models:
            continue
        fits = _fits(run, stored)
        rows = [row for row, does in zip(stored.rows, fits, strict=True) if does]
        if len(rows) < len(stored.rows):
            gone = counted(len(stored.rows) - len(rows), "explanation")
            notes.append(
                f"{gone} ({stored.method}, {stored.model}) of answers that the run now gives or judges otherwise "
                "are left out. Explain again."
            )
        if rows:
            tables.append(summarised(rows, method=stored.method, model=stored.model))
    tables.sort(key=lambda table: (run.models.index(table.model), order.index(table.method)))
    return ShownExplanations(tuple(tables), anyway, tuple(notes))


def _fits(run: RunTables, stored: Explanations) -> NDArray[np.bool_]:
    """Return bool [n]: the rows whose answer and error type are those of the run."""
    model, image = run.models.index(stored.model), _images(run, stored.rows)
    prediction = np.array([row["prediction"] for row in stored.rows], dtype=np.int64)
    kind = np.array([ERROR_TYPES.index(row["error_type"]) for row in stored.rows], dtype=np.int64)
    is_same = (run.prediction[model, image] == prediction) & (run.error_type[model, image] == kind)
    fits: NDArray[np.bool_] = is_same & (image >= 0)
    return fits


def _images(run: RunTables, rows: Sequence[dict[str, Any]]) -> NDArray[np.int64]:
    names = pa.array([row["file_name"] for row in rows], type=pa.string())
    return ImageIndex(run.file_names).rows(names, where="explanations")


def title_of(method: str) -> str:
    """Return what a method asks, as a heading."""
    return _TITLES[method]


def verdicts_of(method: str) -> tuple[str, ...]:
    """Return a method's verdicts in order; none where it gives no verdict."""
    from imagenet_errors.explain import locate, stability, sufficiency

    every = {"locate": locate.VERDICTS, "stability": stability.VERDICTS, "sis": sufficiency.VERDICTS}
    return every.get(method, ())


def filter_content(explained: ShownExplanations, run: RunTables, cases: ErrorCases) -> dict[str, Any]:
    """Return, for each method that errors are filtered by, its verdicts and a column beside the cases' makers.

    A verdict is its place among ``verdicts`` plus one; 0 where a maker's error was not explained. ``share``: percent
    of the reframed pictures that keep the answer, 255 unknown.
    """
    content: dict[str, Any] = {}
    for method in FILTERED:
        tables = [table for table in explained.tables if table.method == method]
        if not tables:
            continue
        verdicts = verdicts_of(method)
        of = np.zeros(len(cases.makers), dtype=np.int64)
        share = np.full(len(cases.makers), _UNKNOWN_SHARE, dtype=np.int64)
        for table in tables:
            rows = [row for row in table.rows if row["verdict"] in verdicts]
            places = _maker_places(run, cases, replace(table, rows=tuple(rows)))
            for row, place in zip(rows, places.tolist(), strict=True):
                if place >= 0:
                    of[place] = 1 + verdicts.index(row["verdict"])
                    share[place] = round(100 * row.get("share_stays", _UNKNOWN_SHARE / 100))
        content[method] = {"verdicts": list(verdicts), "of": column(of)}
        if method == "stability":
            content[method]["share"] = column(share)
    return content


def _maker_places(run: RunTables, cases: ErrorCases, table: Explanations) -> NDArray[np.int64]:
    """Return int64 [n]: where in the makers' column the model stands for each row's case; -1 where it does not."""
    model = run.models.index(table.model)
    prediction = np.array([row["prediction"] for row in table.rows], dtype=np.int64)
    asked = case_codes(_images(run, table.rows), prediction)
    of_model = np.flatnonzero(cases.makers == model)
    case = np.searchsorted(cases.offsets, of_model, side="right") - 1
    codes = case_codes(cases.image[case], cases.prediction[case])  # ascending, as the cases are
    if not len(codes):
        return np.full(len(asked), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(codes, asked), len(codes) - 1)
    return np.where(codes[at] == asked, of_model[at], -1)
