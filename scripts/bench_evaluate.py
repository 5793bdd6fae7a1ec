"""How long ``evaluate`` takes, and how much memory, beside the least that could be done: reading and rewriting.

    python scripts/bench_evaluate.py --out reports/bench_evaluate.md
    python scripts/bench_evaluate.py --predictions DIR... --csv FILE --annotations FILE --out reports/bench_evaluate.md

Every figure is of a whole process, start and imports included. The two sides of a ratio run in turn, several times,
in one call of this script; medians are compared. Without --predictions, 98 files of 50,000 rows are made up from the
shipped validation labels (seeded; 60 to 90 % right), as Parquet and, for one, CSV.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from imagenet_errors.images import val_file_names
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.readers.annotations import read_real

N_MADE_UP = 98

REWRITE = """
import sys, pathlib, pyarrow.parquet as pq, pyarrow.csv as pc
for name in sys.argv[2:]:
    path = pathlib.Path(name)
    table = pq.read_table(path) if path.suffix == ".parquet" else pc.read_csv(path)
    pq.write_table(table, pathlib.Path(sys.argv[1]) / (path.stem + ".parquet"))
"""
PANDAS = "import sys, pandas; pandas.read_csv(sys.argv[2]).to_parquet(sys.argv[1] + '/out.parquet')"


@dataclass(frozen=True)
class Cost:
    """What one process took."""

    seconds: float
    peak_mib: float


def run(command: Sequence[str]) -> Cost:
    """Run a command to its end; raise if it fails."""
    import time

    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        errors = process.stderr.read() if process.stderr else b""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command[:6])} ... failed: {errors.decode()[-500:]}")
    return Cost(time.perf_counter() - start, usage.ru_maxrss / 1024)


def compare(ours: Sequence[str], theirs: Sequence[str], *, n_runs: int) -> tuple[Cost, Cost]:
    """Run both in turn, once to warm up and then ``n_runs`` times; return the medians."""
    costs: tuple[list[Cost], list[Cost]] = ([], [])
    for number in range(n_runs + 1):
        for side, command in zip(costs, (ours, theirs), strict=True):
            cost = run(command)
            if number:
                side.append(cost)
    ours_cost, theirs_cost = (
        Cost(statistics.median(c.seconds for c in side), max(c.peak_mib for c in side)) for side in costs
    )
    return ours_cost, theirs_cost


def make_up(folder: Path) -> tuple[list[Path], Path]:
    """Write made-up predictions of the 50,000 validation images; return the Parquet files and one CSV."""
    random = np.random.default_rng(0)
    real = read_real(imagenet_1k())
    files = []
    for number in range(N_MADE_UP):
        wrong = random.random(len(real)) > 0.6 + 0.3 * number / N_MADE_UP
        near = np.clip(real.label + random.integers(-9, 10, len(real)), 0, 999)
        top1 = np.where(wrong, near, real.label).astype(np.int16)
        table = pa.table(
            {
                "file_name": val_file_names(np.arange(1, len(real) + 1)),
                "predicted_class": top1,
                "predicted_probability": random.random(len(real), dtype=np.float32),
            }
        )
        files.append(folder / f"model{number:02}.parquet")
        pq.write_table(table, files[-1])
    pa.csv.write_csv(table, folder / "one.csv")
    return files, folder / "one.csv"


def report(arguments: argparse.Namespace, files: Sequence[Path], csv: Path, folder: Path) -> str:
    """Measure everything and return the Markdown page."""
    python, out = sys.executable, str(folder / "out")
    Path(out).mkdir()
    evaluate = [python, "-m", "imagenet_errors", "evaluate"]
    with_annotations = ["--annotations", arguments.annotations, "--out", str(folder / "run")]
    names = [str(path) for path in files]
    rewrite, pandas = [python, "-c", REWRITE, out, *names], [python, "-c", PANDAS, out, str(csv)]
    comparisons = [
        ("all files: evaluate / read and rewrite (pyarrow)", 4.0, [*evaluate, *names, *with_annotations], rewrite),
        (
            "one 50,000-row CSV: evaluate / read CSV, write Parquet (pandas)",
            3.0,
            [*evaluate, str(csv), *with_annotations],
            pandas,
        ),
        (
            "imagenet-errors --help / import pandas",
            1.0,
            [python, "-m", "imagenet_errors", "--help"],
            [python, "-c", "import pandas"],
        ),
    ]
    rows = [(title, limit, *compare(ours, theirs, n_runs=arguments.runs)) for title, limit, ours, theirs in comparisons]
    lines = [
        "# What `evaluate` costs",
        "",
        f"Made by `python {' '.join(sys.argv)}`. {len(files)} files, annotations: {Path(arguments.annotations).name}; "
        f"medians of {arguments.runs} runs in turn on {os.cpu_count()} cores; whole processes.",
        "",
        "| what | ours, s | other, s | ratio | at most | our peak, MiB |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for title, limit, ours, theirs in rows:
        ratio = ours.seconds / theirs.seconds
        lines.append(
            f"| {title} | {ours.seconds:.2f} | {theirs.seconds:.2f} | {ratio:.2f} | {limit:g} | {ours.peak_mib:.0f} |"
        )
    lines += ["", f"A model in the run of all files: {1000 * rows[0][2].seconds / len(files):.0f} ms."]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Parse the arguments, measure, and write or print the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--predictions", type=Path, nargs="+", help="folders of predictions files (Parquet or CSV)")
    parser.add_argument("--csv", type=Path, help="one CSV of 50,000 rows")
    parser.add_argument("--annotations", default="real", help="as of evaluate")
    parser.add_argument("--runs", type=int, default=5, help="counted runs of each side")
    parser.add_argument("--out", type=Path, help="Markdown page to write")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if arguments.predictions:
            given = [path for folder in arguments.predictions for path in sorted(folder.iterdir())]
            files = [path for path in given if path.suffix in (".parquet", ".csv")]
            csv = arguments.csv or next(path for path in files if path.suffix == ".csv")
        else:
            files, csv = make_up(folder)
        page = report(arguments, files, csv, folder)
    print(page)
    if arguments.out:
        partial = arguments.out.with_name(f".{arguments.out.name}")
        partial.write_text(page, encoding="utf-8")
        partial.replace(arguments.out)


if __name__ == "__main__":
    main()
