"""Which column plays which role: by well-known headers first, then by what the columns hold.

A ground-truth column is never the prediction. Two columns with an equal right are not chosen between:
the user says which, with ``--column ROLE=NAME``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from imagenet_errors.problems import InputError
from imagenet_errors.readers.class_columns import with_classes
from imagenet_errors.readers.contents import NUMERIC, TEXTUAL, Content
from imagenet_errors.readers.fields import WIDE, Field, is_positional
from imagenet_errors.readers.headers import (
    STATE_CLASSES,
    Meaning,
    confidence_strength,
    is_of_images,
    is_unlabelled,
    name_strength,
    words_of,
)
from imagenet_errors.readers.roles import (
    ROLES,
    ROW_NUMBERS_FROM,
    Roles,
    counts_rows,
    is_single,
    is_vector,
    only,
    refuse,
)
from imagenet_errors.readers.values import value_matrix

_DISTINCT_FROM = 100
"""So many of ImageNet's classes without a repeat are luck in one file of 150: they are no classes, but places."""


def choose_roles(
    fields: Sequence[Field],
    *,
    where: Path | str,
    columns: Mapping[str, str] | None = None,
    scores_apart: bool = False,
) -> Roles:
    """Decide which field plays which role.

    Parameters
    ----------
    fields
        From :func:`imagenet_errors.readers.fields.fields_of`.
    columns
        Role -> header where the user states it; a family goes by its first header or by what they share.
    scores_apart
        The file holds scores beside these fields, so that no class needs to be among them.

    Raises
    ------
    InputError
        A summary table, several models, an unknown role or header, a tie, or no class at all.
    """
    _refuse_summary(fields, where)
    stated = _stated(fields, columns or {}, where)
    free = [field for field in fields if field not in stated.values()]
    name = stated.get("name") or _name(free, where) or _places(free)
    free = [field for field in free if field is not name]
    roles = Roles(name, stated.get("index"), stated.get("label"), stated.get("confidence"), stated.get("scores"))
    if not (roles.index or roles.label):
        is_dense = scores_apart or "scores" in stated or any(map(_is_class_axis, free))
        roles = with_classes(roles, free, where, explicit_only=is_dense)
    free = [field for field in free if field not in (roles.index, roles.label, *_claimed(roles))]
    roles = _with_values(roles, free, where)
    if not (roles.index or roles.label or roles.scores or scores_apart or roles.claims):
        if all(field.content is Content.IMAGE for field in fields):
            raise InputError(
                where, "only image names, no predicted classes", fix="A list of names goes to --row-order."
            )
        refuse(where, "no column tells the predicted class", fields, "index")
    if roles.scores and "scores" not in stated and _are_ranks(roles.scores, where):
        raise InputError(
            where,
            f"column {roles.scores.header!r} holds the largest values of each row without their classes",
            fix="Write the classes too (timm: --include-index), or the values of all classes.",
        )
    return replace(roles, notes=(*roles.notes, *_left_over(fields, roles)))


def _claimed(roles: Roles) -> list[Field | None]:
    return [field for claim in roles.claims for field in (claim.index, claim.label)]


def _left_over(fields: Sequence[Field], roles: Roles) -> list[str]:
    """Name the columns that play no role and of which nothing was said yet."""
    used = (roles.name, roles.index, roles.label, roles.confidence, roles.scores, *_claimed(roles))
    told = " ".join(roles.notes)
    unused = [field.header for field in fields if field not in used and repr(field.header) not in told]
    unused = [header for header in unused if not is_unlabelled(header)]
    if not unused:
        return []
    listed = ", ".join(map(repr, unused[:8])) + (f" and {len(unused) - 8:,} more" if len(unused) > 8 else "")
    return [f"Not used: {'column' if len(unused) == 1 else 'columns'} {listed}."]


def _are_ranks(field: Field, where: Path | str) -> bool:
    """Say whether a few values a row fall in every row, as those of a top-k do, and not of a class axis."""
    if field.n_values >= WIDE:
        return False
    values = value_matrix(field, where=where)
    return bool((np.diff(values, axis=1) <= 0).all())


def _refuse_summary(fields: Sequence[Field], where: Path | str) -> None:
    """Refuse tables of accuracies (timm's validate and results files) and tables of several models."""
    headers = {field.header.lower(): field for field in fields}
    model = headers.get("model")
    has_names = any(field.meaning is Meaning.NAME for field in fields)
    summary = {"top1", "top1_err", "top5", "top5_err", "param_count", "top1..top5"} & set(headers)
    if model and summary and not has_names:
        raise InputError(
            where,
            "this is a table of accuracies, one row a model, without a prediction for each image",
            fix="Give the per-image file: timm's inference.py or 'imagenet-errors predict' writes it.",
        )
    if model and not model.is_list and pc.count_distinct(model.members[0]).as_py() > 1:
        raise InputError(
            where,
            "the rows belong to several models",
            example=model.members[0][0].as_py(),
            fix="Write one file a model.",
        )


def _stated(fields: Sequence[Field], columns: Mapping[str, str], where: Path | str) -> dict[str, Field]:
    stated = {}
    for role, header in columns.items():
        if role not in ROLES:
            raise InputError("--column", f"no role {role!r}", fix=f"Roles are {', '.join(ROLES)}.")
        found = [field for field in fields if header == field.header]
        found = found or [field for field in fields if header in (_shared_header(field), _first_header(field))]
        if len(found) != 1:
            refuse(where, f"{'several' if found else 'no'} columns {header!r} among", fields, role)
        stated[role] = found[0]
    return stated


def _first_header(field: Field) -> str:
    return field.header.partition("..")[0]


