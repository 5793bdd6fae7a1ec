"""What a run shows of itself in a notebook: a bar and the figures of each model, as a piece of HTML without scripts."""

from __future__ import annotations

from html import escape
from typing import Any

import pyarrow as pa

from imagenet_errors.report.looks import looks

_MOST_MODELS = 20
_ROW = (
    "<tr><td style='text-align:left'>{model}</td><td>{top1}</td><td>{mla}</td><td>{n_errors}</td>"
    "<td><div style='display:flex;width:20em;height:1em'>{bar}</div></td></tr>"
)
_PIECE = "<span title='{title}' style='width:{width:.2f}%;background:{colour}'></span>"


def run_html(summary: pa.Table, distribution: pa.Table) -> str:
    """Return a table with a row a model, best multi-label accuracy first.

    ``summary`` and ``distribution`` as a run has them.
    """
    models = sorted(summary.to_pylist(), key=lambda row: -(row["mla"] or 0))
    counts: dict[str, dict[str, int | None]] = {}
    for row in distribution.to_pylist():
        if row["group"] == "all":
            counts.setdefault(row["model"], {})[row["error_type"]] = row["count"]
    rows = [_row(row, counts[row["model"]]) for row in models[:_MOST_MODELS]]
    if len(models) > _MOST_MODELS:
        rows.append(f"<tr><td colspan='5'>and {len(models) - _MOST_MODELS} more in <code>summary</code></td></tr>")
    head = "".join(f"<th>{name}</th>" for name in ("model", "top-1", "MLA", "errors", "errors, least severe first"))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _row(summary: dict[str, Any], counts: dict[str, int | None]) -> str:
    errors = {name: count for name, count in counts.items() if name != "correct" and count}
    total = sum(errors.values())
    pieces = [
        _PIECE.format(
            title=f"{look.name}: {errors[look.name]:,} ({errors[look.name] / total:.1%})",
            width=100 * errors[look.name] / total,
            colour=look.light,
        )
        for look in looks()
        if look.name in errors
    ]
    return _ROW.format(
        model=escape(summary["model"]),
        top1=_percent(summary["top1_accuracy"]),
        mla=_percent(summary["mla"]),
        n_errors=f"{total:,}",
        bar="".join(pieces),
    )


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.2%}"
