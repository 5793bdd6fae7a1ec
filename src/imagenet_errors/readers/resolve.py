"""From what a file says to classes of the label space: by wnid, then index, then exact text; never by luck."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import InputError, counted
from imagenet_errors.readers.class_axis import IMAGENET_1K, ClassAxis, axis_names, class_axis
from imagenet_errors.readers.label_text import AMBIGUOUS, REASONS, UNKNOWN, LabelTexts
from imagenet_errors.readers.raw import RawPredictions
from imagenet_errors.readers.scores import reduce_scores

_TOO_MANY_OUTSIDE = 0.01
"""Share of indices outside the class axis from which on the axis, not the rows, must be wrong."""


@dataclass(frozen=True, eq=False)
class Resolved:
    """``top1`` int16 [n] class indices, -1 in rows without a usable prediction; ``raw`` with the reasons."""

    raw: RawPredictions
    top1: NDArray[np.int16]


def resolve(raw: RawPredictions, labels: LabelSpace, *, axis_name: str | None, where: Path) -> Resolved:
    """Turn positions and label texts into class indices.

    Raises
    ------
    InputError
        The class axis is not known, or most of the rows lie outside it.
    """
    axis = _axis_of(raw, labels, axis_name, where)
    if raw.scores is not None:
        raw = reduce_scores(raw, None if axis.width == len(axis.positions) else axis.positions)
        classes = _inside(axis.class_at[axis.positions], raw.index)
    elif raw.index is not None:
        classes = axis.classes_of(raw.index)
        raw = _with_outsiders(raw, classes, axis, where)
    else:
        classes = np.full(raw.n_rows, -1, dtype=np.int16)
    if raw.text is not None:
        raw, classes = _with_texts(raw, classes, labels, where)
    unusable = np.concatenate([np.empty(0, dtype=np.int64), *raw.invalid.values()])
    classes = classes.copy()
    classes[unusable] = -1
    return Resolved(raw, classes)


def _axis_of(raw: RawPredictions, labels: LabelSpace, axis_name: str | None, where: Path) -> ClassAxis:
    width = raw.n_outputs
    if axis_name is not None:
        axis = class_axis(axis_name, labels)
        if width is not None and axis.width != width:
            raise InputError(
                where,
                f"{width:,} outputs, but --class-axis {axis_name} has {axis.width:,}",
                fix="Name the axis of this model's head.",
            )
        return axis
    if width is None or width == len(labels):
        return class_axis(IMAGENET_1K, labels)
    if str(width) in axis_names():
        return class_axis(str(width), labels)
    raise InputError(
        where,
        f"{width:,} outputs, and which class each stands for is not known",
        fix=f"Pass --class-axis with one of {', '.join(axis_names())}, or a file of wnids in output order.",
    )


def _inside(class_at: NDArray[np.int16], index: NDArray[np.int64] | None) -> NDArray[np.int16]:
    if index is None:
        raise ValueError("scores were reduced to no index")
    return np.where(index >= 0, class_at[index], np.int16(-1)).astype(np.int16)


def _with_outsiders(
    raw: RawPredictions, classes: NDArray[np.int16], axis: ClassAxis, where: Path
) -> RawPredictions:
    """Mark rows whose index is no class of the label space; refuse the file if they are many."""
    if raw.index is None:
        return raw
    known = np.ones(raw.n_rows, dtype=np.bool_)
    known[np.concatenate([np.empty(0, dtype=np.int64), *raw.invalid.values()])] = False
    beyond = np.flatnonzero(known & ((raw.index < 0) | (raw.index >= axis.width)))
    if len(beyond) > _TOO_MANY_OUTSIDE * raw.n_rows and raw.text is None:
        raise InputError(
            where,
            f"{counted(len(beyond), 'class index', 'class indices')} outside 0..{axis.width - 1:,}",
            example=f"row {beyond[0] + 1}: {raw.index[beyond[0]]}",
            fix=f"Pass --class-axis ({', '.join(axis_names())}, or a file of wnids in output order).",
        )
    inside_none = np.flatnonzero(known & (classes < 0))
    reason = f"the class index is none of the 1000 classes on the {axis.name} axis"
    return replace(raw, invalid=raw.invalid | ({reason: inside_none} if len(inside_none) else {}))


def _with_texts(
    raw: RawPredictions, classes: NDArray[np.int16], labels: LabelSpace, where: Path
) -> tuple[RawPredictions, NDArray[np.int16]]:
    """Let the text decide where it is clear, the index where the text fits it or says nothing."""
    encoded = pc.dictionary_encode(raw.text)
    texts = encoded.dictionary.to_pylist()
    known = LabelTexts(labels)
    meant = known.classes_of(texts)
    by_code = np.array([meant[text] for text in texts], dtype=np.int64)
    codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
    by_text = by_code[codes] if len(by_code) else np.full(raw.n_rows, -1)
    silent = codes < 0
    for code in np.flatnonzero(by_code == AMBIGUOUS):
        fits = (codes == code) & np.isin(classes, list(known.could_mean(texts[code])))
        by_text[fits] = classes[fits]
    use_index = silent | ((by_text == UNKNOWN) & (classes >= 0))
    disagree = ~silent & (by_text >= 0) & (classes >= 0) & (by_text != classes)
    top1 = np.where(use_index, classes, by_text).astype(np.int64)
    invalid = {reason: np.flatnonzero(top1 == code) for code, reason in REASONS.items()}
    _refuse_foreign_texts(invalid, raw, where)
    notes = raw.notes
    if disagree.any():
        row = int(np.argmax(disagree))
        notes += (
            f"in {counted(int(disagree.sum()), 'row')} the index and the label disagree; the label was taken "
            f"(first: row {row + 1}, index {classes[row]}, label {texts[codes[row]]!r})",
        )
    invalid = {reason: rows for reason, rows in invalid.items() if len(rows)}
    return replace(raw, invalid=raw.invalid | invalid, notes=notes), np.maximum(top1, -1).astype(np.int16)


def _refuse_foreign_texts(invalid: dict[str, NDArray[np.int64]], raw: RawPredictions, where: Path) -> None:
    n_foreign = sum(len(rows) for rows in invalid.values())
    if raw.text is None or n_foreign < max(1, raw.n_rows // 2):
        return
    reason, rows = max(invalid.items(), key=lambda item: len(item[1]))
    raise InputError(
        where,
        f"{counted(n_foreign, 'label')} of {raw.n_rows:,} cannot be read as a class: {reason}",
        example=f"row {rows[0] + 1}: {raw.text[int(rows[0])]}",
        fix="Write class indices or wnids (timm: --label-type name, or --include-index).",
    )
