"""A run's models as one table: figures, counts of each error type, facts; sorted, filtered by SQL, and exported.

Everything comes from ``summary.parquet`` and ``distribution.parquet``; nothing is computed again. A type that was not
measured is null; one that depends on missing evidence has its bounds beside it, and is never shown as if it were exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from imagenet_errors.chain import DEFAULT_ORDER, ERROR_TYPES
from imagenet_errors.files import csv_text
from imagenet_errors.measure import lower_bounds
from imagenet_errors.problems import InputError, counted, printable
from imagenet_errors.report.looks import touched
from imagenet_errors.runs.directory import TABLES, read_run_table
from imagenet_errors.runs.manifest import read_manifest
from imagenet_errors.shipped import needs

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

DEFAULT_COLUMNS = ("model", "top1_accuracy", "mla", "mla_minor", "mla_explained", "model_failure")
FACT_COLUMNS = ("arch_group", "training_data", "pretraining", "n_parameters")
"""Shown as well where the run knows them."""
_SHARES = ("top1_accuracy", "mla", "mla_minor", "mla_explained", "accepted_accuracy", "top1_accuracy_all")
_BOUNDS = ("_min", "_max")
_LOWER_BOUNDS = b"lower_bounds"


@dataclass(frozen=True)
class Choice:
    """Which rows and columns, in which order; ``where`` are SQL conditions, all to be met.

    ``sort`` None: by multi-label accuracy, best first. ``columns`` (): the default ones.
    """

    sort: str = "mla"
    ascending: bool = False
    where: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    top: int | None = None


def read_leaderboard(run: Path) -> pa.Table:
    """Return a row a model: the columns of the summary, then the count of each error type.

    A type that is not exact for some model is followed by ``TYPE_min`` and ``TYPE_max``, null where not even a bound
    is known.

    Raises
    ------
    InputError
        The folder is no whole run directory.
    """
    manifest = read_manifest(run)
    summary, counts = (
        read_run_table(run / f"{name}.parquet", schema, needed=needed)
        for name, (schema, needed) in TABLES.items()
        if name != "accuracy"
    )
    whole = counts.filter(pc.equal(counts["group"], "all"))
    hanging = touched(manifest.stages_not_run, (*manifest.requested_stage_order, *DEFAULT_ORDER))
    for error_type in ERROR_TYPES:
        if error_type == "correct":
            continue
        of_type = whole.filter(pc.equal(whole["error_type"], error_type))
        order = pc.index_in(summary["model"], value_set=of_type["model"])
        summary = summary.append_column(error_type, of_type["count"].take(order))
        least, most = (of_type[name].take(order) for name in ("count_min", "count_max"))
        if error_type in hanging or not least.equals(most):
            known = pa.nulls(len(summary), pa.int64()) if error_type in hanging else least
            summary = summary.append_column(f"{error_type}_min", known).append_column(f"{error_type}_max", most)
    return summary.replace_schema_metadata({_LOWER_BOUNDS: ",".join(_lower_bounds(summary))})


def _lower_bounds(table: pa.Table) -> frozenset[str]:
    """Return the accuracies that forgive a type which depends on missing evidence: with it they would be higher."""
    measured = [name for name in ERROR_TYPES if name in table.column_names]
    return lower_bounds(name for name in measured if is_partial(table, name) or table[name].null_count)


def is_partial(table: pa.Table, column: str) -> bool:
    """Tell whether a column's figures depend on missing evidence, so that a ranking by it is none of whole figures."""
    return f"{column}_max" in table.column_names


def choose(table: pa.Table, choice: Choice) -> pa.Table:
    """Return the rows that meet every condition, sorted, and the columns asked for; nulls come last.

    Raises
    ------
    InputError
        A column is not there, a condition is no SQL, or DuckDB, which reads it, is not installed.
    """
    if choice.where:
        conditions = " AND ".join(f"({condition})" for condition in choice.where)
        table = query(table, f"SELECT * FROM models WHERE {conditions}")
    _refuse_unknown(table, [choice.sort, *choice.columns])
    key = _sortable(table[choice.sort])
    order = pc.sort_indices(
        pa.table({"key": key, "model": table["model"]}),
        sort_keys=[("key", "ascending" if choice.ascending else "descending"), ("model", "ascending")],
    )
    return table.take(order).slice(0, choice.top).select(_columns(table, choice))


def query(table: pa.Table, sql: str) -> pa.Table:
    """Return the answer of DuckDB to a query of the table, which is called ``models``.

    Raises
    ------
    InputError
        The query cannot be answered, or DuckDB is not installed.
    """
    duckdb = needs("duckdb", extra="sql")
    with duckdb.connect(config={"enable_external_access": "false"}) as connection:
        connection.register("models", table)
        try:
            answer = connection.sql(sql).to_arrow_table()
        except duckdb.Error as error:
            reason = str(error).splitlines()[0]
            fix = (
                "Conditions are SQL, with text in single quotes: arch_family = 'cnn', n_parameters < 30e6, "
                f"list_contains(pretraining, 'CLIP'). Columns: {', '.join(table.column_names)}."
            )
            raise InputError("--where", reason, example=sql, fix=fix) from None
    return answer.replace_schema_metadata(table.schema.metadata)


def _columns(table: pa.Table, choice: Choice) -> list[str]:
    facts = [name for name in FACT_COLUMNS if name in table.column_names]
    asked = choice.columns or (choice.sort, *DEFAULT_COLUMNS, *facts)
    return list(dict.fromkeys(each for name in ("model", *asked) for each in (name, *_bounds_of(table, name))))