def _shared_header(field: Field) -> str:
    first, dots, _ = field.header.partition("..")
    return first.rstrip("0123456789").rstrip("_-. ") if dots else field.header


def image_names(fields: Sequence[Field], where: Path | str) -> Field | None:
    """Return the field of image names in a list of images: the one that claims to be, or the only one; else None.

    Raises
    ------
    InputError
        Several fields may be the names.
    """
    plain = [field for field in fields if field.n_values == 1 and not field.is_list]
    texts = [field for field in plain if field.content in TEXTUAL]
    return _name(plain, where) or (texts[0] if len(texts) == 1 else None)


def _name(fields: Sequence[Field], where: Path | str) -> Field | None:
    """Choose the field of image names: well-known header and image-like content first."""
    ranked = sorted(
        ((_name_right(field), field) for field in fields if field.n_values == 1 and not field.is_list),
        key=lambda pair: pair[0],
        reverse=True,
    )
    best = [field for right, field in ranked if right > 0 and right == ranked[0][0]]
    return only(best, "name", where) if best else None


def _name_right(field: Field) -> int:
    """Return how good a claim a field has to be the image name; 0 is none."""
    if field.content in (Content.EMPTY, Content.OTHER):
        return 0
    strength = name_strength(field.header)
    looks = field.content is Content.IMAGE
    if field.meaning is Meaning.WEAK_NAME:
        holds_text = field.content in TEXTUAL and is_of_images(field.header)
        return strength + 4 * looks if looks or holds_text or field.content is Content.INTEGER else 0
    if field.meaning is Meaning.NAME:
        return strength + 4 * looks
    return 4 if looks and field.meaning is Meaning.UNKNOWN else 0


def _places(fields: Sequence[Field]) -> Field | None:
    """Return the column ``idx`` that gives each image's place in some order: distinct numbers beside a class."""
    for field in fields:
        if not is_single(field) or field.content is not Content.INTEGER or counts_rows(field):
            continue
        n_rows = len(field.members[0])
        says_place = set(words_of(field.header)) & {"index", "idx", "id", "row", "number"}
        meanings = {other.meaning for other in fields if other is not field}
        enough = ROW_NUMBERS_FROM if meanings & {Meaning.PREDICTION, Meaning.RANKS} else _DISTINCT_FROM
        has_class = bool(meanings & STATE_CLASSES)
        if says_place and has_class and n_rows >= enough and pc.count_distinct(field.members[0]).as_py() == n_rows:
            return field
    return None


def _with_values(roles: Roles, fields: Sequence[Field], where: Path | str) -> Roles:
    """Fill confidence and scores from the remaining number columns."""
    has_class = roles.index is not None or roles.label is not None or bool(roles.claims)
    numbers = [
        field
        for field in fields
        if field.content in NUMERIC | {Content.BLANK}
        and field.meaning not in (Meaning.TRUTH, Meaning.IGNORED)
        and not (has_class and _is_one_hot(field))
    ]
    vectors = [field for field in numbers if is_vector(field)]
    dense = [field for field in vectors if not has_class or field.n_values >= WIDE]
    if roles.scores is None and dense:
        roles = replace(roles, scores=only(_strongest(dense), "scores", where))
    if roles.confidence is None and has_class:
        ranked = [field for field in numbers if field.meaning is Meaning.CONFIDENCE and field not in dense]
        n_ranks = {field.n_values for field in (roles.index, roles.label) if field is not None} - {1}
        if n_ranks:
            ranked += [field for field in vectors if field not in (*dense, *ranked) and field.n_values in n_ranks]
        if ranked:
            best = _of_the_prediction(_strongest(ranked), roles, fields)
            return replace(roles, confidence=only(best, "confidence", where))
        return _confidence_by_content(roles, numbers)
    return roles


def _is_class_axis(field: Field) -> bool:
    """Say whether a field holds so many numbers a row that they must be the scores of all classes."""
    return field.n_values >= WIDE and field.content in NUMERIC and field.meaning is not Meaning.TRUTH


def _is_one_hot(field: Field) -> bool:
    """Say whether a ``label`` holds a whole number for each class: beside a prediction that is the truth, no score."""
    return field.meaning is Meaning.CLASS and field.content is Content.INTEGER and is_vector(field)


def _strongest(fields: list[Field]) -> list[Field]:
    """Keep those whose header promises most: probabilities before scores before logits."""
    strengths = [confidence_strength(field.header) for field in fields]
    return [field for field, strength in zip(fields, strengths, strict=True) if strength == max(strengths)]


def _of_the_prediction(values: list[Field], roles: Roles, fields: Sequence[Field]) -> list[Field]:
    """Keep those of several that share most words with the prediction's header and fewest with other columns."""
    if len(values) < 2:
        return values
    own = {word for field in (roles.index, roles.label) if field is not None for word in words_of(field.header)}
    used = (roles.name, roles.index, roles.label, *values)
    other = {word for field in fields if field not in used for word in words_of(field.header)} - own
    worth = [len(own & words) - len(other & words) for words in (set(words_of(field.header)) for field in values)]
    return [field for field, one in zip(values, worth, strict=True) if one == max(worth)]


def _confidence_by_content(roles: Roles, numbers: list[Field]) -> Roles:
    loose = [
        field
        for field in numbers
        if field.meaning is Meaning.UNKNOWN and field.content is Content.NUMBER and field.n_values == 1
    ]
    if len(loose) != 1 or roles.scores is not None:
        return roles
    header = loose[0].header
    note = f"Column {header!r} was taken for the confidence by what it holds."
    return replace(roles, confidence=loose[0], notes=roles.notes if is_positional(loose[0]) else (*roles.notes, note))
