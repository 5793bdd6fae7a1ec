"""Evidence tables and what they cover: several joined into one, and the cases that none of them has yet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from imagenet_errors.evidence.oov import OOV_SCHEMA, conformed_table
from imagenet_errors.files import write_whole
from imagenet_errors.inputs import Inputs, load_basis
from imagenet_errors.mistakes import Progress, gather, silent
from imagenet_errors.oov.plan import commonest, reaching_cases
from imagenet_errors.oov.table import case_keys, lacking, recipe_of, write_rows
from imagenet_errors.problems import InputError, counted
from imagenet_errors.readers.predictions import ReadRules

SHARES = (0.5, 0.8, 0.9, 0.95, 1.0)
CONFLICT = pa.schema(
    [
        ("file_name", pa.string()),
        ("prediction", pa.int16()),
        ("is_oov", pa.bool_()),
        ("table", pa.string()),
        ("encoder", pa.string()),
        ("pool", pa.string()),
        ("best_name", pa.string()),
        ("neighbour_support", pa.int16()),
    ]
)
"""A row for each table that decided a case which another decided otherwise."""


@dataclass(frozen=True, eq=False)
class Merged:
    """What came of joining tables: ``n_rows`` in ``out``, ``n_shared`` of them in several tables.

    ``conflicts``: as CONFLICT, of ``n_conflicts`` cases; the table named first has its way. ``conflict_file``: where
    they are listed.
    """

    out: Path
    n_rows: int
    n_shared: int
    n_conflicts: int
    conflicts: pa.Table
    conflict_file: Path | None

    def lines(self) -> Iterator[str]:
        """Say what was joined, a line each."""
        yield f"{counted(self.n_rows, 'case')} in {self.out}, {self.n_shared:,} of them in several tables"
        if self.conflict_file is not None:
            yield (
                f"{counted(self.n_conflicts, 'case')} decided both ways: the table named first has its way; all of "
                f"them: {self.conflict_file}"
            )


def merge(paths: Sequence[Path], out: Path) -> Merged:
    """Join evidence tables of several people and machines, each case once, and list where they disagree.

    A table that can be added to comes out where all were made alike.

    Raises
    ------
    InputError
        Fewer than two tables, one that cannot be read, or ``out`` cannot be written to.
    """
    if len(paths) < 2:
        raise InputError("evidence merge", f"{counted(len(paths), 'table')} given", fix="Name two or more.")
    if out.suffix.lower() == ".csv":
        raise InputError(out, "evidence is written as Parquet", fix="Let --out end with .parquet.")
    tables = [conformed_table(path) for path in paths]
    rows = pa.concat_tables(tables)
    place = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
    case = case_keys(rows).dictionary_encode().indices.to_numpy()
    order = np.lexsort((place, case))
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = case[order][1:] != case[order][:-1]
    conflicts = _conflicts(rows, case, np.array([str(path) for path in paths])[place])
    recipes = {recipe_of(_schema_of(path)) for path in paths}
    write_rows(out, rows.take(pa.array(order[first])), recipes.pop() if len(recipes) == 1 else None)
    conflict_file = out.with_name(f"{out.stem}.conflicts.csv")
    n_rows = int(first.sum())
    n_conflicts = len(np.unique(case_keys(conflicts).to_numpy(zero_copy_only=False)))
    if n_conflicts:
        _write_csv(_without_formulas(conflicts), conflict_file)
    else:
        conflict_file.unlink(missing_ok=True)
    n_shared = int((np.bincount(case) > 1).sum()) if len(case) else 0
    return Merged(out, n_rows, n_shared, n_conflicts, conflicts, conflict_file if n_conflicts else None)


def _conflicts(rows: pa.Table, case: NDArray[np.integer], table: NDArray[np.str_]) -> pa.Table:
    """Return the rows of cases that are decided both ways."""
    n_cases = int(case.max(initial=-1)) + 1
    is_oov = rows["is_oov"].to_numpy()
    n_yes = np.bincount(case[is_oov], minlength=n_cases)
    torn = (n_yes > 0) & (n_yes < np.bincount(case, minlength=n_cases))
    found = rows.append_column("table", pa.array(table.tolist(), type=pa.string())).filter(pa.array(torn[case]))
    return (
        found.select(CONFLICT.names).cast(CONFLICT).sort_by([("file_name", "ascending"), ("prediction", "ascending")])
    )


def _schema_of(path: Path) -> pa.Schema:
    try:
        return pq.read_schema(path)
    except (pa.ArrowException, OSError):
        return OOV_SCHEMA  # a CSV file says nothing of how it was made


def _write_csv(table: pa.Table, path: Path) -> None:
    import pyarrow.csv

    write_whole(path, lambda file: pyarrow.csv.write_csv(table, file))


def _without_formulas(table: pa.Table) -> pa.Table:
    """Return the table with an apostrophe before texts that a spreadsheet would take for formulas."""
    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            told = pc.replace_substring_regex(table[field.name], r"^(\s*[=+\-@])", r"'\1")
            table = table.set_column(place, field.name, told)
    return table


@dataclass(frozen=True, eq=False)
class Coverage:
    """The cases of a set of models that need evidence, and what tables have of them.

    ``n_mistakes`` counts every model's mistakes that reach the stage, ``n_covered`` those with evidence. ``missing``:
    ``file_name``, ``prediction``, ``target``, ``n_models`` and ``share_covered`` of the cases without, in the order
    to do them: the commonest first; ``share_covered``: what is covered once this case is done, too.
    """

    n_models: int
    n_cases: int
    n_cases_covered: int
    n_mistakes: int
    n_covered: int
    missing: pa.Table

    def lines(self) -> Iterator[str]:
        """Say what is covered, and what each further share takes, a line each."""
        done = self.n_covered / self.n_mistakes if self.n_mistakes else 1.0
        yield (
            f"{counted(self.n_models, 'model')} made {self.n_mistakes:,} mistakes that need evidence: "
            f"{self.n_cases:,} cases, {self.n_cases_covered:,} of them covered ({done:.1%} of the mistakes)"
        )
        for share in SHARES:
            if share > done and len(self.missing):
                n_cases, n_images = self.needed(share)
                work = n_cases / len(self.missing)
                yield f"{share:.0%}: {n_cases:,} more cases ({work:.1%} of those missing) on {n_images:,} images"

    def needed(self, share: float) -> tuple[int, int]:
        """Return how many missing cases must be done to cover a share of all mistakes, and on how many images."""
        wanted = share * self.n_mistakes - self.n_covered
        sums = np.cumsum(self.missing["n_models"].to_numpy())
        n_cases = min(int(np.searchsorted(sums, wanted - 1e-9)) + 1, len(sums)) if wanted > 0 else 0
        return n_cases, len(self.missing["file_name"][:n_cases].unique())

    def save(self, out: Path) -> None:
        """Write the missing cases as CSV, or as Parquet where ``out`` ends with it.

        Raises
        ------
        InputError
            ``out`` cannot be written to.
        """
        if out.suffix.lower() == ".parquet":
            write_whole(out, lambda file: pq.write_table(self.missing, file))
        else:
            _write_csv(self.missing, out)


def coverage_of(
    predictions: Sequence[Path],
    inputs: Inputs,
    tables: Sequence[Path] = (),
    *,
    rules: ReadRules | None = None,
    progress: Progress = silent,
) -> Coverage:
    """Find the cases of models that need evidence and that no table has, the commonest first.

    Raises
    ------
    InputError
        Something given cannot be used; the text says what.
    """
    basis = load_basis(inputs, predictions)
    with gather(predictions, basis, rules=rules, progress=progress) as mistakes:
        reached = reaching_cases(mistakes, basis)
        n_models = len(mistakes.models)
    cases = reached.cases
    names = basis.annotations.file_names.take(pa.array(cases.rows))
    held = pa.concat_tables([OOV_SCHEMA.empty_table(), *map(conformed_table, tables)])
    open_cases = lacking(held, names, cases.prediction)
    order = open_cases[commonest(reached.n_models[open_cases], 1.0)]
    counts = reached.n_models[order]
    n_mistakes, n_missing = int(reached.n_models.sum()), int(counts.sum())
    n_covered = n_mistakes - n_missing
    columns = {
        "file_name": names.take(pa.array(order)),
        "prediction": cases.prediction[order],
        "target": cases.label[order],
        "n_models": counts,
        "share_covered": (n_covered + np.cumsum(counts)) / max(n_mistakes, 1),
    }
    n_cases = len(cases)
    return Coverage(n_models, n_cases, n_cases - len(order), n_mistakes, n_covered, pa.table(columns))
