"""Comma, tab, semicolon, bar or blank separated text, with or without a header.

Every cell is read as text first, so names keep leading zeros and ``nan`` stays a word. Only tables as wide as
a class axis have their number columns parsed as numbers at once, for want of memory.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NoReturn

import pyarrow as pa

from imagenet_errors.problems import InputError, counted
from imagenet_errors.readers.assemble import MOST_COLUMNS, Columns
from imagenet_errors.readers.bare_cells import bare_columns
from imagenet_errors.readers.contents import looks_like_image
from imagenet_errors.readers.fields import POSITIONAL, WIDE, refuse_transposed
from imagenet_errors.readers.headers import STATE_CLASSES, Meaning, meaning_of
from imagenet_errors.readers.opened import Opened, refusing_damage
from imagenet_errors.readers.quotes import close_quotes, double_quoted, rows_of_cells
from imagenet_errors.readers.records import (
    DELIMITERS,
    NO_DELIMITER,
    NOT_FINITE,
    SAMPLE_BYTES,
    SAMPLE_ROWS,
    delimiter_of,
    first_records,
    is_header,
    is_number,
    records,
    single_blanks,
)

_LONGEST_PREAMBLE = 20
"""Lines of titles and logs that are looked for above a table."""
_SUMMARY = re.compile(
    rb"(?i)\b(?:top-?[15k]|acc(?:uracy)?|mean|total|avg|average|overall|summary|rows?|errors?|loss|done|finished|"
    rb"elapsed|time)\b|acc@"
)
"""What lines behind a table speak of."""
_RULE = re.compile(rb"(?m)^[ \t]*[|+]?[ \t]*:?[-=]{3,}:?[-=+|: \t]*\r?$|^(?:\xe2[\x94\x95][\x80-\xbf]){3,}\r?$")
"""The line below the header of a table in Markdown, from a database's shell, or drawn with boxes."""
_BOX_SIDES = tuple("\u2502\u2503\u2551\u2506")
_PIECE = 1 << 12
_NOT_BLANK = re.compile(rb"\s*(?P<line>\S[^\n]*)")
_EXCEL = re.compile(rb"\s*sep=([,;|\t])[^\S\n]*(?=\n)", re.IGNORECASE)


@dataclass(frozen=True)
class _Layout:
    """How the text is laid out; ``headers`` are made up (``column 1``) where the file has none."""

    delimiter: str
    headers: tuple[str, ...]
    has_header: bool
    sample: tuple[tuple[str, ...], ...]

    @property
    def words(self) -> str:
        known = {name.lower() for name in self.headers}
        maker = ""
        if {"filename", "prob"} <= known or {"filename", "logit"} <= known or "prob_0" in known:
            maker = "timm "
        if {"file_name", "predicted_class", "predicted_probability"} <= known:
            maker = "ImageNet-X "
        others = {" ": "blank-separated text", NO_DELIMITER: "text, a cell a line"}
        return maker + (DELIMITERS | others)[self.delimiter]


def read_delimited(file: Opened, _stated: Mapping[str, str]) -> Columns:
    """Read delimited UTF-8 text.

    Raises
    ------
    InputError
        Lines of different lengths, a quote that is never closed, images in columns, or more columns than any head has.
    """
    path = file.path
    _refuse_wide(_first_line(file.text), path)
    stated, text = _body(double_quoted(rows_of_cells(file.text)))
    delimiter = stated or delimiter_of(text)
    if delimiter == " ":
        text = single_blanks(text)
    if delimiter == " " and _begin_with_images(text):
        text, delimiter = re.sub(rb"(?m)^(\S+) ", rb"\1\t", text), "\t"
    text = _without_preamble(close_quotes(text, delimiter), delimiter)
    text, ends = _without_summary(text, delimiter)
    text, repeats = _without_repeated_headers(text, delimiter)
    layout = _layout(text, delimiter, path)
    table = _parse(text, layout, path)
    bare = bare_columns(layout.headers, table.columns, has_header=layout.has_header)
    return Columns(path, layout.words, tuple(bare.column_names), tuple(bare.columns), (*repeats, *ends))


def _first_line(text: bytes) -> bytes:
    """Return the first line that is not blank; the rest, which may be long, is not copied."""
    found = _NOT_BLANK.match(text)
    return found["line"] if found else b""


def _end(text: bytes, stop: int) -> int:
    """Return where the text before ``stop`` ends but for blanks behind it; what may be long is not copied."""
    while stop:
        piece = text[max(0, stop - _PIECE) : stop]
        kept = len(piece.rstrip())
        stop -= len(piece) - kept
        if kept:
            break
    return stop


