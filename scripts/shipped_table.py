"""What every build script does alike: its arguments, and writing one table whole or not at all."""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from imagenet_errors.problems import InputError

if TYPE_CHECKING:
    import pyarrow as pa

TABLES = Path(__file__).resolve().parents[1] / "data"
"""The folder of the tables that travel with the package."""


def parser(description: str | None, *, out: str, needs_packages: bool = True) -> argparse.ArgumentParser:
    """Return a parser with ``--out``, and ``--from`` for scripts that read package archives."""
    arguments = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--out", type=Path, default=TABLES / out, help=f"default: data/{out}")
    if needs_packages:
        arguments.add_argument(
            "--from",
            dest="given",
            type=Path,
            metavar="DIR",
            help="folder with the package archives, from an earlier pip download (default: download them)",
        )
    return arguments


def run(main: Callable[[], str]) -> None:
    """Run a script: print what it built; end with status 2 and the reason where its input is unusable."""
    try:
        print(main())
    except InputError as problem:
        print(problem, file=sys.stderr)
        sys.exit(2)


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV file: UTF-8, LF, quotes only where needed."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    _replace(path, text.getvalue().encode())


def write_parquet(path: Path, table: pa.Table) -> None:
    """Write a Parquet file: one row group, strongly compressed, the same bytes every time."""
    import pyarrow.parquet as pq

    content = io.BytesIO()
    pq.write_table(table, content, compression="zstd", compression_level=19, row_group_size=len(table))
    _replace(path, content.getvalue())


def _replace(path: Path, content: bytes) -> None:
    """Write to a neighbour, then rename: a file that exists is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    partial.write_bytes(content)
    partial.replace(path)
