"""Lists written into one text cell: numpy's ``[65  1  2]`` and ``['sea snake' 'alp']``, Python's, JSON's.

pandas writes numpy arrays into CSV as numpy prints them: no commas, a new line past 75 characters,
and either quote around a text. ``ast.literal_eval`` would join ``['a' 'b']`` into one text.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from imagenet_errors.problems import InputError, counted

_ITEM = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^\s,;|\[\]()'"]+)""", re.DOTALL)
_WRAPPED = r"\b(?:(?:np|numpy|jnp|torch|tf)\.\w+|tensor|array|Array)\(([^()]*)\)"
"""How numpy 2, torch, jax and TensorFlow print a value: ``np.float64(0.5)``, ``tensor(65)``."""
_VECTOR = r"^c\((.*)\)$"
"""How R writes a vector: ``c(65, 1)``."""
_TYPED = r"\b(?:Any|U?Int\d*|Float\d*|String)\["
"""How Julia begins a vector: ``Float32[0.5, 0.2]``."""
_NUMPY = r"<tf\.Tensor:[^>]*numpy=(array\()?([^>]*?)\)?>"
_SHAPE = r"\s*<NDArray [^>]*>"
"""What TensorFlow writes around a value, and MXNet behind it."""
_KEYWORD = (
    r""",\s*(?:device|dtype|grad_fn|requires_grad|size|shape)\s*=\s*(?:'[^']*'|"[^"]*"|<[^>]*>|\([^()]*\)|[\w.]+)"""
)
"""What torch and numpy print behind a value: ``tensor([65], device='cuda:0')``; it is no further rank."""
_PRINTED = (
    (_NUMPY, r"\2"),
    (_SHAPE, ""),
    (_KEYWORD, ""),
    (_WRAPPED, r"\1"),
    (_TYPED, "["),
    (_VECTOR, r"[\1]"),
)
_VALUE = r"(?:[-+]?\d*\.?\d+(?:[eE][-+]?\d+)?|n\d{8})"
_SEPARATED = re.compile(rf"{_VALUE}(?:(?:\s*[;|]\s*|\s+|,\s+|,(?=[^,]*,)){_VALUE})*(?:,{_VALUE})?")
_SCORED = re.compile(
    r"\s*+(?P<name>[^|;\n:=\s(](?:[^|;\n:=]*?[^|;\n:=\s(])??)\s*+[:=(]\s*+"
    r"(?P<value>\d{0,9}\.?\d{1,30}(?:[eE][-+]?\d{1,3})?)[ \t]*+(?P<percent>%?)[ \t]*+\)?[ \t]*+(?:[,|;\n]\s*+|$)"
)
"""One of several classes in a cell, with its probability behind."""
_SHORTENED = ("...", "\u2026")
"""What numpy writes for values that it leaves out, and what some editors make of it."""

_TOO_MANY_FOR_CHANCE = 10
"""Rows; three names stand in alphabetical order in one of six."""


def looks_like_a_list(cell: str) -> bool:
    """Say whether a cell holds several values: ``[...]``, ``array([...])``, ``(65, 1)``, ``65 1 2`` or ``65;1;2``."""
    bare = cell.strip()
    if bare.startswith(("[", "array([", "tensor([", "(")) and bare.endswith(("]", ")")):
        return not bare.startswith("(") or "," in bare
    return len(bare) > 2 and not bare.isdecimal() and _are_separated(bare)


def _are_separated(bare: str) -> bool:
    """Say whether a text is classes one behind another; ``0,5`` is a decimal comma and no list."""
    if re.fullmatch(rf"[-+]?\d+,\d+(?:[eE][-+]?\d+)?|{_VALUE}", bare):
        return False
    return _SEPARATED.fullmatch(bare) is not None


def refuse_sets(tree: ast.AST, where: Path | str) -> None:
    """Refuse Python's sets in what was printed: which of its classes is the best, a set does not tell.

    Raises
    ------
    InputError
        There is one.
    """
    sets = [node for node in ast.walk(tree) if isinstance(node, ast.Set)]
    if sets:
        what = "the classes of an image as a set, which has no order, so that the best is not known"
        raise InputError(where, what, example=ast.unparse(sets[0])[:80], fix="Write lists, best first: [...].")


def refuse_alphabetical(rows: Sequence[Sequence[str | None]], where: Path | str) -> None:
    """Refuse names [n][k] that stand in alphabetical order in every row: then the first is not the best.

    Raises
    ------
    InputError
        They do, and there are too many rows for chance.
    """
    several = [[(name or "").casefold() for name in row] for row in rows if len(row) > 2]
    if len(several) >= _TOO_MANY_FOR_CHANCE and all(row == sorted(row) for row in several):
        what = f"names stand in alphabetical order in all {len(several):,} lists, so that the best is not known"
        raise InputError(
            where, what, example=", ".join(several[0])[:80], fix="Write them best first, or the best alone."
        )


def scored_items(cell: str) -> list[tuple[str, float]]:
    """Return the (class, probability) pairs of ``tabby, tabby cat: 0.8; lynx: 0.1`` or ``lynx (80%), tabby (9%)``.

    A text with anything else in it, or a value above 1, has none.
    """
    items: list[tuple[str, float]] = []
    at = 0
    while at < len(cell):
        found = _SCORED.match(cell, at)
        value = float(found["value"]) / (100 if found["percent"] else 1) if found else 2
        if found is None or value > 1:
            return []
        items.append((found["name"], value))
        at = found.end()
    return items