def _without_summary(text: bytes, delimiter: str) -> tuple[bytes, tuple[str, ...]]:
    """Empty lines behind the table that sum it up, such as ``Top-1: 76.1``; a line cut short is none."""
    widths = Counter(map(len, first_records(text, delimiter)))
    width = widths.most_common(1)[0][0] if widths else 0
    stop, first = _end(text, len(text)), ""
    n_lines = 0
    while n_lines < _LONGEST_PREAMBLE and width > 1:
        start = text.rfind(b"\n", 0, stop) + 1
        line = text[start:stop].strip()
        is_row = line.count(delimiter.encode()) + 1 == width or b'"' in line or not _SUMMARY.search(line)
        if line and (is_row or looks_like_image(line.decode("utf-8", "replace").split(delimiter)[0])):
            break
        n_lines, stop = n_lines + bool(line), start and _end(text, start)
        first = line.decode("utf-8", "replace") or first
        if not start:
            return text, ()
    if not n_lines:
        return text, ()
    note = f"Not used: {counted(n_lines, 'line')} behind the table (first: {first[:60]!r})."
    return text[:stop] + b"\n", (note,)


def _without_repeated_headers(text: bytes, delimiter: str) -> tuple[bytes, tuple[str, ...]]:
    """Empty the lines that repeat the header, as files written one behind another have them."""
    header = _first_line(text).strip()
    if not header or text.find(b"\n" + header, text.find(header) + len(header)) < 0:
        return text, ()
    pattern = rb"(?m)^" + re.escape(header) + rb"\r?$"
    if not is_header(next(csv.reader([header.decode("utf-8", "replace")], delimiter=delimiter), [])):
        return text, ()
    first = text.find(header) + len(header)
    rest, n_times = re.subn(pattern, b"", text[first:])
    note = f"The header stands in the file {counted(n_times + 1, 'time')}; it was read once."
    return text[:first] + rest, (note,) if n_times else ()


def _body(text: bytes) -> tuple[str, bytes]:
    """Return the delimiter that Excel's ``sep=;`` states, and the text with such lines and comments emptied.

    Lines are emptied and not taken out, so that the numbers of the others stay true. numpy.savetxt writes a comment.
    """
    stated = ""
    first = _EXCEL.match(text)
    if first:
        stated = first.group(1).decode()
        text = text[: first.start(1) - 4] + text[first.end() :]
    if b"#" in text and (text.startswith(b"#") or b"\n#" in text):  # one letter is found far sooner than two
        text = re.sub(rb"^#[^\n]*", b"", text, flags=re.MULTILINE)
    head = text[: SAMPLE_BYTES[0]]
    sides = [side.encode() for side in _BOX_SIDES if side.encode() in head]
    if sides or b"---" in head or b"===" in head:
        text = _RULE.sub(b"", text)
    for side in sides:
        text = text.replace(side, b"|")
    return stated, text


def _without_preamble(text: bytes, delimiter: str) -> bytes:
    """Empty the titles and log lines in front of the table; a blank line there is empty already.

    The table begins at the last line that names known columns, or else at the first that is as wide as most.
    """
    starts, rows = _starts(text, delimiter)
    widths = Counter(map(len, rows))
    width = widths.most_common(1)[0][0] if widths else 0
    named = [i for i, cells in enumerate(rows[:_LONGEST_PREAMBLE]) if len(cells) == width and _names_columns(cells)]
    first_wide = next((i for i, cells in enumerate(rows) if len(cells) == width), 0)
    start = named[-1] if named else first_wide if width > 1 and first_wide <= _LONGEST_PREAMBLE else 0
    if not start:
        return text
    n_lines = starts[start]
    at = -1
    for _ in range(n_lines):
        at = text.index(b"\n", at + 1)
    return b"\n" * n_lines + text[at + 1 :]


def _starts(text: bytes, delimiter: str) -> tuple[list[int], list[list[str]]]:
    """Return of the first records how many lines stand before each, and their cells."""
    starts, rows, n_before = [], [], 0
    head = text[: SAMPLE_BYTES[0]].decode("utf-8", "ignore")
    try:
        for line, cells in islice(records(head, delimiter), SAMPLE_ROWS + _LONGEST_PREAMBLE):
            starts.append(n_before)
            rows.append(cells)
            n_before = line
    except csv.Error:
        return [], []
    return starts, rows


def _names_columns(cells: Sequence[str]) -> bool:
    """Say whether a record is a header for sure: known words, and neither a number nor an image among them."""
    meanings = {meaning_of(cell.strip()) for cell in cells}
    known = meanings & {*STATE_CLASSES, Meaning.NAME}
    short = all(len(cell.split()) <= 3 for cell in cells)
    return bool(known) and short and is_header(cells)


def _begin_with_images(text: bytes) -> bool:
    """Say whether lines of different lengths begin with an image: then what follows is a name of several words."""
    rows = first_records(text, " ")
    return len(set(map(len, rows))) > 1 and all(len(cells) > 1 and looks_like_image(cells[0]) for cells in rows)


