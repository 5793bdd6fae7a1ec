"""How long ``evaluate`` takes, and how much memory, beside the least that could be done: reading and rewriting.

    python scripts/bench_evaluate.py --out reports/bench_evaluate.md
    python scripts/bench_evaluate.py --predictions DIR... --csv FILE --annotations FILE --out reports/bench_evaluate.md

Every figure is of a whole process, start and imports included. The two sides of a ratio run in turn, several times,
in one call of this script; medians by the clock are compared. Without --predictions, the files are made up from the
shipped validation labels (seeded; 60 to 90 % right). From what is given or made up, 962 files of 50,000 rows are made
for the comparison of many models (each with part of another's predictions, so that no two are alike).
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from imagenet_errors.files import written_whole
from imagenet_errors.images import n_val, val_file_names
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.readers.annotations import read_real, val_labels

N_MODELS, N_FEW, N_MADE_UP = 962, 96, 98
N_SMALL, SMALL_ROWS = 5000, 100
N_LARGE = 12

REWRITE = """
import sys, pathlib, pyarrow.parquet as pq, pyarrow.csv as pc
given = [pathlib.Path(name) for name in sys.argv[2:]]
paths = list(given[0].iterdir()) if given[0].is_dir() else given
for path in paths:
    table = pq.read_table(path) if path.suffix == ".parquet" else pc.read_csv(path)
    pq.write_table(table, pathlib.Path(sys.argv[1]) / (path.stem + ".parquet"))
"""
PANDAS = "import sys, pandas; pandas.read_csv(sys.argv[2]).to_parquet(sys.argv[1] + '/out.parquet')"
NO_PANDAS = """
import sys
class NoPandas:
    def find_spec(self, name, path=None, target=None):
        if name == "pandas":
            raise ModuleNotFoundError(name=name)
sys.meta_path.insert(0, NoPandas())
from imagenet_errors.__main__ import main
main()
"""
ARGMAX_NPY = """
import sys, hashlib, numpy as np
for name in sys.argv[2:]:
    if sys.argv[1] == "hashed":
        hashlib.file_digest(open(name, "rb"), "sha256")
    np.load(name).argmax(1)
"""
ARGMAX_CSV = """
import sys, numpy as np, pyarrow.csv as pc
for name in sys.argv[1:]:
    np.stack([column.to_numpy() for column in pc.read_csv(name).columns[1:]]).argmax(0)
"""


@dataclass(frozen=True)
class Cost:
    """What one process took, all that it started included."""

    seconds: float
    cpu_seconds: float
    peak_mib: float
    """Of its largest process."""


LAUNCH = """
import os, resource, subprocess, sys, time
start = time.perf_counter()
status = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
sys.exit(status)
"""
"""Subtle: a process's peak memory starts at that of the one that starts it, so a small one must."""


def run(command: Sequence[str], **variables: str) -> Cost:
    """Run a command to its end; raise if it fails.

    Both sides of a comparison have their modules compiled, as an installed program does after its first run.
    """
    environment = {**os.environ, **variables}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    ended = subprocess.run(
        [sys.executable, "-c", LAUNCH, *command], capture_output=True, text=True, env=environment, check=False
    )
    if ended.returncode:
        raise RuntimeError(f"{' '.join(command[:6])} ... failed: {ended.stderr[-500:]}")
    return Cost(*map(float, ended.stdout.split()))


def compare(ours: Sequence[str], theirs: Sequence[str], *, n_runs: int, **variables: str) -> tuple[Cost, Cost]:
    """Run both in turn, once to warm up and then ``n_runs`` times; return the medians."""
    costs: tuple[list[Cost], list[Cost]] = ([], [])
    for number in range(n_runs + 1):
        for side, command in zip(costs, (ours, theirs), strict=True):
            cost = run(command, **variables)
            if number:
                side.append(cost)
    ours_cost, theirs_cost = map(median, costs)
    return ours_cost, theirs_cost


def median(costs: Sequence[Cost]) -> Cost:
    """Return the medians of the times and the largest peak."""
    return Cost(
        statistics.median(each.seconds for each in costs),
        statistics.median(each.cpu_seconds for each in costs),
        max(each.peak_mib for each in costs),
    )


def make_up(folder: Path, n_models: int = N_MADE_UP) -> tuple[list[Path], Path]:
    """Write made-up predictions of the 50,000 validation images; return the Parquet files and one CSV."""
    random = np.random.default_rng(0)
    real = read_real(imagenet_1k())
    last = np.maximum(real.accepted.offsets[1:] - 1, 0)
    beside = np.where(real.accepted.lengths > 0, real.accepted.values[last], real.label)
    files = []
    for number in range(n_models):
        wrong = random.random(len(real)) > 0.6 + 0.3 * number / n_models
        near = np.clip(real.label + random.integers(-9, 10, len(real)), 0, 999)
        near = np.where(random.random(len(real)) < 0.3, beside, near)  # a third of real mistakes name another label
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


