"""How the time and memory of ``evaluate`` grow with the number of models and of images.

    python scripts/bench_growth.py --out reports/bench_growth.md

Models of 50,000 made-up predictions in four numbers, and 10 models of 1,000 to 500,000 images (data sets of one's own
are larger than the validation set; their labels are read from a table). Everything is seeded; whole processes, whose
times are medians by the clock. A straight line is fitted to each; the page and its figure show the line too.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench_evaluate import Cost, median, run, write_page
from imagenet_errors.labels import imagenet_1k

MODELS, IMAGES = (10, 100, 300, 962), (1_000, 10_000, 50_000, 500_000)
MODEL_IMAGES, IMAGE_MODELS = 50_000, 10


@dataclass(frozen=True)
class Line:
    """Costs by size, with the straight line through their times: ``slope`` in seconds for each one more."""

    what: str
    sizes: tuple[int, ...]
    costs: tuple[Cost, ...]

    @property
    def fit(self) -> tuple[float, float]:
        """Slope and start of the line; errors count by share, so that small sizes count as large ones do."""
        seconds = np.array([cost.seconds for cost in self.costs])
        slope, start = np.polyfit(self.sizes, seconds, 1, w=1 / seconds)
        return float(slope), float(start)

    @property
    def rows(self) -> list[str]:
        """The table's rows."""
        slope, start = self.fit
        return [
            f"| {size:,} | {each.seconds:.2f} | {start + slope * size:.2f} | {each.cpu_seconds:.2f} "
            f"| {each.peak_mib:.0f} |"
            for size, each in zip(self.sizes, self.costs, strict=True)
        ]


def made_up(folder: Path, n_images: int, n_models: int) -> Path:
    """Write labels.parquet and so many models' predictions of images with names of our own; return the folder."""
    folder.mkdir()
    random, n_classes = np.random.default_rng(0), len(imagenet_1k())
    label = random.integers(0, n_classes, n_images).astype(np.int16)
    second = random.integers(0, n_classes, n_images).astype(np.int16)
    names = pa.array([f"own/image_{number:07}.jpg" for number in range(n_images)])
    has_two = random.random(n_images) < 0.2
    accepted = [
        [a, b] if two and a != b else [a] for a, b, two in zip(label.tolist(), second.tolist(), has_two, strict=True)
    ]
    labels = pa.table({"file_name": names, "label": label, "labels": pa.array(accepted, type=pa.list_(pa.int16()))})
    pq.write_table(labels, folder / "labels.parquet")
    (folder / "models").mkdir()
    for number in range(n_models):
        near = np.clip(label + random.integers(-9, 10, n_images), 0, n_classes - 1)
        near = np.where(has_two & (random.random(n_images) < 0.5), second, near)  # as real mistakes often do
        wrong = random.random(n_images) < 0.3
        top1 = np.where(wrong, near, label).astype(np.int16)
        pq.write_table(
            pa.table({"file_name": names, "prediction": top1}), folder / "models" / f"model{number:03}.parquet"
        )
    return folder


def cost(folder: Path, n_models: int, n_runs: int) -> Cost:
    """Evaluate the first models of a folder, once to warm up and then ``n_runs`` times."""
    files = sorted((folder / "models").iterdir())[:n_models]
    command = [sys.executable, "-m", "imagenet_errors", "evaluate", *map(str, files)]
    command += ["--annotations", str(folder / "labels.parquet"), "--out", str(folder / "run")]
    return median([run(command) for _ in range(n_runs + 1)][1:])


def measured(folder: Path, options: argparse.Namespace) -> list[Line]:
    """Measure both ways of growing."""
    many = made_up(folder / "many", MODEL_IMAGES, max(options.models))
    by_models = [cost(many, n, options.runs) for n in options.models]
    by_images = [
        cost(made_up(folder / f"images{n}", n, IMAGE_MODELS), IMAGE_MODELS, options.runs) for n in options.images
    ]
    return [
        Line(f"models of {MODEL_IMAGES:,} images", tuple(options.models), tuple(by_models)),
        Line(f"images of {IMAGE_MODELS} models", tuple(options.images), tuple(by_images)),
    ]


def draw(lines: Sequence[Line], path: Path) -> None:
    """Draw time and memory by size, with the fitted lines."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams["svg.hashsalt"] = "bench_growth"
    figure = Figure(figsize=(7.2, 4.8), layout="constrained")
    axes = figure.subplots(2, len(lines), squeeze=False)
    for (above, below), line in zip(axes.T, lines, strict=True):
        slope, start = line.fit
        sizes = np.geomspace(min(line.sizes), max(line.sizes), 50)
        above.loglog(line.sizes, [each.seconds for each in line.costs], "o", label="measured")
        above.loglog(sizes, start + slope * sizes, "-", label=f"{start:.2f} s + {1000 * slope:.3g} ms each")
        above.set(ylabel="seconds")
        above.legend(frameon=False)
        below.semilogx(line.sizes, [each.peak_mib for each in line.costs], "o-")
        below.set(xlabel=line.what, ylabel="peak memory, MiB", ylim=(0, None))
    figure.savefig(path, metadata={"Date": None, "Title": "How evaluate grows"})


def main() -> None:
    """Parse the arguments, measure, and write or print the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, nargs="+", default=MODELS)
    parser.add_argument("--images", type=int, nargs="+", default=IMAGES)
    parser.add_argument("--runs", type=int, default=3, help="counted runs of each")
    parser.add_argument("--out", type=Path, help="Markdown page to write, with a figure beside it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        lines = measured(Path(name), options)
    page = [
        "# How `evaluate` grows",
        "",
        f"Made by `python {' '.join(sys.argv)}` on {os.cpu_count()} cores; made-up predictions and labels; whole "
        f"processes, medians of {options.runs} runs by the clock; peak: of the largest process.",
        "",
    ]
    for line in lines:
        slope, start = line.fit
        page += [
            f"## With the number of {line.what}",
            "",
            f"{start:.2f} s and {1000 * slope:.3g} ms for each.",
            "",
            "| number | s | the line, s | CPU time, s | peak, MiB |",
            "| ---: | ---: | ---: | ---: | ---: |",
            *line.rows,
            "",
        ]
    if options.out:
        draw(lines, options.out.with_suffix(".svg"))
        page += [f"![Time and memory by size]({options.out.stem}.svg)", ""]
    write_page("\n".join(page), options.out)


if __name__ == "__main__":
    main()
