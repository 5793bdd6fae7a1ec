"""COCO: ``labels.json`` with the accepted labels as annotations, and a results file a model.

Source: cocodataset.org, format of data and of results. Category ids are class indices plus one, since 0 is background
in many readers.
Differs: annotations are of whole images, with a box only where the images are given; results carry the error type and
the reason beside ``score``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from imagenet_errors.export.rows import ModelRows, RunToExport

OPEN = "Open it: pycocotools.coco.COCO('{out}/labels.json'); results of each model lie beside it, by image_id."


def write(run: RunToExport, folder: Path) -> None:
    """Write ``labels.json`` and ``results.MODEL.json``."""
    labelled: dict[str, dict[str, Any]] = {}
    categories: tuple[str, ...] = ()
    annotations: list[dict[str, Any]] = []
    for rows in run.rows():
        categories = rows.class_names
        for row, name in enumerate(rows.texts("file_name")):
            if name is not None and name not in labelled:
                labelled[name] = _image(len(labelled) + 1, name, rows.files.get(row))
                annotations += _annotations(labelled[name], rows.accepted()[row].tolist(), len(annotations))
        results = list(_results(rows, {name: image["id"] for name, image in labelled.items()}))
        _save(folder / f"results.{rows.model}.json", results)
    _save(
        folder / "labels.json",
        {
            "info": {"description": "imagenet-errors: accepted labels; category id = class index + 1"},
            "licenses": [],
            "images": list(labelled.values()),
            "categories": [{"id": index + 1, "name": name} for index, name in enumerate(categories)],
            "annotations": annotations,
        },
    )


def _image(number: int, name: str, file: Path | None) -> dict[str, Any]:
    image: dict[str, Any] = {"id": number, "file_name": name}
    if file is not None:
        from PIL import Image

        try:
            with Image.open(file) as picture:
                image["width"], image["height"] = picture.size
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
            return image
    return image


def _annotations(image: dict[str, Any], accepted: list[int], n_before: int) -> Iterator[dict[str, Any]]:
    box = {}
    if "width" in image:
        box = {"bbox": [0, 0, image["width"], image["height"]], "area": image["width"] * image["height"]}
    for place, index in enumerate(accepted):
        yield {"id": n_before + place + 1, "image_id": image["id"], "category_id": index + 1, "iscrowd": 0, **box}


def _results(rows: ModelRows, image_ids: dict[str, int]) -> Iterator[dict[str, Any]]:
    columns = (rows.texts("file_name"), rows.table["prediction"].to_pylist(), rows.confidences())
    said = zip(*columns, rows.texts("error_type"), rows.texts("explanation"), strict=True)
    for name, prediction, confidence, error_type, reason in said:
        yield {
            "image_id": image_ids[str(name)],
            "category_id": prediction + 1,
            "score": confidence,
            "error_type": error_type,
            "explanation": reason,
        }


def _save(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
