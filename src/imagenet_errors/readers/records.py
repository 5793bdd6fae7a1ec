"""Records of delimited text: their cells, the delimiter that splits them, and whether the first is a header."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

import pyarrow as pa

from imagenet_errors.readers.contents import Content, content_of, is_wnid
from imagenet_errors.readers.fields import WIDE
from imagenet_errors.readers.headers import Meaning, meaning_of

DELIMITERS = {
    "\t": "tab-separated text",
    ",": "CSV",
    ";": "semicolon-separated text",
    "|": "bar-separated text",
}
SAMPLE_BYTES = (1 << 16, 1 << 23)
"""Looked at to tell the layout: more only where few records fit in."""
SAMPLE_ROWS = 20
NO_DELIMITER = "\x1f"
"""Splits a text of one cell a line, whose commas belong to names: no text has this mark."""
_BRACKETS = re.compile(rb"\[[^\[\]\"\n]*\]")
NOT_FINITE = frozenset(("", "nan", "+nan", "-nan", "inf", "+inf", "-inf", "infinity", "-infinity"))
_LONGEST_CELL = 1 << 24
"""Bytes: 21,843 scores of one image in one cell take some 300 kB; the csv module's own limit is 128 kB."""


def single_blanks(text: bytes) -> bytes:
    """Return a text with one blank between words, and none around a line."""
    return re.sub(rb"^ +| +(?=\r?$)", b"", re.sub(rb"[ \t]+", b" ", text), flags=re.MULTILINE)


def records(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and cells of each record that is not empty."""
    csv.field_size_limit(_LONGEST_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    for cells in reader:
        if cells:
            yield reader.line_num, cells


def first_records(text: bytes, delimiter: str) -> list[list[str]]:
    """Return the cells of the first records, without one that the end of the sample may cut."""
    for size in SAMPLE_BYTES:
        head = text[:size].decode("utf-8", "ignore")
        if delimiter == " ":
            head = single_blanks(head.encode()).decode()
        try:
            rows = [cells for _, cells in islice(records(head, delimiter), SAMPLE_ROWS)]
        except csv.Error:
            return []
        if len(rows) == SAMPLE_ROWS or size >= len(text):
            return rows
    return rows[:-1] or rows


def delimiter_of(text: bytes) -> str:
    """Choose the delimiter that splits the first records most evenly; blanks only where no other splits."""
    rights = {delimiter: right for delimiter in DELIMITERS if (right := _evenness(text, delimiter))}
    if rights:
        return max(rights, key=lambda delimiter: rights[delimiter])
    if _evenness(text, " "):
        return " "
    widths = Counter(map(len, first_records(text, ",")))
    return "," if not widths or widths.most_common(1)[0][0] > 1 or len(widths) == 1 else NO_DELIMITER


def _evenness(text: bytes, delimiter: str) -> tuple[float, int] | None:
    """Return the share of records with the commonest number of cells, and that number; None: no split.

    What stands in brackets does not count: ``a.JPEG<tab>[65, 1, 2]`` has two cells."""
    widths = Counter(map(len, first_records(_BRACKETS.sub(b"[]", text[: SAMPLE_BYTES[0]]), delimiter)))
    width, n_rows = widths.most_common(1)[0] if widths else (1, 0)
    share = n_rows / max(1, widths.total())
    return (share, width) if width > 1 and share >= 0.5 else None


def is_header(cells: Sequence[str]) -> bool:
    """Say whether the first record names the columns: words, or a known header before numbered classes."""
    stripped = [cell.strip() for cell in cells]
    if any(content_of(pa.array([cell])) is Content.IMAGE for cell in stripped[:WIDE] if cell):
        return False
    numeric = [cell for cell in stripped if is_number(cell)]
    wnids = [cell for cell in stripped if is_wnid(cell)]
    if len(numeric) >= WIDE:
        return any(numeric == [str(i + start) for i in range(len(numeric))] for start in (0, 1))
    if numeric or 0 < len(wnids) < WIDE:
        return False
    return len(stripped) > 1 or meaning_of(stripped[0]) is not Meaning.UNKNOWN


def is_number(cell: str) -> bool:
    """Say whether a cell holds a number; the words nan and inf are none."""
    try:
        float(cell)
    except ValueError:
        return False
    return cell.strip().lower() not in NOT_FINITE
