"""From a file's rows to the annotated images: by name, or by an order, stated or proven; never by luck."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from imagenet_errors.images import ImageIndex, index_of, n_val, numbers_of_column, rows_of_names
from imagenet_errors.labels import LabelSpace, imagenet_1k
from imagenet_errors.problems import InputError, counted
from imagenet_errors.readers.annotations import val_labels
from imagenet_errors.readers.order import (
    Suspicion,
    axis_that_fits,
    fitting_shift,
    folders_moved,
    is_chance,
    refuse,
    relabelled,
)
from imagenet_errors.readers.place_ids import are_ids, rows_of_ids
from imagenet_errors.readers.plausibility import judge
from imagenet_errors.readers.raw import RawPredictions
from imagenet_errors.readers.reading import Reading
from imagenet_errors.readers.resolve import Resolved
from imagenet_errors.readers.row_orders import IMAGEFOLDER, RowOrder, known_orders, stated_rows
from imagenet_errors.tables import Annotations, Intake, Predictions

_FIRST_NAMES = 100
"""Names that are looked at to tell whether a file has bare numbers in folders at all."""
_ENOUGH_TO_TELL = 10**3
"""Images from which on one of the some 20 ways to share them among workers does not fit by luck."""
_NUMBER_IN_FOLDER = r"(?:^|[/\\])(?P<wnid>n[0-9]{8})[/\\][0-9]{8}(?:\.[A-Za-z]+)?$"
_MOST_PADDING = 0.02
"""Share of the images that a distributed sampler may repeat."""

Found = tuple[NDArray[np.int64], tuple[str, ...]]
"""The image row of every file row, -1 for none, and what was decided, a sentence each."""


@dataclass(frozen=True)
class MatchRules:
    """How rows become images.

    ``row_order`` is the name of a known order, a file of names, or None (by the names in the file, or proof).
    """

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
        The order is not known or does not fit, an image has conflicting rows, or evaluated images lack a
        usable prediction (unless the rules allow a partial file).
    """
    images = index_of(annotations.file_names)
    rows, notes = rows_of(resolved, annotations, images, path=path, rules=rules)
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
    if rules.check_order and len(usable):
        reading = _reading(rows, np.sort(usable), resolved, annotations, labels)
        notes = (*notes, *_judged(reading, resolved, images, path=path))
    _check_complete(rows, usable, resolved, annotations, path=path, rules=rules)
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
        notes=(*raw.notes, *notes, *_reasons(raw)),
        sha256=raw.sha256,
        **_on_all_images(resolved, rows, usable, annotations),
    )
    confidence = None if raw.confidence is None else raw.confidence[usable]
    return Predictions(model, rows[usable], resolved.top1[usable], confidence, intake)


def _on_all_images(
    resolved: Resolved, rows: NDArray[np.int64], usable: NDArray[np.int64], annotations: Annotations
) -> dict[str, int]:
    """Count the labelled images with a prediction, annotated or not, and those whose label it is."""
    names, top1 = resolved.raw.names, resolved.top1
    if (rows >= 0).all() or names is None:
        return {"n_labelled": len(usable), "n_right": int((top1[usable] == annotations.label[rows[usable]]).sum())}
    numbers, label = numbers_of_column(names), val_labels()
    known = np.flatnonzero((numbers > 0) & (numbers <= len(label)) & (top1 >= 0))
    chosen = known if (np.diff(numbers[known]) > 0).all() else known[np.unique(numbers[known], return_index=True)[1]]
    return {"n_labelled": len(chosen), "n_right": int((top1[chosen] == label[numbers[chosen] - 1]).sum())}


def _reasons(raw: RawPredictions) -> list[str]:
    """Say why rows were not used, with the first of each kind as it was written."""
    sentences = []
    for reason, rows in raw.invalid.items():
        row = int(rows[0])
        text = None if raw.text is None else raw.text[row].as_py()
        written = f"row {row + 1}" + ("" if text is None else f": {text[:60]!r}")
        sentences.append(f"Not used: {counted(len(rows), 'row')}, because {reason} (first: {written}).")
    return sentences


def rows_of(
    resolved: Resolved, annotations: Annotations, images: ImageIndex, *, path: Path, rules: MatchRules
) -> Found:
    """Return the annotated image of every row.

    Raises
    ------
    InputError
        The rows have no names, and no order is stated or proven.
    """
    names, order = resolved.raw.names, rules.row_order
    if order is not None:
        known = known_orders(annotations, images)
        rows = stated_rows(order, resolved.raw.n_rows, known, images, where=path)
        return rows, (f"rows taken in the order {order}, as stated",)
    if names is None:
        return _proven_rows(resolved, known_orders(annotations, images), path)
    if images.is_val and are_ids(names):
        return rows_of_ids(resolved, images, annotations, path)
    rows = rows_of_names(images, names, where=path)
    return _without_other_sets(rows, names, annotations) if images.is_val else (rows, ())


