"""From what a file says to classes: by wnid, then exact text, then index; never by luck."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import InputError, counted
from imagenet_errors.readers.cells import refuse_alphabetical
from imagenet_errors.readers.class_axis import (
    BACKGROUND_FIRST,
    FILES_OWN,
    IMAGENET_1K,
    ClassAxis,
    axis_names,
    axis_of_headers,
    axis_of_wnids,
    class_axis,
)
from imagenet_errors.readers.label_text import REASONS, UNKNOWN, LabelTexts, label_texts
from imagenet_errors.readers.raw import RawPredictions
from imagenet_errors.readers.scores import reduce_scores, without_labels

_TOO_MANY_OUTSIDE = 0.01
"""Share of indices outside the class axis from which on the axis, not the rows, must be wrong."""

_ENOUGH_TO_COMPARE = 20
_ALIKE = 0.1
"""Share of the rows from which on an index and a text speak of the same classes; a prediction and the truth do."""
_BETWEEN_NAMES = (",", "/", "\n", "->", ">", "+", "&")
"""Marks that people put between the names of one image; bars and semicolons are no part of names and split before."""

NO_LABEL = "the row gives neither a class index nor a label"


@dataclass(frozen=True, eq=False)
class Resolved:
    """``top1`` int16 [n] class indices, -1 in rows without a usable prediction; ``raw`` with the reasons."""

    raw: RawPredictions
    top1: NDArray[np.int16]
    n_disagree: int = 0
    """Rows whose index and text mean different classes."""
    lacks: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """Classes that the file cannot name, since its class axis lacks them."""


def resolve(
    raw: RawPredictions, labels: LabelSpace, *, axis_name: str | None, where: Path, mask: bool = False
) -> Resolved:
    """Turn positions and label texts into class indices.

    ``mask``: choose the best of the classes that occur in the data set, not of all.

    Raises
    ------
    InputError
        The class axis is not known, most of the rows lie outside it, or a single class a row is to be masked.
    """
    raw = without_labels(raw)
    axis = _axis_of(raw, labels, axis_name, where)
    if axis.name != FILES_OWN:
        raw = replace(raw, axis_labels=None)
    if mask:
        raw, axis = _masked(raw, axis, labels, where)
    if raw.scores is not None:
        raw = _told(raw, axis, labels)
        raw = reduce_scores(raw, None if axis.width == len(axis.positions) else axis.positions)
        classes = _inside(axis.class_at[axis.positions], raw.index)
    elif raw.index is not None:
        classes = axis.classes_of(raw.index)
        if raw.ranks is not None:
            raw = replace(raw, ranks=axis.classes_of(raw.ranks).astype(np.int64))
        if raw.text is None:
            _refuse_outsiders(raw, axis, where)
    else:
        classes = np.full(raw.n_rows, -1, dtype=np.int16)
    reasons = _reasons_of_index(raw, classes, axis)
    n_disagree = 0
    if raw.text is not None:
        raw, classes, reasons, n_disagree = _with_texts(raw, classes, labels, where=where)
    classes = classes.copy()
    classes[_listed(raw.invalid)] = -1
    is_lacking = classes < 0
    is_lacking[_listed(raw.invalid)] = False
    invalid = dict(raw.invalid)
    for reason, rows in reasons.items():
        found = np.unique(rows[is_lacking[rows]])
        invalid |= {reason: found} if len(found) else {}
    return Resolved(replace(raw, invalid=invalid), classes, n_disagree, axis.lacks(labels))


def rows_taken(resolved: Resolved, rows: NDArray[np.int64]) -> Resolved:
    """Return the given rows, ascending, as a file of their own."""
    raw = resolved.raw
    place = np.full(raw.n_rows, -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    invalid = {reason: place[bad][place[bad] >= 0] for reason, bad in raw.invalid.items()}
    kept = replace(
        raw,
        n_rows=len(rows),
        names=None if raw.names is None else raw.names.take(pa.array(rows)),
        index=None if raw.index is None else raw.index[rows],
        text=None if raw.text is None else raw.text.take(pa.array(rows)),
        confidence=None if raw.confidence is None else raw.confidence[rows],
        ranks=None if raw.ranks is None else raw.ranks[rows],
        invalid={reason: bad for reason, bad in invalid.items() if len(bad)},
    )
    return replace(resolved, raw=kept, top1=resolved.top1[rows])


def _masked(raw: RawPredictions, axis: ClassAxis, labels: LabelSpace, where: Path) -> tuple[RawPredictions, ClassAxis]:
    """Return scores or ranks with an axis of the occurring classes alone; the best rank among them comes first."""
    if not labels.occurring:
        raise InputError("--mask-classes", "all classes occur in this data set", fix="Leave it out.")
    axis = replace(axis, class_at=np.where(np.isin(axis.class_at, labels.occurring), axis.class_at, np.int16(-1)))
    rule = f"of the {len(labels.occurring):,} classes that occur the best was taken"
    if raw.scores is not None:
        return replace(raw, index=None, text=None, notes=(*raw.notes, rule)), axis
    if raw.ranks is None or raw.ranks.shape[1] < 2:
        what = "one class a row, so that the best of those that occur is not known"
        raise InputError(where, what, fix="Give a file of scores or top-k classes, or leave --mask-classes out.")
    occurs = axis.classes_of(raw.ranks) >= 0
    first = np.argmax(occurs, axis=1)
    index = np.where(occurs.any(axis=1), raw.ranks[np.arange(raw.n_rows), first], -1)
    lacking = np.flatnonzero(index < 0)
    invalid = {**raw.invalid, **({"none of its ranks occurs in the data set": lacking} if len(lacking) else {})}
    return replace(raw, index=index, text=None, ranks=None, invalid=invalid, notes=(*raw.notes, rule)), axis


def _listed(invalid: dict[str, NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return every row that has a reason not to be used."""
    return np.concatenate([np.empty(0, dtype=np.int64), *invalid.values()])


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
    if raw.axis_labels is not None and any(label in labels.index_of_wnid for label in raw.axis_labels):
        return axis_of_wnids(FILES_OWN, raw.axis_labels, labels, where=where)
    if raw.axis_labels is not None:
        named = axis_of_headers(raw.axis_labels, labels, where=where)
        if named is not None:
            return named
    if width is None or width == len(labels):
        return class_axis(IMAGENET_1K, labels)
    if width == len(labels.occurring):
        return ClassAxis("the data set's", np.array(labels.occurring, dtype=np.int16))
    if str(width) in axis_names():
        return class_axis(str(width), labels)
    raise _unknown_width(raw, width, labels, where)


