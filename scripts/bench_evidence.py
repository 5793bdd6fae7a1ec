"""How fast out-of-vocabulary evidence is found: search, decisions, proposals, and the embedding of images.

    python scripts/bench_evidence.py --out reports/bench_evidence.md

Search: 2,000 seeded queries over 1,280,000 x 768 seeded training embeddings in shards, beside bare faiss
(``IndexFlatIP``, all vectors in memory as float32) on the same data, in turn, each in a process of its own. Only the
search is timed; the peak is of the whole process. Decisions and proposals: seeded cases over all classes. Needs the
extra ``clip`` (faiss), 2 GB of disk and, for bare faiss, 5 GB of memory.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.evidence.oov import OOV_SCHEMA
from imagenet_errors.evidence.superclasses import load_superclasses
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.oov.clip import EncoderSpec, load_encoder
from imagenet_errors.oov.cosine import normalised
from imagenet_errors.oov.decide import OovCases, OovDecider
from imagenet_errors.oov.neighbours import N_KEPT, search
from imagenet_errors.oov.pool import SHARD_ROWS, Pool, load_pool, pool_identity, pool_table
from imagenet_errors.oov.proposals import Proposer
from imagenet_errors.oov.shards import SUFFIX, write_shard
from imagenet_errors.oov.table import write_rows
from imagenet_errors.wordnet import load_wordnet

DIM, ENCODER = 768, "seeded/0"
N_CASES, N_IMAGES, BATCH, N_PAIRS = 200_000, 20_000, 20_000, 1_000_000
ENCODERS, N_EMBEDDED = ("ViT-L-14-336", "ViT-B-16", "ViT-B-32"), 8


def make_shards(folder: Path, n_rows: int) -> None:
    """Write seeded unit vectors as shards, the last one shorter."""
    for place, start in enumerate(range(0, n_rows, SHARD_ROWS)):
        random = np.random.default_rng(place)
        n_here = min(SHARD_ROWS, n_rows - start)
        vectors = normalised(random.standard_normal((n_here, DIM), dtype=np.float32))
        names = [f"{row}.JPEG" for row in range(start, start + n_here)]
        classes = random.integers(0, 1000, n_here).astype(np.int16)
        write_shard(folder / f"{place:05}{SUFFIX}", pool_table(names, classes, vectors), pool_identity(ENCODER))


def opened(folder: Path, n_queries: int) -> tuple[Pool, NDArray[np.float32]]:
    """Return the training set, and seeded queries."""
    pool = load_pool(sorted(folder.glob(f"*{SUFFIX}")), ENCODER, where=folder)
    queries = np.random.default_rng(10**6).standard_normal((n_queries, DIM), dtype=np.float32)
    return pool, normalised(queries)


@dataclass(frozen=True)
class Took:
    """Seconds by the clock, and of CPU time in all threads: the latter hardly depends on what else a machine does."""

    seconds: float
    cpu_seconds: float


def timed(work: Callable[[], Any]) -> tuple[Took, Any]:
    """Return what a call took, and its result."""
    start, cpu_start = time.perf_counter(), time.process_time()
    result = work()
    return Took(time.perf_counter() - start, time.process_time() - cpu_start), result


def search_ours(folder: Path, n_queries: int) -> dict[str, float]:
    """Time our search, shards on disk."""
    pool, queries = opened(folder, n_queries)
    took, found = timed(lambda: search(queries, pool))
    return {**asdict(took), "check": float(found.rows.astype(np.int64).sum())}


def search_bare(folder: Path, n_queries: int) -> dict[str, float]:
    """Time faiss alone, everything in memory."""
    import faiss

    pool, queries = opened(folder, n_queries)
    index = faiss.IndexFlatIP(DIM)
    for _, block in pool.blocks(65_536):
        index.add(block)
    took, (_, rows) = timed(lambda: index.search(queries, N_KEPT))
    return {**asdict(took), "check": float(rows.sum())}


def in_a_process(part: str, folder: Path, n_queries: int) -> dict[str, float]:
    """Run one side of the comparison on its own; return seconds and peak MiB."""
    command = [sys.executable, __file__, "--part", part, "--folder", str(folder), "--queries", str(n_queries)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    measured: dict[str, float] = json.loads(said)
    return measured


def made_up_cases(proposer: Proposer) -> tuple[OovDecider, list[OovCases]]:
    """Return seeded cases of all classes in batches, with seeded vectors of images and of all names."""
    random = np.random.default_rng(1)
    names = normalised(random.standard_normal((len(proposer.vocabulary), DIM)))
    images = normalised(random.standard_normal((N_IMAGES, DIM)))
    neighbours = random.integers(0, 1000, (N_IMAGES, 10)).astype(np.int16)
    image = random.integers(0, N_IMAGES, N_CASES)
    prediction, target = random.integers(0, 1000, (2, N_CASES)).astype(np.int16)
    files = pa.array([f"ILSVRC2012_val_{number:08}.JPEG" for number in image])
    cases = OovCases(files, prediction, target, image, images, neighbours)
    batches = [cases.take(rows) for rows in np.split(np.argsort(prediction, kind="stable"), N_CASES // BATCH)]
    return OovDecider(proposer, names, ENCODER, "seeded"), batches


def decide_all(decider: OovDecider, batches: list[OovCases], out: Path) -> None:
    """Decide all batches and write the table as it grows, as the command does."""
    table, fresh = OOV_SCHEMA.empty_table(), []
    for batch in batches:
        fresh.append(decider.decide(batch))
        if batch is batches[-1] or sum(map(len, fresh)) >= len(table) / 4:
            table, fresh = write_rows(out, pa.concat_tables([table, *fresh]), None), []


def propose_all(proposer: Proposer) -> int:
    """Propose for a million pairs."""
    pairs = np.random.default_rng(2).integers(0, 1000, (2, N_PAIRS))
    parts = np.split(pairs, N_PAIRS // 50_000, axis=1)
    return sum(int(proposer.propose(*part).offsets[-1]) for part in parts)


def report(folder: Path, n_rows: int, n_queries: int, n_runs: int) -> str:
    """Measure everything and return the Markdown page."""
    make_shards(folder, n_rows)
    sides: dict[str, list[dict[str, float]]] = {"ours": [], "bare": []}
    for _ in range(n_runs):
        for part, runs in sides.items():
            runs.append(in_a_process(part, folder, n_queries))
    ours, bare = (statistics.median(run["seconds"] for run in runs) for runs in sides.values())
    cpu_ours, cpu_bare = (statistics.median(run["cpu_seconds"] for run in runs) for runs in sides.values())
    peaks = [max(run["peak_mib"] for run in runs) for runs in sides.values()]
    same = sides["ours"][0]["check"] == sides["bare"][0]["check"]
    each = ", ".join(f"{a['seconds']:.1f} / {b['seconds']:.1f}" for a, b in zip(*sides.values(), strict=True))
    found = "the same rows" if same else "the same rows but where near-ties lie within float32's error"
    lines = [
        "# What out-of-vocabulary evidence costs",
        "",
        f"Made by `python {' '.join(sys.argv)}`, {os.cpu_count()} cores. Figures by the clock depend on what else the "
        "machine does; those by CPU time hardly do.",
        "",
        "| what | by the clock | by CPU time | at least |",
        "| --- | ---: | ---: | ---: |",
        f"| search, speed beside bare faiss | {bare / ours:.2f} | {cpu_bare / cpu_ours:.2f} | 0.95 |",
        f"| search, peak memory beside bare faiss (at most) | {peaks[0] / peaks[1]:.2f} | | 0.50 |",
        *deciding_lines(folder),
        "",
        f"Search: {n_queries:,} queries over {n_rows:,} x {DIM}, k = {N_KEPT}; ours {ours:.1f} s from shards on disk "
        f"(peak {peaks[0] / 1024:.1f} GiB, mapped shards included), faiss {bare:.1f} s from memory (peak "
        f"{peaks[1] / 1024:.1f} GiB); medians of {n_runs} runs in turn (ours / faiss: {each}). Both found {found}.",
        f"Decisions: {N_CASES:,} cases of {N_IMAGES:,} images, proposals included; CPU time is of one core.",
        "",
    ]
    return "\n".join([*lines, *encoder_lines()]) + "\n"


def deciding_lines(folder: Path) -> list[str]:
    """Measure decisions and proposals; return the table's rows."""
    proposer = Proposer(imagenet_1k(), load_wordnet(), load_superclasses().shares)
    proposer.propose([0], [1])
    decider, batches = made_up_cases(proposer)
    decider.decide(batches[0])
    deciding, _ = timed(lambda: [decider.decide(batch) for batch in batches])
    writing, _ = timed(lambda: decide_all(decider, batches, folder / "oov.parquet"))
    proposing, _ = timed(lambda: propose_all(proposer))
    return [
        _rate("decisions, cases a second", N_CASES, deciding, "100,000"),
        _rate("decisions and writing the table as it grows, cases a second", N_CASES, writing, ""),
        _rate("proposals, pairs a second", N_PAIRS, proposing, "20,000"),
    ]


