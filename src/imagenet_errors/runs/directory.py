"""The run directory: its files, their schemas, and how they come to be there whole or not at all.

Every file is written under a temporary name and renamed once the run is complete; ``run.json`` comes last, so a
directory that has one is whole.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.files import check_folder, staged_beside, unwritable, written_whole
from imagenet_errors.measure import IS_MULTI_LABEL_ERROR, IS_TOP1_ERROR, Measures
from imagenet_errors.mistakes import Tally
from imagenet_errors.problems import InputError, counted
from imagenet_errors.runs import manifest as manifests
from imagenet_errors.runs.manifest import Manifest

ERROR_TYPE = pa.dictionary(pa.int8(), pa.string())
CLASS_NAME = pa.dictionary(pa.int16(), pa.string())

VERDICTS = pa.schema(
    [
        ("file_name", pa.string()),
        ("target", pa.int16()),
        ("prediction", pa.int16()),
        ("confidence", pa.float32()),
        ("accepted", pa.list_(pa.int16())),
        ("error_type", ERROR_TYPE),
        ("explanation", pa.string()),
        ("model", pa.dictionary(pa.int16(), pa.string())),
        ("target_name", CLASS_NAME),
        ("prediction_name", CLASS_NAME),
        ("wordnet_steps", pa.int16()),
    ]
)
"""``wordnet_steps``: how far a model failure is from the nearest accepted label; null for all others."""
DISTRIBUTION = pa.schema(
    [
        ("model", pa.string()),
        ("group", pa.string()),
        ("error_type", pa.string()),
        ("count", pa.int64()),
        ("count_min", pa.int64()),
        ("count_max", pa.int64()),
        ("portion_of_top1_errors", pa.float64()),
        ("portion_of_multi_label_errors", pa.float64()),
    ]
)
SUMMARY = pa.schema(
    [
        ("model", pa.string()),
        ("n_images", pa.int64()),
        ("n_evaluated", pa.int64()),
        ("n_excluded", pa.int64()),
        ("top1_accuracy", pa.float64()),
        ("mla", pa.float64()),
        ("mla_minor", pa.float64()),
        ("mla_explained", pa.float64()),
        ("accepted_accuracy", pa.float64()),
        ("top1_accuracy_all", pa.float64()),
        ("n_without_oov_evidence", pa.int64()),
        ("n_outside_classes", pa.int64()),
    ]
)
ACCURACY = pa.schema(
    [
        ("model", pa.string()),
        ("group", pa.string()),
        ("n_evaluated", pa.int64()),
        ("top1_accuracy", pa.float64()),
        ("mla", pa.float64()),
        ("mla_minor", pa.float64()),
        ("mla_explained", pa.float64()),
    ]
)
_FIXED_NAMES = (
    manifests.NAME,
    "summary.parquet",
    "distribution.parquet",
    "accuracy.parquet",
    "failures.parquet",
    "report.html",
)
_PLACING = ".placing.json"
"""Names the files that are being put into place: whose they are, should the program be killed meanwhile."""

TABLES = {
    "summary": (SUMMARY, ("model", "n_evaluated")),
    "distribution": (DISTRIBUTION, ("model", "group", "error_type", "count")),
    "accuracy": (ACCURACY, ("model", "group")),
}
"""Name -> the columns of a run's table, and those that every version wrote."""

FAILURES = pa.schema([("model", pa.string()), ("file", pa.string()), ("reason", pa.string())])


@dataclass(frozen=True, eq=False)
class ModelResult:
    """One model's figures, ready to be a row of the tables."""

    model: str
    tally: Tally
    n_without_oov_evidence: int
    measures: Measures


