"""Feed the program damaged files, small files that stand for huge ones, and many or large ones."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import signal
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq

from imagenet_errors import InputError, load_run
from imagenet_errors.image_folder import decoded, read_folder
from imagenet_errors.images import index_of, val_file_names
from imagenet_errors.inputs import Basis, Inputs, load_annotations, load_basis
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.mistakes import NothingUsableError, gather
from imagenet_errors.oov.neighbour_files import read_neighbours
from imagenet_errors.readers.annotations import read_real
from imagenet_errors.readers.judgements import read_judgements
from imagenet_errors.readers.own_classes import read_classes
from imagenet_errors.readers.predictions import ReadRules
from imagenet_errors.report.leaderboard import read_leaderboard
from imagenet_errors.report.page.pictures import thumbnail
from imagenet_errors.runs.manifest import read_manifest
from imagenet_errors.runs.tables import load_run_tables
from imagenet_errors.shipped import shipped
from reliability_kills import whole_predictions
from reliability_runs import Part, is_crash, measured

HANG_SECONDS, BLOCKED_SECONDS = 20, 600
BOMB_SECONDS, BOMB_MIB = 2.0, 500
FRAGMENTS = (
    b"\0",
    b"\xff",
    b"\n",
    b",",
    b'"',
    b"[" * 2000,
    b"{" * 2000,
    b"-1",
    b"nan",
    b"1e999",
    b"9" * 30,
    b"\\ud800",
)
MUTANTS_HEADER = ("input", "mutants", "read", "refused in words", "hung", "traceback")
MUTANTS_ABOUT = (
    "One to three seeded faults a file: bits flipped, parts cut, repeated or overwritten, hostile fragments put in. "
    f"Hung: over {HANG_SECONDS} s of CPU time, or {BLOCKED_SECONDS} s of waiting. A mutant that is read may well hold "
    "other numbers: no reader can see that a digit was another one."
)
BOMBS_HEADER = ("file", "bytes", "CPU seconds", "peak MiB", "refused")
BOMBS_ABOUT = (
    f"Whole processes. Limits: {BOMB_SECONDS:g} s of CPU time beyond what a missing file takes, and {BOMB_MIB} MiB."
)
LOADS_HEADER = ("load", "CPU seconds", "peak MiB", "held")
LOADS_ABOUT = (
    "Whole processes, start included; CPU seconds of all workers, memory of the largest process. The predictions are "
    "made up, so their order is not checked (--no-check-order)."
)


class HangError(BaseException):
    """Reading took longer than any file of this size may."""


@contextmanager
def time_limit() -> Iterator[None]:
    """Interrupt the block after so much CPU time, or after a much longer wait.

    Raises
    ------
    HangError
        The time was up.
    """

    def ring(_signum: int, _frame: object) -> None:
        raise HangError

    for number in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(number, ring)
    signal.setitimer(signal.ITIMER_REAL, BLOCKED_SECONDS)
    signal.setitimer(signal.ITIMER_PROF, HANG_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_PROF, 0)


def mutated(content: bytes, chance: random.Random) -> bytes:
    """Return the bytes with one to three seeded faults: flips, cuts, repeats, exchanged parts, hostile fragments."""
    body = bytearray(content)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(max(1, len(body)))
        end = min(len(body), at + chance.choice((1, 4, 64, 1024)))
        match chance.randrange(6):
            case 0 if body:
                body[at % len(body)] ^= 1 << chance.randrange(8)
            case 1:
                del body[at:end]
            case 2:
                body[at:at] = body[at:end]
            case 3:
                del body[at:]
            case 4:
                body[at:at] = chance.choice(FRAGMENTS)
            case _:
                body[at:end] = bytes(chance.randrange(256) for _ in range(end - at))
    return bytes(body)


@dataclass(frozen=True)
class Kind:
    """A kind of input: what it is called, how a good one is written, and how one is read."""

    name: str
    file_name: str
    write: Callable[[Path], object]
    read: Callable[[Path], object]


@dataclass(frozen=True)
class Seeds:
    """Good files of every kind, made of the demo's predictions of 1,300 images; ``run``: a run of them."""

    predictions: Path
    run: Path

    @cached_property
    def names(self) -> list[str]:
        """The images' names."""
        names: list[str] = self._table["file_name"].to_pylist()
        return names

    @cached_property
    def top1(self) -> np.ndarray[tuple[int], np.dtype[np.int16]]:
        """int16 [n]: the predicted classes."""
        return np.array(self._table["predicted_class"].to_pylist(), dtype=np.int16)

    @cached_property
    def _table(self) -> pa.Table:
        return pyarrow.csv.read_csv(min(self.predictions.glob("*.csv")))

    @cached_property
    def plain(self) -> pa.Table:
        """Names and classes as a table."""
        return pa.table({"file_name": self.names, "predicted_class": self.top1})

    @cached_property
    def basis(self) -> Basis:
        """What predictions are judged by."""
        return load_basis(Inputs())

    def kinds(self) -> list[Kind]:
        """Return every kind of input."""
        picture = Kind("image, JPEG", "a.jpg", _noise_picture, _picture)
        return [*self._predictions(), *self._labels(), *self._evidence(), *self._runs(), picture]

    def _predictions(self) -> list[Kind]:
        ranked = np.stack([self.top1, (self.top1 + 1) % 1000, (self.top1 + 2) % 1000], axis=1)
        lists = pa.table({"filename": self.names, "index": ranked.tolist(), "prob": [[0.5, 0.3, 0.1]] * len(ranked)})
        scores = np.random.default_rng(0).random((40, 1000), dtype=np.float32)
        scores[np.arange(40), self.top1[:40]] = 2
        named = dict(zip(self.names, self.top1.tolist(), strict=True))
        text = "\n".join(f"{name} {index}" for name, index in named.items())

        def packed(path: Path) -> None:
            pyarrow.csv.write_csv(self.plain, path)
            path.write_bytes(gzip.compress(path.read_bytes(), mtime=0))

        def arrays(path: Path) -> None:
            np.savez(path, file_name=np.array(self.names), predicted_class=self.top1)

        def dense(path: Path) -> None:
            np.savez_compressed(path, file_name=np.array(self.names[:40]), probs=scores)

        return [
            Kind("predictions, CSV", "m.csv", lambda path: pyarrow.csv.write_csv(self.plain, path), self._gather),
            Kind("predictions, gzipped CSV", "m.csv.gz", packed, self._gather),
            Kind("predictions, text", "m.txt", lambda path: path.write_text(text), self._gather),
            Kind("predictions, Parquet", "m.parquet", lambda path: pq.write_table(self.plain, path), self._gather),
            Kind("top-3 lists, Parquet", "top.parquet", lambda path: pq.write_table(lists, path), self._gather),
            Kind("predictions, npz", "m.npz", arrays, self._gather),
            Kind("scores, npz", "scores.npz", dense, self._gather),
            Kind("predictions, JSON", "m.json", lambda path: path.write_text(json.dumps(named)), self._gather),
            Kind(
                "predictions, Feather",
                "m.feather",
                lambda path: pa.feather.write_feather(self.plain, path),
                self._gather,
            ),
        ]

    def _gather(self, path: Path) -> None:
        try:
            with gather([path], self.basis, rules=ReadRules(allow_partial=True)):
                pass
        except NothingUsableError as error:
            if is_crash(str(error)):
                raise RuntimeError(str(error)) from error
            raise

    def _labels(self) -> list[Kind]:
        wnids, labels = imagenet_1k().wnids, [str(index) for index in self.top1]
        official = {
            "initial_annots": {name: {"correct": [wnids[c]]} for name, c in zip(self.names, self.top1, strict=True)},
            "problematic_images": {self.names[0]: "blurred"},
            "imagenet_m": [],
        }
        own = "index,name\n" + "\n".join(f"{index},thing {index}" for index in range(300)) + "\n"
        table = pa.table({"file_name": self.names, "labels": labels})

        def read(path: Path) -> None:
            load_annotations(Inputs(str(path)))

        return [
            Kind("annotations, CSV", "labels.csv", lambda path: pyarrow.csv.write_csv(table, path), read),
            Kind("annotations, Parquet", "labels.parquet", lambda path: pq.write_table(table, path), read),
            Kind("annotations, official JSON", "labels.json", lambda path: path.write_text(json.dumps(official)), read),
            Kind(
                "own classes, CSV",
                "classes.csv",
                lambda path: path.write_text(own),
                lambda path: read_classes(path),
            ),
        ]

    def _evidence(self) -> list[Kind]:
        oov = self.plain.rename_columns(["file_name", "prediction"])
        oov = oov.append_column("is_oov", pa.array([bool(c % 2) for c in self.top1]))
        judged = {
            name: {"top_prediction": int(c), "failure category": "Fine-grained error", "failure severity": "Minor"}
            for name, c in zip(self.names, self.top1, strict=True)
        }
        pairs = "a,b\n" + "\n".join(f"{a},{(a * 7) % 1000}" for a in range(1, 200)) + "\n"
        near = "file_name,neighbour_classes\n" + "\n".join(f"{name},1 2 3 4 5 6 7 8 9 10" for name in self.names)
        lemmas = {name: [[name]] for name in ("terrier", "sled_dog", "bird", "vessel", "snake", "truck", "monkey")}
        groups = (shipped("superclasses") / "birds.toml").read_text(encoding="utf-8")

        def given(option: str) -> Callable[[Path], object]:
            return lambda path: load_basis(Inputs(evidence={option: (path,)}))

        def neighbours(path: Path) -> None:
            read_neighbours(path, index_of(self.basis.annotations.file_names), n_classes=1000)

        return [
            Kind(
                "OOV evidence, CSV",
                "oov.csv",
                lambda path: pyarrow.csv.write_csv(oov, path),
                given("oov_evidence"),
            ),
            Kind("OOV evidence, Parquet", "oov.parquet", lambda path: pq.write_table(oov, path), given("oov_evidence")),
            Kind("human judgements, JSON", "human.json", lambda path: path.write_text(json.dumps(judged)), _judged),
            Kind(
                "non-prototypical images, text",
                "list.txt",
                lambda path: path.write_text("\n".join(self.names)),
                given("non_prototypical"),
            ),
            Kind("co-occurrence, CSV", "pairs.csv", lambda path: path.write_text(pairs), given("co_occurrence")),
            Kind("superclasses, TOML", "birds.toml", lambda path: path.write_text(groups), given("superclasses")),
            Kind(
                "superclasses, predicates",
                "predicates.json",
                lambda path: path.write_text(json.dumps(lemmas)),
                given("superclasses"),
            ),
            Kind("neighbours, CSV", "near.csv", lambda path: path.write_text(near), neighbours),
        ]

    def _runs(self) -> list[Kind]:
        def copied(name: str) -> Callable[[Path], object]:
            return lambda path: shutil.copyfile(self.run / name, path)

        def placed(name: str, read: Callable[[Path], object]) -> Callable[[Path], object]:
            def read_in_place(path: Path) -> None:
                run = path.parent / "run"
                shutil.copytree(self.run, run, dirs_exist_ok=True)
                shutil.copyfile(path, run / name)
                try:
                    read(run)
                finally:
                    shutil.copyfile(self.run / name, run / name)

            return read_in_place

        model = read_manifest(self.run).models
        verdicts = f"verdicts/{min(model)}.parquet"

        def verdicts_of(run: Path) -> None:
            load_run(run).verdicts(min(model))
            load_run_tables(run)

        return [
            Kind("a run's run.json", "run.json", copied("run.json"), placed("run.json", _manifest)),
            Kind(
                "a run's summary.parquet", "s.parquet", copied("summary.parquet"), placed("summary.parquet", _figures)
            ),
            Kind(
                "a run's distribution.parquet",
                "d.parquet",
                copied("distribution.parquet"),
                placed("distribution.parquet", _figures),
            ),
            Kind("a run's verdicts", "v.parquet", copied(verdicts), placed(verdicts, verdicts_of)),
        ]


