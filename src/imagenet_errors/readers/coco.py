"""COCO's layout: a list of images and a list of what was found in them, joined by ids, beside the categories.

Source: cocodataset.org, "Data format" and "Results format". Bare results, a list of ``image_id`` and ``category_id``,
are records like others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from imagenet_errors.problems import InputError, counted

_IMAGES = "images"
_CATEGORIES = "categories"
_RESULTS = ("annotations", "predictions", "results")
_PATHS = ("file_name", "filename", "file", "path", "name")


def is_coco(parsed: Mapping[str, Any]) -> bool:
    """Say whether an object is laid out as COCO's: images with ids, and results that speak of them."""
    return _first_keys(parsed.get(_IMAGES)) >= {"id"} and bool(_results_key(parsed))


def coco_columns(parsed: Mapping[str, Any], path: Path) -> dict[str, list[Any]]:
    """Return a column each of image names, categories (by name where they have one) and scores, a row a result.

    Raises
    ------
    InputError
        An id stands for two images or categories, or for none.
    """
    results = parsed[_results_key(parsed)]
    images = {key: _name_of(one) for key, one in _by_id(parsed[_IMAGES], _IMAGES, path).items()}
    categories = parsed.get(_CATEGORIES)
    listed = _by_id(categories if isinstance(categories, list) else [], _CATEGORIES, path)
    ids = _values(results, "category_id")
    columns: dict[str, list[Any]] = {"file_name": _joined(_values(results, "image_id"), images, _IMAGES, path)}
    if listed.keys() <= set(map(str, range(len(listed)))):
        columns["category_id"] = ids
    if listed:
        names = {key: one.get("name") for key, one in listed.items()}
        columns["category_name"] = _joined(ids, names, _CATEGORIES, path)
    scores = _values(results, "score")
    return columns if all(score is None for score in scores) else columns | {"score": scores}


def _results_key(parsed: Mapping[str, Any]) -> str:
    return next((key for key in _RESULTS if _first_keys(parsed.get(key)) >= {"image_id", "category_id"}), "")


def _first_keys(value: Any) -> set[str]:
    return set(value[0]) if isinstance(value, list) and value and isinstance(value[0], dict) else set()


def _values(records: Sequence[Any], key: str) -> list[Any]:
    return [record.get(key) if isinstance(record, dict) else None for record in records]


def _name_of(image: Mapping[str, Any]) -> Any:
    return next((image[key] for key in _PATHS if isinstance(image.get(key), str)), None)


def _by_id(records: Sequence[Any], key: str, path: Path) -> dict[str, dict[str, Any]]:
    """Return the records by their ids as texts, for some tools write them so in one place and as numbers in another."""
    found: dict[str, dict[str, Any]] = {}
    for record in filter(lambda one: isinstance(one, dict), records):
        own = str(record.get("id"))
        if found.setdefault(own, record) != record:
            what = f"two of its {counted(len(records), 'entry', 'entries')} below {key!r} have the same id"
            raise InputError(path, what, example=own, fix="Give each an id of its own.")
    return found


def _joined(ids: Sequence[Any], names: Mapping[str, Any], key: str, path: Path) -> list[Any]:
    """Return what each id is called."""
    unnamed = [one for one in ids if names.get(str(one)) is None]
    if unnamed:
        what = f"{counted(len(unnamed), 'result')} of {len(ids):,} with an id that has no name below {key!r}"
        raise InputError(path, what, example=unnamed[0], fix="Add it there, with its id and its name.")
    return [names[str(one)] for one in ids]
