"""Try to break the program: kill it, feed it damaged files, big loads and bombs; write what came of it as a page.

    python scripts/check_reliability.py --out reports/reliability.md
    python scripts/check_reliability.py --kills 20 --mutations 500 --files 50 --small 200 --names 5000 --rows 2000 \\
        --out /tmp/small.md

The full sizes take an hour or two. Everything is seeded (--seed) but the moment at which the machine notices a kill.
Without --predictions the inputs come from the shipped demo. Files are put into a temporary folder and removed.
The exit status is 1 if anything was lost, hung, or ended in a traceback.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq

from imagenet_errors import InputError, load_run
from imagenet_errors.image_folder import read_folder
from imagenet_errors.images import val_file_names
from imagenet_errors.inputs import Basis, Inputs, load_annotations, load_basis
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.mistakes import NothingUsableError, gather
from imagenet_errors.readers.annotations import read_real
from imagenet_errors.readers.predictions import ReadRules
from imagenet_errors.report.markdown import cell, md_table
from imagenet_errors.runs.manifest import read_manifest
from imagenet_errors.shipped import shipped

PROGRAM = [sys.executable, "-m", "imagenet_errors"]
HANG_SECONDS = 20
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


@dataclass
class Findings:
    """The page's sections, and what went wrong."""

    sections: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


class HangError(BaseException):
    """Reading took longer than any file of this size may."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Interrupt the block after so many seconds.

    Raises
    ------
    HangError
        The time was up.
    """

    def ring(_signum: int, _frame: object) -> None:
        raise HangError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@dataclass(frozen=True)
class Ended:
    """How a command ended, and what it took."""

    status: int
    errors: str
    seconds: float
    peak_mib: float


def measured(arguments: Sequence[str | Path]) -> Ended:
    """Run a command of the program to its end, in a process whose peak memory is its own."""
    launch = (
        "import resource,subprocess,sys,time;t=time.perf_counter();"
        "p=subprocess.run(sys.argv[1:],stdout=subprocess.DEVNULL,stderr=subprocess.PIPE);"
        "u=resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss/1024;"
        "sys.stderr.buffer.write(p.stderr);print(time.perf_counter()-t,u,p.returncode)"
    )
    command = [sys.executable, "-c", launch, *PROGRAM, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, check=True)
    seconds, peak, status = done.stdout.split()
    return Ended(int(status), done.stderr.decode(errors="replace"), float(seconds), float(peak))


def kill_commands(folder: Path, predictions: Path) -> dict[str, list[str | Path]]:
    """Return the commands that write, by name; each goes over an earlier result of its own."""
    base = folder / "base"
    return {
        "evaluate": ["evaluate", predictions, "--allow-partial", "--offline", "--out", folder / "evaluate" / "run"],
        "report": ["report", base, "--out", folder / "report" / "report.html"],
        "figures": ["figures", base, "--out", folder / "figures" / "figures"],
        "summary": ["summary", base, "--format", "csv", "--out", folder / "summary" / "summary.csv"],
    }


def contents(folder: Path) -> dict[str, bytes]:
    """Return what lies in a folder: name -> bytes; of ``run.json`` all but when it was made."""
    found = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = path.read_bytes()
        if path.name == "run.json":
            content = json.dumps({**json.loads(content), "finished": ""}).encode()
        found[str(path.relative_to(folder))] = content
    return found


def check_kills(findings: Findings, arguments: argparse.Namespace, folder: Path, predictions: Path) -> None:
    """Kill each writing command at random moments; what was there must be whole, and the next run must complete."""
    chance = random.Random(arguments.seed)
    base = measured(["evaluate", predictions, "--allow-partial", "--offline", "--out", folder / "base"])
    if base.status:
        raise RuntimeError(base.errors)
    rows = []
    commands = kill_commands(folder, predictions)
    for number, (name, command) in enumerate(commands.items()):
        (folder / name).mkdir()
        (folder / name / "mine.txt").write_text("the user's own")
        first = measured(command)
        if first.status:
            findings.faults.append(f"{name}: status {first.status}: {first.errors[-300:]}")
            continue
        whole = contents(folder / name)
        n_kills = arguments.kills // len(commands) + (number < arguments.kills % len(commands))
        outcomes = Counter(
            kill_once(command, folder / name, whole, seconds=chance.uniform(0, first.seconds)) for _ in range(n_kills)
        )
        bad = {text: n for text, n in outcomes.items() if text not in ("nothing lost", "had ended")}
        findings.faults += [f"{name}, killed: {text} ({n} times)" for text, n in bad.items()]
        rows.append((name, n_kills, outcomes["nothing lost"], outcomes["had ended"], sum(bad.values())))
    header = ("command", "tried", "killed, nothing lost", "had ended before", "lost or half-written")
    findings.sections.append(
        "## Kills\n\nSIGKILL at a random moment of a run that replaces an earlier one. After it every file under its "
        "final name must be readable, the user's own file untouched, and the same command must then give what it gave "
        "undisturbed, byte for byte, and leave nothing beside it.\n\n" + md_table(header, rows)
    )


