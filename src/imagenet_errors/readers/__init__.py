"""Read any predictions file: what it holds is told from its bytes, never from its extension."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from imagenet_errors.readers.class_lists import is_class_list
from imagenet_errors.readers.raw import RawPredictions
from imagenet_errors.readers.sniff import Kind, sniff

__all__ = ["RawPredictions", "read_raw"]


def read_raw(path: Path, *, columns: Mapping[str, str] | None = None) -> RawPredictions:
    """Read a predictions file of any known form.

    Parameters
    ----------
    path
        Parquet, Feather, Arrow, npy, npz, JSON, JSON lines or delimited text, the last three perhaps gzipped.
    columns
        Role (name, index, label, confidence, scores) -> column name, where the user states it.

    Raises
    ------
    InputError
        The file is missing, damaged, of a kind that is not read, or does not tell a class for its rows.
    """
    found = sniff(path)
    match found.kind:
        case Kind.PARQUET:
            from imagenet_errors.readers.arrow_tables import read_parquet as read
        case Kind.ARROW:
            from imagenet_errors.readers.arrow_tables import read_arrow as read
        case Kind.NPY:
            from imagenet_errors.readers.numpy_files import read_npy as read
        case Kind.NPZ:
            from imagenet_errors.readers.npz_files import read_npz as read
        case Kind.JSON:
            from imagenet_errors.readers.json_files import read_json

            return read_json(found.text, path, columns=columns)
        case Kind.DELIMITED if is_class_list(found.text[:256]):
            from imagenet_errors.readers.class_lists import read_class_list

            return read_class_list(found.text, path)
        case Kind.DELIMITED:
            from imagenet_errors.readers.delimited import read_delimited

            return read_delimited(found.text, path, columns=columns)
    return read(path, columns=columns)
