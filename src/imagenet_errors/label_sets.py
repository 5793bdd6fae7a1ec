"""Several label sets of the same images: joined into one, or one put in the other's place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from imagenet_errors.images import ImageIndex
from imagenet_errors.problems import InputError, counted
from imagenet_errors.tables import Annotations, Ragged, row_codes

COMBINATIONS = ("union", "intersection")
"""A label is accepted if any of the sets accepts it, or if every one does."""


def combined(sets: Sequence[Annotations], how: str) -> Annotations:
    """Join label sets: accepted is what any of them accepts (``union``), or what all accept (``intersection``).

    A union has every image that any set names, an intersection those that all name. An image is problematic if one
    of the sets calls it so. Labels that annotators reject are treated as in the first.

    Raises
    ------
    InputError
        There is no such way, no set, or two sets differ over an image's original label.
    """
    if how not in COMBINATIONS or not sets:
        raise InputError("--combine", f"no way {how!r} to combine {len(sets)} label sets", fix="Pass union.")
    names, rows = _all_images(sets)
    owners = np.concatenate([place[each.accepted.owners] for each, place in zip(sets, rows, strict=True)])
    codes, n_accepting = np.unique(
        row_codes(owners, np.concatenate([each.accepted.values for each in sets])), return_counts=True
    )
    kept = np.arange(len(names))
    if how == "intersection":
        codes = codes[n_accepting == len(sets)]
        kept = np.flatnonzero(np.bincount(np.concatenate(rows), minlength=len(names)) == len(sets))
    problematic = np.zeros(len(names), dtype=np.bool_)
    for each, place in zip(sets, rows, strict=True):
        problematic[place[each.problematic]] = True
    originals = _originals(sets, rows, names).take(kept)
    return Annotations(
        f"{how} of {', '.join(each.name for each in sets)}",
        names.take(pa.array(kept)),
        originals.values[originals.offsets[:-1]].astype(np.int16),
        Ragged.of_pairs(codes >> 16, codes & 0xFFFF, len(names)).take(kept),
        problematic[kept],
        sets[0].rejected_labels,
        originals if (originals.lengths > 1).any() else None,
    )


def on_images_of(base: Annotations, other: Annotations) -> Annotations:
    """Return the base's images and labels with the other set's accepted labels.

    Images that the other set does not name, or that either calls problematic, are problematic.
    """
    rows = ImageIndex(other.file_names).rows(base.file_names, where=other.name)
    if not len(other):
        return replace(base, name=other.name, problematic=np.ones(len(base), dtype=np.bool_))
    found = np.maximum(rows, 0)
    problematic = base.problematic | (rows < 0) | other.problematic[found]
    return replace(base, name=other.name, accepted=other.accepted.take(found), problematic=problematic)


def _all_images(sets: Sequence[Annotations]) -> tuple[pa.StringArray, list[NDArray[np.int64]]]:
    """Return the names of all images, in order, and where each set's images stand among them."""
    names = sets[0].file_names
    for each in sets[1:]:
        is_new = ImageIndex(names).rows(each.file_names, where=each.name) < 0
        names = pa.concat_arrays([names, each.file_names.filter(pa.array(is_new))])
    names = names.take(pc.sort_indices(names))
    index = ImageIndex(names)
    return names, [index.rows(each.file_names, where=each.name) for each in sets]


def _originals(sets: Sequence[Annotations], rows: Sequence[NDArray[np.int64]], names: pa.StringArray) -> Ragged:
    """Return the original labels of all images, refusing sets that differ over one."""
    places = [place[each.originals.owners] for each, place in zip(sets, rows, strict=True)]
    values = [each.originals.values for each in sets]
    originals = Ragged.of_pairs(np.concatenate(places), np.concatenate(values), len(names))
    for each, place in reversed(list(zip(sets, rows, strict=True))):
        differs = originals.lengths[place] != each.originals.lengths
        if differs.any():
            row = int(np.argmax(differs))
            raise InputError(
                each.name,
                f"another original label than in other label sets for {counted(int(differs.sum()), 'image')}",
                example=f"{each.file_names[row]}: {each.label[row]} among {originals[int(place[row])].tolist()}",
                fix="Combine label sets of the same data set.",
            )
    return originals