def _noise_picture(path: Path) -> None:
    from PIL import Image

    pixels = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path, exif=Image.Exif())


def _picture(path: Path) -> None:
    thumbnail(path)
    decoded(path)


def _judged(path: Path) -> None:
    read_judgements(path)


def _manifest(run: Path) -> None:
    read_manifest(run).as_inputs()


def _figures(run: Path) -> None:
    read_leaderboard(run)
    load_run(run).summary  # noqa: B018
    load_run_tables(run)


def outcome_of(kind: Kind, path: Path) -> str:
    """Return ``read``, ``refused``, ``hung`` or the traceback's last line."""
    try:
        with time_limit():
            kind.read(path)
    except InputError:
        return "refused"
    except HangError:
        return "hung"
    except Exception as error:  # what is looked for
        return f"traceback: {type(error).__name__}: {error}"
    return "read"


def check_mutants(kind: Kind, folder: Path, n_mutants: int, seed: int) -> Part:
    """Read seeded mutants of a good file; each must be read or refused in words."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / kind.file_name
    kind.write(path)
    content, chance = path.read_bytes(), random.Random(f"{seed} {kind.name}")
    if (good := outcome_of(kind, path)) != "read":
        return Part(faults=[f"{kind.name}: the good file is {good}"])
    outcomes: Counter[str] = Counter()
    for _ in range(n_mutants):
        path.write_bytes(mutated(content, chance))
        outcomes[outcome_of(kind, path)] += 1
    bad = {text: n for text, n in outcomes.items() if text not in ("read", "refused")}
    faults = [f"mutated {kind.name}: {text[:300]} ({n} times)" for text, n in bad.items()]
    counts = (n_mutants, outcomes["read"], outcomes["refused"], outcomes["hung"], sum(bad.values()) - outcomes["hung"])
    return Part([(kind.name, *(f"{count:,}" for count in counts))], faults)


def gzip_bomb(path: Path) -> None:
    """10 MB that unpack to some 4 GB."""
    piece = gzip.compress(bytes(1 << 28), 9, mtime=0)
    path.write_bytes(piece * 16 + b"\0" * max(0, 10_000_000 - 16 * len(piece)))


def wide_csv(path: Path) -> None:
    """A million columns."""
    path.write_text(",".join(f"c{n}" for n in range(10**6)) + "\n" + ",".join(["0"] * 10**6) + "\n")


def crowded_npz(path: Path) -> None:
    """50,000 members."""
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(50_000):
            archive.writestr(f"a{number}.npy", b"")


def boastful_npy(path: Path) -> None:
    """A header of 3 * 10^9 classes, and nothing after it."""
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f4", "fortran_order": False, "shape": (50_000, 3 * 10**9)}
        )


def deep_json(path: Path) -> None:
    """A million brackets."""
    path.write_text("[" * 10**6)


def wide_parquet(path: Path) -> None:
    """200,000 columns."""
    pq.write_table(pa.table({f"c{n}": pa.array([0], pa.int8()) for n in range(200_000)}), path)


def long_parquet(path: Path) -> None:
    """30 million rows in a few kilobytes."""
    pq.write_table(pa.table({"predicted_class": pa.array(np.zeros(30_000_000, np.int16))}), path, compression="zstd")


def long_text_parquet(path: Path) -> None:
    """A megabyte of the same text in each of 4,000 rows: small on the disk, 4 GB as text."""
    same = pa.DictionaryArray.from_arrays(pa.array(np.zeros(4_000, np.int32)), pa.array(["x" * (1 << 20)]))
    pq.write_table(pa.table({"file_name": same, "predicted_class": pa.array(np.zeros(4_000, np.int16))}), path)


def long_feather(path: Path) -> None:
    """30 million rows in a hundred kilobytes."""
    table = pa.table({"predicted_class": pa.array(np.zeros(30_000_000, np.int16))})
    pa.feather.write_feather(table, path, compression="zstd")


def long_npz(path: Path) -> None:
    """60 million rows in half a megabyte."""
    np.savez_compressed(path, predicted_class=np.zeros(60_000_000, np.int64))


BOMBS: dict[str, Callable[[Path], None]] = {
    "bomb.csv.gz": gzip_bomb,
    "wide.csv": wide_csv,
    "crowded.npz": crowded_npz,
    "boastful.npy": boastful_npy,
    "deep.json": deep_json,
    "wide.parquet": wide_parquet,
    "long.parquet": long_parquet,
    "long_text.parquet": long_text_parquet,
    "long.feather": long_feather,
    "long.npz": long_npz,
}


def check_bomb(name: str, folder: Path) -> Part:
    """Evaluate a small file that stands for a huge one: it is refused, soon, in little memory."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    BOMBS[name](path)
    idle = measured(["evaluate", folder / "none.csv", "--offline", "--out", folder / "none"])
    ended = measured(["evaluate", path, "--offline", "--out", folder / "bombed"])
    is_refused = ended.status == 2 and not is_crash(ended.errors)
    figures = f"{ended.cpu_seconds:.1f} CPU s ({idle.cpu_seconds:.1f} of a missing file), {ended.peak_mib:,.0f} MiB"
    row = (name, f"{path.stat().st_size:,}", f"{ended.cpu_seconds:.1f}", f"{ended.peak_mib:,.0f}")
    path.unlink()
    is_cheap = ended.cpu_seconds - idle.cpu_seconds < BOMB_SECONDS and ended.peak_mib < BOMB_MIB
    faults = [] if is_refused and is_cheap else [f"{name}: status {ended.status}, {figures}: {ended.errors[-99:]}"]
    return Part([(*row, "yes" if is_refused else "no")], faults)


