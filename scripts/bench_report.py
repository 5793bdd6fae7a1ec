"""How long ``report`` and ``figures`` take, how large the page is, and how quickly it answers in a browser.

For 1, 10 and 98 models; beside ``report`` stands a process that only reads the run's verdicts with pyarrow, run in
turn with it.

    python scripts/bench_report.py --out reports/bench_report.md
    python scripts/bench_report.py --predictions DIR --annotations FILE [--oov-evidence FILE] [--images DIR]
        [--published-statistics DIR] --out reports/bench_report.md

Every time is of a whole process, start and imports included: the median of several; those of the browser are medians
of as many visits. Without --predictions, models
are made up from the shipped validation labels, as in bench_evaluate.py; where a folder has too few, copies of its
files with 3 % of the predictions shuffled (seeded) make up the number, and the page says so.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench_evaluate import compare, make_up, run
from imagenet_errors.workers import n_cores

SIZES = (1, 10, 98)
_AT_MOST = {98: 2}
"""What the report may take, in times of the reading, by number of models."""
_SHUFFLED = 0.03
_READ = (
    "import sys, pathlib, pyarrow.parquet as pq; "
    "kept = [pq.read_table(path) for path in sorted(pathlib.Path(sys.argv[1]).glob('verdicts/*.parquet'))]"
)
_WHEN_READY = """
    const done = arguments[0], look = () => document.documentElement.dataset.ready ? done() : setTimeout(look, 5);
    look();"""


def files_for(given: Sequence[Path], n_files: int, folder: Path) -> tuple[list[Path], int]:
    """Return ``n_files`` predictions files, and how many of them are altered copies."""
    files = list(given[:n_files])
    for number in range(n_files - len(files)):
        table = pq.read_table(given[number % len(given)])
        random = np.random.default_rng(number)
        place = table.schema.get_field_index("predicted_class")
        top1 = table.column(place).to_numpy().copy()
        chosen = np.flatnonzero(random.random(len(top1)) < _SHUFFLED)
        top1[chosen] = top1[random.permutation(chosen)]
        copy = folder / f"{given[number % len(given)].stem}_shuffled{number}.parquet"
        pq.write_table(table.set_column(place, "predicted_class", pa.array(top1)), copy)
        files.append(copy)
    return files, n_files - len(given[:n_files])


def evaluated(files: Sequence[Path], arguments: argparse.Namespace, folder: Path) -> Path:
    """Evaluate the files; return the run directory."""
    command = [sys.executable, "-m", "imagenet_errors", "evaluate", *map(str, files)]
    command += ["--annotations", arguments.annotations, "--out", str(folder / "run")]
    if arguments.oov_evidence:
        command += ["--oov-evidence", str(arguments.oov_evidence)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder / "run"


def median_seconds(command: Sequence[str], n_runs: int) -> float:
    """Return the median time of a command, after one run that does not count."""
    return statistics.median([run(command).seconds for _ in range(n_runs + 1)][1:])


def in_browser(page: Path, n_visits: int) -> tuple[float, float] | None:
    """Return the median seconds until the page is ready, and until a search has its answer; None without Chromium."""
    import shutil

    programs = [shutil.which(name) for name in ("chromium", "chromedriver")]
    if None in programs:
        return None
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = str(programs[0])
    for switch in ("headless", "no-sandbox", "disable-gpu", "disable-background-networking", "disable-sync"):
        options.add_argument(f"--{switch}")
    with tempfile.TemporaryDirectory() as profile:
        options.add_argument(f"--user-data-dir={profile}")
        driver = webdriver.Chrome(options, webdriver.ChromeService(programs[1]))
        try:
            visits = [_visit(driver, page) for _ in range(n_visits + 1)][1:]
            ready, answered = (statistics.median(seconds) for seconds in zip(*visits, strict=True))
            return ready, answered
        finally:
            driver.quit()


def _visit(driver: Any, page: Path) -> tuple[float, float]:
    driver.get("about:blank")
    start = time.perf_counter()
    driver.get(page.resolve().as_uri())
    driver.execute_async_script(_WHEN_READY)
    return time.perf_counter() - start, _search_seconds(driver)


def _search_seconds(driver: Any) -> float:
    script = """
        const done = arguments[0], box = document.getElementById("q"), start = performance.now();
        new MutationObserver(() => done((performance.now() - start) / 1000))
          .observe(document.getElementById("count"), { childList: true });
        box.value = "dog";
        box.dispatchEvent(new Event("input", { bubbles: true }));"""
    seconds: float = driver.execute_async_script(script)
    return seconds


def measured(files: Sequence[Path], arguments: argparse.Namespace, *, n_models: int, with_images: bool) -> str:
    """Return one row of the table."""
    with tempfile.TemporaryDirectory() as name:
        chosen, n_copies = files_for(files, n_models, Path(name))
        run_folder = evaluated(chosen, arguments, Path(name))
        extra = ["--images", str(arguments.images)] if with_images else []
        if arguments.published_statistics:
            extra += ["--published-statistics", str(arguments.published_statistics)]
        writing = [sys.executable, "-m", "imagenet_errors", "report", str(run_folder), *extra]
        cost, reading = compare(writing, [sys.executable, "-c", _READ, str(run_folder)], n_runs=arguments.runs)
        n_bytes = (run_folder / "report.html").stat().st_size
        figures = [sys.executable, "-m", "imagenet_errors", "figures", str(run_folder), "--out", f"{name}/figures"]
        drawing = median_seconds(figures, 1)
        seen = in_browser(run_folder / "report.html", arguments.runs)
    what = f"{n_models} model{'s' * (n_models > 1)}{', with pictures' if with_images else ''}"
    what += f" ({n_copies} of them altered copies)" if n_copies else ""
    browser = "– | –" if seen is None else f"{seen[0]:.1f} | {seen[1]:.2f}"
    times = f"{cost.seconds:.2f} | {reading.seconds:.2f} | {cost.seconds / reading.seconds:.2f}"
    times += f" | {_AT_MOST.get(n_models, '')} | {cost.cpu_seconds:.2f} | {reading.cpu_seconds:.2f} | {drawing:.1f}"
    return f"| {what} | {times} | {cost.peak_mib:.0f} | {n_bytes / 1e6:.1f} | {browser} |"


def page(arguments: argparse.Namespace, files: Sequence[Path]) -> str:
    """Measure everything and return the Markdown page."""
    rows = [measured(files, arguments, n_models=size, with_images=False) for size in SIZES]
    if arguments.images:
        rows.append(measured(files, arguments, n_models=1, with_images=True))
    command = " ".join(["python", "scripts/bench_report.py", *_shown(sys.argv[1:])])
    lines = [
        "# What `report` costs",
        "",
        f"Made by `{command}`. Annotations: {Path(arguments.annotations).name}; medians of {arguments.runs} runs on "
        f"{n_cores()} cores; whole processes. *Reading alone*: the run's verdicts by `pyarrow.parquet.read_table`, in "
        "turn with `report`. *Ready*: from a blank page in Chromium until every control answers. A search waits "
        "0.12 s for the next key before it starts.",
        "",
        "| what | report, s | reading alone, s | ratio | at most | report, CPU s | reading, CPU s | figures, s "
        "| peak, MiB | page, MB | ready, s | search, s |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        *rows,
    ]
    return "\n".join(lines) + "\n"


def _shown(given: Sequence[str]) -> list[str]:
    """Return the arguments without this machine's folders."""
    return [Path(text).name if "/" in text and not text.startswith("reports/") else text for text in given]


def main() -> None:
    """Parse the arguments, measure, and write or print the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--predictions", type=Path, help="folder of Parquet predictions with predicted_class")
    parser.add_argument("--annotations", default="real", help="as of evaluate")
    parser.add_argument("--oov-evidence", type=Path, help="as of evaluate")
    parser.add_argument("--images", type=Path, help="as of report")
    parser.add_argument("--published-statistics", type=Path, help="as of report")
    parser.add_argument("--runs", type=int, default=3, help="counted runs")
    parser.add_argument("--out", type=Path, help="Markdown page to write")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        files = sorted(arguments.predictions.glob("*.parquet")) if arguments.predictions else make_up(Path(name))[0]
        text = page(arguments, files)
    print(text)
    if arguments.out:
        partial = arguments.out.with_name(f".{arguments.out.name}")
        partial.write_text(text, encoding="utf-8")
        partial.replace(arguments.out)


if __name__ == "__main__":
    main()
