"""Would the tests notice? Change the core a little, a place at a time, and run the tests that pass there; write a page.

    python scripts/mutants.py --seed 12 --sample 450 --out reports/mutants.md
    python scripts/mutants.py --sample 20 readers/columns.py chain.py --out /tmp/mutants.md
    python scripts/mutants.py --work /tmp/mutants --again --out reports/mutants.md

The changes are Cosmic Ray's (its operators work on the syntax, so every change is one of behaviour, none of wording;
module level and decorated classes included). Places are drawn by --seed, evenly over the modules, one change a
place; --sample 0 takes every place. Everything happens in a copy under --work (default: a temporary folder), which
also keeps the outcomes: a run that was stopped goes on, --again tries those once more that survived.

A map of which test runs which line is made first, and kept up with the tests; --remap makes it anew, which is due
when lines of the core have moved (with an old one fewer changes are noticed, never more). A change is judged by the
tests that run its statement, quick ones and those of its own file first, then by the others that run its module, both
within a budget of seconds; the first failure ends it. Tests run in forks of this process, which has the libraries
loaded, but not the package.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib
import json
import multiprocessing
import os
import resource
import shlex
import shutil
import signal
import sys
import tempfile
import time
import tomllib
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import cosmic_ray.plugins
import pytest
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from coverage import CoverageData

TOP = Path(__file__).parents[1]
REVIEWED = TOP / "scripts" / "mutants_reviewed.toml"
PACKAGE = Path("src/imagenet_errors")
CORE = (
    "chain.py",
    "tables.py",
    "measure.py",
    "mistakes.py",
    "labels.py",
    "label_sets.py",
    "compare.py",
    "stages/*.py",
    "evidence/*.py",
    "runs/manifest.py",
    "runs/directory.py",
    "readers/columns.py",
    "readers/class_columns.py",
    "readers/roles.py",
    "readers/candidates.py",
    "readers/fields.py",
    "readers/contents.py",
    "readers/nested.py",
    "readers/headers.py",
    "readers/values.py",
    "readers/resolve.py",
    "readers/match.py",
    "readers/order.py",
    "readers/plausibility.py",
    "readers/places.py",
    "readers/scores.py",
    "readers/class_axis.py",
    "readers/judgements.py",
)
PARTS = ("src", "tests", "scripts", "data", "superclasses", "docs", "reports", "pyproject.toml", "README.md", "LICENSE")
TESTS = (
    "tests/readers",
    "tests/stages",
    "tests/runs",
    "tests/evidence",
    "tests/superclasses",
    "tests/study",
    "tests/report",
    "tests/export",
    *(str(path.relative_to(TOP)) for path in sorted((TOP / "tests").glob("test_*.py"))),
)
NOT_FOR_THIS = ("tests/report/page/test_page_in_browser.py", "tests/test_notebooks.py", "tests/test_readme.py")
QUICK_SECONDS, THOROUGH_SECONDS = 6.0, 8.0
"""By the clock of the measuring run, for the two rounds of tests."""
OURS = ("imagenet_errors", "conftest", "tests", "scripts")
HAS_THREADS = ("torch", "torchvision", "faiss", "ray", "open_clip", "timm", "captum", "wandb")
"""Left to the forks to load: a fork has none of its parent's threads."""
HANGS_AFTER = 7_200
"""Seconds by the clock: on a busy machine only what a test run takes of the processor says that it does not end."""
_IDENTITY = {"Is", "IsNot"}
Outcome = str
KILLED, SURVIVED, ENDLESS = "killed", "survived", "endless"
"""``ENDLESS``: the tests took ten times as long as they do, and half a minute; that was noticed, too."""


@dataclass(frozen=True)
class Mutant:
    """One change: ``operator`` of Cosmic Ray at its ``occurrence`` in the module; ``line`` from 1."""

    module: str
    operator: str
    occurrence: int
    line: int
    end_line: int

    def text_of(self, source: str) -> str:
        """Return the changed module."""
        changed: str | None = mutate_code(source, cosmic_ray.plugins.get_operator(self.operator)(), self.occurrence)
        if changed is None:
            raise ValueError(f"{self} is no change")
        return changed


@dataclass(frozen=True)
class Judged:
    """A change in words and what became of it; ``was`` and ``becomes``: the lines that differ."""

    module: str
    line: int
    was: str
    becomes: str
    outcome: Outcome

    @property
    def key(self) -> tuple[str, str, str]:
        """What names it, wherever in the module its line stands today."""
        return self.module, self.was, self.becomes


