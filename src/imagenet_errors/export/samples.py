"""FiftyOne: a folder that it imports as a ``FiftyOneDataset``; label, predictions, error types and reasons as fields.

Source: fiftyone 1.x, ``FiftyOneDatasetImporter`` (``metadata.json`` with the fields, ``samples.json`` with a document
a sample) and ``core.odm.dataset.SampleFieldDocument``; identifiers are digests, so an export made again is the same.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from imagenet_errors.export.rows import ModelRows, RunToExport

OPEN = (
    "Open it: fiftyone.Dataset.from_dir('{out}', dataset_type=fiftyone.types.FiftyOneDataset); "
    "exported without --images, add rel_dir='FOLDER OF THE IMAGES'."
)
_VERSION = "1.0.0"
"""The layout's version: FiftyOne brings older ones up to date when it imports them."""
_FIELDS, _TEXT = "fiftyone.core.fields", "fiftyone.core.fields.StringField"


def write(run: RunToExport, folder: Path) -> None:
    """Write ``metadata.json`` and ``samples.json``."""
    models = run.models or tuple(run.manifest().models)
    fields = field_names(models)
    samples: dict[str, dict[str, Any]] = {}
    for rows in run.rows():
        for row, sample in enumerate(_samples_of(rows, fields[rows.model])):
            known = samples.setdefault(sample["filepath"], sample)
            known.update({key: value for key, value in sample.items() if key not in known})
            if row in rows.files:
                known["filepath"] = str(rows.files[row].resolve())
    _save(folder / "metadata.json", _metadata(tuple(fields.values())))
    _save(folder / "samples.json", {"samples": list(samples.values())})


def field_names(models: Sequence[str]) -> dict[str, tuple[str, str, str]]:
    """Return model -> the fields of its prediction, error type and reason; plain words where there is one model."""
    if len(models) == 1:
        return {models[0]: ("prediction", "error_type", "reason")}
    names: dict[str, tuple[str, str, str]] = {}
    for number, model in enumerate(models):
        plain = re.sub(r"\W+", "_", model, flags=re.ASCII).strip("_") or "model"
        taken = any(plain == names[other][0] for other in names) or plain in ("id", "filepath", "tags", "metadata")
        own = f"{plain}_{number}" if taken or plain[0].isdecimal() else plain
        own = f"model_{own}" if own[0].isdecimal() else own
        names[model] = (own, f"{own}_error_type", f"{own}_reason")
    return names


def _samples_of(rows: ModelRows, fields: tuple[str, str, str]) -> Iterator[dict[str, Any]]:
    prediction, error_type, reason = fields
    accepted = rows.accepted()
    columns = [rows.texts(name) for name in ("file_name", "target_name", "prediction_name", "error_type")]
    told = zip(*columns, rows.texts("explanation"), rows.confidences(), strict=True)
    for row, (name, label, predicted, kind, why, confidence) in enumerate(told):
        yield {
            "_id": _identifier(name),
            "filepath": name,
            "tags": [],
            "metadata": None,
            "_media_type": "image",
            "_rand": int(_digest(name)[:8], 16) / 16**8,
            "ground_truth": _classification(f"{name}/label", label),
            "accepted": [rows.class_names[index] for index in accepted[row].tolist()],
            prediction: _classification(f"{name}/{prediction}", predicted, confidence),
            error_type: kind,
            reason: why,
        }


def _classification(key: str, label: str | None, confidence: float | None = None) -> dict[str, Any]:
    return {"_id": _identifier(key), "_cls": "Classification", "tags": [], "label": label, "confidence": confidence}


def _identifier(key: str | None) -> dict[str, str]:
    return {"$oid": _digest(key)[:24]}


def _digest(key: str | None) -> str:
    return hashlib.sha256(str(key).encode()).hexdigest()


def _metadata(fields: Sequence[tuple[str, str, str]]) -> dict[str, Any]:
    label_type = "fiftyone.core.labels.Classification"
    own = [_field("ground_truth", "EmbeddedDocumentField", embedded=label_type, fields=_LABEL_FIELDS)]
    own.append(_field("accepted", "ListField", subfield=_TEXT))
    for prediction, error_type, reason in fields:
        own.append(_field(prediction, "EmbeddedDocumentField", embedded=label_type, fields=_LABEL_FIELDS))
        own += [_field(error_type, "StringField"), _field(reason, "StringField")]
    return {
        "version": _VERSION,
        "media_type": "image",
        "tags": [],
        "info": {"made_by": "imagenet-errors"},
        "classes": {},
        "default_classes": [],
        "sample_fields": [*_DEFAULT_FIELDS, *own],
        "frame_fields": [],
    }


def _field(
    name: str,
    kind: str,
    *,
    subfield: str | None = None,
    embedded: str | None = None,
    fields: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    """Return a field's description; ``_id`` is stored under another name than it is called by."""
    return {
        "name": name,
        "ftype": f"{_FIELDS}.{kind}",
        "embedded_doc_type": embedded,
        "subfield": subfield,
        "fields": list(fields),
        "db_field": "_id" if name == "id" else name,
        "description": None,
        "info": None,
        "read_only": name in ("created_at", "last_modified_at"),
    }


_LABEL_FIELDS = (
    _field("id", "ObjectIdField"),
    _field("tags", "ListField", subfield=_TEXT),
    _field("label", "StringField"),
    _field("confidence", "FloatField"),
    _field("logits", "VectorField"),
)
_DEFAULT_FIELDS = (
    _field("id", "ObjectIdField"),
    _field("filepath", "StringField"),
    _field("tags", "ListField", subfield=_TEXT),
    _field("metadata", "EmbeddedDocumentField", embedded="fiftyone.core.metadata.ImageMetadata"),
    _field("created_at", "DateTimeField"),
    _field("last_modified_at", "DateTimeField"),
)


def _save(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