def _without_other_sets(rows: NDArray[np.int64], names: pa.StringArray, annotations: Annotations) -> Found:
    """Leave out bare numbers in folders of other classes: ``train/n01440764/00000001.jpg`` is no validation image."""
    if not pc.any(pc.match_substring_regex(names.slice(0, _FIRST_NAMES), _NUMBER_IN_FOLDER)).as_py():
        return rows, ()
    wnid = pc.struct_field(pc.extract_regex(names, _NUMBER_IN_FOLDER), "wnid")
    class_of = pc.fill_null(pc.index_in(wnid, value_set=pa.array(imagenet_1k().wnids)), -1)
    folder: NDArray[np.int64] = class_of.to_numpy(zero_copy_only=False).astype(np.int64)
    told = (folder >= 0) & (rows >= 0)
    torn = told & (annotations.label[rows] != folder)
    if 2 * torn.sum() <= told.sum():
        return rows, ()
    note = (
        f"{counted(int(told.sum()), 'name')} with a bare number in the folder of a class that the validation image of "
        f"this number does not have (first: {names[int(np.argmax(torn))]}): they are of another set."
    )
    return np.where(told, -1, rows), (note,)


def _proven_rows(resolved: Resolved, known: tuple[RowOrder, ...], path: Path) -> Found:
    """Rows without names: of the common orders exactly one may fit far better than chance."""
    names = ", ".join(order.name for order in known)
    fix = f"Pass --row-order with one of {names}, or a file of image names, one a row."
    n_rows = resolved.raw.n_rows
    fitting = [order for order in known if order.fits(resolved.top1)]
    padded = None if fitting else _padded(resolved, known)
    if padded is not None:
        return padded
    if n_rows != len(known[0].rows):
        what = f"{counted(n_rows, 'row')} without image names"
        raise InputError(path, what, fix="Pass --row-order with a file of image names, one a row.")
    if len(fitting) > 1:
        raise InputError(path, f"rows without image names, and several orders fit: {names}", fix=fix)
    if not fitting:
        refuse(_known_doubt(resolved, known, taken="in every common order"), where=path)
        what = "rows without image names, and accuracy is at chance in every common order"
        raise InputError(path, what, fix=fix)
    name = fitting[0].name
    return fitting[0].rows, (f"rows have no names; only the order {name} fits the labels, so it was taken",)


