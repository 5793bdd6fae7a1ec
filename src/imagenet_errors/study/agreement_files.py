"""The answer to ``agreement`` as files: every case, the table, figures for programs, a page for people."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.files import writing_folder
from imagenet_errors.runs.directory import ERROR_TYPE, error_type_column
from imagenet_errors.runs.manifest import file_facts
from imagenet_errors.study.agreement import AgreementRun, ModelAgreement
from imagenet_errors.study.ceiling import Ceiling
from imagenet_errors.study.outcomes import CATEGORIES, COLUMNS, LEVEL, N_RESAMPLES, Outcomes

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
    """Return one row a judged case, as CASES, in the order of the panel's files."""
    judged, outcomes = run.judged, run.outcomes
    kind = np.full(len(judged), None, dtype=object)
    kind[run.differing.rows] = run.differing.kind
    return pa.table(
        [
            run.annotations.file_names.take(pa.array(judged.cases.rows)),
            pa.array(judged.cases.prediction),
            pa.array(judged.models, type=pa.string()).take(pa.array(judged.model)),
            error_type_column(judged.human),
            judged.category,
            judged.severity,
            error_type_column(outcomes.ours),
            run.verdicts.explanation,
            pa.array(outcomes.human == outcomes.ours),
            pa.array(outcomes.undecided),
            pa.array(kind, type=pa.string()),
            run.differing.panels_stage_says,
        ],
        schema=CASES,
    )


def _write_table(run: AgreementRun, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["human", *COLUMNS, "model"])
        for model in run.models:
            for name, row in counts(model.outcomes.table).items():
                writer.writerow([name, *row.values(), model.model])


def counts(table: Any) -> dict[str, dict[str, int]]:
    """Return a table [T, T] by name: the panel's category -> our type -> cases."""
    return {
        name: {column: int(table[ERROR_TYPES.index(name), ERROR_TYPES.index(column)]) for column in COLUMNS}
        for name in CATEGORIES
    }


def as_json(run: AgreementRun) -> dict[str, Any]:
    """Return all figures as plain objects; what is undefined is None."""
    from imagenet_errors import __version__

    request, inputs = run.request, run.request.full_inputs
    published = [request.published_cases] if request.published_cases else []
    files = dict.fromkeys([*request.human, *inputs.files, *published])
    content = {
        "version": __version__,
        "command": list(request.command),
        "annotations": inputs.annotations_place,
        "stage_order": list(run.chain.order),
        "stages_not_run": run.chain.not_run,
        "panel_list_used": request.use_panel_list,
        "bootstrap": {"n_resamples": N_RESAMPLES, "level": LEVEL, "kind": "percentile"},
        "inputs": [msgspec.structs.asdict(file_facts(path)) for path in files if path.is_file()],
        "excluded": run.annotations.file_names.take(pa.array(run.excluded.cases.rows)).to_pylist(),
        "models": {model.model: _model_json(model) for model in run.models},
        "ceiling": [_ceiling_json(ceiling) for ceiling in run.ceilings],
        "differences": dict(run.differing.kinds),
        "published_verdicts": _published_verdicts_json(run),
    }
    plain: dict[str, Any] = _plain(content)
    return plain


def _model_json(model: ModelAgreement) -> dict[str, Any]:
    return {
        "figures": {part: asdict(figures) for part, figures in model.figures.items()},
        "table": _outcomes_json(model.outcomes),
        "table_in_published_order": _outcomes_json(model.in_published_order),
        "published": None if model.published is None else asdict(model.published),
    }


def _outcomes_json(outcomes: Outcomes) -> dict[str, Any]:
    return {"known": counts(outcomes.table), "least": counts(outcomes.low), "most": counts(outcomes.high)}


def _ceiling_json(ceiling: Ceiling) -> dict[str, Any]:
    return {**asdict(ceiling), "agreement": ceiling.agreement}


def _published_verdicts_json(run: AgreementRun) -> dict[str, int] | None:
    """Count the cases with a published verdict, and those whose is ours in the published order."""
    if run.published_verdicts is None:
        return None
    theirs = run.published_verdicts.of(run.judged.cases)
    ours = np.concatenate([model.in_published_order.ours for model in run.models])
    known = theirs >= 0
    return {"n_known": int(known.sum()), "n_same": int((known & (theirs == ours)).sum())}


def _plain(value: Any) -> Any:
    """Return what JSON can hold: NaN becomes None, tuples lists."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and math.isnan(value) else value
