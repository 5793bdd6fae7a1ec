"""Try to break the program: kill it, feed it damaged files, big loads and bombs; write what came of it as a page.

    python scripts/check_reliability.py --work /tmp/work --images DIR --human FILE --published-file FILE \\
        --out reports/reliability.md
    python scripts/check_reliability.py --kills 12 --mutations 500 --files 50 --small 200 --names 5000 --rows 2000 \\
        --out /tmp/small.md
    python scripts/check_reliability.py --work /tmp/work --only 'kills batch*' --out reports/reliability.md

The full sizes take one to three hours. What came of each part is kept in --work: a later call goes on with the parts
that are not there yet, and --only (with * for anything) does the parts that it names anew. Everything is seeded
(--seed) but the moment at which the machine notices a kill. Kills of predict, batch, evidence and explain need the
extras timm and clip. The exit status is 1 if anything was lost, hung, or ended in a traceback, or could not be run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

import reliability_inputs as inputs
import reliability_kills as kills
from imagenet_errors.image_folder import image_files
from imagenet_errors.report.markdown import cell, md_table
from imagenet_errors.shipped import shipped
from reliability_runs import CannotRun, Part

SIZES = {"kills": 100, "mutations": 10_000, "files": 962, "small": 5_000, "names": 100_000, "rows": 50_000}
PLACES = {"images": "DIR", "human": "FILE", "published-file": "FILE"}
"""Real files that are tried where they are given."""
TOP = Path(__file__).parents[1]


@dataclass(frozen=True)
class Section:
    """A part of the page: parts whose names begin with ``prefix``, a row each."""

    title: str
    prefix: str
    about: str
    header: tuple[str, ...]


SECTIONS = (
    Section("Kills", "kills", kills.ABOUT, kills.HEADER),
    Section("Mutated inputs", "mutants", inputs.MUTANTS_ABOUT, inputs.MUTANTS_HEADER),
    Section("Bombs", "bomb", inputs.BOMBS_ABOUT, inputs.BOMBS_HEADER),
    Section("Loads", "load", inputs.LOADS_ABOUT, inputs.LOADS_HEADER),
)


def all_parts(arguments: argparse.Namespace, work: Path) -> dict[str, Callable[[], Part]]:
    """Return every part by name, ready to be run."""
    predictions, seed = arguments.predictions or shipped("data", "demo"), arguments.seed
    world = kills.World(work, arguments.images, predictions, arguments.human, arguments.published_file)
    parts: dict[str, Callable[[], Part]] = {}
    for name, share in kills.SHARES.items():
        n_kills = max(1, share * arguments.kills // 100)
        parts[f"kills {name}"] = partial(kills.check_kills, name, world, n_kills, seed)
    kinds = inputs.Seeds(predictions, world.run).kinds()
    for place, kind in enumerate(kinds):
        n_mutants = arguments.mutations // len(kinds) + (place < arguments.mutations % len(kinds))
        parts[f"mutants {kind.name}"] = partial(inputs.check_mutants, kind, work / "mutants", n_mutants, seed)
    for name in inputs.BOMBS:
        parts[f"bomb {name}"] = partial(inputs.check_bomb, name, work / "bombs")
    for name in inputs.LOADS:
        size = getattr(arguments, name)
        parts[f"load {name}"] = partial(inputs.check_load, name, size, work / "load", predictions)
    return parts


def kept(work: Path) -> dict[str, dict[str, object]]:
    """Return what came of earlier parts: name -> rows, faults and the commit they were run at."""
    return {told["part"]: told for path in (work / "done").glob("*.json") if (told := json.loads(path.read_text()))}


def keep(work: Path, name: str, part: Part) -> None:
    """Keep what came of a part."""
    told = {"part": name, "rows": part.rows, "faults": part.faults, "commit": commit()}
    place = work / "done" / f"{''.join(c if c.isalnum() else '-' for c in name)}.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(told, ensure_ascii=False, indent=1))


def commit() -> str:
    """Return the commit that is tried, and whether its files were changed since."""
    asked = ["git", "describe", "--always", "--dirty=-changed", "--abbrev=10", "--exclude=*"]
    told = subprocess.run(asked, cwd=TOP, capture_output=True, text=True, check=False)
    return told.stdout.strip() or "no commit"


def run_parts(parts: Mapping[str, Callable[[], Part]], work: Path, only: list[str]) -> None:
    """Run the parts that are asked for, or those that are not there yet."""
    done = kept(work)
    for name, run in parts.items():
        is_wanted = any(fnmatchcase(name, pattern) for pattern in only) if only else name not in done
        if not is_wanted:
            continue
        try:
            part = run()
        except CannotRun as error:
            part = Part(faults=[f"{name} was not run: {error}"])
        keep(work, name, part)
        print(f"{name}: {part.rows} {part.faults}", file=sys.stderr, flush=True)


def page(parts: Mapping[str, object], arguments: argparse.Namespace, done: Mapping[str, dict[str, object]]) -> str:
    """Return the page."""
    sizes = " ".join(f"--{name} {getattr(arguments, name)}" for name in SIZES)
    places = "".join(f" --{flag} {kind}" for flag, kind in PLACES.items() if getattr(arguments, flag.replace("-", "_")))
    command = (
        f"python scripts/check_reliability.py {sizes} --seed {arguments.seed}{places} --out reports/reliability.md"
    )
    full = all(getattr(arguments, name) == size for name, size in SIZES.items())
    told = "These are the full sizes." if full else "These are reduced sizes; the full ones are the script's defaults."
    texts = [f"# Reliability\n\nMade by `{command}`. {told} {_seen(arguments.images)}\n"]
    faults = [f"{name} was not run" for name in parts if name not in done]
    for section in SECTIONS:
        ours = [done[name] for name in parts if name.startswith(f"{section.prefix} ") and name in done]
        rows = [tuple(row) for each in ours for row in each["rows"]]  # type: ignore[attr-defined]
        faults += [fault for each in ours for fault in each["faults"]]  # type: ignore[attr-defined]
        texts.append(f"## {section.title}\n\n{section.about}\n\n{md_table(section.header, [*rows, *_sum(rows)])}")
    texts.append("## What went wrong\n\n" + ("\n".join(f"- {cell(fault)}" for fault in faults) or "Nothing.") + "\n")
    return "\n".join([*texts, _commits(done)])


def _seen(images: Path | None) -> str:
    """Say which images the commands see that look at any."""
    n_images = kills.N_NOISE if images is None else len(image_files(images))
    what = "images of noise" if images is None else "validation images"
    return f"The commands that look at images (predict, batch, evidence, explain) see {n_images:,} {what}."


def _sum(rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the row of sums of a table whose columns are counts, but for the first."""
    columns = list(zip(*rows, strict=True))[1:]
    plain = [[cell.replace(",", "") for cell in column] for column in columns]
    if not all(text.isdecimal() for column in plain for text in column):
        return []
    return [("all", *(f"{sum(map(int, column)):,}" for column in plain))]