def _layout(text: bytes, delimiter: str, path: Path) -> _Layout:
    sample = first_records(text, delimiter)
    if not sample:
        raise InputError(path, "the file has no rows", fix="Predict again.")
    first, *rest = sample
    _refuse_names_in_columns(first, path)
    has_header = is_header(first)
    headers = (
        tuple(cell.strip() for cell in first)
        if has_header
        else tuple(f"{POSITIONAL} {i + 1}" for i in range(len(first)))
    )
    if not has_header and len(first) >= WIDE:  # scores without a header, perhaps after a name
        numbers = [i for i, cell in enumerate(first) if is_number(cell)]
        headers = tuple(str(numbers.index(i)) if i in numbers else headers[i] for i in range(len(first)))
    rows = rest if has_header else sample
    return _Layout(delimiter, headers, has_header, tuple(map(tuple, rows)))


def _refuse_names_in_columns(first: Sequence[str], path: Path) -> None:
    """Refuse a table with an image in each column."""
    refuse_transposed(first, path)


def _refuse_wide(line: bytes, path: Path) -> None:
    """Refuse a table wider than any head by its first line, before anything is split."""
    n_columns = 1 + max(line.count(delimiter.encode()) for delimiter in (*DELIMITERS, " "))
    if n_columns > MOST_COLUMNS:
        raise InputError(
            path,
            f"{n_columns:,} columns; at most {MOST_COLUMNS:,} are read",
            fix="Write a row an image, with a column a class at most.",
        )


def _column_types(layout: _Layout) -> dict[str, pa.DataType]:
    """Say how to parse each column: text, but float64 for the numbers of a table as wide as a class axis."""
    types = {str(i): pa.string() for i in range(len(layout.headers))}
    if len(layout.headers) < WIDE:
        return types
    for i in range(len(layout.headers)):
        cells = [row[i] for row in layout.sample if i < len(row)]
        if cells and all(is_number(cell) or cell.strip().lower() in NOT_FINITE for cell in cells):
            types[str(i)] = pa.float64()
    return types


def _parse(text: bytes, layout: _Layout, path: Path) -> pa.Table:
    """Parse all records; columns go by their number, since headers may repeat."""
    import pyarrow.csv as arrow_csv

    types = _column_types(layout)
    records = _from_first_record(text, one_column=len(types) == 1)
    block = (1 << 20) if len(layout.headers) < WIDE else (1 << 25)
    read = arrow_csv.ReadOptions(
        use_threads=len(records) > block,  # setting threads to one block takes longer than parsing it
        column_names=list(types),
        skip_rows_after_names=int(layout.has_header),
        block_size=block,
    )
    parse = arrow_csv.ParseOptions(
        delimiter=layout.delimiter, newlines_in_values=b'"' in records, ignore_empty_lines=len(types) > 1
    )
    convert = arrow_csv.ConvertOptions(column_types=types, check_utf8=False, strings_can_be_null=False)
    try:
        with refusing_damage(path):
            table = arrow_csv.read_csv(
                pa.BufferReader(records), read_options=read, parse_options=parse, convert_options=convert
            )
    except InputError:
        _refuse_ragged(text, layout, path)
        raise
    if text.count(b'"') % 2 and _ends_inside_quotes(table):
        raise InputError(path, "a quoted cell is never closed, so the file may be cut short", fix="Write it again.")
    return table


def _from_first_record(text: bytes, *, one_column: bool) -> bytes:
    """Drop empty lines in front; behind too, where in a table of one column each would be an empty cell."""
    text = re.sub(rb"\A(?:[^\S\n]*\n)+", b"", text)
    if one_column:
        text = text.rstrip()
    return text if text.endswith(b"\n") else text + b"\n"


def _ends_inside_quotes(table: pa.Table) -> bool:
    if table.num_rows == 0:
        return False
    return any("\n" in str(column[-1].as_py()) for column in table.columns)


def _refuse_ragged(text: bytes, layout: _Layout, path: Path) -> None:
    """Raise on the first record that has more or fewer cells than the first one; return if all are alike."""
    width = len(layout.headers)
    try:
        for line, cells in records(text.decode("utf-8"), layout.delimiter):
            if len(cells) != width:
                _refuse_line(line, cells, layout, path)
    except csv.Error as problem:
        raise InputError(path, f"the text cannot be split into cells: {problem}", fix="Write it again.") from None


def _refuse_line(line: int, cells: Sequence[str], layout: _Layout, path: Path) -> NoReturn:
    shown = layout.delimiter.join(cells)
    raise InputError(
        path,
        f"line {line} has {counted(len(cells), 'cell')}, the first has {len(layout.headers)}",
        example=shown if len(shown) <= 80 else shown[:77] + "...",
        fix="Correct the line; put cells that hold a delimiter in double quotes.",
    )
