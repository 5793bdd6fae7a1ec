"""What ``predict`` costs beside a bare timm loop, and what evaluating hundreds of models costs beside reading them.

    python scripts/bench_batch.py --out reports/bench_batch.md
    python scripts/bench_batch.py --images DIR --predictions DIR --out reports/bench_batch.md

The first part needs the extra timm: a network with seeded random weights goes over the same images twice in turn, in
one process: our whole way (decode, transform, forward, softmax, five best classes, file) and the least that timm needs
(decode, transform, forward, argmax). Without --images they are made up. The second part makes 962 files of 50,000 rows
(those of --predictions again and again, part of their rows exchanged between models; without it, made up), evaluates
them in one call, and then the first 96 of them alone: memory must not grow with the models.
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
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench_evaluate import REWRITE, Cost, make_up
from imagenet_errors.image_folder import ImageFolder, read_folder
from imagenet_errors.images import val_file_names
from imagenet_errors.predict.inference import default_workers

N_MODELS, N_FEW = 962, 96

LAUNCH = """
import resource, subprocess, sys, time
start = time.perf_counter()
status = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
sys.exit(status)
"""
"""Subtle: a process's peak memory starts at that of the one that starts it, so a small one must."""


def run(command: Sequence[str]) -> Cost:
    """Run a command to its end and return what it took; raise if it fails."""
    ended = subprocess.run([sys.executable, "-c", LAUNCH, *command], capture_output=True, text=True, check=True)
    seconds, peak_mib = map(float, ended.stdout.split())
    return Cost(seconds, peak_mib)


def made_up_images(folder: Path, n_images: int) -> Path:
    """Write seeded noise of the usual size of a validation image."""
    from PIL import Image

    folder.mkdir()
    random = np.random.default_rng(0)
    for name in val_file_names(np.arange(1, n_images + 1)).to_pylist():
        pixels = np.kron(random.integers(0, 256, (47, 63, 3)), np.ones((8, 8, 1)))
        Image.fromarray(pixels.astype(np.uint8)).save(folder / name)
    return folder


class BareImages:
    """The least a torch data set can be."""

    def __init__(self, images: ImageFolder, transform: Any) -> None:
        self.files = [images.root / path for path in images.paths]
        self.transform = transform

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.files)

    def __getitem__(self, row: int) -> Any:
        """Return one image's pixels."""
        from PIL import Image

        with Image.open(self.files[row]) as image:
            return self.transform(image.convert("RGB"))


def bare_loop(network: Any, images: ImageFolder, options: argparse.Namespace, device: Any) -> None:
    """Predict with nothing but timm and torch."""
    import timm.data
    import torch
    from torch.utils.data import DataLoader

    transform = timm.data.create_transform(**timm.data.resolve_model_data_config(network.module), is_training=False)
    loader: Any = DataLoader(
        BareImages(images, transform),  # type: ignore[arg-type,unused-ignore]
        batch_size=options.batch_size,
        num_workers=options.workers,
        pin_memory=device.type == "cuda",
    )
    with torch.inference_mode():
        found = [network.module(pixels.to(device, non_blocking=True)).argmax(1).cpu() for pixels in loader]
    torch.cat(found)


