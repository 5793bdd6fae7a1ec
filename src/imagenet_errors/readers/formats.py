"""The formats that predictions and tables are read in; a file's is told from its bytes, for extensions lie.

timm writes CSV text into ``.json`` files. A new format is a reader and its line in :data:`FORMATS`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

from imagenet_errors.problems import InputError
from imagenet_errors.readers.arrow_tables import read_arrow, read_orc, read_parquet
from imagenet_errors.readers.assemble import Columns, read_columns
from imagenet_errors.readers.class_lists import is_class_list, read_class_list
from imagenet_errors.readers.delimited import read_delimited
from imagenet_errors.readers.headers import Meaning, meaning_of
from imagenet_errors.readers.logs import is_log, read_log
from imagenet_errors.readers.named_values import is_named_values, read_named_values
from imagenet_errors.readers.opened import ARRAY_START, Opened, opened
from imagenet_errors.readers.raw import RawPredictions
from imagenet_errors.readers.safetensors_files import is_safetensors

Reader = Callable[[Opened, Mapping[str, str]], Columns | RawPredictions]


@dataclass(frozen=True)
class Format:
    """One format: how its files begin, what they are mostly called, and who reads them.

    ``read`` takes the opened file and the columns that the user states (role -> header). It returns the file's columns,
    which anything may be read from, or, of arrays that are no table, predictions.
    """

    name: str
    begins: tuple[bytes, ...]
    endings: tuple[str, ...]
    read: Reader
    is_text: bool = False


_NESTED = re.compile(r"(?:^[^\s#][^\n]*:[ \t]*\r?\n[ \t]*(?:- )?|\A\s*- )[\"']?(?P<key>\w+)[\"']?:[ \t]", re.MULTILINE)
"""Keys inside an object or a list of YAML; ``a.JPEG: 65`` a line is read as a log."""


def yaml_problem(path: Path) -> InputError:
    """Return what to tell of YAML, which no library here reads."""
    return InputError(
        path,
        "this is YAML, which is not read",
        fix="Where PyYAML is installed, convert it once:\n"
        "    import json, yaml\n"
        "    from pathlib import Path\n"
        f'    content = yaml.safe_load(Path("{path.as_posix()}").read_text())\n'
        f'    Path("{path.stem}.json").write_text(json.dumps(content))',
    )


def _read_text(file: Opened, stated: Mapping[str, str]) -> Columns | RawPredictions:
    """Read a program's log, text with a heading a class, or delimited text."""
    nested = _NESTED.search(file.head.decode("utf-8", "replace"))
    if nested and meaning_of(nested["key"]) is not Meaning.UNKNOWN:
        raise yaml_problem(file.path)
    if is_named_values(file.head):
        return read_named_values(file.text, file.path)
    if is_log(file.head):
        return read_log(file.text, file.path)
    if is_class_list(file.head):
        return read_class_list(file.text, file.path)
    return read_delimited(file, stated)


def _when_met(module: str, name: str) -> Reader:
    """Return a reader whose module is loaded with the first file that needs it: most runs meet one format."""

    def read(file: Opened, stated: Mapping[str, str]) -> Columns | RawPredictions:
        found: Reader = getattr(import_module(f"imagenet_errors.readers.{module}"), name)
        return found(file, stated)

    return read


DELIMITED = Format("delimited text", (b"",), (".csv", ".tsv", ".txt"), _read_text, is_text=True)
"""What any text is that nothing else begins like."""

_SAFETENSORS = Format("safetensors", (), (".safetensors",), _when_met("npz_files", "read_npz"))
"""Recognised by what follows the length that it begins with."""

FORMATS: tuple[Format, ...] = (
    Format("Parquet", (b"PAR1",), (".parquet",), read_parquet),
    Format("Arrow", (b"ARROW1", b"\xff\xff\xff\xff"), (".feather", ".arrow", ".ipc"), read_arrow),
    Format("ORC", (b"ORC",), (".orc",), read_orc),
    Format("npy", (ARRAY_START,), (".npy",), _when_met("numpy_files", "read_npy")),
    Format("npz", (b"PK",), (".npz",), _when_met("npz_files", "read_npz")),
    Format("JSON", (b"{", b"["), (".json", ".jsonl", ".ndjson"), _when_met("json_files", "read_json"), is_text=True),
    _SAFETENSORS,
    DELIMITED,
)
"""In the order of asking: the first whose beginning fits reads the file. Texts begin after their byte-order mark and
blanks, and may be packed (gzip, bzip2, xz, zstd); any other text is delimited."""