def _unknown_width(raw: RawPredictions, width: int, labels: LabelSpace, where: Path) -> InputError:
    """Tell what can be done about outputs that are neither as many as the classes nor as those of a known head."""
    fits = [name for name in axis_names() if labels.is_imagenet and class_axis(name, labels).width == width]
    ways = [f"Pass --class-axis {' or '.join((*fits, 'FILE'))}: a wnid or a class's name a line, {width:,} lines"]
    if raw.scores is not None and raw.n_rows == len(labels):
        ways.append(f"If the {raw.n_rows:,} rows are the classes, save the array transposed (array.T)")
    if raw.names is None:
        ways.append("Rows that are not all the images in a common order need --row-order FILE, too: a name a line")
    ways.append(f"Outputs for other classes than these {len(labels):,}: --classes FILE, with --annotations of its own")
    what = f"{counted(raw.n_rows, 'row')} of {width:,} outputs, and which class each stands for is not known"
    return InputError(where, what, fix=". ".join(ways) + ".")


def _told(raw: RawPredictions, axis: ClassAxis, labels: LabelSpace) -> RawPredictions:
    """Say which of the outputs were used, where it is not all of them, one a class."""
    lacking = axis.lacks(labels)
    if axis.width == len(labels) and not len(lacking):
        return raw
    note = f"{axis.width:,} outputs: the {len(axis.positions):,} that stand for one of the classes were used"
    if axis.name == BACKGROUND_FIRST:
        note = "1,001 outputs: the first is a background class and was left out"
    if len(lacking):
        first = f"{lacking[0]} {labels.names[lacking[0]]}"
        note += f"; {counted(len(lacking), 'class', 'classes')} of the {len(labels):,} has none (first: {first})"
    return replace(raw, notes=(*raw.notes, note))


def _inside(class_at: NDArray[np.int16], index: NDArray[np.int64] | None) -> NDArray[np.int16]:
    if index is None:
        raise ValueError("scores were reduced to no index")
    return np.where(index >= 0, class_at[index], np.int16(-1)).astype(np.int16)


def _refuse_outsiders(raw: RawPredictions, axis: ClassAxis, where: Path) -> None:
    """Refuse a file of which many rows lie outside the class axis: then the axis is wrong, not the rows."""
    if raw.index is None:
        return
    outside = raw.index >= axis.width  # -1 stands for no class
    outside[_listed(raw.invalid)] = False
    beyond = np.flatnonzero(outside)
    if len(beyond) > _TOO_MANY_OUTSIDE * raw.n_rows:
        raise InputError(
            where,
            f"{counted(len(beyond), 'class index', 'class indices')} outside 0..{axis.width - 1:,}",
            example=f"row {beyond[0] + 1}: {raw.index[beyond[0]]}",
            fix=f"Pass --class-axis ({', '.join(axis_names())}, or a file of wnids in output order).",
        )


