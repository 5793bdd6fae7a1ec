"""numpy's .npz files: the published program's preds.npz, and any with scores or classes and perhaps names.

Scores are unpacked a block of rows at a time; 50,000 rows of 1,000 outputs would take 200 MB at once.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.problems import InputError
from imagenet_errors.readers.assemble import MOST_ROWS, Columns, assemble, read_columns, refuse_size
from imagenet_errors.readers.columns import choose_roles
from imagenet_errors.readers.contents import is_wnid
from imagenet_errors.readers.fields import WIDE, fields_of
from imagenet_errors.readers.headers import Meaning, confidence_strength, meaning_of
from imagenet_errors.readers.nested import plain
from imagenet_errors.readers.numpy_files import (
    array_in,
    arrow_column,
    holds_numbers,
    read_array,
    read_header,
    refuse_objects,
)
from imagenet_errors.readers.opened import Opened, opened, refusing_damage
from imagenet_errors.readers.raw import RawPredictions, ScoreSource
from imagenet_errors.readers.safetensors_files import is_safetensors, tensors_in, values_of
from imagenet_errors.readers.scores import ArrayScores, as_floats, rows_a_chunk

_UNTORCH = (
    "It holds a pickle, which runs code when loaded. If you trust the file, convert it once:\n"
    "    import torch, numpy\n"
    '    saved = torch.load("FILE", map_location="cpu", weights_only=True)\n'
    '    logits = saved["logits"] if isinstance(saved, dict) else saved  # the key that it has\n'
    '    numpy.savez("FILE.npz", logits=logits.float().numpy())  # and file_names=[...] where you have them'
)
_MOST_MEMBERS = 10**3
_LONGEST_END = (1 << 16) + 22
_ALWAYS_UNPACKED = 1 << 29
_MOST_UNPACKED = 20
"""An archive may unpack to 512 MB (50,000 rows of 1,000 float64 are 400), a larger one to 20 times its size."""
_NAME_ARRAYS = ("sample_files", "file_names", "filenames", "names")
SAMPLES = "samples_info.npz"
"""Where the published program keeps the order of its rows, for all models: ``sample_files``, ``targets``."""


@dataclass(frozen=True)
class _Member:
    """An array in the archive, by its header alone."""

    key: str
    shape: tuple[int, ...]
    columns_first: bool
    dtype: np.dtype[Any]

    @property
    def holds_numbers(self) -> bool:
        return holds_numbers(self.dtype)

    @property
    def is_wide(self) -> bool:
        return len(self.shape) == 2 and self.shape[1] >= WIDE and self.holds_numbers

    @property
    def is_matrix_of_floats(self) -> bool:
        return len(self.shape) == 2 and self.shape[1] > 1 and self.holds_numbers and self.dtype.kind not in "iu"


@dataclass(frozen=True, eq=False)
class MemberScores:
    """Scores [n, C] in an npz file, unpacked a block of rows at a time."""

    file: Opened
    member: str
    shape: tuple[int, int]
    dtype: np.dtype[Any]

    @property
    def where(self) -> str:
        """The file and the array in it."""
        return f"{self.file.path} ({self.member})"

    def chunks(self) -> Iterator[NDArray[np.floating[Any]]]:
        """Yield blocks of rows as floats.

        Raises
        ------
        InputError
            The archive is cut short or damaged.
        """
        n_rows, n_outputs = self.shape
        step = rows_a_chunk(n_outputs, self.dtype.itemsize)
        with (
            refusing_damage(self.where),
            zipfile.ZipFile(self.file.stream()) as archive,
            archive.open(self.member) as file,
        ):
            read_header(file, self.where)
            for start in range(0, n_rows, step):
                n = min(step, n_rows - start)
                block = np.frombuffer(file.read(n * n_outputs * self.dtype.itemsize), dtype=self.dtype)
                yield as_floats(block.reshape(n, n_outputs))


def read_npz(file: Opened, stated: Mapping[str, str]) -> Columns | RawPredictions:
    """Read an npz or safetensors file; the names of its arrays are what headers are to a table.

    Without names in it, those of ``samples_info.npz`` beside it or one folder up are used, if as many.

    Raises
    ------
    InputError
        The archive is damaged or no npz file, holds Python objects, or neither classes nor scores.
    """
    path, others, kind = file.path, dict(stated), "safetensors" if is_safetensors(file) else "npz"
    members = _members(file)
    dense = _dense(members, others.pop("scores", None), path)
    if len(members) == 1 and dense is None:
        read = read_array(_load(file, members[0]), path, format=kind)
        raw = read_columns(read) if isinstance(read, Columns) else read
    else:
        raw = _read_fields(file, members, dense, others, kind=kind)
    if dense is not None:
        words = f"{raw.format}, all {dense.shape[1]:,} outputs"
        labels = _axis_labels(file, members, dense)
        raw = replace(raw, format=words, n_outputs=dense.shape[1], scores=_scores(file, dense), axis_labels=labels)
    return raw if raw.names is not None else _with_samples(raw, path)


def _members(file: Opened) -> list[_Member]:
    if is_safetensors(file):
        return [_Member(one.key, one.shape, False, one.dtype) for one in tensors_in(file)]
    path = file.path
    _refuse_many(file)
    with refusing_damage(path), zipfile.ZipFile(file.stream()) as archive:
        entries = archive.infolist()
        _refuse_other_archives([entry.filename for entry in entries], path)
        _refuse_bomb(entries, len(file.content), path)
        members = []
        for entry in entries:
            if entry.filename.endswith(".npy"):
                with archive.open(entry) as content:
                    members.append(_Member(entry.filename.removesuffix(".npy"), *read_header(content, path)))
    for member in members:
        refuse_size(f"rows in array {member.key}", member.shape[0] if member.shape else 1, MOST_ROWS, path)
    return members


def _refuse_other_archives(names: list[str], path: Path) -> None:
    if any(name.endswith("data.pkl") for name in names):
        raise InputError(path, "this is a torch file (.pt)", fix=_UNTORCH)
    if "[Content_Types].xml" in names:
        raise InputError(path, "this is an Excel or Office document", fix="Save the predictions as CSV or Parquet.")
    if not any(name.endswith(".npy") for name in names):
        example = names[0] if names else None
        raise InputError(path, "this is a zip archive without arrays", example=example, fix="Unpack it first.")


def _refuse_many(file: Opened) -> None:
    """Refuse an archive of more members than any model writes, by its last record: listing them takes seconds."""
    end = bytes(file.content[-_LONGEST_END:])
    at = end.rfind(b"PK\x05\x06")
    n_members = int.from_bytes(end[at + 10 : at + 12], "little") if at >= 0 else 0
    if n_members > _MOST_MEMBERS:
        what = f"{n_members:,} arrays; at most {_MOST_MEMBERS:,} are read"
        raise InputError(file.path, what, fix="Save one array with a row an image.")


def _refuse_bomb(entries: list[zipfile.ZipInfo], n_bytes: int, path: Path) -> None:
    unpacked = sum(entry.file_size for entry in entries)
    limit = max(_ALWAYS_UNPACKED, _MOST_UNPACKED * n_bytes)
    if unpacked > limit:
        what = f"{n_bytes:,} bytes that unpack to {unpacked:,}; at most {limit:,} are read"
        raise InputError(path, what, fix="Save it with numpy.savez, without compression.")


def _load(file: Opened, member: _Member) -> NDArray[Any]:
    if is_safetensors(file):
        return next(values_of(file, one) for one in tensors_in(file) if one.key == member.key)
    where = f"{file.path} ({member.key})"
    refuse_objects(member.dtype, where)
    with refusing_damage(file.path), zipfile.ZipFile(file.stream()) as archive:
        content = archive.read(f"{member.key}.npy")
    return array_in(memoryview(content), where)


def _dense(members: list[_Member], stated: str | None, path: Path) -> _Member | None:
    """Choose the array of scores: the stated one, or the one that promises most; None if there is none."""
    if stated is not None:
        found = [member for member in members if member.key == stated and len(member.shape) == 2]
        if not found:
            raise InputError(path, f"no array [n, C] named {stated!r}", fix=f"It has {_listed(members)}.")
        return found[0]
    has_class = any(
        (meaning_of(member.key) is Meaning.PREDICTION and (len(member.shape) == 1 or member.dtype.kind in "iu"))
        or meaning_of(member.key) is Meaning.RANKS
        or _is_ranks_beside_values(member, members)
        for member in members
    )
    candidates = [
        member
        for member in members
        if meaning_of(member.key) is not Meaning.TRUTH
        and (member.is_wide or (member.is_matrix_of_floats and not has_class))
    ]
    strengths = [confidence_strength(member.key) for member in candidates]
    best = [member for member, strength in zip(candidates, strengths, strict=True) if strength == max(strengths)]
    if len(best) > 1:
        raise InputError(path, f"several arrays may be the scores: {_listed(best)}", fix="Pass --column scores=NAME.")
    return best[0] if best else None


def _is_ranks_beside_values(member: _Member, members: list[_Member]) -> bool:
    """Say whether few whole numbers a row lie beside as many floats: classes and what belongs to each."""
    is_few = len(member.shape) == 2 and member.shape[1] < WIDE and member.dtype.kind in "iu"
    return is_few and any(other.is_matrix_of_floats and other.shape == member.shape for other in members)


def _listed(members: list[_Member]) -> str:
    return ", ".join(f"{member.key} {member.shape}" for member in members[:12])


def _read_fields(
    file: Opened, members: list[_Member], dense: _Member | None, stated: Mapping[str, str], *, kind: str
) -> RawPredictions:
    """Read the small arrays that have a row an image: names, stated classes, confidences."""
    path = file.path
    n_rows = _n_rows(members, dense)
    small = [
        member
        for member in members
        if member is not dense and member.shape[:1] == (n_rows,) and len(member.shape) <= 2 and not member.is_wide
    ]
    if n_rows == 0 or not (small or dense):
        raise InputError(path, f"no array with a row an image: {_listed(members)}", fix="Save (n,) or (n, C).")
    arrays = [arrow_column(_load(file, member), path) for member in small]
    fields = fields_of([member.key for member in small], arrays, where=path)
    roles = choose_roles(fields, where=path, columns=stated, scores_apart=dense is not None)
    return assemble(roles, Columns(path, kind, (), ()), n_rows=n_rows)


def _n_rows(members: list[_Member], dense: _Member | None) -> int:
    if dense is not None:
        return dense.shape[0]
    lengths = [member.shape[0] for member in members if member.shape]
    return max(lengths, key=lengths.count, default=0)


def _scores(file: Opened, dense: _Member) -> ScoreSource:
    refuse_objects(dense.dtype, f"{file.path} ({dense.key})")
    if dense.columns_first or is_safetensors(file):
        return ArrayScores(_load(file, dense), str(file.path))
    return MemberScores(file, f"{dense.key}.npy", (dense.shape[0], dense.shape[1]), dense.dtype)


def _axis_labels(file: Opened, members: list[_Member], dense: _Member) -> tuple[str, ...] | None:
    """Return the wnids of the class axis, where an array of C of them lies in the archive."""
    for member in members:
        if member.shape == (dense.shape[1],) and member.dtype.kind in "SU" and dense.shape[0] != dense.shape[1]:
            labels = tuple(plain(arrow_column(_load(file, member), file.path)).to_pylist())
            if all(map(is_wnid, labels)):
                return labels
    return None


def _with_samples(raw: RawPredictions, path: Path) -> RawPredictions:
    """Take the names from the published program's list of samples, if there is one with as many rows."""
    for folder in (path.parent, path.resolve().parent.parent):
        samples = folder / SAMPLES
        if samples.is_file() and samples.resolve() != path.resolve():
            return _named(raw, samples)
    return raw