LOADS = ("files", "small", "rows", "names")


def check_load(name: str, size: int, folder: Path, predictions: Path) -> Part:
    """Evaluate many files, small ones, many scores; list a folder of many names. ``name`` as in LOADS."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if name == "names":
        return listed(size, folder)
    given = folder / "given"
    if name == "rows":
        what, given = f"{size:,} × 1,000 scores", scores(folder / "scores.npz", size)
    else:
        what = f"{size:,} files of 50,000 rows" if name == "files" else f"{size:,} files of 1,300 rows"
        one = folder / ("one.parquet" if name == "files" else "one.csv")
        whole_predictions(one) if name == "files" else shutil.copyfile(min(predictions.glob("*.csv")), one)
        given.mkdir()
        for number in range(size):
            os.link(one, given / f"model{number:05}{one.suffix}")
    ended = measured(["evaluate", given, "--offline", "--allow-partial", "--no-check-order", "--out", folder / "run"])
    is_held = not ended.status and (name == "rows" or len(load_run(folder / "run").models) == size)
    faults = [] if is_held else [f"{what}: status {ended.status}: {ended.errors[-300:]}"]
    shutil.rmtree(folder)
    row = (what, f"{ended.cpu_seconds:,.1f}", f"{ended.peak_mib:,.0f}", "yes" if is_held else "no")
    return Part([row], faults)


def listed(n_names: int, folder: Path) -> Part:
    """List a folder of so many images, in this process."""
    for name in val_file_names(np.arange(1, n_names + 1)).to_pylist():
        (folder / name).touch()
    start = time.process_time()
    n_found = len(read_folder(folder))
    seconds, is_held = time.process_time() - start, n_found == n_names
    what = f"{n_names:,} names in a folder of images"
    faults = [] if is_held else [f"{what}: {n_found:,} found"]
    shutil.rmtree(folder)
    return Part([(what, f"{seconds:,.1f}", "–", "yes" if is_held else "no")], faults)


def scores(path: Path, n_rows: int) -> Path:
    """Write seeded softmax scores with names, three quarters of them highest at the label."""
    real, chance = read_real(imagenet_1k()), np.random.default_rng(0)
    best = np.where(chance.random(n_rows) < 0.75, real.label[:n_rows], chance.integers(0, 1000, n_rows))
    values = chance.random((n_rows, 1000), dtype=np.float32)
    values[np.arange(n_rows), best] = 40
    values /= values.sum(axis=1, keepdims=True)
    np.savez(path, file_name=np.array(real.file_names.to_pylist()[:n_rows]), probs=values)
    return path
