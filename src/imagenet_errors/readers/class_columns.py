"""Which columns state the predicted class: by what their headers say first, then by what they hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow.compute as pc

from imagenet_errors.readers.contents import NUMERIC, TEXTUAL, Content
from imagenet_errors.readers.fields import Field, is_positional
from imagenet_errors.readers.headers import Meaning, is_unlabelled, words_of
from imagenet_errors.readers.roles import (
    ROW_NUMBERS_FROM,
    Claim,
    Roles,
    counts_rows,
    is_single,
    is_vector,
    only,
    same_values,
)

_CLASS_MEANINGS = (Meaning.PREDICTION, Meaning.RANKS, Meaning.CLASS, Meaning.UNKNOWN)
"""In this order: the first kind that is present states the prediction."""


def with_classes(roles: Roles, fields: Sequence[Field], where: Path | str, *, explicit_only: bool) -> Roles:
    """Fill index and label from the first kind of header that is present.

    Beside scores for every class, a column ``label`` is the ground truth; only an explicit ``pred`` counts.
    """
    claims = [field for field in fields if field.content is not Content.EMPTY and not is_vector(field)]
    pool: list[Field] = []
    for meaning in _CLASS_MEANINGS[:1] if explicit_only else _CLASS_MEANINGS:
        pool = [field for field in claims if field.meaning is meaning and _may_be_class(field)]
        if pool:
            break
    pool, note = _without_row_numbers(pool)
    pool, more = _without_constants(pool)
    note += more
    several = _several(pool, claims)
    if several:
        unused = _unused(fields, pool, (), explicit_only=False)
        return replace(roles, claims=several, notes=(*roles.notes, *note, *unused))
    index = _best_index([field for field in pool if field.content in NUMERIC], where)
    label = _best_label([field for field in pool if field.content in TEXTUAL], where)
    notes = [*roles.notes, *note, *_unused(fields, pool, (index, label), explicit_only=explicit_only)]
    taken = [
        f"Column {field.header!r} was taken for the predicted class by what it holds."
        for field in (index, label)
        if field is not None and field.meaning is Meaning.UNKNOWN and not is_positional(field)
    ]
    return replace(roles, index=index, label=label, notes=(*notes, *taken))


def _several(pool: list[Field], claims: Sequence[Field]) -> tuple[Claim, ...]:
    """Return who may state the class where what the headers say does not settle it; else none.

    Beside a mere ``label``, a whole-number column that no header explains may be a model's prediction, and so may
    each of several such columns. An index and a text are taken for one prediction where there is one of each.
    """
    if not pool or pool[0].meaning not in (Meaning.CLASS, Meaning.UNKNOWN):
        return ()
    loose = [
        field
        for field in claims
        if field.meaning is Meaning.UNKNOWN and field.content is Content.INTEGER and _may_be_class(field)
    ]
    loose = [field for field in loose if (is_single(field) and not counts_rows(field)) or _is_top_k(field)]
    labelled = _distinct([field for field in pool if field.meaning is Meaning.CLASS])
    whole = [field for field in labelled if field.content is Content.INTEGER]
    texts = [field for field in labelled if field.content in TEXTUAL]
    if len(whole) <= 1 and labelled:
        own = [Claim(whole[0] if whole else None, _best_of_texts(texts))] if whole or texts else []
    else:
        own = [Claim(field, None) for field in whole] + [Claim(None, field) for field in texts]
    several = [*own, *(Claim(field, None) for field in _distinct(loose))]
    return tuple(several) if len(several) > 1 else ()


def _is_top_k(field: Field) -> bool:
    """Say whether a field holds lists of classes, equally many a row, as one of several models' top-k does."""
    return field.is_list and bool(pc.all(pc.equal(pc.list_value_length(field.members[0]), field.n_values)).as_py())


def _best_of_texts(texts: Sequence[Field]) -> Field | None:
    return next((field for field in texts if field.content is Content.WNID), texts[0] if texts else None)


def _distinct(fields: Sequence[Field]) -> list[Field]:
    """Return the fields without those that hold the same as one before."""
    return [field for i, field in enumerate(fields) if not any(same_values(field, one) for one in fields[:i])]


def _may_be_class(field: Field) -> bool:
    if field.meaning is Meaning.UNKNOWN:
        return not is_unlabelled(field.header) and field.content in (
            Content.INTEGER,
            Content.TEXT,
            Content.WNID,
        )
    return field.content in NUMERIC | TEXTUAL - {Content.IMAGE}


def _without_row_numbers(pool: list[Field]) -> tuple[list[Field], list[str]]:
    """Drop a column ``index`` that counts 0, 1, 2, ... when another column states the class."""
    counting = [field for field in pool if counts_rows(field)]
    if not counting or len(counting) == len(pool):
        return pool, []
    note = f"Column {counting[0].header!r} counts the rows and was left out."
    return [field for field in pool if field not in counting], [note]


def _without_constants(pool: list[Field]) -> tuple[list[Field], list[str]]:
    """Drop columns with one text in every row, such as a kind of annotation, beside one that tells images apart."""
    texts = [field for field in pool if field.content is Content.TEXT and is_single(field)]
    constant = [field for field in texts if pc.count_distinct(field.members[0], mode="all").as_py() == 1]
    if len(constant) == len(texts) or len(pool[0].members[0]) < ROW_NUMBERS_FROM:
        return pool, []
    headers = ", ".join(repr(field.header) for field in constant)
    notes = [f"Left out, since they say the same in every row: {headers}."] if constant else []
    return [field for field in pool if field not in constant], notes


def _best_index(candidates: list[Field], where: Path | str) -> Field | None:
    whole = [field for field in candidates if field.content is Content.INTEGER]
    named_index = [field for field in candidates if set(words_of(field.header)) & {"index", "idx"}]
    best = named_index if len(named_index) == 1 else whole or candidates
    return only(best, "index", where) if best else None


def _best_label(candidates: list[Field], where: Path | str) -> Field | None:
    """Choose the label text; wnids are exact, so they come first."""
    wnids = [field for field in candidates if field.content is Content.WNID]
    best = wnids or candidates
    return only(best, "label", where) if best else None


def _unused(
    fields: Sequence[Field], pool: list[Field], used: tuple[Field | None, ...], *, explicit_only: bool
) -> list[str]:
    """Tell which columns might be mistaken for the prediction and were not used."""
    stating = next((repr(field.header) for field in used if field is not None), "")
    stating = stating or ("its value for every class" if explicit_only else "")
    notes = []
    for field in fields:
        if field.meaning is Meaning.TRUTH:
            notes.append(f"Column {field.header!r} is the ground truth by its name; it was not read as the prediction.")
        elif field.meaning is Meaning.CLASS and stating and field not in pool and not is_vector(field):
            notes.append(f"Column {field.header!r} was not read as the prediction: {stating} states it.")
    return notes