# --- places -----------------------------------------------------------------------------------------------------------


def operators() -> dict[str, cosmic_ray.operators.operator.Operator]:
    """Return Cosmic Ray's operators that need no arguments, by name."""
    kinds = {name: cosmic_ray.plugins.get_operator(name) for name in cosmic_ray.plugins.operator_names()}
    return {name: kind() for name, kind in kinds.items() if not kind.arguments() and not _is_idle(name)}


def _is_idle(name: str) -> bool:
    """Tell operators that change nothing, or put ``is`` where numbers are compared and the other way round."""
    if "ComparisonOperator" not in name:
        return name.endswith("NoOp")
    return len(_IDENTITY.intersection(name.split("_"))) == 1


def declarations(tree: ast.AST) -> list[ast.AST]:
    """Return what only declares: annotations, the arguments of ``@dataclass`` and classes, ``strict=`` of ``zip``.

    They change no answer: the first are never evaluated, the others guard against mistakes in the code itself.
    """
    found: list[ast.AST | None] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            found.append(node.returns)
        elif isinstance(node, ast.arg | ast.AnnAssign):
            found.append(node.annotation)
        elif isinstance(node, ast.ClassDef):
            found += (each for each in node.decorator_list if isinstance(each, ast.Call))
            found += node.keywords
        elif isinstance(node, ast.Call):
            found += [keyword for keyword in node.keywords if keyword.arg == "strict"]
    return [node for node in found if node is not None]


def is_star(lines: Sequence[str], start: tuple[int, int]) -> bool:
    """Tell a star that unpacks, or parts parameters, from a product."""
    line, column = lines[start[0] - 1], start[1]
    before = (lines[start[0] - 2] + line[:column]).rstrip()
    return line[column] == "*" and before.endswith(("(", ",", "[", "{", ":"))


def places(module: str, source: str) -> Iterator[list[Mutant]]:
    """Yield the changes that each place of a module allows."""
    skipped = [
        ((node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset))  # type: ignore[attr-defined]
        for node in declarations(ast.parse(source))
    ]
    at: dict[tuple[tuple[int, int], tuple[int, int]], list[Mutant]] = defaultdict(list)
    nodes, lines = list(ast_nodes(get_ast(source))), source.splitlines()
    for name, operator in operators().items():
        spans = (span for node in nodes for span in operator.mutation_positions(node))
        for occurrence, (start, end) in enumerate(spans):
            if not (is_star(lines, start) or any(first <= start and end <= last for first, last in skipped)):
                at[start, end].append(Mutant(module, name, occurrence, start[0], end[0]))
    yield from at.values()


def drawn(sources: Mapping[str, str], *, seed: int, n_places: int) -> tuple[list[Mutant], Counter[str]]:
    """Draw places evenly over the modules and a change at each; also return how many places each module has.

    The draw goes by what the line says, not by where it stands: an edit elsewhere leaves it as it is.
    """
    ranked: list[tuple[float, int, Mutant]] = []
    n_all: Counter[str] = Counter()
    for module, source in sources.items():
        lines, seen = source.splitlines(), Counter[str]()
        found = []
        for choices in places(module, source):
            says = f"{seed} {module} {lines[choices[0].line - 1].strip()}"
            seen[says] += 1
            digest = int.from_bytes(hashlib.sha256(f"{says} {seen[says]}".encode()).digest()[:8])
            found.append((digest, choices[digest % len(choices)]))
        n_all[module] = len(found)
        found.sort(key=lambda pair: pair[0])
        ranked += [((rank + 0.5) / len(found), digest, mutant) for rank, (digest, mutant) in enumerate(found)]
    ranked.sort(key=lambda each: each[:2])
    return [mutant for *_, mutant in ranked[: n_places or None]], n_all


# --- which test runs which line ---------------------------------------------------------------------------------------


class _Seconds:
    """A pytest plugin: the seconds of each test function, and those that failed."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.failed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a phase of a test."""
        name = report.nodeid.partition("[")[0]
        self.seconds[name] += report.duration
        if report.failed:
            self.failed.add(name)


