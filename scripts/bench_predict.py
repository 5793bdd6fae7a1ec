"""What ``predict`` costs beside a bare timm loop, and where its time goes.

    python scripts/bench_predict.py --out reports/bench_predict.md
    python scripts/bench_predict.py --images DIR --out reports/bench_predict.md

Needs the extra timm. A network with seeded random weights goes over the same images twice in turn, in one process: our
whole way (decode, transform, forward, softmax, five best classes, file) and the least that timm needs (decode,
transform, forward, argmax). Without --images they are made up.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench_evaluate import write_page
from imagenet_errors.image_folder import ImageFolder, read_folder
from imagenet_errors.images import val_file_names
from imagenet_errors.predict.inference import default_workers


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
        "## Where the time goes",
        "",
        "Each part on its own:",
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
    parser.add_argument("--out", type=Path, help="Markdown page to write")
    options = parser.parse_args()
    lines = ["# What predicting costs", "", f"Made by `python {' '.join(sys.argv)}` on {os.cpu_count()} cores.", ""]
    with tempfile.TemporaryDirectory() as name:
        lines += throughput(options, Path(name))
    write_page("\n".join(lines), options.out)


if __name__ == "__main__":
    main()
