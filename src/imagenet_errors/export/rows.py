"""What every export starts from: a run's verdicts, model by model, with the images' files where they are given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from imagenet_errors.image_folder import image_files
from imagenet_errors.images import ImageIndex
from imagenet_errors.problems import InputError
from imagenet_errors.runs.directory import VERDICTS, read_run_table
from imagenet_errors.runs.manifest import Manifest, read_manifest
from imagenet_errors.tables import Ragged


@dataclass(frozen=True, eq=False)
class ModelRows:
    """One model's n verdicts, columns as ``runs.directory.VERDICTS``; ``files``: row -> the image's file, if known.

    ``class_names`` has the name of every class, ``types_run`` the error types that were asked for.
    """

    model: str
    table: pa.Table
    class_names: tuple[str, ...]
    types_run: tuple[str, ...]
    files: Mapping[int, Path]

    def texts(self, column: str) -> list[str | None]:
        """Return a column of texts."""
        texts: list[str | None] = self.table[column].cast(pa.string()).to_pylist()
        return texts

    def confidences(self) -> list[float | None]:
        """Return each confidence, None where it was not given or is no number."""
        values = self.table["confidence"].to_pylist()
        return [None if value is None or value != value else value for value in values]

    def accepted(self) -> Ragged:
        """Return each image's accepted labels."""
        return Ragged.from_arrow(self.table["accepted"].combine_chunks())


@dataclass(frozen=True)
class RunToExport:
    """A run, those of its models that are exported (all, if empty), and the folder of the images, if it is here."""

    folder: Path
    models: tuple[str, ...] = ()
    images: Path | None = None

    def manifest(self) -> Manifest:
        """Read ``run.json``.

        Raises
        ------
        InputError
            The folder is no whole run, or lacks a model.
        """
        manifest = read_manifest(self.folder)
        unknown = [model for model in self.models if model not in manifest.models]
        if unknown:
            known = ", ".join(list(manifest.models)[:20])
            raise InputError(self.folder, f"no model {unknown[0]!r} in this run", fix=f"It has: {known}.")
        return manifest

    def rows(self) -> Iterator[ModelRows]:
        """Read one model after the other, in the order of the run.

        Raises
        ------
        InputError
            The folder is no whole run, lacks a model, or none of the images lies in the folder of images.
        """
        manifest = self.manifest()
        paths = [] if self.images is None else image_files(self.images)
        for model in self.models or tuple(manifest.models):
            table = read_run_table(self.folder / "verdicts" / f"{model}.parquet", VERDICTS, needed=VERDICTS.names)
            names, types = (_dictionary(table[column]) for column in ("target_name", "error_type"))
            run = tuple(name for name in types if name not in manifest.stages_not_run)
            yield ModelRows(model, table, names, run, self._files(paths, table["file_name"].combine_chunks()))

    def _files(self, paths: Sequence[str], file_names: pa.StringArray) -> dict[int, Path]:
        if self.images is None:
            return {}
        rows = ImageIndex(file_names).rows(pa.array(paths, type=pa.string()), where=self.images)
        found = {int(row): self.images / paths[place] for place, row in enumerate(rows) if row >= 0}
        if not found:
            raise InputError(self.images, "none of the run's images is in it", fix="Check --images.")
        return found


def _dictionary(column: pa.ChunkedArray) -> tuple[str, ...]:
    """Return all values that a dictionary column may have, whether they occur or not."""
    return tuple(column.combine_chunks().dictionary.to_pylist())


def is_type(rows: ModelRows, error_type: str) -> np.ndarray:
    """Return bool [n]: which verdicts are of one error type."""
    return np.array([text == error_type for text in rows.texts("error_type")], dtype=np.bool_)