@dataclass(frozen=True)
class TestMap:
    """``seconds``: test function -> what it takes; ``of_line``: module -> line -> the functions that run it."""

    seconds: Mapping[str, float]
    of_line: Mapping[str, Mapping[int, frozenset[str]]]

    def of_statement(self, mutant: Mutant, source: str) -> set[str]:
        """Return the tests that run the statement of a change; none for what runs on import alone."""
        first, last = statement_at(ast.parse(source), mutant.line)
        of_line = self.of_line.get(mutant.module, {})
        return {test for line in range(first, last + 1) for test in of_line.get(line, ())}

    def of_module(self, module: str) -> set[str]:
        """Return the tests that run any line of a module."""
        return {test for tests in self.of_line.get(module, {}).values() for test in tests}

    def of_own_file(self, module: str) -> set[str]:
        """Return the tests in the file that mirrors a module."""
        path = Path(module)
        own = f"tests/{path.with_name('test_' + path.name)}::"
        return {test for test in self.seconds if test.startswith(own)}

    def within(self, tests: Iterable[str], module: str, *, budget: float) -> list[str]:
        """Return tests in the order to run them, those of the module's own file and quick ones first."""
        own = self.of_own_file(module)
        ordered = sorted(tests, key=lambda test: (test not in own, self.seconds[test], test))
        spent, chosen = 0.0, list[str]()
        for test in ordered:
            spent += self.seconds[test]
            if spent > budget and chosen:
                break
            chosen.append(test)
        return chosen


def statement_at(tree: ast.AST, line: int) -> tuple[int, int]:
    """Return the first and last line of the innermost statement there; of a compound one, its head."""
    best = (line, line)
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or line):
            body = getattr(node, "body", None)
            last = (body[0].lineno - 1) if body else (node.end_lineno or line)
            if line <= last:
                best = (node.lineno, max(last, node.lineno))
    return best


def test_map(work: Path) -> TestMap:
    """Run the tests under coverage, each file again only when it has changed, and return what they run."""
    copy, facts, lines = work / "copy", work / "tests.json", work / "lines.coverage"
    found = {path for name in TESTS for path in [*(copy / name).rglob("test_*.py"), *copy.glob(name)] if path.is_file()}
    paths = sorted({str(path.relative_to(copy)) for path in found} - set(NOT_FOR_THIS))
    known = json.loads(facts.read_text(encoding="utf-8")) if facts.is_file() else {}
    now = {path: hashlib.sha256((copy / path).read_bytes()).hexdigest() for path in paths}
    changed = [path for path in paths if known.get(path, {}).get("sha256") != now[path]]
    if changed:
        print(f"measuring {len(changed)} files of tests", flush=True)
        measured = work / "measured.json"
        measured.unlink(missing_ok=True)
        status = in_fork(_measure, work, changed, cpu_seconds=7_200)
        if not measured.is_file():
            sys.exit(f"the tests could not be run (status {status}): see {work / 'output.txt'}")
        fresh = json.loads(measured.read_text(encoding="utf-8"))
        known |= {path: {"sha256": now[path], "seconds": {}, "failed": []} | fresh.get(path, {}) for path in changed}
        facts.write_text(json.dumps(known), encoding="utf-8")
    failed = {test for path in paths for test in known[path]["failed"]}
    seconds = {test: took for path in paths for test, took in known[path]["seconds"].items() if test not in failed}
    if failed:
        print(f"left out, as they fail unchanged: {', '.join(sorted(failed))}", flush=True)
    return TestMap(seconds, _of_line(lines, copy / PACKAGE, frozenset(seconds)))


def _of_line(lines: Path, package: Path, usable: frozenset[str]) -> dict[str, dict[int, frozenset[str]]]:
    """Return module -> line -> the usable tests that run it."""
    data = CoverageData(str(lines))
    data.read()
    return {
        str(Path(path).relative_to(package)): {
            line: frozenset(each.partition("|")[0].partition("[")[0] for each in contexts) & usable
            for line, contexts in data.contexts_by_lineno(path).items()
        }
        for path in data.measured_files()
    }


