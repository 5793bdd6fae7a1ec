"""Which of several columns states the prediction: what the images show tells a model's answers from the truth.

A column that is right in every image holds the original labels, whatever it is called; ``label`` beside
``resnet50`` mostly is. What cannot be told apart is asked about."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from imagenet_errors.images import ImageIndex
from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import InputError, counted
from imagenet_errors.readers.class_axis import BACKGROUND_FIRST, DEVKIT, IMAGENET_1K, class_axis
from imagenet_errors.readers.match import MatchRules, rows_of
from imagenet_errors.readers.order import ENOUGH_ROWS
from imagenet_errors.readers.raw import Candidate, RawPredictions
from imagenet_errors.readers.resolve import Resolved, resolve
from imagenet_errors.readers.row_orders import known_orders
from imagenet_errors.tables import Annotations

IS_TRUTH = 0.99
"""Share of right rows from which on a column holds the original labels: of 98 real models none reaches 0.93."""
_NO_MODEL = 0.93
_FEWER_THAN_RANDOM = 0.02
_CLEARLY_BETTER = 3
_CLEARLY_RIGHT = 0.2
_SUBMITTED = 5
"""Classes a line in a submission to the ImageNet challenge."""


@dataclass(frozen=True, eq=False)
class Reader:
    """Reads the columns of one file: its images, the classes, and what the user stated."""

    annotations: Annotations
    labels: LabelSpace
    images: ImageIndex
    rules: MatchRules
    axis_name: str | None
    path: Path
    mask: bool = False

    def resolve(self, raw: RawPredictions) -> Resolved:
        """Turn what the rows say into classes."""
        return resolve(raw, self.labels, axis_name=self.axis_name, where=self.path, mask=self.mask)

    def right(self, resolved: Resolved) -> tuple[int, float]:
        """Return how many rows can be compared with an original label, and the share of right ones."""
        rows, _ = rows_of(resolved, self.annotations, self.images, path=self.path, rules=self.rules)
        usable = np.flatnonzero((rows >= 0) & (resolved.top1 >= 0))
        if not len(usable):
            return 0, 0.0
        return len(usable), float(np.mean(self.annotations.is_label(rows[usable], resolved.top1[usable])))


@dataclass(frozen=True, eq=False)
class _Reading:
    """One candidate, read: how many rows could be compared, and the share of right ones."""

    candidate: Candidate
    resolved: Resolved
    n_rows: int
    right: float

    @property
    def is_truth(self) -> bool:
        return self.n_rows > 0 and self.right >= IS_TRUTH


def told_apart(raw: RawPredictions, reader: Reader) -> list[tuple[str, Resolved]]:
    """Return each model's header (empty for the only one) and classes.

    Raises
    ------
    InputError
        Several columns may be the prediction and the images' labels do not settle which.
    """
    if not raw.candidates:
        kit = _on_the_kits_axis(raw, reader)
        if kit is not None:
            return [("", kit)]
        _refuse_submission(raw, reader)
        return [("", _by_index_or_text(_from_0(raw, reader), reader))]
    readings = list(_readings(raw, reader))
    truth = [one for one in readings if one.is_truth]
    others = [one for one in readings if not one.is_truth]
    notes = tuple(_truth_note(one) for one in truth)
    models = [one for one in others if not one.candidate.is_named]
    named = [one for one in others if one.candidate.is_named]
    if len(named) > 1 or not others or _too_few(truth, others) or _may_be_labels(named, models):
        _ask(readings, reader.path)
    if len(named) == 1:
        return [("", _with_notes(named[0].resolved, (*notes, *_unused(models))))]
    if len(models) == 1:
        taken = f"Column {models[0].candidate.header!r} was taken for the predicted class."
        return [("", _with_notes(models[0].resolved, (*notes, taken)))]
    _refuse_ranks(models, reader.path)
    shared = (*notes, f"The file holds {len(models):,} models, a column each.")
    return [(one.candidate.header, _with_notes(one.resolved, shared)) for one in models]


def _refuse_ranks(models: list[_Reading], path: Path) -> None:
    """Refuse columns that never name one class for an image: they are guesses of one model, not several models."""
    top1 = [one.resolved.top1 for one in models]
    # One pair of models is enough: there may be hundreds, and then half a million pairs.
    if len(top1[0]) < ENOUGH_ROWS or any(np.mean(a == b) > _FEWER_THAN_RANDOM for a, b in combinations(top1, 2)):
        return
    right = ", ".join(f"{one.candidate.header!r} (right in {one.right:.1%})" for one in models[:6])
    raise InputError(
        path,
        f"{len(models)} columns that never name one class for an image, so that they are ranks of one model: {right}",
        fix=f"Say which is the best guess: --column index={max(models, key=lambda one: one.right).candidate.header!r}.",
    )


def _may_be_labels(named: list[_Reading], models: list[_Reading]) -> bool:
    """Say whether a column called ``label`` is right more often than any model, beside one that may be a model's."""
    return any(one.right > _NO_MODEL for one in named) and any(one.right > _FEWER_THAN_RANDOM for one in models)