def distribution_table(results: Sequence[ModelResult], not_run: Container[str] = ()) -> pa.Table:
    """Return counts and portions, a row for each model, group and type.

    Portions are null where undefined; everything is null of a stage that did not run.
    """
    measures = [result.measures for result in results]
    rows = [
        (result.model, group, name) for result in results for group in result.measures.groups for name in ERROR_TYPES
    ]
    models, groups, types = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
    is_null = np.array([name in not_run for name in types], dtype=np.bool_)
    counts = [
        np.concatenate([getattr(each, bound).ravel() for each in measures]) for bound in ("counts", "least", "most")
    ]
    portions = [
        np.concatenate([each.portions(among).ravel() for each in measures])
        for among in (IS_TOP1_ERROR, IS_MULTI_LABEL_ERROR)
    ]
    columns = [
        *(pa.array(column, type=pa.string()) for column in (models, groups, types)),
        *(pa.array(bound, type=pa.int64(), mask=is_null) for bound in counts),
        *(pa.array(portion, mask=is_null | np.isnan(portion)) for portion in portions),
    ]
    return pa.table(columns, schema=DISTRIBUTION)


def summary_table(results: Sequence[ModelResult]) -> pa.Table:
    """Return one row a model, over all its evaluated images."""
    rows = [
        {
            "model": result.model,
            "n_images": result.tally.n_images,
            "n_excluded": result.tally.n_images - int(result.measures.n_evaluated[0]),
            "accepted_accuracy": _share(result.tally.n_accepted, result.tally.n_with_accepted),
            "top1_accuracy_all": _share(result.tally.n_right, result.tally.n_labelled),
            "n_without_oov_evidence": result.n_without_oov_evidence,
            "n_outside_classes": result.tally.n_outside,
            **_accuracies(result.measures, 0),
        }
        for result in results
    ]
    return pa.Table.from_pylist(rows, schema=SUMMARY)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def accuracy_table(results: Sequence[ModelResult]) -> pa.Table:
    """Return the accuracies of every group, one row for each model and group."""
    rows = [
        {"model": result.model, "group": group, **_accuracies(result.measures, place)}
        for result in results
        for place, group in enumerate(result.measures.groups)
    ]
    return pa.Table.from_pylist(rows, schema=ACCURACY)


def _accuracies(measures: Measures, group: int) -> dict[str, Any]:
    names = ("top1_accuracy", "mla", "mla_minor", "mla_explained")
    values = {name: float(getattr(measures, name)[group]) for name in names}
    known = {name: None if np.isnan(value) else value for name, value in values.items()}
    return {"n_evaluated": int(measures.n_evaluated[group]), **known}


def class_name_column(classes: NDArray[np.int16], names: pa.StringArray) -> pa.DictionaryArray:
    """Return the classes' names as a dictionary column, a name for each class of the label space."""
    return pa.DictionaryArray.from_arrays(pa.array(classes), names)


def error_type_column(codes: NDArray[np.int8]) -> pa.DictionaryArray:
    """Return the error types as a dictionary column; every file has the same dictionary."""
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(ERROR_TYPES, type=pa.string()))


class RunWriter:
    """Collects the files of a run beside their final place; see ``writing_run``."""

    def __init__(self, staged: Path) -> None:
        self.staged = staged
        (staged / "verdicts").mkdir()

    def verdicts(self, model: str, columns: Sequence[pa.Array]) -> None:
        """Write one model's verdicts; ``columns`` as VERDICTS. May be called from several threads."""
        self.table(f"verdicts/{model}.parquet", pa.table(list(columns), schema=VERDICTS))

    def table(self, name: str, table: pa.Table) -> None:
        """Write a table; columns are worth a dictionary only where they repeat, and bounds where they are cheap."""
        repeats = [c.name for c in table.schema if c.name not in ("file_name", "explanation", "confidence")]
        repeats = ["accepted.list.element" if name == "accepted" else name for name in repeats]
        bounded = [c.name for c in table.schema if pa.types.is_integer(c.type) or pa.types.is_floating(c.type)]
        pq.write_table(table, self.staged / name, compression="zstd", use_dictionary=repeats, write_statistics=bounded)

    def manifest(self, manifest: Manifest) -> None:
        """Write ``run.json``."""
        (self.staged / manifests.NAME).write_bytes(manifests.manifest_bytes(manifest))


