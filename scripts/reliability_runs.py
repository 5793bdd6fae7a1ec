"""What the checks of ``check_reliability.py`` share: running the program and measuring it, and a part's outcome.

Times are CPU seconds of the program and its workers: how busy the machine is does not change them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

PROGRAM = [sys.executable, "-m", "imagenet_errors"]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "IMAGENET_ERRORS_JOBS": "2"}
"""The same number of threads and workers on every machine, so that results are the same bytes."""
_TICKS = os.sysconf("SC_CLK_TCK")
_MEASURE = (
    "import resource,subprocess,sys;"
    "p=subprocess.run(sys.argv[1:],stdout=subprocess.DEVNULL,stderr=subprocess.PIPE);"
    "u=resource.getrusage(resource.RUSAGE_CHILDREN);"
    "sys.stderr.buffer.write(p.stderr);print(u.ru_utime+u.ru_stime,u.ru_maxrss/1024,p.returncode)"
)


class CannotRun(Exception):  # noqa: N818
    """A part needs something that is not here; the page says what."""


@dataclass
class Part:
    """What came of one part: rows of its section's table, and what went wrong."""

    rows: list[tuple[str, ...]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Ended:
    """How a command ended: CPU seconds of all its processes, and the memory of its largest one."""

    status: int
    errors: str
    cpu_seconds: float
    peak_mib: float


def measured(arguments: Sequence[str | Path]) -> Ended:
    """Run a command of the program to its end, in a process whose peak memory is its own."""
    command = [sys.executable, "-c", _MEASURE, *PROGRAM, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, check=True, env=ENVIRONMENT)
    seconds, peak, status = done.stdout.split()
    return Ended(int(status), done.stderr.decode(errors="replace"), float(seconds), float(peak))


def started(arguments: Sequence[str | Path], **variables: str) -> subprocess.Popen[bytes]:
    """Start a command of the program in a session of its own; what it prints is not heard."""
    return subprocess.Popen(
        [*PROGRAM, *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**ENVIRONMENT, **variables},
        start_new_session=True,
    )


def is_crash(errors: str) -> bool:
    """Tell whether a command ended in what no user should see."""
    return "Traceback" in errors or "fault of imagenet-errors" in errors


def processes_of(session: int) -> dict[int, float]:
    """Return the living processes of a session with the CPU seconds of each and of its children that have ended."""
    found = {}
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (place / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] != "Z":
                found[int(place.name)] = sum(map(int, fields[11:15])) / _TICKS
    return found