def throughput(options: argparse.Namespace, folder: Path) -> list[str]:
    """Run both loops in turn; return the page's lines."""
    import timm
    import torch

    from imagenet_errors.labels import imagenet_1k
    from imagenet_errors.predict.inference import choose_device, predict_images
    from imagenet_errors.predict.names import ModelSpec
    from imagenet_errors.predict.networks import load_network
    from imagenet_errors.predict.settings import Settings
    from imagenet_errors.predict.table import prediction_bytes

    images = read_folder(options.images or made_up_images(folder / "images", options.n_images))
    torch.manual_seed(0)
    torch.save(timm.create_model(options.model).state_dict(), folder / "weights.pth")
    settings = Settings(options.device, batch_size=options.batch_size, workers=options.workers)
    device = choose_device(options.device)
    network = load_network(
        ModelSpec(f"{options.model}.seeded", folder / "weights.pth"), imagenet_1k(), settings=settings
    )
    network.module.to(device)
    seconds: tuple[list[float], list[float]] = ([], [])
    cpu_seconds: tuple[list[float], list[float]] = ([], [])
    for number in range(options.runs + 1):
        for side in (0, 1) if number % 2 else (1, 0):
            start, cpu_start = time.perf_counter(), time.process_time()
            if side == 0:
                prediction_bytes(images, predict_images(network, images, settings=settings, device=device), {})
            else:
                bare_loop(network, images, options, device)
            if number:  # the first round warms up
                seconds[side].append(time.perf_counter() - start)
                cpu_seconds[side].append(time.process_time() - cpu_start)
    return [
        "## Predicting",
        "",
        f"{options.model}, {len(images):,} images, batches of {options.batch_size}, {options.workers} worker "
        f"processes, {device}, torch {torch.__version__}, timm {timm.__version__}; medians of {options.runs} runs "
        "in turn.",
        "",
        "| images a second of | our whole way | bare timm loop | ratio | at least |",
        "| --- | ---: | ---: | ---: | ---: |",
        _rates("the clock", len(images), seconds),
        _rates("this process's CPU time", len(images), cpu_seconds),
        "",
        "CPU time is what counts on a machine that others use too, and without worker processes it holds all the work.",
        "",
        *where_time_goes(network, images, options, device),
    ]


def where_time_goes(network: Any, images: ImageFolder, options: argparse.Namespace, device: Any) -> list[str]:
    """Time each part of the work on its own, in this process; return the page's lines."""
    import timm.data
    import torch
    from PIL import Image

    from imagenet_errors.predict.inference import Outputs, top_classes
    from imagenet_errors.predict.table import prediction_bytes

    transform = timm.data.create_transform(**network.data_config, is_training=False)
    seconds = dict.fromkeys(("decode", "transform", "model", "five best classes", "file"), 0.0)

    def timed(part: str, work: Callable[[], Any]) -> Any:
        start = time.process_time()
        result = work()
        seconds[part] += time.process_time() - start
        return result

    def decoded(path: str) -> Any:
        with Image.open(images.root / path) as image:
            return image.convert("RGB")

    def stacked(pictures: list[Any]) -> Any:
        return torch.stack([transform(each) for each in pictures])

    def forward(pixels: Any) -> Any:
        return network.module(pixels.to(device)).cpu()

    best = []
    with torch.inference_mode():
        for start in range(0, len(images), options.batch_size):
            paths = images.paths[start : start + options.batch_size]
            pictures = timed("decode", partial(list, map(decoded, paths)))
            pixels = timed("transform", partial(stacked, pictures))
            scores = timed("model", partial(forward, pixels))
            best.append(timed("five best classes", partial(top_classes, scores, network.head)))
    classes, probabilities = (np.concatenate(part) for part in zip(*best, strict=True))
    outputs = Outputs(classes, probabilities, np.zeros(len(images), dtype=np.bool_), options.batch_size)
    timed("file", lambda: prediction_bytes(images, outputs, {}))
    whole = sum(seconds.values())
    rows = [f"| {part} | {1000 * took / len(images):.2f} | {took / whole:.0%} |" for part, took in seconds.items()]
    return [
        "Where the time goes, each part on its own:",
        "",
        "| part | milliseconds of CPU time an image | share |",
        "| --- | ---: | ---: |",
        *rows,
        "",
        f"By default {default_workers('cpu')} processes decode on this machine's CPU, and {default_workers('cuda')} "
        "would beside a GPU: decoding and transforming then overlap with the model.",
        "",
    ]


def _rates(of: str, n_images: int, seconds: tuple[list[float], list[float]]) -> str:
    ours, bare = (n_images / statistics.median(side) for side in seconds)
    return f"| {of} | {ours:.1f} | {bare:.1f} | {ours / bare:.2f} | 0.98 |"


