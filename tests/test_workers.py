"""Independent things are done on several cores, answers come in order, and nobody waits for a dead worker."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from imagenet_errors import workers
from imagenet_errors.problems import InputError
from imagenet_errors.workers import JOBS_VARIABLE, beside, in_turn, n_cores, n_jobs
from patience import PATIENCE_SECONDS

forks = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only")


@pytest.fixture(autouse=True)
def three_jobs(monkeypatch):
    monkeypatch.setenv(JOBS_VARIABLE, "3")


@pytest.mark.parametrize("jobs", ["1", "2", "3", "7"])
def test_answers_come_in_order_whoever_gives_them(jobs, monkeypatch):
    monkeypatch.setenv(JOBS_VARIABLE, jobs)

    def slow_at_first(number):
        time.sleep(0.02 * (number == 0))
        return number * number

    assert list(in_turn(slow_at_first, range(20))) == [number * number for number in range(20)]


@forks
def test_the_work_is_shared_among_processes():
    pids = set(in_turn(lambda _: (time.sleep(0.02), os.getpid())[1], range(9)))
    assert len(pids) > 1
    assert os.getpid() not in pids


def test_at_most_so_many_work_at_once():
    assert set(in_turn(lambda _: os.getpid(), range(9), most=1)) == {os.getpid()}


def test_a_fault_in_a_worker_is_raised_with_all_that_it_says():
    def faulty(number):
        if number == 4:
            raise InputError("vit.csv", "is empty", example="line 1", fix="Write it again.")
        return number

    answers = in_turn(faulty, range(9))
    assert [next(answers) for _ in range(4)] == [0, 1, 2, 3]
    with pytest.raises(InputError) as raised:
        next(answers)
    assert str(raised.value) == "vit.csv: is empty (first: line 1). Write it again."
    assert (raised.value.where, raised.value.fix) == ("vit.csv", "Write it again.")


@pytest.mark.parametrize("jobs", ["1", "2", "3", "7"])
def test_own_work_is_done_here_and_things_are_answered_in_order(jobs, monkeypatch):
    monkeypatch.setenv(JOBS_VARIABLE, jobs)
    own, answers = beside(lambda number: (number * number, os.getpid()), range(5), lambda: ("own", os.getpid()))
    assert own == ("own", os.getpid())
    assert [square for square, _ in answers] == [0, 1, 4, 9, 16]
    if sys.platform == "linux":
        assert (os.getpid() in {pid for _, pid in answers}) == (jobs == "1")


@forks
@pytest.mark.parametrize("at", ["own", "worker"])
def test_a_fault_in_own_work_or_beside_it_is_raised_and_no_worker_stays(at, tmp_path):
    def begin_then_fail(where):
        if where == "worker":
            (tmp_path / "begun").write_text(str(os.getpid()))
            (tmp_path / "begun").rename(tmp_path / "pid")
        while not (tmp_path / "pid").exists():
            time.sleep(0.01)
        if where == at:
            raise InputError("vit.csv", "is empty", fix="Write it again.")

    with pytest.raises(InputError, match=r"vit\.csv: is empty"):
        beside(begin_then_fail, ["worker"], lambda: begin_then_fail("own"))
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


@forks
def test_a_worker_that_is_killed_is_told():
    def die(number):
        if number == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    with pytest.raises(InputError, match=r"a worker process was killed.*--jobs 1"):
        list(in_turn(die, range(9)))


@forks
def test_workers_end_when_nobody_asks_for_more():
    answers = in_turn(lambda _: os.getpid(), range(9))
    pid = next(answers)
    answers.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@forks
def test_workers_end_with_a_parent_that_is_killed():
    code = """
import os, time
from imagenet_errors.workers import in_turn
for pid in in_turn(lambda _: os.getpid(), range(9)):
    print(pid, flush=True)
    time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        worker = int(parent.stdout.readline())
        parent.kill()
        parent.wait()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        try:
            os.kill(worker, 0)
        except ProcessLookupError:
            return
        with Path(f"/proc/{worker}/stat").open() as state:  # an orphan that nobody collects has ended, too
            if state.read().rpartition(")")[2].split()[0] == "Z":
                return
        time.sleep(0.05)
    pytest.fail("the worker goes on without its parent")


def test_the_number_of_jobs_is_a_number_from_1_on(monkeypatch):
    assert n_jobs() == 3
    monkeypatch.delenv(JOBS_VARIABLE)
    assert n_jobs() == n_cores() >= 1
    for wrong in ("0", "two", "-1"):
        monkeypatch.setenv(JOBS_VARIABLE, wrong)
        with pytest.raises(InputError, match="from 1 on"):
            n_jobs()


@pytest.mark.parametrize(
    ("written", "most"),
    [
        pytest.param("150000 100000", 2, id="one and a half cores"),
        pytest.param("50000 100000", 1, id="half a core"),
        pytest.param("max 100000", None, id="no quota"),
    ],
)
def test_a_container_gets_no_more_than_its_quota(written, most, tmp_path, monkeypatch):
    (tmp_path / "cpu.max").write_text(written)
    monkeypatch.setattr(workers, "_CGROUP", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert n_cores() == (8 if most is None else most)