def _padded(resolved: Resolved, known: tuple[RowOrder, ...]) -> Found | None:
    """Rows of a distributed sampler: it repeats the first images until all of its W workers have equally many.

    Source: torch.utils.data.DistributedSampler: worker r has images r, r + W, ...; here either in the data set's
    order, or worker by worker. The rows fit one of these readings and repeat what they padded, or none is taken.
    """
    n_rows, n_images = resolved.raw.n_rows, len(known[0].rows)
    n_more = n_rows - n_images
    if n_images < _ENOUGH_TO_TELL or not 0 <= n_more <= _MOST_PADDING * n_images:
        return None
    workers = [w for w in range(2, 1025) if n_rows % w == 0 and -(-n_images // w) * w == n_rows]
    readings = [np.arange(n_rows)] if n_more else []
    readings += [np.concatenate([np.arange(r, n_rows, w) for r in range(w)]) for w in workers]
    for place in readings:
        at = np.argsort(place)
        top1 = resolved.top1[at]
        if not np.array_equal(top1[n_images:], top1[:n_more]):
            continue
        for order in known:
            if order.fits(top1[:n_images]):
                rows = np.append(order.rows, order.rows[:n_more])[place]
                note = f"{counted(n_more, 'row')} of padding" if n_more else "worker by worker"
                return rows, (
                    f"rows have no names; they fit the order {order.name} as a distributed sampler gives it ({note})",
                )
    return None


def _known_doubt(resolved: Resolved, known: tuple[RowOrder, ...], *, taken: str) -> Suspicion | None:
    """Return the known order that rows fit as they are, or with their class indices shifted."""
    for order in known:
        if order.fits(resolved.top1):
            return Suspicion(
                f"accuracy is at chance {taken}, but the rows fit the order {order.name}",
                f"Pass --row-order {order.name} to take them so.",
            )
    for order in known:
        if order.shift(resolved.top1) == -1:
            return Suspicion(
                f"accuracy is at chance {taken}, high in the order {order.name} with every class index -1",
                f"Pass --class-axis 1001 (a background class in front) and --row-order {order.name}.",
            )
    for order in known:
        usable = resolved.top1 >= 0
        fits = len(usable) == len(order.label) and usable.any()
        share = relabelled(order.label[usable], resolved.top1[usable]) if fits else ""
        if share and order.name == IMAGEFOLDER and len(order.label) == n_val():
            label, top1 = order.label[usable].astype(np.int64), resolved.top1[usable].astype(np.int64)
            if folders_moved(label, top1, imagenet_1k()):
                return Suspicion(
                    f"accuracy is at chance {taken}; the rows lie class by class, but the class folders are in another "
                    "order than ascending wnids",
                    "Pass --row-order FILE: the images' names in the order that they were predicted in, one a row.",
                )
        if share:
            is_val = len(order.label) == n_val()
            axis = axis_that_fits(order.label[usable], resolved.top1[usable], imagenet_1k()) if is_val else ""
            axis = axis or "FILE (a wnid a line, in the order of the model's outputs)"
            return Suspicion(
                f"accuracy is at chance {taken}, yet in the order {order.name} images of one predicted class often "
                f"have the same label ({share} of pairs): the classes are in another order than ascending wnids",
                f"Pass --row-order {order.name} and --class-axis {axis}.",
            )
    return None


def _reading(
    rows: NDArray[np.int64],
    usable: NDArray[np.int64],
    resolved: Resolved,
    annotations: Annotations,
    labels: LabelSpace,
) -> Reading:
    ranks = resolved.raw.ranks
    return Reading(
        label=annotations.label_beside(rows[usable], resolved.top1[usable]).astype(np.int64),
        top1=resolved.top1[usable].astype(np.int64),
        rows=rows[usable],
        place=usable,
        labels=labels,
        annotations=annotations,
        lacks=resolved.lacks,
        ranks=None if ranks is None else ranks[usable],
        in_words=resolved.raw.text is not None,
    )


def _judged(reading: Reading, resolved: Resolved, images: ImageIndex, *, path: Path) -> tuple[str, ...]:
    """Refuse what is implausible, naming the order that would fit if one does; return what could not be checked."""
    judgement = judge(reading)
    doubt = judgement.doubt
    if doubt is not None and is_chance(reading.label, reading.top1) and not fitting_shift(reading.label, reading.top1):
        known = known_orders(reading.annotations, images)
        doubt = _known_doubt(resolved, known, taken="in the order that was taken") or doubt
    refuse(doubt, where=path)
    return judgement.notes


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
        _refuse_settings(resolved, int(one), int(other), path)
        raise InputError(
            path,
            f"{counted(int(torn.sum()), 'repeated row')} with another class than before",
            example=f"{annotations.file_names[int(rows[one])]}: {_class_in_row(resolved, int(one))}, "
            f"{_class_in_row(resolved, int(other))}",
            fix="Keep one row an image.",
        )
    return ordered[~again], int(again.sum())


def _refuse_settings(resolved: Resolved, one: int, other: int, path: Path) -> None:
    """Refuse a file with an image under several folders: ImageNet-C's ``fog/1/...`` and ``fog/2/...`` are two sets."""
    names = resolved.raw.names
    if names is None:
        return
    folders = [names[row].as_py().replace("\\", "/").rpartition("/")[0] for row in (one, other)]
    if not all(folders) or folders[0] == folders[1]:
        return
    raise InputError(
        path,
        "the same image occurs under several folders, with another class each",
        example=f"{names[one]} and {names[other]}",
        fix="Write one file for each setting, such as a corruption and its severity.",
    )


def _class_in_row(resolved: Resolved, row: int) -> str:
    top1 = int(resolved.top1[row])
    return f"{'no usable class' if top1 < 0 else f'class {top1}'} in row {row + 1}"


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
    others = _numbered_alike(path)
    fix = "Predict them again, or pass --allow-partial to evaluate just the others."
    if others:
        fix += f" If {others[0]} to {others[-1]} are parts of one model, name them so: part-0, part-1, ..."
    invalid = [f"{len(bad):,} because {reason} (row {bad[0] + 1})" for reason, bad in resolved.raw.invalid.items()]
    raise InputError(
        path,
        f"{what}{'; ' + ', '.join(invalid) if invalid else ''}",
        example=first,
        fix=fix,
    )


def _numbered_alike(path: Path) -> list[str]:
    """Return the names of the files beside it that are numbered on from 0 or 1, as parts of one model may be."""
    found = re.fullmatch(r"(.*?)(\d+)(\D*)", path.name)
    if found is None or not path.is_file():
        return []
    alike = re.compile(rf"{re.escape(found[1])}(\d+){re.escape(found[3])}")
    numbers = {int(one[1]): one.string for other in path.parent.iterdir() if (one := alike.fullmatch(other.name))}
    is_run = min(numbers) in (0, 1) and max(numbers) - min(numbers) == len(numbers) - 1 > 0
    return [numbers[number] for number in sorted(numbers)] if is_run else []
