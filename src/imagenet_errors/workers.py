"""Independent work on all cores: forked processes where the system forks, else threads; answers come in order.

A forked worker has all that its parent had loaded, and sends back only its answers. Workers end with their parent,
however that ends, and it with them: one that is killed (for want of memory, mostly) is no reason to wait for ever.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from imagenet_errors.problems import InputError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

JOBS_VARIABLE = "IMAGENET_ERRORS_JOBS"
_AHEAD = 2
"""Things that a worker is given before it has answered, so that it need not wait for the next."""
_CGROUP = Path("/sys/fs/cgroup")

Thing = TypeVar("Thing")
Answer = TypeVar("Answer")
Own = TypeVar("Own")


def n_cores() -> int:
    """Return how many cores this process may use: by its affinity, and by the quota of its container."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _quota()
    return allowed if quota is None else max(1, min(allowed, quota))


def _quota() -> int | None:
    with suppress(OSError, ValueError):  # version 2 of control groups
        share, period = (_CGROUP / "cpu.max").read_text(encoding="ascii").split()
        return None if share == "max" else round(int(share) / int(period))
    with suppress(OSError, ValueError):
        share, period = (
            (_CGROUP / "cpu" / name).read_text(encoding="ascii") for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us")
        )
        return None if int(share) <= 0 else round(int(share) / int(period))
    return None


def free_memory() -> int:
    """Return how many bytes of memory can be had; half of all where the system does not tell."""
    with suppress(OSError, StopIteration, ValueError):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith("MemAvailable:"))) << 10
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2 if hasattr(os, "sysconf") else 1 << 32


def n_jobs() -> int:
    """Return how many things to do at once: ``$IMAGENET_ERRORS_JOBS``, which ``--jobs`` sets, else the cores.

    Raises
    ------
    InputError
        The variable is no whole number from 1 on.
    """
    stated = os.environ.get(JOBS_VARIABLE, "").strip()
    if not stated:
        return n_cores()
    if not stated.isdecimal() or not int(stated):
        raise InputError(JOBS_VARIABLE, f"is {stated!r}", fix="Write how many files to work on at once, from 1 on.")
    return int(stated)


def in_turn(work: Callable[[Thing], Answer], things: Sequence[Thing], *, most: int | None = None) -> Iterator[Answer]:
    """Yield ``work(thing)`` of each, in order, done by ``n_jobs()`` workers at once, by ``most`` of them at most.

    Raises
    ------
    InputError
        A worker was killed. What ``work`` raises is raised here.
    """
    n_workers = min(n_jobs(), len(things), n_jobs() if most is None else most)
    if n_workers <= 1:
        yield from map(work, things)
    elif forks():
        yield from _forked(work, things, n_workers)
    else:
        with ThreadPoolExecutor(n_workers) as pool:
            yield from pool.map(work, things)


def beside(
    work: Callable[[Thing], Answer], things: Sequence[Thing], own: Callable[[], Own]
) -> tuple[Own, list[Answer]]:
    """Return what this process's ``own`` work gives, and ``work(thing)`` of each thing, done by workers meanwhile.

    There is one worker less than ``n_jobs()``; with none this process does everything. A worker keeps its first answer
    until the own work is done, so things should be no more than workers.

    Raises
    ------
    InputError
        A worker was killed. What the work raises is raised here.
    """
    n_workers = min(n_jobs() - 1, len(things))
    if n_workers < 1:
        return own(), [work(thing) for thing in things]
    found: list[Own] = []

    if forks():
        answers = list(_forked(work, things, n_workers, meanwhile=lambda: found.append(own())))
    else:
        with one_blas_thread(), ThreadPoolExecutor(n_workers) as pool:
            waiting = pool.map(work, things)
            found.append(own())
            answers = list(waiting)
    return found[0], answers


def forks() -> bool:
    """Tell whether workers are processes here; else they are threads."""
    return sys.platform == "linux" and threading.current_thread() is threading.main_thread()


@dataclass(frozen=True, eq=False)
class _Worker:
    pid: int
    line: Connection[Any, Any]


def _forked(
    work: Callable[[Thing], Answer],
    things: Sequence[Thing],
    n_workers: int,
    *,
    meanwhile: Callable[[], None] = lambda: None,
) -> Iterator[Answer]:
    workers: list[_Worker] = []
    try:
        with one_blas_thread():  # in the workers, too, for they are forked here
            for _ in range(n_workers):
                workers.append(_start(work, things, workers))
            yield from _answers(workers, len(things), meanwhile)
    finally:
        for worker in workers:
            worker.line.close()
            os.kill(worker.pid, signal.SIGKILL)
            os.waitpid(worker.pid, 0)


def _start(work: Callable[[Thing], Answer], things: Sequence[Thing], others: Sequence[_Worker]) -> _Worker:
    from multiprocessing import Pipe

    ours, theirs = Pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Arrow's threads: it starts its own anew after a fork
        pid = os.fork()
    if not pid:
        for line in (ours, *(other.line for other in others)):
            line.close()  # so that the last holder of the other end is the parent, whose death then is heard
        _serve(work, things, theirs)
    theirs.close()
    return _Worker(pid, ours)


def one_blas_thread() -> Any:
    """Let matrix products take one thread each within this context, where work is shared out.

    BLAS would part small products among threads of its own and wait for them: on a busy machine ten times the work.
    """
    import threadpoolctl

    return threadpoolctl.threadpool_limits(1, user_api="blas")


def leave_signals(_worker: int = 0) -> None:
    """In a worker: leave Ctrl-C and SIGTERM, which may reach all processes at once, to the parent, who ends it."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def _serve(work: Callable[[Thing], Answer], things: Sequence[Thing], line: Connection[Any, Any]) -> NoReturn:
    """Answer the parent until it hangs up; nothing that the parent must do at its end is done here."""
    import pyarrow as pa

    try:
        leave_signals()
        gc.freeze()  # what was loaded before is not gone through again
        pa.set_cpu_count(1)
        while True:
            place = line.recv()
            reply: tuple[int, Answer | None, Exception | None]
            try:
                reply = (place, work(things[place]), None)
            except Exception as error:
                reply = (place, None, error)
            line.send(reply)
    except (EOFError, OSError):
        os._exit(0)
    except BaseException:
        os._exit(1)


def _answers(workers: Sequence[_Worker], n_things: int, meanwhile: Callable[[], None]) -> Iterator[Any]:
    from multiprocessing.connection import wait

    waiting = iter(range(n_things))
    lines: list[Any] = [worker.line for worker in workers]
    for line, place in zip(lines * _AHEAD, waiting, strict=False):
        _send(line, place)
    meanwhile()
    done: dict[int, tuple[Any, Exception | None]] = {}
    for wanted in range(n_things):
        while wanted not in done:
            ready: list[Any] = wait(lines)
            for line in ready:
                place, answer, error = _received(line)
                done[place] = (answer, error)
                following = next(waiting, None)
                if following is not None:
                    _send(line, following)
        answer, error = done.pop(wanted)
        if error is not None:
            raise error
        yield answer


def _send(line: Any, place: int) -> None:
    try:
        line.send(place)
    except OSError:
        raise _killed() from None


def _received(line: Any) -> tuple[int, Any, Exception | None]:
    try:
        reply: tuple[int, Any, Exception | None] = line.recv()
    except (EOFError, OSError):
        raise _killed() from None
    return reply


def _killed() -> InputError:
    what = "a worker process was killed, most likely because memory ran out"
    return InputError("--jobs", what, fix="Pass --jobs 1, or leave it more memory.")