def _too_few(truth: list[_Reading], others: list[_Reading]) -> bool:
    """Say whether a single rival column cannot be told from the truth, for want of rows."""
    return bool(truth) and len(others) == 1 and truth[0].n_rows < ENOUGH_ROWS


def _readings(raw: RawPredictions, reader: Reader) -> Iterator[_Reading]:
    """Read each candidate; one whose values are no classes is none."""
    problem: InputError | None = None
    n_read = 0
    for candidate in raw.candidates:
        alone = replace(raw, index=candidate.index, text=candidate.text, candidates=())
        try:
            resolved = reader.resolve(alone)
            n_rows, right = reader.right(resolved)
        except InputError as found:
            problem = problem or found
            continue
        n_read += 1
        yield _Reading(candidate, resolved, n_rows, right)
    if problem is not None and not n_read:
        raise problem


def _truth_note(one: _Reading) -> str:
    return (
        f"Column {one.candidate.header!r} holds the original labels ({one.right:.0%} of {one.n_rows:,} rows are "
        "right); it was not read as the prediction."
    )


def _unused(models: list[_Reading]) -> tuple[str, ...]:
    return tuple(f"Column {one.candidate.header!r} was not read as the prediction." for one in models)


def _with_notes(resolved: Resolved, notes: tuple[str, ...]) -> Resolved:
    return replace(resolved, raw=replace(resolved.raw, notes=(*resolved.raw.notes, *notes)))


def _ask(readings: list[_Reading], path: Path) -> None:
    shares = ", ".join(f"{one.candidate.header!r} (right in {one.right:.1%})" for one in readings[:12])
    raise InputError(
        path,
        f"{len(readings)} columns may be the predicted class: {shares}",
        fix="Say which it is: --column index=NAME, or label=NAME for a text.",
    )


def _by_index_or_text(raw: RawPredictions, reader: Reader) -> Resolved:
    """Read the class from index (or scores) and text, unless the text is the truth and the index the prediction."""
    resolved = reader.resolve(raw)
    if not resolved.n_disagree:
        return resolved
    by_index = reader.resolve(replace(raw, text=None))
    by_text = reader.resolve(replace(raw, index=None, scores=None))
    n_rows, text_right = reader.right(by_text)
    index_right = reader.right(by_index)[1]
    is_folder = _names_the_folder(raw)
    if (text_right >= IS_TRUTH and n_rows >= ENOUGH_ROWS and index_right > _FEWER_THAN_RANDOM) or is_folder:
        why = "is the folder in the image's name" if is_folder else f"is the original label in {text_right:.0%}"
        note = f"The label text {why} and differs from the class index in {counted(resolved.n_disagree, 'row')}: "
        return _with_notes(by_index, (note + "the index was taken for the prediction.",))
    return resolved


