"""The answer to ``agreement`` as files: every case, the table, figures for programs, a page for people.

No file says where others lie, so the same bytes come out wherever they do.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.files import csv_text, writing_folder
from imagenet_errors.runs.directory import ERROR_TYPE, error_type_column
from imagenet_errors.study.agreement import AgreementRun, ModelAgreement, input_files, shared_command
from imagenet_errors.study.outcomes import CATEGORIES, COLUMNS, LEVEL, N_RESAMPLES, Bounded, BoundedCounts

FILES = ("cases.parquet", "table.csv", "agreement.json", "agreement.md")

CASES = pa.schema(
    [
        ("file_name", pa.string()),
        ("prediction", pa.int16()),
        ("model", pa.string()),
        ("human_error_type", ERROR_TYPE),
        ("human_category", pa.string()),
        ("severity", pa.string()),
        ("error_type", ERROR_TYPE),
        ("explanation", pa.string()),
        ("agrees", pa.bool_()),
        ("lacks_oov_evidence", pa.bool_()),
        ("kind_of_difference", pa.string()),
        ("panels_stage_says", pa.string()),
    ]
)


def write_agreement(run: AgreementRun, *, page: Callable[[AgreementRun], str]) -> None:
    """Write FILES into the request's folder, all or none; ``page`` makes the Markdown."""
    import pyarrow.parquet as pq

    with writing_folder(run.request.out) as folder:
        pq.write_table(cases_table(run), folder / "cases.parquet", compression="zstd")
        _write_table(run, folder / "table.csv")
        text = json.dumps(as_json(run), indent=2, ensure_ascii=False, allow_nan=False)
        (folder / "agreement.json").write_text(text + "\n", encoding="utf-8")
        (folder / "agreement.md").write_text(page(run), encoding="utf-8")


def cases_table(run: AgreementRun) -> pa.Table:
    """Return one row a mistake, as CASES, in the order of the panel's files."""
    mistakes, outcomes = run.mistakes, run.outcomes
    kind = np.full(len(mistakes), None, dtype=object)
    kind[run.differences.rows] = run.differences.kind
    return pa.table(
        [
            run.basis.annotations.file_names.take(pa.array(mistakes.cases.rows)),
            pa.array(mistakes.cases.prediction),
            pa.array(mistakes.models, type=pa.string()).take(pa.array(mistakes.model)),
            error_type_column(mistakes.human),
            mistakes.category,
            mistakes.severity,
            error_type_column(outcomes.ours),
            run.verdicts.explanation,
            pa.array(outcomes.human == outcomes.ours),
            pa.array(outcomes.undecided),
            pa.array(kind, type=pa.string()),
            run.differences.panels_stage_says,
        ],
        schema=CASES,
    )


def _write_table(run: AgreementRun, path: Path) -> None:
    rows = [
        [name, *row.values(), model.model]
        for model in run.models
        for name, row in _by_name(model.outcomes.counts.known).items()
    ]
    path.write_text(csv_text([["human", *COLUMNS, "model"], *rows]), encoding="utf-8", newline="")


def _by_name(table: Any) -> dict[str, dict[str, int]]:
    """Return a table [T, T] by name: the panel's category -> our type -> cases."""
    return {
        name: {column: int(table[ERROR_TYPES.index(name), ERROR_TYPES.index(column)]) for column in COLUMNS}
        for name in CATEGORIES
    }


def as_json(run: AgreementRun) -> dict[str, Any]:
    """Return all figures as plain objects; what is undefined is None."""
    from imagenet_errors import __version__

    chain, annotations = run.basis.chain, run.basis.annotations
    content = {
        "version": __version__,
        "command": command(run),
        "annotations": annotations.name,
        "stage_order": list(chain.order),
        "stages_not_run": chain.not_run,
        "panel_list_used": run.request.use_panel_list,
        "bootstrap": {"n_resamples": N_RESAMPLES, "level": LEVEL, "kind": "percentile"},
        "inputs": input_files(run.request.human, run.request.inputs),
        "excluded": annotations.file_names.take(pa.array(run.excluded.cases.rows)).to_pylist(),
        "models": {model.model: _model_json(model) for model in run.models},
        "shared_mistakes": [{**asdict(one), "is_copied": one.is_copied} for one in run.shared],
        "differences": dict(run.differences.kinds),
    }
    plain: dict[str, Any] = _plain(content)
    return plain


def command(run: AgreementRun) -> str:
    """Return the command that gives this answer."""
    request = run.request
    more = [] if request.use_panel_list else ["--no-panel-list"]
    more += [] if request.list_at_most is None else ["--list-at-most", str(request.list_at_most)]
    return shared_command("agreement", request.human, request.inputs, *more)


def _model_json(model: ModelAgreement) -> dict[str, Any]:
    return {
        "figures": model.figures,
        "table": _counts_json(model.outcomes.counts),
        "by_order": {
            order: {"figures": model.totals[order], "table": _counts_json(outcomes.counts)}
            for order, outcomes in model.by_order.items()
        },
        "published": model.published,
    }


def _counts_json(counts: BoundedCounts) -> dict[str, Any]:
    return {"known": _by_name(counts.known), "least": _by_name(counts.low), "most": _by_name(counts.high)}


def _plain(value: Any) -> Any:
    """Return what JSON can hold: NaN becomes None, records objects, tuples lists."""
    if isinstance(value, Bounded):
        return _plain(value._asdict())
    if is_dataclass(value) and not isinstance(value, type):
        return {name: _plain(part) for name, part in vars(value).items()}
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and math.isnan(value) else value