def many_files(sources: Sequence[Path], folder: Path, n_files: int) -> Path:
    """Write so many files: the sources in turn, from the second time on with 5 to 40 % of another's predictions."""
    folder.mkdir()
    random = np.random.default_rng(0)
    tables = [pq.read_table(path, columns=["file_name", "predicted_class"]) for path in sources]
    top1 = [table["predicted_class"].to_numpy() for table in tables]
    for number in range(n_files):
        own, other = number % len(tables), int(random.integers(len(tables)))
        exchanged = random.random(len(top1[own])) < (number >= len(tables)) * random.uniform(0.05, 0.4)
        classes = np.where(exchanged, top1[other], top1[own])
        columns = {"file_name": tables[own]["file_name"], "predicted_class": pa.array(classes, type=pa.int16())}
        pq.write_table(pa.table(columns), folder / f"model{number:03}.parquet", compression="zstd")
    return folder


def small_files(folder: Path, n_files: int) -> Path:
    """Write so many CSV files of 100 rows each."""
    folder.mkdir()
    random, label = np.random.default_rng(0), val_labels()
    for number in range(n_files):
        images = np.sort(random.choice(n_val(), SMALL_ROWS, replace=False))
        top1 = np.where(random.random(SMALL_ROWS) < 0.75, label[images], random.integers(0, 1000, SMALL_ROWS))
        table = pa.table({"file_name": val_file_names(images + 1), "prediction": top1})
        pa.csv.write_csv(table, folder / f"model{number:04}.csv")
    return folder


def large_files(folder: Path, n_files: int) -> tuple[list[Path], Path]:
    """Write float32 scores [50,000, 1,000]: so many .npy files, in the order of names, and one CSV with names."""
    folder.mkdir()
    random, label = np.random.default_rng(0), val_labels()
    files = []
    for number in range(n_files):
        scores = random.standard_normal((n_val(), 1000), dtype=np.float32)
        scores[np.arange(n_val()), label] += np.where(random.random(n_val()) < 0.8, 4, 0).astype(np.float32)
        files.append(folder / f"scores{number}.npy")
        np.save(files[-1], scores)
    columns = {str(index): pa.array(scores[:, index]) for index in range(1000)}
    pa.csv.write_csv(
        pa.table({"file_name": val_file_names(np.arange(1, n_val() + 1)), **columns}), folder / "scores.csv"
    )
    return files, folder / "scores.csv"


def page(options: argparse.Namespace, files: Sequence[Path], csv: Path, folder: Path) -> list[str]:
    """Measure everything and return the page's lines."""
    evaluate = partial(evaluation_of, folder, options.annotations)
    parquet = [path for path in files if path.suffix == ".parquet"]
    many = many_files(parquet, folder / "many", options.n_models)
    few = many_files(parquet, folder / "few", min(N_FEW, options.n_models))
    lines = [
        f"Annotations: {Path(options.annotations).name}. Whole processes in turn, medians by the clock of up to "
        f"{options.runs} runs; peak: of the largest process.",
        "",
        *least_lines(many, few, csv, evaluate, n_runs=options.runs),
    ]
    n_runs = min(options.runs, 3)
    small = small_files(folder / "small", options.n_small)
    on_cores = [
        (f"{options.n_models} files", evaluate(many, name="cores")),
        (
            f"{options.n_small:,} files of {SMALL_ROWS} rows",
            evaluate(small, name="cores", options_too=["--allow-partial"]),
        ),
    ]
    lines += cores_lines(on_cores, n_runs=n_runs)
    return [*lines, *large_lines(folder, evaluate, n_runs=n_runs), ""]


def evaluation_of(
    folder: Path, annotations: str, *given: Path, name: str, options_too: Sequence[str] = ()
) -> list[str]:
    """Return the command that evaluates what is given into a run of this name."""
    start = [sys.executable, "-m", "imagenet_errors", "evaluate", *map(str, given)]
    return [*start, "--annotations", annotations, "--out", str(folder / name), *options_too]


def least_lines(many: Path, few: Path, csv: Path, evaluate: Callable[..., list[str]], *, n_runs: int) -> list[str]:
    """Compare with the least that such a program must do, read and write; return the page's lines."""
    python, out = sys.executable, many.parent / "out"
    out.mkdir()
    n_many, n_few = (len(list(folder.iterdir())) for folder in (many, few))
    rewrite = [python, "-c", REWRITE, str(out)]
    one_csv, with_pandas = evaluate(csv, name="csv"), [python, "-c", PANDAS, str(out), str(csv)]
    without_pandas = [python, "-c", NO_PANDAS, *one_csv[3:]]
    help_alone = [python, "-m", "imagenet_errors", "--help"]
    costs = compare(evaluate(many, name="many_run"), [*rewrite, str(many)], n_runs=min(n_runs, 3))
    in_turn = partial(compare, n_runs=n_runs)
    rows = [
        (f"{n_many} files: evaluate / read and rewrite (pyarrow)", "1.3", costs),
        (f"{n_few} files: the same", "", in_turn(evaluate(few, name="few_run"), [*rewrite, str(few)])),
        ("one 50,000-row CSV: evaluate / read CSV, write Parquet (pandas)", "1.2", in_turn(one_csv, with_pandas)),
        ("the same, no pandas for evaluate", "1.2", in_turn(without_pandas, with_pandas)),
        ("imagenet-errors --help / import pandas", "1", in_turn(help_alone, [python, "-c", "import pandas"])),
    ]
    return [
        "| what | ours, s | other, s | ratio | at most | our peak, MiB |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        *(
            f"| {title} | {ours.seconds:.2f} | {theirs.seconds:.2f} | {ours.seconds / theirs.seconds:.2f} | {limit} "
            f"| {ours.peak_mib:.0f} |"
            for title, limit, (ours, theirs) in rows
        ),
        "",
        f"A model in the run of all files: {1000 * costs[0].seconds / n_many:.0f} ms. "
        "Out-of-vocabulary evidence is looked up, not computed.",
    ]