def _commits(done: Mapping[str, dict[str, object]]) -> str:
    """Say which parts were run at which commit: what was mended meanwhile was run again."""
    at: dict[str, list[str]] = {}
    for name, told in done.items():
        at.setdefault(str(told["commit"]), []).append(name)
    if len(at) == 1:
        return f"Run at commit {next(iter(at))}.\n"
    lines = [
        f"- {one}: {'; '.join(sorted(names))}" for one, names in sorted(at.items(), key=lambda pair: -len(pair[1]))
    ]
    return (
        "## Which commit was tried\n\nParts that something was mended for were run again.\n\n" + "\n".join(lines) + "\n"
    )


def main() -> None:
    """Try everything that is asked for and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, size in SIZES.items():
        parser.add_argument(f"--{name}", type=int, default=size)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--predictions", type=Path, help="a folder of CSV files instead of the shipped demo")
    parser.add_argument("--images", type=Path, help="a folder of validation images instead of 200 of noise")
    parser.add_argument("--human", type=Path, help="judgements, such as vit3b_mistakes.json, for kills of agreement")
    parser.add_argument("--published-file", type=Path, help="a copy of ReaL's raters.npz, for kills of data fetch")
    parser.add_argument("--only", nargs="*", default=[], metavar="PART", help="run just these, anew: 'kills batch*'")
    parser.add_argument("--work", type=Path, help="folder that keeps what came of each part")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="reliability-") as place:
        work = (arguments.work or Path(place)).resolve()
        work.mkdir(parents=True, exist_ok=True)
        parts = all_parts(arguments, work)
        run_parts(parts, work, arguments.only)
        done = kept(work)
    text = page(parts, arguments, {name: told for name, told in done.items() if name in parts})
    arguments.out.write_text(text, encoding="utf-8")
    is_good = text.count("## What went wrong\n\nNothing.") == 1
    print(f"{arguments.out}: {'nothing' if is_good else 'something'} went wrong", file=sys.stderr)
    sys.exit(not is_good)


if __name__ == "__main__":
    main()
