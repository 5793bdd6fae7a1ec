"""A run's models for other programs: JSON, and the metrics of a Hugging Face model card.

Source of the layout: Hugging Face Hub documentation, model cards, ``model-index`` (as of papers-with-code).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.datasets import IMAGENET
from imagenet_errors.runs.directory import SUMMARY, read_run_table
from imagenet_errors.runs.manifest import read_manifest

LAYOUT = 1
_METRICS = {
    "top1_accuracy": ("accuracy", "Top-1 accuracy"),
    "mla": ("multi_label_accuracy", "Multi-label accuracy"),
    "mla_minor": ("multi_label_accuracy_minor", "Multi-label accuracy, fine-grained errors forgiven"),
    "mla_explained": ("multi_label_accuracy_explained", "Multi-label accuracy, all but model failures forgiven"),
    "accepted_accuracy": ("accepted_accuracy", "Accuracy against all accepted labels"),
}
"""Column -> type and name of a metric. Counts of error types follow, by their own names."""


def exchange_writers(run: Path) -> dict[str, Callable[[pa.Table], str]]:
    """Return the writers by format's name for tables of one run.

    Raises
    ------
    InputError
        The folder is no whole run directory.
    """
    manifest = read_manifest(run)
    labels, dataset = manifest.labels_used, manifest.images_of
    rows = read_run_table(run / "summary.parquet", SUMMARY, needed=("model", "n_evaluated"), only=True).to_pylist()
    judged_on = {row["model"]: f"{row['n_evaluated']:,} images with {labels} labels" for row in rows}
    return {"json": to_json, "model-card": partial(to_model_card, judged_on=judged_on, dataset=dataset)}


def to_json(table: pa.Table) -> str:
    """Return one object with a list of rows; null where nothing is known."""
    return json.dumps({"layout": LAYOUT, "models": table.to_pylist()}, indent=2, ensure_ascii=False) + "\n"


def to_model_card(table: pa.Table, *, judged_on: Mapping[str, str], dataset: str = IMAGENET) -> str:
    """Return YAML for a model card's metadata: of each model the chosen columns that are metrics.

    ``judged_on``: model -> images and labels that its figures rest on, in words; ``dataset``: the data set's name.
    """
    entries = (line for row in table.to_pylist() for line in _entry(row, judged_on[row["model"]], dataset))
    return "\n".join(["model-index:", *entries]) + "\n"


def _entry(row: dict[str, Any], judged_on: str, dataset: str) -> Iterator[str]:
    kind, title = ("imagenet-1k", "ImageNet-1k") if dataset == IMAGENET else (dataset, dataset)
    yield f"- name: {_quoted(row['model'])}"
    yield "  results:"
    yield "  - task:"
    yield "      type: image-classification"
    yield "    dataset:"
    yield f"      type: {_quoted(kind)}"
    yield f"      name: {_quoted(f'{title}, {judged_on}')}"
    if dataset == IMAGENET:
        yield "      split: validation"
    yield "    metrics:"
    for name, value in row.items():
        if value is not None and (name in _METRICS or name in ERROR_TYPES):
            metric, called = _METRICS.get(name, (name, f"Errors of type {name}"))
            yield f"    - type: {metric}"
            yield f"      name: {_quoted(called)}"
            yield f"      value: {value!r}"


def _quoted(text: str) -> str:
    """Return a YAML scalar in double quotes; what does not print is written as its number."""
    plain = json.dumps(text, ensure_ascii=False)
    return re.sub(r"[^\x20-\x7e\u00a1-\u1fff\u2030-\ud7ff\U00010000-\U0010ffff]", _number, plain)


def _number(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