def read_run_table(
    path: Path, schema: pa.Schema, *, needed: Sequence[str], only: bool = False, fix: str = "Evaluate again."
) -> pa.Table:
    """Return a table of a run, each column as the type that ``schema`` has for it, however it was stored.

    ``needed``: the columns that must be there; with ``only``, no others are read. ``fix``: what writes it anew.

    Raises
    ------
    InputError
        The file is gone or damaged, lacks a column, or a column is not of its type.
    """
    try:
        with pq.ParquetFile(path) as file:  # not read_table, to which a folder a=b would be a partition
            table = file.read(columns=list(needed) if only else None, use_threads=False)
        lacking = [name for name in needed if name not in table.column_names]
        if lacking:
            raise InputError(path, f"no column {', '.join(lacking)}", fix=fix)
        types = dict(zip(schema.names, schema.types, strict=True))
        fields = [field.with_type(types.get(field.name, field.type)) for field in table.schema]
        table = table.cast(pa.schema(fields, metadata=table.schema.metadata))
        table.validate(full=True)
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:  # names of columns may be damaged, too
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(path, f"cannot be read: {reason}", fix=fix) from None
    return table


@contextmanager
def writing_run(out: Path) -> Iterator[RunWriter]:
    """Give a writer; what it wrote is put into ``out`` when the block ends without an error.

    An earlier run there is replaced; files that are not a run's are left alone.

    Raises
    ------
    InputError
        ``out`` is a file, or cannot be written to.
    """
    with staged_beside(out) as staged:
        check_out(out)
        try:
            yield RunWriter(staged)
        except OSError as error:  # a full disk, above all
            raise unwritable(out, error) from None
        _put_in_place(staged, out)


def copy_run(run: Path, out: Path) -> None:
    """Write a run's files into another directory, as :func:`writing_run` does.

    Raises
    ------
    InputError
        ``out`` cannot be written to.
    """
    import shutil

    with writing_run(out) as writer:
        shutil.copytree(run, writer.staged, dirs_exist_ok=True)


def check_out(out: Path) -> None:
    """Refuse a place where no run directory can be: what would be replaced there must be an earlier run's.

    Raises
    ------
    InputError
        ``out`` is a file, or a folder with files of a run's names that no run of this program wrote.
    """
    check_folder(out)
    foreign = sorted(_replaceable(out) - _ours(out))
    if foreign:
        what = f"holds {counted(len(foreign), 'file')} that this program would replace and did not write"
        raise InputError(out, what, example=foreign[0], fix="Choose another --out, or move them away.")


def _replaceable(out: Path) -> set[str]:
    """Return what is there of the files that a run replaces or removes."""
    verdicts = {f"verdicts/{path.name}" for path in (out / "verdicts").glob("*")}
    return verdicts | {name for name in _FIXED_NAMES if (out / name).exists()}


def _ours(out: Path) -> set[str]:
    """Return the files that an earlier run put there, or was putting there when it was killed."""
    ours = set()
    with suppress(OSError, msgspec.MsgspecError):
        ours.update(msgspec.json.decode((out / _PLACING).read_bytes(), type=list[str]))
    with suppress(InputError):
        models = manifests.read_manifest(out).models
        ours.update(_FIXED_NAMES, (f"verdicts/{model}.parquet" for model in models))
    with suppress(OSError, pa.ArrowException):  # a batch without a single model that could be used leaves only this
        if pq.read_schema(out / "failures.parquet").equals(FAILURES):
            ours.add("failures.parquet")
    return ours


def _put_in_place(staged: Path, out: Path) -> None:
    """Rename every staged file into place; ``run.json`` goes first and comes back last."""
    files = sorted(path.relative_to(staged).as_posix() for path in staged.rglob("*") if path.is_file())
    try:
        (out / "verdicts").mkdir(parents=True, exist_ok=True)
        old = _replaceable(out) & _ours(out)
        with written_whole(out / _PLACING) as partial:
            partial.write_bytes(msgspec.json.encode(sorted({*old, *files})))
        for name in sorted(old, key=lambda name: name != manifests.NAME):
            (out / name).unlink(missing_ok=True)
        for name in sorted(files, key=lambda name: name == manifests.NAME):
            (staged / name).replace(out / name)
        (out / _PLACING).unlink()
    except OSError as error:
        raise unwritable(out, error) from None