def _named(raw: RawPredictions, samples: Path) -> RawPredictions:
    with opened(samples) as file:
        found = [member for member in _members(file) if member.key == "sample_files"]
        names = plain(arrow_column(_load(file, found[0]), samples)) if found else pa.array([], pa.string())
    if not found or found[0].shape != (raw.n_rows,):
        shape = found[0].shape if found else "no sample_files"
        note = f"{SAMPLES} was not used: it has {shape}, the predictions {raw.n_rows:,} rows."
        return replace(raw, notes=(*raw.notes, note))
    return replace(raw, names=names, notes=(*raw.notes, f"The image names come from {SAMPLES}."))


def texts_of_arrays(file: Opened) -> pa.StringArray:
    """Return the texts [n] of an npy file, or of the array of names in an npz file.

    Raises
    ------
    InputError
        There is no array [n] of texts.
    """
    if file.head.startswith(b"PK"):
        members = [member for member in _members(file) if member.dtype.kind in "SU" and len(member.shape) == 1]
        named = [member for member in members if member.key in _NAME_ARRAYS] or members
        arrays = [_load(file, member) for member in named[:1]]
    else:
        arrays = [array_in(file.content, file.path)]
    if not arrays or arrays[0].dtype.kind not in "SU" or arrays[0].ndim != 1:
        held = _listed(_members(file)) if file.head.startswith(b"PK") else f"an array of {arrays[0].dtype}"
        what = f"no list of image names: it holds {held}"
        raise InputError(file.path, what, fix=f"Save an array [n] of texts, called {_NAME_ARRAYS[0]!r} in an npz file.")
    return plain(arrow_column(arrays[0], file.path))