ENDINGS = (*(ending for one in FORMATS for ending in one.endings), ".gz", ".bz2", ".xz", ".zst")
"""What the files in a folder must be called to be taken for predictions."""


def read_raw(path: Path, *, columns: Mapping[str, str] | None = None) -> RawPredictions:
    """Read a predictions file of any known format.

    Parameters
    ----------
    columns
        Role (name, index, label, confidence, scores) -> column name, where the user states it.

    Raises
    ------
    InputError
        The file is missing, damaged, of a kind that is not read, or does not tell a class for its rows.
    """
    with opened(path) as file:
        return raw_of(file, columns=columns)


def raw_of(file: Opened, *, columns: Mapping[str, str] | None = None) -> RawPredictions:
    """Read predictions from an opened file.

    Raises
    ------
    InputError
        See :func:`read_raw`.
    """
    stated = columns or {}
    found, file = recognised(file)
    read = found.read(file, stated)
    return read_columns(read, columns=stated) if isinstance(read, Columns) else read


def columns_of(file: Opened) -> Columns:
    """Read the columns of a table in any of the tabular formats.

    Raises
    ------
    InputError
        The file is damaged, of a kind that is not read, or holds arrays that are no table.
    """
    found, file = recognised(file)
    read = found.read(file, {})
    if not isinstance(read, Columns):
        raise InputError(file.path, f"{found.name} with an array, not a table", fix="Give Parquet, CSV or JSON.")
    return read


_UNPICKLE = (
    "Unpickling runs whatever code the file holds, so it is never done here. "
    "If you trust the file, convert it once, by what it holds:\n"
    "    import json, pickle, numpy\n"
    "    from pathlib import Path\n"
    '    saved = pickle.loads(Path("FILE").read_bytes())\n'
    '    Path("FILE.json").write_text(json.dumps(saved, default=lambda it: it.tolist()))  # a dict or a list\n'
    '    numpy.save("FILE.npy", saved)     # an array\n'
    '    saved.to_parquet("FILE.parquet")  # a DataFrame'
)
_AS_TABLE = "Save the predictions as CSV or Parquet."
_UNPACK = "Unpack it first."

_REFUSED: tuple[tuple[bytes, str, str], ...] = (
    (
        b"\x89HDF",
        "this is an HDF5 file",
        'Save what it holds once: numpy.savez("FILE.npz", **{key: it[:] for key, it in h5py.File("FILE").items()}); '
        'a table: pandas.read_hdf("FILE").to_parquet("FILE.parquet").',
    ),
    (b"%PDF", "this is a PDF document", _AS_TABLE),
    (
        b"version https://git-lfs",
        "this is a git-lfs pointer, not the file itself",
        "Run 'git lfs pull' there.",
    ),
    (b"\xd0\xcf\x11\xe0", "this is an old Excel or Office document", _AS_TABLE),
    (b"SQLite format 3", "this is an SQLite database", _AS_TABLE),
    (
        b"MATLAB 5.0",
        "this is a MATLAB file",
        'Save the array once: numpy.savez("FILE.npz", logits=scipy.io.loadmat("FILE")["NAME OF THE ARRAY"]).',
    ),
    (b"FEA1", "this is a Feather file of version 1", "Write it again with a current pyarrow, or as Parquet."),
    (b"\x89PNG", "this is an image", "Give the file of predictions."),
    (b"\xff\xd8\xff", "this is an image", "Give the file of predictions."),
    (b"7z\xbc\xaf", "this is a 7z archive", _UNPACK),
)
_PICKLE_PROTOCOLS = (
    *(bytes((0x80, protocol)) for protocol in range(2, 6)),
    *(b"(dp0", b"(lp0", b"ccopy_reg\n", b"c__builtin__\n", b"cnumpy", b"cpandas"),
)
_HEAD = 4096
_SAMPLED = 64
_ASSIGNED = re.compile(rb"\s*(?:(?:const|let|var)\s+)?[A-Za-z_]\w*\s*=\s*(?=[\[{])")
"""``preds = {...}``: data that is saved as a line of a program."""
_PREFIXED = re.compile(
    rb"\[(?:[^\[\]{}\"'\n]*\][ \t]*[^\s,;\]\[]|(?!NaN|null|true|false)[A-Za-z][\w .-]*\][ \t]*\r?\n)"
)
"""A line's mark in brackets: ``[17/90] a.JPEG: tabby``, a log's time, ``[section]``; JSON ends or goes on there."""