def _measure(work: Path, paths: Sequence[str]) -> None:
    """Run in a fork: the tests of these files, with the lines they run."""
    os.environ |= {"COVERAGE_FILE": str(work / "lines.coverage"), "COVERAGE_CORE": "ctrace"}  # others know no contexts
    plugin = _Seconds()
    _pytest(work, ["--cov=imagenet_errors", "--cov-append", "--cov-context=test", "--cov-report=", *paths], [plugin])
    facts: dict[str, dict[str, Any]] = defaultdict(lambda: {"seconds": {}, "failed": []})
    for test, seconds in plugin.seconds.items():
        facts[test.partition("::")[0]]["seconds"][test] = seconds
    for test in sorted(plugin.failed):
        facts[test.partition("::")[0]]["failed"].append(test)
    (work / "measured.json").write_text(json.dumps(facts), encoding="utf-8")
    from_elsewhere = sorted(name for name, module in sys.modules.items() if _is_shared(name, module))
    (work / "libraries.json").write_text(json.dumps(from_elsewhere), encoding="utf-8")


def _is_shared(name: str, module: object) -> bool:
    """Tell a module of a library, which changes of ours leave as it is."""
    place = getattr(module, "__file__", None) or ""
    return "site-packages" in place and name.partition(".")[0] not in (*OURS, *HAS_THREADS)


def load_libraries(work: Path) -> None:
    """Import what the tests import of others, once for all forks."""
    kept = work / "libraries.json"
    for name in json.loads(kept.read_text(encoding="utf-8")) if kept.is_file() else ():
        with warnings.catch_warnings(action="ignore"), suppress(Exception):
            importlib.import_module(name)


# --- running tests ----------------------------------------------------------------------------------------------------


def in_fork(job: object, *given: object, cpu_seconds: float) -> int:
    """Run a job in a process of its own and return its exit status; what hangs or takes too long is ended."""
    process = multiprocessing.get_context("fork").Process(target=_limited, args=(job, given, int(cpu_seconds)))
    process.start()
    process.join(HANGS_AFTER if job is not _measure else None)
    with suppress(ProcessLookupError):  # and with it whatever it has started
        os.killpg(process.pid or 0, signal.SIGKILL)
    process.join()
    return process.exitcode or 0


def _limited(job: object, given: Sequence[object], cpu_seconds: int) -> None:
    os.setsid()
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
    job(*given)  # type: ignore[operator]


def _pytest(work: Path, arguments: Sequence[str], plugins: Sequence[object] = ()) -> int:
    """Run pytest in the copy; only ever called in a fork."""
    copy, output = work / "copy", (work / "output.txt").open("wb")
    os.dup2(output.fileno(), 1)
    os.dup2(output.fileno(), 2)
    os.chdir(copy)
    sys.path[:0] = [str(copy / "src")]
    shutil.rmtree(work / "tmp", ignore_errors=True)  # with the cache, which would hide a change, or keep what one made
    (work / "tmp").mkdir()
    os.environ |= {"PYTHONPATH": str(copy / "src"), "MPLCONFIGDIR": str(work / "fonts")}
    os.environ |= {"TMPDIR": str(work / "tmp"), "HOME": str(work / "tmp" / "home")}
    for name in ("XDG_CACHE_HOME", "IMAGENET_ERRORS_CACHE"):
        os.environ.pop(name, None)
    tempfile.tempdir = str(work / "tmp")
    fixed = [
        "-p",
        "no:cacheprovider",
        "-W",
        "ignore::pytest.PytestAssertRewriteWarning",
        f"--basetemp={work / 'tmp' / 'pytest'}",
    ]
    return int(pytest.main([*fixed, *arguments], plugins=list(plugins)))


def _run(work: Path, tests: Sequence[str]) -> None:
    """Run in a fork: these tests, up to the first failure."""
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    status = _pytest(work, ["-x", "--no-header", *tests])
    sys.stdout.flush()
    os._exit(status)


@contextmanager
def changed(path: Path, text: str) -> Iterator[None]:
    """Write a changed module for a while; its time tells Python that compiled code of before is not it."""
    before, stat = path.read_bytes(), path.stat()
    path.write_text(text, encoding="utf-8")
    os.utime(path, (stat.st_atime, stat.st_mtime + 1_000 + time.monotonic()))
    try:
        yield
    finally:
        path.write_bytes(before)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def check_unchanged(mutants: Sequence[Mutant], sources: Mapping[str, str], tests: TestMap, work: Path) -> None:
    """Run some tests of each module as they will be run, on the unchanged copy: what fails now would prove nothing."""
    chosen: dict[str, None] = {}
    for mutant in {mutant.module: mutant for mutant in mutants}.values():
        nearest = tests.of_statement(mutant, sources[mutant.module]) or tests.of_own_file(mutant.module)
        chosen |= dict.fromkeys(tests.within(nearest, mutant.module, budget=0.1))
    seconds = sum(tests.seconds[test] for test in chosen)
    if in_fork(_run, work, list(chosen), cpu_seconds=60 + 10 * seconds):
        sys.exit(f"tests fail without any change: see {work / 'output.txt'}")


