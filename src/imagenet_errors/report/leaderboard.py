"""A run's models as one table: figures, counts of each error type, facts; sorted, filtered, and exported.

Everything comes from ``summary.parquet`` and ``distribution.parquet``; nothing is computed again.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.problems import InputError
from imagenet_errors.runs.manifest import read_manifest

DEFAULT_COLUMNS = ("model", "top1_accuracy", "mla", "mla_minor", "mla_explained", "model_failure")
FACT_COLUMNS = ("arch_group", "training_data", "pretraining", "n_parameters")
"""Shown as well where the run knows them."""
_SHARES = ("top1_accuracy", "mla", "mla_minor", "mla_explained")
_CONDITION = re.compile(r"\s*(?P<column>\w+)\s*(?P<sign><=|>=|!=|=|<|>)\s*(?P<value>.*?)\s*")


@dataclass(frozen=True)
class Choice:
    """Which rows and columns, in which order; ``where`` are conditions such as ``arch_family=cnn``.

    ``sort`` None: by multi-label accuracy, best first. ``columns`` (): the default ones.
    """

    sort: str = "mla"
    ascending: bool = False
    where: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    top: int | None = None


def read_leaderboard(run: Path) -> pa.Table:
    """Return a row a model: the columns of the summary, then the count of each error type.

    Raises
    ------
    InputError
        The folder is no whole run directory.
    """
    import pyarrow.parquet as pq

    read_manifest(run)
    summary = pq.read_table(run / "summary.parquet")
    counts = pq.read_table(run / "distribution.parquet", columns=["model", "group", "error_type", "count"])
    whole = counts.filter(pc.equal(counts["group"], "all"))
    for error_type in ERROR_TYPES[1:]:
        of_type = whole.filter(pc.equal(whole["error_type"], error_type))
        place = pc.index_in(summary["model"], value_set=of_type["model"])
        summary = summary.append_column(error_type, of_type["count"].take(place))
    return summary


def choose(table: pa.Table, choice: Choice) -> pa.Table:
    """Return the rows that meet every condition, sorted, and the columns asked for; nulls come last.

    Raises
    ------
    InputError
        A column is not there, or a condition cannot be read.
    """
    for condition in choice.where:
        keep = _meets(table, condition)
        table = table.filter(pa.array(keep, type=pa.bool_()))
    _refuse_unknown(table, [choice.sort, *choice.columns])
    key = _sortable(table[choice.sort])
    order = pc.sort_indices(
        pa.table({"key": key, "model": table["model"]}),
        sort_keys=[("key", "ascending" if choice.ascending else "descending"), ("model", "ascending")],
    )
    return table.take(order).slice(0, choice.top).select(_columns(table, choice))


def _columns(table: pa.Table, choice: Choice) -> list[str]:
    if choice.columns:
        return list(dict.fromkeys(("model", *choice.columns)))
    facts = [name for name in FACT_COLUMNS if name in table.column_names]
    return list(dict.fromkeys([*DEFAULT_COLUMNS[:1], choice.sort, *DEFAULT_COLUMNS[1:], *facts]))


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


def _meets(table: pa.Table, condition: str) -> list[bool]:
    """Return which rows meet a condition; text compares as a shell wildcard, case ignored; null meets none."""
    found = _CONDITION.fullmatch(condition)
    if found is None:
        raise InputError(
            "--where",
            f"cannot read {condition!r}",
            fix="Write arch_family=cnn, n_parameters<30e6 or training_data!=JFT.",
        )
    name, sign, value = found["column"], found["sign"], found["value"]
    _refuse_unknown(table, [name])
    column = table[name]
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        test = _number_test(sign, value, condition)
    elif sign in ("=", "!="):
        test = _text_test(sign, value)
    else:
        raise InputError("--where", f"{name} holds text, which {sign} cannot compare", fix="Use = or !=.")
    return [entry is not None and test(entry) for entry in column.to_pylist()]


def _number_test(sign: str, value: str, condition: str) -> Callable[[Any], bool]:
    try:
        bound = float(value.replace(",", "").replace("_", ""))
    except ValueError:
        raise InputError("--where", f"{condition!r} compares a number with {value!r}", fix="Write a number.") from None
    tests: dict[str, Callable[[Any], bool]] = {
        "<": lambda entry: entry < bound,
        ">": lambda entry: entry > bound,
        "<=": lambda entry: entry <= bound,
        ">=": lambda entry: entry >= bound,
        "=": lambda entry: math.isclose(entry, bound),
        "!=": lambda entry: not math.isclose(entry, bound),
    }
    return tests[sign]


def _text_test(sign: str, value: str) -> Callable[[Any], bool]:
    def equal(entry: Any) -> bool:
        entries = entry if isinstance(entry, list) else [entry]
        return any(fnmatchcase(str(one).casefold(), value.casefold()) for one in entries)

    return equal if sign == "=" else lambda entry: not equal(entry)


def _text(value: Any) -> str | None:
    """Return a list of methods as ``self-supervised + CLIP``."""
    return " + ".join(value) if isinstance(value, list) else value


def shown(name: str, value: Any) -> str:
    """Return a cell for people: shares in percent, numbers with separators, a dash for what is not known."""
    if value is None:
        return "–"
    if name in _SHARES:
        return f"{value:.2%}".replace("%", " %")
    if name == "n_parameters":
        return f"{value / 1e6:,.1f} M"
    return f"{value:,}" if isinstance(value, int) else str(_text(value))


def to_csv(table: pa.Table) -> str:
    """Return the table as CSV, numbers in full, methods joined by `` + ``, nothing where nothing is known."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(table.column_names)
    for row in table.to_pylist():
        writer.writerow(["" if value is None else _text(value) for value in row.values()])
    return sink.getvalue()


def to_markdown(table: pa.Table) -> str:
    """Return the table as Markdown."""
    from imagenet_errors.report.markdown import md_table

    rows = [[shown(name, value) for name, value in row.items()] for row in table.to_pylist()]
    return md_table(table.column_names, rows)


def to_latex(table: pa.Table) -> str:
    """Return the table as a LaTeX ``tabular`` with the rules of booktabs."""
    rows = [[_latex(shown(name, value)) for name, value in row.items()] for row in table.to_pylist()]
    header = [_latex(name) for name in table.column_names]
    columns = "".join(
        "l" if pa.types.is_string(field.type) or pa.types.is_list(field.type) else "r" for field in table.schema
    )
    body = "\n".join(f"{' & '.join(row)} \\\\" for row in rows)
    return (
        f"\\begin{{tabular}}{{{columns}}}\n\\toprule\n{' & '.join(header)} \\\\\n\\midrule\n{body}\n"
        "\\bottomrule\n\\end{tabular}\n"
    )


def _latex(text: str) -> str:
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--"}
    return "".join(special.get(letter, f"\\{letter}" if letter in "&%$#_{}" else letter) for letter in text)


WRITERS: dict[str, Callable[[pa.Table], str]] = {"csv": to_csv, "markdown": to_markdown, "latex": to_latex}
"""The export formats by name."""


def leaderboard_view(table: pa.Table) -> Any:
    """Return the table for a terminal."""
    from rich.markup import escape
    from rich.table import Table

    view = Table(title=f"{table.num_rows:,} models", title_justify="left")
    for field in table.schema:
        is_text = pa.types.is_string(field.type) or pa.types.is_list(field.type)
        view.add_column(field.name, justify="left" if is_text else "right")
    for row in table.to_pylist():
        view.add_row(*(escape(shown(name, value)) for name, value in row.items()))
    return view
