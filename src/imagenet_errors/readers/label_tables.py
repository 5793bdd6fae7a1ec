"""Tables of labels, one's own and published ones: which column says what, and weights that make a label accepted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import InputError, counted
from imagenet_errors.readers.assemble import Columns
from imagenet_errors.readers.contents import looks_like_image
from imagenet_errors.readers.fields import POSITIONAL, fields_of
from imagenet_errors.readers.tables import Column, Kind, conformed
from imagenet_errors.readers.values import numbers, to_numpy
from imagenet_errors.tables import Ragged

NAME = Column(
    "file_name",
    also=("id", "filename", "image", "image_name", "path", "name", "image.path", "image_id", "file", "filepath"),
)
_LABELS = Column(
    "labels", Kind.CLASSES, needed=False, also=("proposed_labels", "accepted", "accepted_labels", "multi_labels")
)
_UNCLEAR = Column("unclear_multi_labels", Kind.CLASSES, needed=False)
_LABEL = Column(
    "label", Kind.CLASSES, needed=False, also=("original_label", "target", "true_label", "ground_truth", "class")
)
_PROBLEMATIC = Column("problematic", Kind.FLAG, needed=False, also=("is_problematic",))
_WEIGHT = Column(
    "weight",
    Kind.ANY,
    needed=False,
    also=("weights", "probability", "probabilities", "prob", "share", "score", "scores"),
)
_MARKS = Column("validation", needed=False)
_SCHEMA = (NAME, _LABELS, _UNCLEAR, _LABEL, _PROBLEMATIC, _WEIGHT, _MARKS)
_SEVERAL = 20
_SAYS = ("says_given", "says_guessed", "says_neither", "says_both")
_ANSWERS = (NAME, *(Column(name, Kind.CLASS) for name in ("given", "guessed")), *(Column(n, Kind.WHOLE) for n in _SAYS))


@dataclass(frozen=True, eq=False)
class ReadLabels:
    """What a table says of n rows: see ``label_files.LabelFile``."""

    names: pa.StringArray
    accepted: Ragged | None = None
    original: Ragged | None = None
    problematic: NDArray[np.bool_] | None = None
    notes: tuple[str, ...] = ()


def read_labels(found: Columns, labels: LabelSpace, *, min_probability: float) -> ReadLabels:
    """Read a table's columns by what they are called.

    Raises
    ------
    InputError
        There are no image names, or a cell cannot be read.
    """
    if {"given", "guessed", *_SAYS} <= set(found.headers):
        return _by_answers(conformed(found, _ANSWERS, labels=labels), min_probability)
    found = _headed(_flat(found))
    table = conformed(found, _SCHEMA, labels=labels)
    names = table["file_name"].combine_chunks()
    if not len(names):
        raise InputError(found.path, "has columns and no row", fix="Write a row an image.")
    lists = {name: _ragged(table, name) for name in ("labels", "unclear_multi_labels", "label")}
    accepted, unclear, original = lists.values()
    if "weight" in table.column_names and (accepted is not None or original is not None):
        stated = accepted if accepted is not None else original
        return _weighted(found, names, stated, table["weight"].combine_chunks(), min_probability)
    if original is not None and not original.lengths.all():
        empty = int(np.argmin(original.lengths))
        what = f"{counted(int((original.lengths == 0).sum()), 'empty cell')} in column label"
        raise InputError(found.path, what, example=f"row {empty + 1}", fix="Fill them, or drop those rows.")
    if accepted is not None and unclear is not None:  # accepted too, as in the official file
        owners = np.concatenate([accepted.owners, unclear.owners])
        accepted = Ragged.of_pairs(owners, np.concatenate([accepted.values, unclear.values]), len(names))
    problematic = table["problematic"].to_numpy() if "problematic" in table.column_names else None
    notes = (*_marks(table), *(_passed_over(found.headers) if accepted is None else ()))
    return ReadLabels(names, accepted, original, problematic, notes)


def _headed(found: Columns) -> Columns:
    """Return two columns without headers, of which the first names images (caffe's val.txt), as names and labels."""
    if len(found.headers) != 2 or not all(header.startswith(f"{POSITIONAL} ") for header in found.headers):
        return found
    names = found.arrays[0]
    if not pt.is_string(names.type) or not all(map(looks_like_image, names[:_SEVERAL].drop_null().to_pylist())):
        return found
    return Columns(found.path, found.format, (NAME.name, _LABEL.name), found.arrays, found.notes)


def _passed_over(headers: Sequence[str]) -> tuple[str, ...]:
    """Say which columns are called labels and none that is known: accepted labels may be meant."""
    known = {name for column in _SCHEMA for name in (column.name, *column.also)}
    strange = [header for header in headers if "label" in header.lower() and header.strip().lower() not in known]
    return (f"not read: {', '.join(strange)}; accepted labels stand in a column called labels",) if strange else ()


def _flat(found: Columns) -> Columns:
    """Return the columns with the parts of structs beside them: a Hugging Face image is bytes and a path."""
    if not any(pt.is_struct(array.type) for array in found.arrays):
        return found
    fields = fields_of(found.headers, found.arrays, where=found.path)
    single = [field for field in fields if len(field.members) == 1]
    headers, arrays = tuple(field.header for field in single), tuple(field.members[0] for field in single)
    return Columns(found.path, found.format, headers, arrays, found.notes)


def _ragged(table: pa.Table, name: str) -> Ragged | None:
    return Ragged.from_arrow(table[name].combine_chunks()) if name in table.column_names else None


def _marks(table: pa.Table) -> tuple[str, ...]:
    """Say what the marks of clean_validation.csv say: a plus for each source with people's answers, and a star where
    ReaL's label was never shown to a person.
    """
    if "validation" not in table.column_names:
        return ()
    n_unseen = int(pc.sum(pc.equal(table["validation"], "*")).as_py() or 0)
    return (f"{counted(n_unseen, 'label')} of {len(table):,} rest on models alone (marked *)",)


def _weighted(
    found: Columns, names: pa.StringArray, classes: Ragged | None, weights: pa.Array, min_probability: float
) -> ReadLabels:
    """Read a probability or weight for each label: lists beside lists, or a row for each image and label."""
    is_list = pt.is_list(weights.type) or pt.is_large_list(weights.type)
    values = pc.list_flatten(weights) if is_list else weights
    owners = pc.list_parent_indices(weights).to_numpy() if is_list else np.arange(len(names))
    if classes is None or len(classes.values) != len(values) or not np.array_equal(classes.owners, owners):
        fix = "Write a row for each image and label, or lists of equal length with ascending classes."
        raise InputError(found.path, "labels and weights are not one for one", fix=fix)
    weight = to_numpy(numbers(values, where=found.path, header="weight"))
    encoded = pc.dictionary_encode(names)
    image = encoded.indices.to_numpy()[owners]
    accepted, note = _at_least(image, classes.values, weight, min_probability)
    return ReadLabels(
        encoded.dictionary, Ragged.of_pairs(accepted[0], accepted[1], len(encoded.dictionary)), notes=(note,)
    )


def _by_answers(table: pa.Table, min_probability: float) -> ReadLabels:
    """Read MTurk's answers to "the given label, the guessed one, both, or neither?" as a weight for each of both."""
    given, guessed = (table[name].to_numpy().astype(np.int64) for name in ("given", "guessed"))
    says = {name: table[name].to_numpy().astype(np.float64) for name in _SAYS}
    total = np.maximum(sum(says.values()), 1)
    shares = [(says[name] + says["says_both"]) / total for name in ("says_given", "says_guessed")]
    rows = np.arange(len(given))
    accepted, note = _at_least(
        np.concatenate([rows, rows]), np.concatenate([given, guessed]), np.concatenate(shares), min_probability
    )
    original = Ragged.of_pairs(rows, given, len(given))
    names = table["file_name"].combine_chunks()
    return ReadLabels(names, Ragged.of_pairs(accepted[0], accepted[1], len(given)), original, notes=(note,))


Pairs = tuple[NDArray[np.integer], NDArray[np.integer]]


def _at_least(
    owners: NDArray[np.integer], classes: NDArray[np.integer], weight: NDArray[np.float64], least: float
) -> tuple[Pairs, str]:
    kept = weight >= least
    note = f"{counted(int(kept.sum()), 'label')} of {len(kept):,} accepted: weight at least {least:g}"
    return (owners[kept], classes[kept]), note