def _names_the_folder(raw: RawPredictions) -> bool:
    """Say whether the text of every row is the class folder that its image lies in."""
    if raw.names is None or raw.text is None:
        return False
    folder = pc.struct_field(pc.extract_regex(raw.names, r"(?P<wnid>n[0-9]{8})[/\\][^/\\]*$"), "wnid")
    same: NDArray[np.bool_] = pc.fill_null(pc.equal(folder, raw.text), False).to_numpy(zero_copy_only=False)
    return bool(same.all()) and len(same) > 0


def _from_0(raw: RawPredictions, reader: Reader) -> RawPredictions:
    """Return the predictions with places on the user's own class axis counted from 0, where they count from 1.

    That is proven by a place as large as the axis is wide, or by how many rows are right.
    """
    if reader.axis_name is None or raw.index is None or raw.text is not None or raw.scores is not None:
        return raw
    axis = class_axis(reader.axis_name, reader.labels)
    places = raw.index if raw.ranks is None else raw.ranks
    if axis.name in (IMAGENET_1K, BACKGROUND_FIRST) or places.max(initial=0) > axis.width or (places == 0).any():
        return raw
    shifted = replace(
        raw,
        index=np.where(raw.index > 0, raw.index - 1, raw.index),
        ranks=None if raw.ranks is None else np.where(raw.ranks > 0, raw.ranks - 1, raw.ranks),
        notes=(*raw.notes, f"Classes count from 1 on the axis {axis.name}."),
    )
    if places.max(initial=0) == axis.width:
        return shifted
    try:
        as_written, from_1 = (reader.right(reader.resolve(one))[1] for one in (raw, shifted))
    except InputError:  # rows without names fit no order in one of the two readings
        return raw
    return shifted if from_1 > _CLEARLY_BETTER * as_written else raw


def _on_the_kits_axis(raw: RawPredictions, reader: Reader) -> Resolved | None:
    """Return the classes as ids of the challenge's development kit, from 1, where they are right so and only so."""
    if reader.axis_name is not None or raw.index is None or raw.text is not None or raw.scores is not None:
        return None
    if raw.n_rows < ENOUGH_ROWS or raw.index.max() > len(reader.labels) or (raw.index == 0).any():
        return None
    if _right_or_0(reader.resolve, raw, reader) > _CLEARLY_RIGHT:
        return None
    kit = replace(reader, axis_name=DEVKIT)
    if _right_or_0(lambda one: kit.resolve(_from_0(one, kit)), raw, reader) <= _CLEARLY_RIGHT:
        return None
    return _with_notes(
        kit.resolve(_from_0(raw, kit)), ("Only as ids of the ImageNet challenge's development kit are they right.",)
    )


def _right_or_0(resolve: Callable[[RawPredictions], Resolved], raw: RawPredictions, reader: Reader) -> float:
    """Return the share of right rows; 0 where too few can be compared, or rows without names fit no order."""
    try:
        n_rows, right = reader.right(resolve(raw))
    except InputError:
        return 0.0
    return right if n_rows >= ENOUGH_ROWS else 0.0


def _refuse_submission(raw: RawPredictions, reader: Reader) -> None:
    """Refuse a submission to the ImageNet challenge, whose classes count from 1 in the order of the development kit."""
    n_classes = len(reader.labels)
    ranks = raw.ranks
    if raw.names is not None or reader.axis_name is not None or ranks is None or ranks.shape[1] != _SUBMITTED:
        return
    if ranks.min() != 1 or ranks.max() != n_classes or raw.n_rows < n_classes:
        return
    orders = known_orders(reader.annotations, reader.images)
    if any(order.shift((ranks[:, 0]).astype(np.int16)) for order in orders):
        return
    raise InputError(
        reader.path,
        f"{_SUBMITTED} classes of 1..{n_classes:,} a line and no names: this is laid out as a submission to "
        "the ImageNet challenge, whose classes count from 1 in the order of its development kit",
        fix=f"Pass --row-order name and --class-axis {DEVKIT}; that classes count from 1 is seen from the file.",
    )