def cores_lines(commands: Sequence[tuple[str, list[str]]], *, n_runs: int) -> list[str]:
    """Compare one job with as many as there are cores; return the page's lines."""
    n_cores = len(os.sched_getaffinity(0))
    lines = [
        "",
        "## Cores",
        "",
        f"This process may use {n_cores}. At best: {n_cores} runs with --jobs 1 at once against as many in turn: "
        "what this machine's cores give.",
        "",
        "| what | --jobs 1, s | all cores, s | times as fast | at best |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for title, command in commands:
        alone = [*command, "--jobs", "1"]
        one, all_cores = compare(alone, command, n_runs=n_runs)
        best = n_cores * one.seconds / statistics.median(side_by_side(alone, n_cores) for _ in range(n_runs))
        lines.append(
            f"| {title} | {one.seconds:.2f} | {all_cores.seconds:.2f} | {one.seconds / all_cores.seconds:.2f} "
            f"| {best:.2f} |"
        )
    return lines


def side_by_side(command: Sequence[str], n_copies: int) -> float:
    """Return the seconds until so many copies of a command that writes to --out have ended, each with its own."""
    place = command.index("--out") + 1
    with ThreadPoolExecutor(n_copies) as threads:
        start = time.perf_counter()
        copies = ([*command[:place], f"{command[place]}_{number}", *command[place + 1 :]] for number in range(n_copies))
        for _ in threads.map(run, copies):
            pass
        return time.perf_counter() - start


def large_lines(folder: Path, evaluate: Callable[..., list[str]], *, n_runs: int) -> list[str]:
    """Compare files of scores of every class with the least that reading them takes; return the page's lines."""
    python = sys.executable
    arrays, csv = large_files(folder / "large", N_LARGE)
    names = [str(path) for path in arrays]
    comparisons = [
        (
            f"{N_LARGE} .npy",
            evaluate(*arrays, name="npy"),
            "numpy: load, argmax",
            [python, "-c", ARGMAX_NPY, "", *names],
        ),
        (
            f"{N_LARGE} .npy",
            evaluate(*arrays, name="npy"),
            "numpy: hash, load, argmax",
            [python, "-c", ARGMAX_NPY, "hashed", *names],
        ),
        ("one CSV", evaluate(csv, name="scores"), "pyarrow: read, argmax", [python, "-c", ARGMAX_CSV, str(csv)]),
    ]
    lines = [
        "",
        "## Scores of 1,000 classes for 50,000 images",
        "",
        "| files | evaluate, s | other | s | speed of ours beside it |",
        "| --- | ---: | --- | ---: | ---: |",
    ]
    for title, ours, what, theirs in comparisons:
        own, other = compare(ours, theirs, n_runs=n_runs)
        lines.append(
            f"| {title} | {own.seconds:.2f} | {what} | {other.seconds:.2f} | {other.seconds / own.seconds:.2f} |"
        )
    return [
        *lines,
        "",
        "`evaluate` also hashes every byte that it reads, looks for equal best scores, and takes the softmax of each "
        "row for the confidence; the files lie in the system's cache for both.",
    ]


def main() -> None:
    """Parse the arguments, measure, and write or print the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--predictions", type=Path, nargs="+", help="folders of predictions files (Parquet)")
    parser.add_argument("--csv", type=Path, help="one CSV of 50,000 rows")
    parser.add_argument("--annotations", default="real", help="as of evaluate")
    parser.add_argument("--n-models", type=int, default=N_MODELS)
    parser.add_argument("--n-small", type=int, default=N_SMALL)
    parser.add_argument("--runs", type=int, default=5, help="counted runs of each side")
    parser.add_argument("--out", type=Path, help="Markdown page to write")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files, csv = make_up(folder) if not options.predictions else ([], options.csv)
        for given in options.predictions or ():
            files += sorted(given.glob("*.parquet"))
        if not files or csv is None:
            parser.error("--predictions holds no Parquet file, or --csv is not given")
        lines = [
            "# What `evaluate` costs",
            "",
            f"Made by `python {' '.join(sys.argv)}` on {os.cpu_count()} cores.",
            "",
            *page(options, files, csv, folder),
        ]
    write_page("\n".join(lines), options.out)


def write_page(text: str, out: Path | None) -> None:
    """Print a page, and write it where one is asked for."""
    print(text)
    if out:
        with written_whole(out) as partial:
            partial.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
