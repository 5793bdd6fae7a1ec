"""What a file holds, told from its bytes: extensions lie (timm writes CSV text into ``.json`` files)."""

from __future__ import annotations

import gzip
import zipfile
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from imagenet_errors.problems import InputError
from imagenet_errors.readers.damage import refusing_damage

_HEAD = 4096


class Kind(StrEnum):
    """The containers that predictions come in."""

    PARQUET = "Parquet"
    ARROW = "Arrow"
    NPY = "npy"
    NPZ = "npz"
    JSON = "JSON"
    DELIMITED = "delimited text"


@dataclass(frozen=True)
class Sniffed:
    """What a file holds; ``text`` is all of a text file: UTF-8, unpacked, without its byte-order mark."""

    kind: Kind
    text: bytes = b""


_UNPICKLE = (
    "Unpickling runs whatever code the file holds, so it is never done here. "
    "If you trust the file, convert it once:\n"
    "    import pickle, numpy\n"
    '    saved = pickle.load(open("FILE", "rb"))\n'
    '    numpy.savez("FILE.npz", logits=saved["logits"])  # and file_names=[...] where you have them'
)
_UNTORCH = (
    "It holds a pickle, which runs code when loaded. If you trust the file, convert it once:\n"
    "    import torch, numpy\n"
    '    saved = torch.load("FILE", map_location="cpu", weights_only=True)\n'
    '    numpy.savez("FILE.npz", logits=saved.float().numpy())  # and file_names=[...] where you have them'
)
_AS_TABLE = "Save the predictions as CSV or Parquet."
_UNPACK = "Unpack it first."

_REFUSED: tuple[tuple[bytes, str, str], ...] = (
    (b"\x89HDF", "this is an HDF5 file", 'Save the array with numpy.savez("FILE.npz", logits=...).'),
    (b"%PDF", "this is a PDF document", _AS_TABLE),
    (
        b"version https://git-lfs",
        "this is a git-lfs pointer, not the file itself",
        "Run 'git lfs pull' there.",
    ),
    (b"\xd0\xcf\x11\xe0", "this is an old Excel or Office document", _AS_TABLE),
    (b"SQLite format 3", "this is an SQLite database", _AS_TABLE),
    (b"MATLAB 5.0", "this is a MATLAB file", 'Save the array with numpy.savez("FILE.npz", logits=...).'),
    (b"FEA1", "this is a Feather file of version 1", "Write it again with a current pyarrow, or as Parquet."),
    (b"\xff\xfe", "this is UTF-16 text", "Save it as UTF-8."),
    (b"\xfe\xff", "this is UTF-16 text", "Save it as UTF-8."),
    (b"\x89PNG", "this is an image", "Give the file of predictions."),
    (b"\xff\xd8\xff", "this is an image", "Give the file of predictions."),
    (b"BZh", "this is bzip2-compressed", _UNPACK),
    (b"\xfd7zXZ", "this is xz-compressed", _UNPACK),
    (b"\x28\xb5\x2f\xfd", "this is zstd-compressed", _UNPACK),
    (b"7z\xbc\xaf", "this is a 7z archive", _UNPACK),
)
_PICKLE_PROTOCOLS = tuple(bytes((0x80, protocol)) for protocol in range(2, 6))
_BINARY = (
    (b"PAR1", Kind.PARQUET),
    (b"ARROW1", Kind.ARROW),
    (b"\xff\xff\xff\xff", Kind.ARROW),
    (b"\x93NUMPY", Kind.NPY),
)


def sniff(path: Path) -> Sniffed:
    """Tell what the file holds.

    Raises
    ------
    InputError
        It is missing, a folder, empty, cut short, or something that predictions are not read from.
    """
    head = _head(path)
    if not head:
        raise InputError(path, "the file is empty", fix="Write it again.")
    if head.startswith(b"PK"):
        _check_zip(path)
        return Sniffed(Kind.NPZ)
    if head.startswith(b"\x1f\x8b"):
        return _sniff_gzip(path)
    kind = _binary_kind(head, path)
    if kind is None:
        return _sniff_text(path.read_bytes(), path)
    if kind is Kind.PARQUET:
        _check_parquet_end(path)
    return Sniffed(kind)


def _head(path: Path) -> bytes:
    if path.is_dir():
        raise InputError(path, "this is a folder, not a file", fix="Name the files in it.")
    try:
        with path.open("rb") as file:
            return file.read(_HEAD)
    except FileNotFoundError:
        raise InputError(path, "there is no such file", fix="Check the path.") from None
    except OSError as problem:
        raise InputError(path, f"the file cannot be opened: {problem.strerror}", fix="Check the path.") from problem


def _binary_kind(head: bytes, path: Path) -> Kind | None:
    """Return the kind of a binary file, None for what may be text; refuse what is not read."""
    if head.startswith(_PICKLE_PROTOCOLS):
        raise InputError(path, "this is a pickle", fix=_UNPICKLE)
    for magic, what, fix in _REFUSED:
        if head.startswith(magic):
            raise InputError(path, what, fix=fix)
    if head[257:262] == b"ustar":
        raise InputError(path, "this is a tar archive", fix=_UNPACK)
    return next((kind for magic, kind in _BINARY if head.startswith(magic)), None)


def _check_parquet_end(path: Path) -> None:
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 4))
        if size < 12 or file.read() != b"PAR1":
            raise InputError(path, "the Parquet file is cut short", fix="Copy it again, or write it again.")


def _check_zip(path: Path) -> None:
    with refusing_damage(path), zipfile.ZipFile(path) as archive:
        members = archive.namelist()
    if any(member.endswith("data.pkl") for member in members):
        raise InputError(path, "this is a torch file (.pt)", fix=_UNTORCH)
    if "[Content_Types].xml" in members:
        raise InputError(path, "this is an Excel or Office document", fix=_AS_TABLE)
    if not any(member.endswith(".npy") for member in members):
        raise InputError(
            path, "this is a zip archive without arrays", example=members[0] if members else None, fix=_UNPACK
        )


def _sniff_gzip(path: Path) -> Sniffed:
    with refusing_damage(path), gzip.open(path) as file:
        unpacked = file.read()
    if unpacked.startswith(b"PK") or _binary_kind(unpacked[:_HEAD], path) is not None:
        raise InputError(path, "this is a gzip-compressed binary file", fix=_UNPACK)
    return _sniff_text(unpacked, path)


def _sniff_text(content: bytes, path: Path) -> Sniffed:
    text = content.removeprefix(b"\xef\xbb\xbf")
    start = text[:_HEAD].lstrip() or text.lstrip()
    if not start:
        raise InputError(path, "the file is empty", fix="Write it again.")
    if b"\0" in text:
        raise InputError(path, "neither text nor a known format", example=text[:24], fix=_AS_TABLE)
    try:
        _ = text.isascii() or text.decode("utf-8")
    except UnicodeDecodeError as problem:
        around = text[max(0, problem.start - 12) : problem.start + 12]
        raise InputError(
            path, "this is not UTF-8 text", example=around, fix="Save it as UTF-8, or as Parquet."
        ) from None
    if start.startswith(b"<"):
        raise InputError(
            path,
            "this is a web page or XML, not predictions",
            example=start[:40].decode("utf-8", "replace"),
            fix="Most likely the download returned an error page: download it again.",
        )
    return Sniffed(Kind.JSON if start.startswith((b"{", b"[")) else Kind.DELIMITED, text)
