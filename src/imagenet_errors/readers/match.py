"""From a file's rows to the annotated images: by name, or by an order that is stated or proven; never by luck."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from imagenet_errors.images import ImageIndex, val_file_names
from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import InputError, counted
from imagenet_errors.readers.annotations import read_real
from imagenet_errors.readers.order import Suspicion, fits_clearly, is_chance, refuse, suspicion
from imagenet_errors.readers.resolve import Resolved
from imagenet_errors.tables import Annotations, Intake, Predictions

VAL_ORDERS = ("name", "imagefolder")
"""The two row orders that files without names come in (file name; wnid folder, then file name)."""


@dataclass(frozen=True)
class MatchRules:
    """How rows become images: ``row_order`` is one of VAL_ORDERS, a file of names, or None (by name or proof)."""

    row_order: str | None = None
    allow_partial: bool = False
    check_order: bool = True


def match(
    resolved: Resolved,
    annotations: Annotations,
    labels: LabelSpace,
    *,
    model: str,
    path: Path,
    rules: MatchRules,
) -> Predictions:
    """Match every row to its image.

    Raises
    ------
    InputError
        The order is not known or does not fit, an image has conflicting rows, or evaluated images lack a usable
        prediction (unless the rules allow a partial file).
    """
    images = ImageIndex(annotations.file_names)
    rows, notes = _rows(resolved, annotations, images, path=path, rules=rules)
    matched = np.flatnonzero(rows >= 0)
    if not len(matched):
        raise InputError(
            path,
            f"none of its {counted(resolved.raw.n_rows, 'row')} is an annotated image",
            example=resolved.raw.names[0] if resolved.raw.names is not None else None,
            fix="Check the image names, or pass the annotations that belong to them.",
        )
    kept, n_repeated = _once_each(rows, matched, resolved, annotations, path)
    usable = kept[resolved.top1[kept] >= 0]
    _check_complete(rows, usable, resolved, annotations, path=path, rules=rules)
    top1 = resolved.top1[usable]
    if rules.check_order:
        label = annotations.label[rows[usable]]
        doubt = _other_order(resolved, images) if is_chance(label, top1) else None
        refuse(doubt or suspicion(label, top1, labels), where=path)
    raw = resolved.raw
    intake = Intake(
        format=raw.format,
        n_rows=raw.n_rows,
        n_matched=len(usable),
        n_extra=raw.n_rows - len(matched),
        n_repeated=n_repeated,
        n_invalid=len(kept) - len(usable),
        n_missing=int(annotations.evaluated.sum() - annotations.evaluated[rows[usable]].sum()),
        n_ties=raw.n_ties,
        notes=(*raw.notes, *notes),
    )
    confidence = None if raw.confidence is None else raw.confidence[usable]
    return Predictions(model, rows[usable], top1, confidence, intake)


def _rows(
    resolved: Resolved, annotations: Annotations, images: ImageIndex, *, path: Path, rules: MatchRules
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return the image row of every file row, -1 for none, and what was decided."""
    names = resolved.raw.names
    if rules.row_order is not None:
        ordered = names_in_order(rules.row_order, resolved.raw.n_rows, where=path)
        return images.rows(ordered, where=path), (f"rows taken in the order {rules.row_order}, as stated",)
    if names is None:
        return _proven_rows(resolved, images, annotations, path)
    if images.is_val and pc.all(pc.match_substring_regex(names, r"^[0-9]{1,7}$")).as_py():
        return _rows_of_ids(resolved, images, annotations, path)
    return images.rows(names, where=path), ()


def names_in_order(order: str, n_rows: int, *, where: Path) -> pa.StringArray:
    """Return the image name of every row for a stated order.

    Raises
    ------
    InputError
        The order is no known one and no file, or has another number of names than there are rows.
    """
    if order in VAL_ORDERS:
        names = val_file_names(_val_numbers_in(order))
    else:
        path = Path(order)
        if not path.is_file():
            raise InputError(
                "--row-order",
                f"no order and no file {order!r}",
                fix=f"Known are {', '.join(VAL_ORDERS)}, or FILE.",
            )
        names = _read_names(path)
    if len(names) != n_rows:
        raise InputError(
            where,
            f"{counted(n_rows, 'row')}, but the order {order} has {len(names):,} names",
            fix="The order must name one image a row.",
        )
    return names


def _val_numbers_in(order: str) -> NDArray[np.int64]:
    """Return the numbers of the 50,000 validation images in that order."""
    label = _val_label()
    numbers = np.arange(1, len(label) + 1)
    return numbers if order == "name" else numbers[np.lexsort((numbers, label))]


def _val_label() -> NDArray[np.int16]:
    from imagenet_errors.labels import imagenet_1k

    return read_real(imagenet_1k()).label