def _rate(what: str, n: int, took: Took, at_least: str) -> str:
    return f"| {what} | {n / took.seconds:,.0f} | {n / took.cpu_seconds:,.0f} | {at_least} |"


def encoder_lines() -> list[str]:
    """Measure CLIP architectures of the real sizes, with seeded weights, on made-up images; return the page's part."""
    import torch

    lines = [
        "## Embedding images",
        "",
        f"The architectures themselves with seeded weights (speed does not depend on the weights), float32, "
        f"{N_EMBEDDED} made-up images of 500 x 375 each, decoding and preprocessing included, on this CPU "
        f"(torch {torch.__version__}, {torch.get_num_threads()} threads).",
        "",
        "| --clip-model | images a second | seconds of CPU time an image | 50,000 images by CPU time, one core |",
        "| --- | ---: | ---: | ---: |",
    ]
    with tempfile.TemporaryDirectory() as folder:
        paths = made_up_images(Path(folder), N_EMBEDDED)
        for name in ENCODERS:
            encoder = load_encoder(EncoderSpec(name, "random:0", device="cpu", batch_size=N_EMBEDDED // 2))
            encoder.embed_images(paths[:1])
            took, _ = timed(lambda encoder=encoder: encoder.embed_images(paths))  # type: ignore[misc]
            a_piece = took.cpu_seconds / len(paths)
            hours = 50_000 * a_piece / 3600
            lines.append(f"| {name} | {len(paths) / took.seconds:.2f} | {a_piece:.2f} | {hours:.0f} h |")
    return lines


def made_up_images(folder: Path, n_images: int) -> list[Path]:
    """Write seeded noise of the usual size of a validation image."""
    from PIL import Image

    random = np.random.default_rng(3)
    paths = [folder / f"{number}.JPEG" for number in range(n_images)]
    for path in paths:
        pixels = np.kron(random.integers(0, 256, (47, 63, 3)), np.ones((8, 8, 1)))[:375, :500]
        Image.fromarray(pixels.astype(np.uint8)).save(path)
    return paths


def main() -> None:
    """Parse the arguments; measure all, or one side of the search."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_280_000, help="training embeddings")
    parser.add_argument("--queries", type=int, default=2_000, help="images to search")
    parser.add_argument("--runs", type=int, default=3, help="searches of each side")
    parser.add_argument("--folder", type=Path, help="where the 2 GB go (default: a temporary folder)")
    parser.add_argument("--part", choices=("ours", "bare"), help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help="Markdown page to write")
    arguments = parser.parse_args()
    if arguments.part:
        measured = {"ours": search_ours, "bare": search_bare}[arguments.part](arguments.folder, arguments.queries)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({**measured, "peak_mib": peak}))
        return
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        page = report(Path(name), arguments.rows, arguments.queries, arguments.runs)
    print(page)
    if arguments.out:
        partial = arguments.out.with_name(f".{arguments.out.name}")
        partial.write_text(page, encoding="utf-8")
        partial.replace(arguments.out)


if __name__ == "__main__":
    main()