def _reasons_of_index(raw: RawPredictions, classes: NDArray[np.int16], axis: ClassAxis) -> dict[str, NDArray[np.int64]]:
    reason = f"the class index is none of the classes on the {axis.name} axis"
    return {reason: np.flatnonzero(classes < 0)} if raw.index is not None else {}


def _with_texts(
    raw: RawPredictions, classes: NDArray[np.int16], labels: LabelSpace, *, where: Path
) -> tuple[RawPredictions, NDArray[np.int16], dict[str, NDArray[np.int64]], int]:
    """Let the text decide where it is clear, the index where the text fits it or says nothing.

    Also returns the reasons why rows have no class, and in how many index and text disagree.
    """
    encoded = pc.dictionary_encode(raw.text)
    texts = encoded.dictionary.to_pylist()
    codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
    known = label_texts(labels)
    meant = known.classes_of(texts)
    if raw.index is None and _are_foreign(codes, [meant[text] for text in texts]):
        raw, meant = _with_first_names(raw, known, meant, where=where)
    by_code = np.array([*(meant[text] for text in texts), -1], dtype=np.int64)  # the last: no text
    by_text = by_code[codes]
    index, classes = classes, _of_these_classes(classes, by_text)
    for code, text in enumerate(texts if raw.index is not None else ()):
        possible = known.could_mean(text)
        if len(possible) > 1:
            fits = (codes == code) & np.isin(classes, list(possible))
            by_text[fits] = classes[fits]
    use_index = (codes < 0) | ((by_text == UNKNOWN) & (classes >= 0))
    disagree = (by_text >= 0) & (index >= 0) & (by_text != index)
    top1 = np.where(use_index, classes, by_text).astype(np.int64)
    reasons = {reason: np.flatnonzero(top1 == code) for code, reason in REASONS.items()}
    reasons[NO_LABEL] = np.flatnonzero(top1 == -1)
    _refuse_foreign_texts(reasons, raw, where)
    if disagree.any():
        row = int(np.argmax(disagree))
        note = (
            f"in {counted(int(disagree.sum()), 'row')} the index and the label disagree; the label was taken "
            f"(first: row {row + 1}, index {index[row]}, label {texts[codes[row]]!r})"
        )
        raw = replace(raw, notes=(*raw.notes, note))
    return raw, np.maximum(top1, -1).astype(np.int16), reasons, int(disagree.sum())


def _of_these_classes(index: NDArray[np.int16], by_text: NDArray[np.int64]) -> NDArray[np.int16]:
    """Return the index, or -1 in all rows where the texts show that it counts other classes than these."""
    both = (index >= 0) & (by_text >= 0)
    n_alike = int(np.count_nonzero(index[both] == by_text[both]))
    is_foreign = np.count_nonzero(both) >= _ENOUGH_TO_COMPARE and n_alike < _ALIKE * np.count_nonzero(both)
    return np.full_like(index, -1) if is_foreign else index


def _are_foreign(codes: NDArray[np.int64], classes: list[int]) -> bool:
    """Say whether half of the rows have a text that is no class name."""
    return 2 * int(np.count_nonzero(np.array([*classes, -1])[codes] == UNKNOWN)) >= len(codes)


def _with_first_names(
    raw: RawPredictions, known: LabelTexts, meant: dict[str, int], *, where: Path
) -> tuple[RawPredictions, dict[str, int]]:
    """Take the first of the names in each text, where all of them are names joined by one mark."""
    foreign = [text for text, index in meant.items() if index == UNKNOWN]
    for mark in _BETWEEN_NAMES:
        firsts = known.firsts_of(foreign, mark) if all(mark in text for text in foreign) else None
        if firsts is None:
            continue
        refuse_alphabetical([[part.strip() for part in text.split(mark)] for text in firsts], where)
        between = "commas" if mark == "," else f"{mark!r}"
        note = f"{counted(len(firsts), 'text')} hold several names between {between}; the first was taken for the best"
        return replace(raw, notes=(*raw.notes, note)), meant | firsts
    return raw, meant


def _refuse_foreign_texts(reasons: dict[str, NDArray[np.int64]], raw: RawPredictions, where: Path) -> None:
    """Refuse a file of which half the labels cannot be read: then it is not about these classes."""
    foreign = {reason: rows for reason, rows in reasons.items() if reason != NO_LABEL}
    n_foreign = sum(len(rows) for rows in foreign.values())
    if raw.text is None or not n_foreign or 2 * n_foreign < raw.n_rows:
        return
    reason, rows = max(foreign.items(), key=lambda item: len(item[1]))
    raise InputError(
        where,
        f"{counted(n_foreign, 'label')} of {raw.n_rows:,} cannot be read as a class: {reason}",
        example=f"row {rows[0] + 1}: {raw.text[int(rows[0])]}",
        fix="Write class indices or wnids (timm: --label-type name, or --include-index); several of a row between '|'.",
    )