def separating_mark(cells: Sequence[str]) -> str:
    """Return the mark that stands equally often in every cell, as between the names of a top-5; empty for none."""
    for mark in "|;":
        counts = {cell.count(mark) for cell in cells}
        is_sentence = mark == ";" and any(": " in cell for cell in cells)  # timm's definitions
        if len(counts) == 1 and counts != {0} and not is_sentence:
            return mark
    return ""


def split_texts(cells: pa.StringArray, mark: str) -> pa.ListArray:
    """Split texts [n] at a mark into list<string> [n]."""
    lists = pc.split_pattern(cells, mark)
    return pa.ListArray.from_arrays(lists.offsets, pc.utf8_trim_whitespace(lists.values))


def first_of_boxes(lists: pa.ListArray) -> pa.Array:
    """Return the first class of Kaggle's ``n01440764 240 170 260 240 ...``, a class and its box in turn; else lists."""
    first = pc.list_element(lists.filter(pc.greater(pc.list_value_length(lists), 0)), 0)
    flat = lists.flatten()
    has_wnids, others = (pc.match_substring_regex(part, r"^n[0-9]{8}$") for part in (first, flat))
    if not len(first) or not pc.all(has_wnids).as_py() or pc.all(others).as_py():
        return lists
    filled = pc.fill_null(pc.greater(pc.list_value_length(lists), 0), False).to_numpy(zero_copy_only=False)
    return first.take(pa.array(filled.cumsum() - 1, mask=~filled))


def unwrapped(cells: pa.StringArray) -> pa.StringArray:
    """Replace ``np.float64(0.5)``, ``tensor(65)`` and ``tensor(65, device='cuda:0')`` by the number inside."""
    if not pc.any(pc.match_substring_regex(cells, r"[(<\[]")).as_py():
        return cells
    for pattern, inside in _PRINTED:
        cells = pc.replace_substring_regex(cells, pattern, inside)
    return cells


def printed_bare(text: str) -> str:
    """Return what Python printed, with the numbers inside for the values of numpy, torch and others.

    >>> printed_bare("{'a.JPEG': np.int64(65), 'b.JPEG': tensor(970, device='cuda:0')}")
    "{'a.JPEG': 65, 'b.JPEG': 970}"
    """
    for pattern, inside in _PRINTED:
        text = re.sub(pattern, inside, text)
    return text


def parse_list_cells(cells: pa.StringArray, *, where: Path | str) -> pa.ListArray:
    """Parse cells [n] into list<string> [n]: every item as the text it stands for, unquoted.

    >>> parse_list_cells(pa.array(["['sea snake' \\"jack-o'-lantern\\"]"]), where="a.csv").to_pylist()
    [['sea snake', "jack-o'-lantern"]]

    Raises
    ------
    InputError
        numpy left items out of a long array (``...``).
    """
    cells = unwrapped(cells)
    if pc.any(pc.match_substring_regex(cells, "['\"]")).as_py():
        lists = pa.array([_items(cell) for cell in cells.to_pylist()], type=pa.list_(pa.string()))
    else:
        lists = _bare_items(cells)
    _refuse_shortened(lists, where=where)
    return lists


def _bare_items(cells: pa.StringArray) -> pa.ListArray:
    """Split cells of numbers, which need no care for quotes; an empty list becomes null."""
    spaced = pc.replace_substring_regex(cells, r"(array|tensor)\(|[\[\](),;|]", " ")
    trimmed = pc.utf8_trim_whitespace(spaced)
    filled = pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.string()), trimmed)
    lists = pc.utf8_split_whitespace(filled).cast(pa.list_(pa.string()))
    dots = pc.is_in(lists.flatten(), value_set=pa.array(_SHORTENED))
    if not pc.any(dots).as_py():
        return lists
    return pa.array([[None if item in _SHORTENED else item for item in row or []] for row in lists.to_pylist()])


def _refuse_shortened(lists: pa.ListArray, *, where: Path | str) -> None:
    """Refuse lists with a null item, which stands for numpy's three dots."""
    left_out = lists.flatten().is_null()
    if pc.any(left_out).as_py():
        rows = pc.unique(pc.list_parent_indices(lists).filter(left_out))
        raise InputError(
            where,
            f"numpy left values out of long lists and wrote '...' instead, in {counted(len(rows), 'row')}",
            example=f"row {rows[0].as_py() + 1}",
            fix="Write the file again as Parquet (timm: --results-format parquet).",
        )


def _items(cell: str | None) -> list[str | None] | None:
    """Return the items of one cell; None for three dots, and for no cell or an empty list."""
    if cell is None:
        return None
    if "\\" in cell or any(dots in cell for dots in _SHORTENED):
        return [_unquoted(match) for match in _ITEM.finditer(cell)] or None
    return [single or double or bare for single, double, bare in _ITEM.findall(cell)] or None


def _unquoted(match: re.Match[str]) -> str | None:
    single, double, bare = match.groups()
    quoted = single if single is not None else double
    if quoted is None:
        return None if bare in _SHORTENED else bare
    if "\\" not in quoted:
        return quoted
    try:
        return str(ast.literal_eval(match.group().replace("\n", "\\n")))
    except (SyntaxError, ValueError):  # an escape that Python has not: leave it as written
        return quoted