def _read_names(path: Path) -> pa.StringArray:
    """Read image names: samples_info.npz, a JSON list, or the first word of every line."""
    with path.open("rb") as file:
        is_zip = file.read(2) == b"PK"
    if is_zip:
        arrays = np.load(path, allow_pickle=False)
        key = next(
            (key for key in ("sample_files", "file_names", "filenames", "names") if key in arrays), None
        )
        if key is None:
            raise InputError(
                path, f"no names among {', '.join(arrays)}", fix="It needs an array sample_files."
            )
        return pa.array(arrays[key].astype(str).tolist(), type=pa.string())
    text = path.read_text(encoding="utf-8-sig")
    if text.lstrip().startswith("["):
        return pa.array([str(name) for name in json.loads(text)], type=pa.string())
    lines = [re.split(r"[,\t ]", line.strip())[0] for line in text.splitlines() if line.strip()]
    return pa.array([line for line in lines if line not in ("file_name", "filename")], type=pa.string())


def _proven_rows(
    resolved: Resolved, images: ImageIndex, annotations: Annotations, path: Path
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Rows without names: of the common orders exactly one may fit far better than chance."""
    fix = f"Pass --row-order with one of {', '.join(VAL_ORDERS)}, or a file of image names, one a row."
    if not images.is_val or resolved.raw.n_rows != len(_val_label()):
        raise InputError(path, f"{counted(resolved.raw.n_rows, 'row')} without image names", fix=fix)
    fitting = [order for order in VAL_ORDERS if _fits(order, resolved)]
    if len(fitting) != 1:
        raise InputError(
            path, "rows without image names, and accuracy is at chance in every common order", fix=fix
        )
    rows = images.rows_of_numbers(_val_numbers_in(fitting[0]))
    return rows, (f"rows have no names; only the order {fitting[0]} fits the labels, so it was taken",)


def _fits(order: str, resolved: Resolved) -> bool:
    usable = resolved.top1 >= 0
    label = _val_label()[_val_numbers_in(order) - 1]
    return fits_clearly(label[usable], resolved.top1[usable])


def _rows_of_ids(
    resolved: Resolved, images: ImageIndex, annotations: Annotations, path: Path
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Integer ids count from 0 or from 1: taken as the one of the two that fits the labels."""
    ids = pc.cast(resolved.raw.names, pa.int64()).to_numpy()
    fitting = []
    for base in (0, 1):
        rows = images.rows_of_numbers(ids + 1 - base)
        usable = (rows >= 0) & (resolved.top1 >= 0)
        if usable.any() and fits_clearly(annotations.label[rows[usable]], resolved.top1[usable]):
            fitting.append((base, rows))
    if len(fitting) != 1:
        raise InputError(
            path,
            "images are given by integers, and whether they count from 0 or 1 cannot be told",
            example=resolved.raw.names[0],
            fix="Write file names, or numbers of 8 digits counted from 1.",
        )
    base, rows = fitting[0]
    return rows, (f"image ids count from {base}: only that fits the labels",)


def _once_each(
    rows: NDArray[np.int64],
    matched: NDArray[np.int64],
    resolved: Resolved,
    annotations: Annotations,
    path: Path,
) -> tuple[NDArray[np.int64], int]:
    """Return one file row an image, in the images' order, and how many equal copies were dropped."""
    ordered = matched[np.argsort(rows[matched], kind="stable")]
    again = np.concatenate(([False], rows[ordered[1:]] == rows[ordered[:-1]]))
    if not again.any():
        return ordered, 0
    torn = again & np.concatenate(([False], resolved.top1[ordered[1:]] != resolved.top1[ordered[:-1]]))
    if torn.any():
        place = int(np.argmax(torn))
        one, other = ordered[place - 1], ordered[place]
        raise InputError(
            path,
            f"{counted(int(torn.sum()), 'repeated row')} with another class than before",
            example=f"{annotations.file_names[int(rows[one])]}: class {resolved.top1[one]} in row {one + 1}, "
            f"{resolved.top1[other]} in row {other + 1}",
            fix="Keep one row an image; names that repeat in several folders must include the folder.",
        )
    return ordered[~again], int(again.sum())


def _check_complete(
    rows: NDArray[np.int64],
    usable: NDArray[np.int64],
    resolved: Resolved,
    annotations: Annotations,
    *,
    path: Path,
    rules: MatchRules,
) -> None:
    if rules.allow_partial and len(usable):
        return
    has = np.zeros(len(annotations), dtype=np.bool_)
    has[rows[usable]] = True
    lacking = np.flatnonzero(annotations.evaluated & ~has)
    if not len(lacking) and len(usable):
        return
    first = annotations.file_names[int(lacking[0])] if len(lacking) else None
    what = f"no usable prediction for {len(lacking):,} of {int(annotations.evaluated.sum()):,} images"
    invalid = [
        f"{len(bad):,} because {reason} (row {bad[0] + 1})" for reason, bad in resolved.raw.invalid.items()
    ]
    raise InputError(
        path,
        f"{what}{'; ' + ', '.join(invalid) if invalid else ''}",
        example=first,
        fix="Predict them again, or pass --allow-partial to evaluate just the others.",
    )


def _other_order(resolved: Resolved, images: ImageIndex) -> Suspicion | None:
    """Names that were put beside the predictions in another order than the predictions are in."""
    if not images.is_val or resolved.raw.n_rows != len(_val_label()):
        return None
    for order in VAL_ORDERS:
        if _fits(order, resolved):
            return Suspicion(
                f"accuracy is at chance by the names in the file, but the rows fit the order {order}",
                f"Pass --row-order {order} to take the rows in that order instead of by their names.",
            )
    return None
