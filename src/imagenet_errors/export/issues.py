"""Issues as cleanlab's Datalab gives them: ``is_TYPE_issue`` and ``TYPE_score`` for each error type, a row an image.

Source: cleanlab, ``Datalab.get_issues`` and ``get_issue_summary``: scores in 0..1, the lower the more severe.
Differs: a score is 1 minus the model's confidence in the mistake (0 without one), 1 for images without the issue; an
issue is the model's, not the label's, so there is no ``is_label_issue``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from imagenet_errors.export.rows import ModelRows, RunToExport, is_type

OPEN = "Open it: pandas.read_parquet('{out}/MODEL.issues.parquet').sort_values('model_failure_score')"


def write(run: RunToExport, folder: Path) -> None:
    """Write ``MODEL.issues.parquet`` and ``MODEL.issue_summary.parquet``."""
    for rows in run.rows():
        issues = issues_table(rows)
        pq.write_table(issues, folder / f"{rows.model}.issues.parquet")
        pq.write_table(_summary(issues, rows), folder / f"{rows.model}.issue_summary.parquet")


def issues_table(rows: ModelRows) -> pa.Table:
    """Return ``file_name``, ``given_label``, ``predicted_label`` and two columns an error type, least severe first."""
    sure = [1.0 if value is None else value for value in rows.confidences()]
    columns = {
        "file_name": rows.table["file_name"],
        "given_label": rows.table["target"],
        "predicted_label": rows.table["prediction"],
    }
    for error_type in rows.types_run[1:]:
        has_issue = is_type(rows, error_type)
        columns[f"is_{error_type}_issue"] = pa.array(has_issue)
        columns[f"{error_type}_score"] = pa.array(np.where(has_issue, 1.0 - np.asarray(sure), 1.0))
    return pa.table(columns)


def _summary(issues: pa.Table, rows: ModelRows) -> pa.Table:
    types = rows.types_run[1:]
    return pa.table(
        {
            "issue_type": pa.array(types, type=pa.string()),
            "score": pa.array([float(np.mean(issues[f"{name}_score"].to_numpy())) for name in types]),
            "num_issues": pa.array([int(np.sum(issues[f"is_{name}_issue"].to_numpy())) for name in types]),
        }
    )