def recognised(file: Opened) -> tuple[Format, Opened]:
    """Return the format of a file, and the file; of a text unpacked and without its byte-order mark.

    Raises
    ------
    InputError
        It is empty, or something that neither predictions nor tables are read from.
    """
    if not len(file.content):
        raise InputError(file.path, "the file is empty", fix="Write it again.")
    file = file.zipped([ending for ending in ENDINGS if ending != ".npy"])
    packed_by = file.packed_by
    if packed_by:
        file = file.unpacked()
        if _binary(file) is not None:
            raise InputError(file.path, f"this is a {packed_by}-compressed binary file", fix=_UNPACK)
    found = _binary(file)
    return (found, file) if found is not None else _text(file)


def _binary(file: Opened) -> Format | None:
    """Return the format of a binary file, None for what may be text; refuse what is not read."""
    head = file.head
    if head.startswith(_PICKLE_PROTOCOLS):
        raise InputError(file.path, "this is a pickle", fix=_UNPICKLE)
    for magic, what, fix in _REFUSED:
        if head.startswith(magic):
            raise InputError(file.path, what, fix=fix)
    if head[257:262] == b"ustar":
        raise InputError(file.path, "this is a tar archive", fix=_UNPACK)
    if is_safetensors(file):
        return _SAFETENSORS
    return next((one for one in FORMATS if not one.is_text and head.startswith(one.begins)), None)


def _text(file: Opened) -> tuple[Format, Opened]:
    text = _utf8(file.text, file.path).removeprefix(b"\xef\xbb\xbf")
    assigned = _ASSIGNED.match(text)
    if assigned:
        text = text[assigned.end() :].rstrip().removesuffix(b";")
    start = text[:_HEAD].lstrip() or text.lstrip()
    if not start:
        raise InputError(file.path, "the file is empty", fix="Write it again.")
    if b"\0" in text:
        raise InputError(file.path, "neither text nor a known format", example=text[:24], fix=_AS_TABLE)
    _refuse_other_encodings(text, file.path)
    if start.startswith(b"<"):
        raise InputError(
            file.path,
            "this is a web page or XML, no data",
            example=start[:40].decode("utf-8", "replace"),
            fix='Of a table in it: pandas.read_html("FILE")[0].to_csv("FILE.csv", index=False).'
            if b"<table" in text.lower()
            else "Most likely the download returned an error page: download it again.",
        )
    is_prefixed = _PREFIXED.match(start) is not None
    found = DELIMITED if is_prefixed else next(one for one in FORMATS if one.is_text and start.startswith(one.begins))
    return found, replace(file, content=memoryview(text))


def _utf8(text: bytes, path: Path) -> bytes:
    """Return text in UTF-16, as Excel's "Unicode text" is, or UTF-32 as UTF-8; others as they are."""
    encoding = _wide_encoding(text)
    if not encoding:
        return text
    decoded = text.decode(encoding, "replace")
    if 2 * sum(map(str.isascii, decoded[:_HEAD])) < len(decoded[:_HEAD]) or "\ufffd" in decoded:
        raise InputError(path, "UTF-16 text that is cut short or damaged", fix="Save it as UTF-8.")
    return decoded.encode()


def _wide_encoding(text: bytes) -> str:
    """Return the encoding of a text that begins with its mark, or has a zero beside every letter; "" for UTF-8."""
    if text.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return "utf-32"
    if text.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    even, odd = (set(text[start:_SAMPLED:2]) for start in (0, 1))
    if len(text) >= _SAMPLED and {0} in (even, odd) and even != odd:
        return "utf-16-le" if odd == {0} else "utf-16-be"
    return ""


def _refuse_other_encodings(text: bytes, path: Path) -> None:
    try:
        _ = text.isascii() or text.decode("utf-8")
    except UnicodeDecodeError as problem:
        around = text[max(0, problem.start - 12) : problem.start + 12]
        raise InputError(
            path, "this is not UTF-8 text", example=around, fix="Save it as UTF-8, or as Parquet."
        ) from None
