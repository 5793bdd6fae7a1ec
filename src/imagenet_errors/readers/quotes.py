"""Quotes around the cells of delimited text, made what parsers expect: double ones right behind the delimiter."""

from __future__ import annotations

import re

_SAMPLE_BYTES = 1 << 16
_SAMPLE_LINES = 40
_NEARLY_ALL = 0.9
_SINGLE = re.compile(rb"(?m)(?:^|(?<=[,;|\t])) *'(?P<cell>(?:[^'\n]|''|'(?!'| *(?:[,;|\t]|\r?$)))*)' *(?=[,;|\t]|\r?$)")
"""A cell between single quotes; one inside it stands before no delimiter: ``'jack-o'-lantern'``."""
_OF_LISTS = re.compile(rb"[\[({] *'")
"""Where items of a list, not cells, stand between quotes."""


_WHOLE_ROW = re.compile(rb'(?m)^"(?P<row>(?:[^"\n]|"")*)"[,;\t]*(?P<end>\r?)$')
"""A line that is one cell; spreadsheets write such of a text whose delimiter they did not know."""
_IN_COLUMN_A = re.compile(rb"(?i)\.(?:jpe?g|png|webp|bmp)(?:\"\")?[,;|\t]|_val_\d{8}(?:\"\")?[,;|\t]")
"""What tells that a cell is a row: an image, and a delimiter behind it."""


def rows_of_cells(text: bytes) -> bytes:
    """Return text whose rows stand in one cell each as the rows that they hold.

    >>> rows_of_cells(b'"a.JPEG;""chow, chow chow"";0.9",\\n').decode()
    'a.JPEG;"chow, chow chow";0.9\\n'
    """
    head = text[:_SAMPLE_BYTES]
    found = [one["row"] for one in _WHOLE_ROW.finditer(head)] if b'"' in head else []
    if sum(bool(_IN_COLUMN_A.search(row)) for row in found) < max(1, len(found) - 1):  # one may be the header
        return text
    return _WHOLE_ROW.sub(lambda one: one["row"].replace(b'""', b'"') + one["end"], text)


def double_quoted(text: bytes) -> bytes:
    """Return text whose cells stand between single quotes, as databases write them, with double ones.

    Where any other quote stands in the text's beginning, single ones are left as they are: they belong to names.

    >>> double_quoted(b"'a.JPEG','garter snake, grass snake'").decode()
    '"a.JPEG","garter snake, grass snake"'
    """
    head = text[:_SAMPLE_BYTES]
    if b"'" not in head or b'"' in head or _OF_LISTS.search(head):
        return text
    lines = [line for line in head.split(b"\n")[:_SAMPLE_LINES] if line.strip()][1:] or [head]
    if sum(bool(_SINGLE.search(line)) for line in lines) < _NEARLY_ALL * len(lines):
        return text
    return _SINGLE.sub(_in_double_quotes, text)


def _in_double_quotes(found: re.Match[bytes]) -> bytes:
    cell = found["cell"].replace(b"''", b"'").replace(rb"\'", b"'")
    return b'"' + cell.replace(b'"', b'""') + b'"'


def close_quotes(text: bytes, delimiter: str) -> bytes:
    """Drop blanks between a delimiter and a quote: ``a, "b, c"`` has two cells."""
    mark = delimiter.encode() + b' "'
    if delimiter == " " or mark not in text[:_SAMPLE_BYTES]:
        return text
    return re.sub(re.escape(delimiter.encode()) + rb' +"(?!")', delimiter.encode() + b'"', text)