def judge(mutant: Mutant, source: str, tests: TestMap, work: Path) -> Judged:
    """Run the tests against one change."""
    text = mutant.text_of(source)
    was, becomes = difference(source, text)
    nearest = tests.of_statement(mutant, source) or tests.of_own_file(mutant.module)
    quick = tests.within(nearest, mutant.module, budget=QUICK_SECONDS)
    others = (nearest | tests.of_module(mutant.module)) - set(quick)
    rounds = [quick, tests.within(others, mutant.module, budget=THOROUGH_SECONDS)]
    outcome = SURVIVED
    with changed(work / "copy" / PACKAGE / mutant.module, text):
        for chosen in rounds:
            expected = sum(tests.seconds[test] for test in chosen)
            status = in_fork(_run, work, chosen, cpu_seconds=30 + 10 * expected) if chosen else 0
            if status:
                outcome = KILLED if status > 0 else ENDLESS
                break
    return Judged(mutant.module, mutant.line, was, becomes, outcome)


def difference(source: str, text: str) -> tuple[str, str]:
    """Return the lines that differ, before and after, each on one line."""
    old, new = source.splitlines(), text.splitlines()
    first = next((at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    tail = 0
    while tail < min(len(old), len(new)) - first and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return tuple(" ".join(line.strip() for line in side[first : len(side) - tail]) for side in (old, new))  # type: ignore[return-value]


# --- the page ---------------------------------------------------------------------------------------------------------


def reviewed() -> dict[tuple[str, str, str], str]:
    """Return why a change makes no difference that anyone could see, by its key."""
    entries = tomllib.loads(REVIEWED.read_text(encoding="utf-8")).get("equivalent", [])
    return {(each["module"], each["was"], each["becomes"]): each["reason"] for each in entries}


def page(judged: Sequence[Judged], n_all: Counter[str], *, command: str, seed: int) -> str:
    """Return the page in Markdown."""
    from imagenet_errors.report.markdown import code, md_table

    reasons = reviewed()
    alike = [one for one in judged if one.outcome == SURVIVED and one.key in reasons]
    slipped = [one for one in judged if one.outcome == SURVIVED and one.key not in reasons]
    n_counted = len(judged) - len(alike)
    rows = []
    for module in sorted(n_all):
        own = [one for one in judged if one.module == module]
        n_alike, n_slipped = (sum(one.module == module for one in group) for group in (alike, slipped))
        rows.append((module, n_all[module], len(own), len(own) - n_alike - n_slipped, n_slipped, n_alike))
    totals = [sum(row[column] for row in rows) for column in range(1, 6)]  # type: ignore[misc]
    header = ("module", "places", "tried", "killed", "survived", "equivalent")
    share = len(slipped) / max(1, n_counted)
    return "\n".join(
        [
            "# Would the tests notice?",
            "",
            f"Made by `{command}` (Cosmic Ray {version('cosmic-ray')}, seed {seed}): {len(judged):,} of "
            f"{sum(n_all.values()):,} places in the core changed, one at a time. {len(alike)} of the changes make no "
            f"difference that anyone could see; of the other {n_counted:,} the tests noticed "
            f"{n_counted - len(slipped):,} ({sum(one.outcome == ENDLESS for one in judged)} by never coming to an end) "
            f"and missed {len(slipped)} (**{share:.1%}**).",
            "",
            "`--work DIR` keeps the folder with the outcomes: the same command goes on in it, and with `--again` those "
            "that survived there are tried once more.",
            "",
            "Tests were written for what the seed of `make mutants`, 12, found missed (reports/mutants.md). What "
            "another seed finds missed at the first try says more of the places that no seed has drawn "
            "(reports/mutants_held_out.md).",
            "",
            md_table(header, [*rows, ("all", *totals)]),
            "",
            "## Missed",
            "",
            *([f"- {said(one, code)}" for one in slipped] or ["None."]),
            "",
            "## Equivalent",
            "",
            "Each was read by a person; the reasons stand in `scripts/mutants_reviewed.toml`.",
            "",
            *([f"- {said(one, code)}: {reasons[one.key]}" for one in alike] or ["None."]),
            "",
        ]
    )


def said(one: Judged, set_as: Callable[[str], str] = str) -> str:
    """Return a change in one line, its parts set as code or as they are."""
    return f"{set_as(f'{one.module}:{one.line}')} {set_as(one.was)} → {set_as(one.becomes or '(removed)')}"


# --- the whole --------------------------------------------------------------------------------------------------------


def copied(work: Path) -> dict[str, str]:
    """Bring the copy up to date and return the sources of the core, by module."""
    for name in PARTS:
        if (TOP / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(TOP / name, work / "copy" / name, ignore=ignored, dirs_exist_ok=True)
        else:
            shutil.copy2(TOP / name, work / "copy" / name)
    for path in (work / "copy" / "tests").rglob("*.py"):
        if not (TOP / path.relative_to(work / "copy")).exists():
            path.unlink()
    (work / "fonts").mkdir(exist_ok=True)
    shared = Path(os.environ.get("IMAGENET_ERRORS_SHARED", TOP.parent / "shared" / "data"))
    os.environ["IMAGENET_ERRORS_SHARED"] = str(shared.resolve())
    paths = sorted(path for pattern in CORE for path in (TOP / PACKAGE).glob(pattern))
    return {str(path.relative_to(TOP / PACKAGE)): path.read_text(encoding="utf-8") for path in paths}


def judged_before(path: Path, *, again: bool) -> dict[tuple[str, str, str], Judged]:
    """Return the outcomes of an earlier run in the same folder; ``again``: without those that survived."""
    if not path.is_file():
        return {}
    found = [Judged(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    return {one.key: one for one in found if one.outcome != SURVIVED or not again}


def parsed(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", help="modules below src/imagenet_errors (default: the core)")
    parser.add_argument("--seed", type=int, default=12)
    parser.add_argument("--sample", type=int, default=450, help="places to change; 0: all (default: %(default)s)")
    parser.add_argument("--work", type=Path, help="folder for the copy and the outcomes (default: temporary)")
    parser.add_argument("--again", action="store_true", help="try those once more that survived before")
    parser.add_argument("--remap", action="store_true", help="run all tests once more for the map of lines")
    parser.add_argument("--out", type=Path, required=True)
    return parser.parse_args(given)


def command_of(given: Sequence[str]) -> str:
    """Return the command as it was given, the folders of this machine apart: ``--work DIR``, files by their names."""
    options = parsed(given)
    places = {options.work: "DIR", options.out: options.out.name if options.out.is_absolute() else str(options.out)}
    shown = []
    for text in given:
        option, equals, value = text.rpartition("=")
        shown.append(option + equals + places.get(Path(value), value))
    return shlex.join(["python", "scripts/mutants.py", *shown])


def main() -> None:
    """Try the changes and write the page."""
    options = parsed()
    with tempfile.TemporaryDirectory() as temporary:
        work = (options.work or Path(temporary)).resolve()
        work.mkdir(parents=True, exist_ok=True)
        sources = copied(work)
        if options.remap:
            (work / "tests.json").unlink(missing_ok=True)
            (work / "lines.coverage").unlink(missing_ok=True)
        tests = test_map(work)
        sources = {module: text for module, text in sources.items() if module in options.modules or not options.modules}
        mutants, n_all = drawn(sources, seed=options.seed, n_places=options.sample)
        kept = work / "outcomes.jsonl"
        before = judged_before(kept, again=options.again)
        judged = []
        load_libraries(work)
        check_unchanged(mutants, sources, tests, work)
        for n, mutant in enumerate(mutants, start=1):
            source = sources[mutant.module]
            key = (mutant.module, *difference(source, mutant.text_of(source)))
            one = before.get(key) or judge(mutant, source, tests, work)
            if key not in before:
                with kept.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(one)) + "\n")
                spent = sum(os.times()[2:4])
                print(f"{n}/{len(mutants)} {one.outcome} ({spent:.0f} s of CPU) {said(one)}", flush=True)
            judged.append(one)
    text = page(judged, n_all, command=command_of(sys.argv[1:]), seed=options.seed)
    options.out.write_text(text, encoding="utf-8")
    print(f"{options.out}: {Counter(one.outcome for one in judged)}")


if __name__ == "__main__":
    main()