def many_files(sources: Sequence[Path], folder: Path, n_files: int) -> list[Path]:
    """Write so many files: the sources in turn, from the second time on with 5 to 40 % of another's predictions."""
    folder.mkdir()
    random = np.random.default_rng(0)
    tables = [pq.read_table(path, columns=["file_name", "predicted_class"]) for path in sources]
    top1 = [table["predicted_class"].to_numpy() for table in tables]
    files = []
    for number in range(n_files):
        own, other = number % len(tables), int(random.integers(len(tables)))
        exchanged = random.random(len(top1[own])) < (number >= len(tables)) * random.uniform(0.05, 0.4)
        classes = np.where(exchanged, top1[other], top1[own])
        files.append(folder / f"model{number:03}.parquet")
        columns = {"file_name": tables[own]["file_name"], "predicted_class": pa.array(classes, type=pa.int16())}
        pq.write_table(pa.table(columns), files[-1], compression="zstd")
    return files


def evaluation(options: argparse.Namespace, folder: Path) -> list[str]:
    """Evaluate many files, and few of them, and only read and rewrite them; return the page's lines."""
    given = sorted(options.predictions.glob("*.parquet")) if options.predictions else make_up(folder)[0]
    files = many_files(given, folder / "many", options.n_models)
    python, out = sys.executable, folder / "rewritten"
    out.mkdir()
    start = [python, "-m", "imagenet_errors", "evaluate", "--annotations", options.annotations, "--no-check-order"]
    many = run([*start, "--out", str(folder / "run"), *map(str, files)])
    rewrite = run([python, "-c", REWRITE, str(out), *map(str, files)])
    few = run([*start, "--out", str(folder / "few"), *map(str, files[:N_FEW])])
    a_model = many.seconds / len(files)
    return [
        "## Evaluating",
        "",
        f"Files of {pq.read_metadata(files[0]).num_rows:,} rows; annotations: {Path(options.annotations).name}; whole "
        "processes, once each.",
        "",
        "| files | what | s | s a model | peak, MiB |",
        "| ---: | --- | ---: | ---: | ---: |",
        _row(len(files), "evaluate", many),
        _row(len(files), "read and rewrite (pyarrow)", rewrite),
        _row(N_FEW, "evaluate", few),
        "",
        f"A model takes {a_model:.3f} s, {many.seconds / rewrite.seconds:.1f} times as long as reading and rewriting "
        "its file. Out-of-vocabulary evidence is looked up, not computed.",
        "",
    ]


def _row(n_files: int, what: str, cost: Cost) -> str:
    return f"| {n_files} | {what} | {cost.seconds:.1f} | {cost.seconds / n_files:.3f} | {cost.peak_mib:.0f} |"


def main() -> None:
    """Parse the arguments, measure, and write or print the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=Path, help="folder of images")
    parser.add_argument("--n-images", type=int, default=96, help="how many to make up otherwise")
    parser.add_argument("--model", default="resnet18", help="an architecture of timm's")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--runs", type=int, default=3, help="counted runs of each loop")
    parser.add_argument("--predictions", type=Path, help="folder of Parquet files: file_name, predicted_class")
    parser.add_argument("--n-models", type=int, default=N_MODELS)
    parser.add_argument("--annotations", default="real", help="as of evaluate")
    parser.add_argument("--only", choices=["predicting", "evaluating"], help="one part alone")
    parser.add_argument("--out", type=Path, help="Markdown page to write")
    options = parser.parse_args()
    command = " ".join(Path(part).name if "/" in part else part for part in sys.argv)
    lines = ["# What a batch costs", "", f"Made by `python {command}` on {os.cpu_count()} cores.", ""]
    with tempfile.TemporaryDirectory() as name:
        for title, part in (("predicting", throughput), ("evaluating", evaluation)):
            if options.only in (None, title):
                lines += part(options, Path(name))
    page = "\n".join(lines)
    print(page)
    if options.out:
        partial = options.out.with_name(f".{options.out.name}")
        partial.write_text(page, encoding="utf-8")
        partial.replace(options.out)


if __name__ == "__main__":
    main()