def kill_once(command: Sequence[str | Path], folder: Path, whole: dict[str, bytes], *, seconds: float) -> str:
    """Kill the command after some seconds, look, run it again, look again; return what came of it."""
    with subprocess.Popen(
        [*PROGRAM, *map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
    was_killed = process.returncode == -signal.SIGKILL
    damaged = [
        name
        for name in whole
        if (folder / name).exists() and not name.endswith("run.json") and (folder / name).read_bytes() != whole[name]
    ]
    if damaged:
        return f"{damaged[0]} differs"
    if (folder / "run" / "run.json").exists():
        run = load_run(folder / "run")
        _ = [pq.read_table(path) for path in (run.folder / "verdicts").iterdir()]
    again = measured(command)
    if again.status:
        return f"could not be run again: {again.errors[-200:]}"
    now = contents(folder)
    if now != whole:
        return f"differs afterwards: {sorted(set(now) ^ set(whole))[:3]}"
    return "nothing lost" if was_killed else "had ended"


def mutation_seeds(folder: Path, predictions: Path) -> dict[str, Path]:
    """Write one good file of each kind; return kind -> file."""
    table = pyarrow.csv.read_csv(next(iter(sorted(predictions.glob("*.csv")))))
    folder.mkdir()
    names = table["file_name"].to_pylist()
    top1 = np.array(table["predicted_class"].to_pylist(), dtype=np.int16)
    plain = pa.table({"file_name": names, "predicted_class": top1})
    seeds = {kind: folder / f"seed.{kind}" for kind in ("csv", "csv.gz", "parquet", "npz", "json", "feather")}
    pyarrow.csv.write_csv(plain, seeds["csv"])
    seeds["csv.gz"].write_bytes(gzip.compress(seeds["csv"].read_bytes(), mtime=0))
    pq.write_table(plain, seeds["parquet"])
    np.savez(seeds["npz"], file_name=np.array(names), predicted_class=top1)
    seeds["json"].write_text(json.dumps(dict(zip(names, top1.tolist(), strict=True))))
    pa.feather.write_feather(plain, seeds["feather"])
    seeds["annotations.csv"] = folder / "annotations.csv"
    pyarrow.csv.write_csv(pa.table({"file_name": names, "labels": [str(c) for c in top1]}), seeds["annotations.csv"])
    return seeds


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


def read_predictions_file(path: Path, basis: Basis) -> str:
    """Read a mutated predictions file; return what came of it."""
    try:
        with gather([path], basis, rules=ReadRules(allow_partial=True)):
            return "read"
    except NothingUsableError as error:
        told = str(error)
        return f"traceback: {told}" if "fault of imagenet-errors" in told else "refused"


def read_annotations_file(path: Path) -> str:
    """Read mutated annotations."""
    load_annotations(Inputs(str(path)))
    return "read"


def read_run_json(path: Path) -> str:
    """Read a mutated ``run.json``."""
    run = path.parent / "mutated-run"
    run.mkdir(exist_ok=True)
    shutil.copyfile(path, run / "run.json")
    read_manifest(run).as_inputs()
    return "read"


def outcome_of(read: Callable[[Path], str], path: Path) -> str:
    """Return ``read``, ``refused``, ``hung`` or the traceback's last line."""
    try:
        with time_limit(HANG_SECONDS):
            return read(path)
    except InputError:
        return "refused"
    except HangError:
        return "hung"
    except Exception as error:  # what is looked for
        return f"traceback: {type(error).__name__}: {error}"


def check_mutations(findings: Findings, arguments: argparse.Namespace, folder: Path, predictions: Path) -> None:
    """Read seeded mutants of good files of every kind; each must be read or refused in words."""
    seeds = mutation_seeds(folder / "seeds", predictions)
    seeds["run.json"] = folder / "base" / "run.json"
    basis = load_basis(Inputs())
    readers: dict[str, Callable[[Path], str]] = {"annotations.csv": read_annotations_file, "run.json": read_run_json}
    rows = []
    for number, (kind, seed) in enumerate(seeds.items()):
        chance, content = random.Random(f"{arguments.seed} {kind}"), seed.read_bytes()
        read = readers.get(kind, partial(read_predictions_file, basis=basis))
        n_tried = arguments.mutations // len(seeds) + (number < arguments.mutations % len(seeds))
        outcomes: Counter[str] = Counter()
        for _ in range(n_tried):
            mutant = folder / f"mutant.{kind.removeprefix('annotations.')}"
            mutant.write_bytes(mutated(content, chance))
            outcomes[outcome_of(read, mutant)] += 1
        bad = {text: n for text, n in outcomes.items() if text not in ("read", "refused")}
        findings.faults += [f"mutated {kind}: {text[:300]} ({n} times)" for text, n in bad.items()]
        rows.append((kind, n_tried, outcomes["read"], outcomes["refused"], outcomes["hung"], sum(bad.values())))
        print(f"{kind}: {dict(outcomes.most_common(4))}", file=sys.stderr)
    header = ("input", "mutants", "read", "refused in words", "hung", "hung or traceback")
    findings.sections.append(
        "## Mutated inputs\n\nOne to three seeded faults a file: bits flipped, parts cut, repeated or overwritten, "
        f"hostile fragments put in. Hung: over {HANG_SECONDS} s. A mutant that is read may well hold other numbers: no "
        "reader can see that a digit was another one.\n\n" + md_table(header, rows)
    )


def check_loads(findings: Findings, arguments: argparse.Namespace, folder: Path, predictions: Path) -> None:
    """Evaluate many files, small ones, many scores; list a folder of many names."""
    rows = []
    jobs: list[tuple[str, Path, list[str]]] = []
    one = next(iter(sorted(predictions.glob("*.csv"))))
    for name, n_files, source in (
        (f"{arguments.files:,} files of 50,000 rows", arguments.files, whole_predictions(folder / "whole.parquet")),
        (f"{arguments.small:,} small files", arguments.small, one),
    ):
        many = folder / f"many{len(jobs)}"
        many.mkdir()
        for number in range(n_files):
            os.link(linkable(source, folder), many / f"model{number:05}{source.suffix}")
        jobs.append((name, many, ["--allow-partial"]))
    jobs.append(
        (f"{arguments.rows:,} × 1,000 scores", scores(folder / "scores.npz", arguments.rows), ["--allow-partial"])
    )
    for name, given, more in jobs:
        ended = measured(["evaluate", given, "--offline", *more, "--out", folder / f"{given.name}-run"])
        if ended.status:
            findings.faults.append(f"{name}: status {ended.status}: {ended.errors[-300:]}")
        rows.append((name, f"{ended.seconds:,.1f}", f"{ended.peak_mib:,.0f}", "yes" if not ended.status else "no"))
    rows.append(listed(arguments.names, folder / "names"))
    findings.sections.append(
        "## Loads\n\nWhole processes, start included.\n\n" + md_table(("load", "seconds", "peak MiB", "held"), rows)
    )


def listed(n_names: int, folder: Path) -> tuple[str, str, str, str]:
    """List a folder of so many images."""
    folder.mkdir()
    for name in val_file_names(np.arange(1, n_names + 1)).to_pylist():
        (folder / name).touch()
    start = time.perf_counter()
    n_found = len(read_folder(folder))
    held = "yes" if n_found == n_names else "no"
    return f"{n_names:,} names in a folder of images", f"{time.perf_counter() - start:,.1f}", "–", held


def linkable(source: Path, folder: Path) -> Path:
    """Return a copy on the temporary disk, which links can be made to."""
    copy = folder / f"linked{source.suffix}"
    if not copy.exists():
        shutil.copyfile(source, copy)
    return copy


def whole_predictions(path: Path) -> Path:
    """Write seeded predictions of all 50,000 images, three quarters of them right."""
    real, chance = read_real(imagenet_1k()), np.random.default_rng(0)
    near = np.clip(real.label + chance.integers(-9, 10, len(real)), 0, 999)
    top1 = np.where(chance.random(len(real)) < 0.75, real.label, near).astype(np.int16)
    pq.write_table(pa.table({"file_name": real.file_names, "predicted_class": top1}), path)
    return path


def scores(path: Path, n_rows: int) -> Path:
    """Write seeded softmax scores with names, three quarters of them highest at the label."""
    real, chance = read_real(imagenet_1k()), np.random.default_rng(0)
    best = np.where(chance.random(n_rows) < 0.75, real.label[:n_rows], chance.integers(0, 1000, n_rows))
    values = chance.random((n_rows, 1000), dtype=np.float32)
    values[np.arange(n_rows), best] = 40
    values /= values.sum(axis=1, keepdims=True)
    np.savez(path, file_name=np.array(real.file_names.to_pylist()[:n_rows]), probs=values)
    return path


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


BOMBS: dict[str, Callable[[Path], None]] = {
    "bomb.csv.gz": gzip_bomb,
    "wide.csv": wide_csv,
    "crowded.npz": crowded_npz,
    "boastful.npy": boastful_npy,
    "deep.json": deep_json,
}


def check_bombs(findings: Findings, folder: Path) -> None:
    """Evaluate small files that stand for huge ones: each is refused, soon, in little memory."""
    idle = measured(["evaluate", folder / "none.csv", "--offline", "--out", folder / "none"])
    rows: list[tuple[str, ...]] = [("no file at all", "–", f"{idle.seconds:.1f}", f"{idle.peak_mib:,.0f}", "yes")]
    for name, write in BOMBS.items():
        path = folder / name
        write(path)
        ended = measured(["evaluate", path, "--offline", "--out", folder / "bombed"])
        is_refused = ended.status == 2 and "Traceback" not in ended.errors and "fault of" not in ended.errors
        is_cheap = ended.seconds - idle.seconds < BOMB_SECONDS and ended.peak_mib < BOMB_MIB
        if not (is_refused and is_cheap):
            findings.faults.append(
                f"{name}: status {ended.status}, {ended.seconds:.1f} s, {ended.peak_mib:,.0f} MiB: {ended.errors[-99:]}"
            )
        size = f"{path.stat().st_size:,}"
        rows.append((name, size, f"{ended.seconds:.1f}", f"{ended.peak_mib:,.0f}", "yes" if is_refused else "no"))
    findings.sections.append(
        f"## Bombs\n\nLimits: {BOMB_SECONDS:g} s beyond what a missing file takes, and {BOMB_MIB} MiB.\n\n"
        + md_table(("file", "bytes", "seconds", "peak MiB", "refused"), rows)
    )


def page(findings: Findings, arguments: argparse.Namespace) -> str:
    """Return the page."""
    sizes = " ".join(f"--{name} {getattr(arguments, name)}" for name in SIZES)
    command = f"python scripts/check_reliability.py {sizes} --seed {arguments.seed} --out reports/reliability.md"
    full = all(getattr(arguments, name) == size for name, size in SIZES.items())
    told = "These are the full sizes." if full else "These are reduced sizes; the full ones are the script's defaults."
    faults = "\n".join(f"- {cell(fault)}" for fault in findings.faults) or "None."
    head = f"# Reliability\n\nMade by `{command}`. {told}\n"
    return "\n".join([head, *findings.sections, f"## What went wrong\n\n{faults}\n"])


SIZES = {"kills": 100, "mutations": 10_000, "files": 962, "small": 5_000, "names": 100_000, "rows": 50_000}


def main() -> None:
    """Try everything and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, size in SIZES.items():
        parser.add_argument(f"--{name}", type=int, default=size)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--predictions", type=Path, help="a folder of CSV files instead of the shipped demo")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    findings = Findings()
    with tempfile.TemporaryDirectory(prefix="reliability-") as place:
        folder = Path(place)
        predictions = arguments.predictions or shipped("data", "demo")
        check_kills(findings, arguments, folder, predictions)
        check_mutations(findings, arguments, folder, predictions)
        check_bombs(findings, folder)
        check_loads(findings, arguments, folder, predictions)
    arguments.out.write_text(page(findings, arguments), encoding="utf-8")
    print(f"{arguments.out}: {len(findings.faults)} faults", file=sys.stderr)
    sys.exit(bool(findings.faults))


if __name__ == "__main__":
    main()