def _bounds_of(table: pa.Table, name: str) -> list[str]:
    return [f"{name}{end}" for end in _BOUNDS if f"{name}{end}" in table.column_names]


def _sortable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the column, lists as text; NaN, which sorts as the largest, does not occur in a run's tables."""
    return pa.chunked_array([[_text(value) for value in column.to_pylist()]]) if _is_list(column) else column


def _is_list(column: pa.ChunkedArray) -> bool:
    return bool(pa.types.is_list(column.type))


def _refuse_unknown(table: pa.Table, names: Sequence[str]) -> None:
    unknown = [name for name in names if name not in table.column_names]
    if unknown:
        raise InputError(
            "summary", f"no column {unknown[0]!r} in this run", fix=f"Columns: {', '.join(table.column_names)}."
        )


def _text(value: Any) -> str | None:
    """Return a list of methods as ``self-supervised + CLIP``."""
    return " + ".join(value) if isinstance(value, list) else value


def shown(name: str, row: Mapping[str, Any], *, not_run: str = "not run") -> str:
    """Return a row's cell for people: percent, separators, bounds, a dash for what is not known."""
    value = row[name]
    if name in ERROR_TYPES:
        return not_run if value is None else _count_text(name, row)
    if value is None:
        return "–"
    if name in _SHARES:
        return f"{value:.2%}".replace("%", " %")
    if name == "n_parameters":
        return f"{value / 1e6:,.1f} M"
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(_text(value))


def _count_text(name: str, row: Mapping[str, Any]) -> str:
    least, most = (row.get(f"{name}{end}") for end in _BOUNDS)
    if most is None or least == most:
        return f"{row[name]:,}"
    return f"≤ {most:,}" if least is None else f"{least:,}–{most:,}"


def _cells(table: pa.Table, *, not_run: str = "not run") -> list[list[str]]:
    """Return every row's cells for people, bounds in the cell of their type."""
    names = _people_columns(table)
    lower = (table.schema.metadata or {}).get(_LOWER_BOUNDS, b"").decode().split(",")
    return [
        [
            f"{'≥ ' if name in lower and row[name] is not None else ''}{shown(name, row, not_run=not_run)}"
            for name in names
        ]
        for row in table.to_pylist()
    ]


def _people_columns(table: pa.Table) -> list[str]:
    """Return the columns that people see: bounds stand in the cell of their type."""
    bounds = {bound for name in table.column_names for bound in _bounds_of(table, name)}
    return [name for name in table.column_names if name not in bounds]


def to_csv(table: pa.Table) -> str:
    """Return the table as CSV, numbers in full, methods joined by `` + ``, nothing where nothing is known."""
    rows = ([None if value is None else _text(value) for value in row.values()] for row in table.to_pylist())
    return csv_text([table.column_names, *rows])


def to_markdown(table: pa.Table) -> str:
    """Return the table as Markdown."""
    from imagenet_errors.report.markdown import md_table

    names = _people_columns(table)
    return md_table(names, _cells(table))


def to_latex(table: pa.Table) -> str:
    """Return the table as a LaTeX ``tabular`` with the rules of booktabs."""
    names = _people_columns(table)
    rows = [[_latex(cell) for cell in row] for row in _cells(table, not_run="n/a")]
    header = [_latex(name) for name in names]
    columns = "".join("l" if _is_text(table.schema.field(name)) else "r" for name in names)
    body = "\n".join(f"{' & '.join(row)} \\\\" for row in rows)
    return (
        f"\\begin{{tabular}}{{{columns}}}\n\\toprule\n{' & '.join(header)} \\\\\n\\midrule\n{body}\n"
        "\\bottomrule\n\\end{tabular}\n"
    )


def _is_text(field: pa.Field) -> bool:
    return bool(pa.types.is_string(field.type) or pa.types.is_list(field.type))


def _latex(text: str) -> str:
    special = {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "–": "--",
        "≤": r"$\leq$",
        "≥": r"$\geq$",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "[": "{[}",
        "\n": " ",
    }
    return "".join(special.get(letter, f"\\{letter}" if letter in "&%$#_{}" else letter) for letter in printable(text))


WRITERS: dict[str, Callable[[pa.Table], str]] = {"csv": to_csv, "markdown": to_markdown, "latex": to_latex}
"""The export formats by name."""


def leaderboard_view(table: pa.Table) -> Any:
    """Return the table for a terminal: the columns, from the first on, that fit in whole, and which do not."""
    return _View(table)


@dataclass(frozen=True, eq=False)
class _View:
    table: pa.Table

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> RenderResult:
        from rich.markup import escape
        from rich.table import Table
        from rich.text import Text

        names, rows = _people_columns(self.table), _cells(self.table)
        widths = [max(map(len, cells)) + 3 for cells in zip(names, *rows, strict=True)]
        n_fitting = max(2, sum(total < options.max_width for total in accumulate(widths)))
        view = Table(title=counted(self.table.num_rows, "model"), title_justify="left")
        for name in names[:n_fitting]:
            is_text = _is_text(self.table.schema.field(name))
            view.add_column(name, justify="left" if is_text else "right", overflow="fold")
        for row in rows:
            view.add_row(*(escape(cell) for cell in row[:n_fitting]))
        yield view
        if names[n_fitting:]:
            yield Text(f"No room for: {', '.join(names[n_fitting:])}. Choose with --columns, or pass --format csv.")
