"""Threads for blocking work: a module that hangs costs itself only."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from familiar_connect.support.workers import LOWEST, THREADS_PER_MODULE, Workers, step_back, workers_of


def test_work_is_done_and_its_result_handed_back() -> None:
    """A call gives what the work gives."""
    assert Workers("test").submit(lambda: 6 * 7).result(5) == 42


def test_an_error_belongs_to_whoever_waits() -> None:
    """It is raised there, and the thread goes on."""
    workers = Workers("test", size=1)

    with pytest.raises(ZeroDivisionError):
        workers.submit(lambda: 1 // 0).result(5)
    assert workers.submit(lambda: "next").result(5) == "next"


def test_a_module_that_hangs_does_not_hold_up_another() -> None:
    """All threads of one pool blocked, the other pool still answers."""
    released = threading.Event()
    stuck, free = Workers("stuck"), Workers("free")
    waiting = [stuck.submit(released.wait) for _ in range(THREADS_PER_MODULE + 3)]

    assert free.submit(lambda: "here").result(5) == "here"
    released.set()
    assert all(each.result(5) for each in waiting)


def test_each_module_has_its_own_threads() -> None:
    """The same module's functions share; another's do not."""
    assert workers_of(subprocess.run) is workers_of(subprocess.check_output)
    assert workers_of(subprocess.run) is not workers_of(threading.settrace)


def test_the_program_ends_although_a_thread_hangs() -> None:
    """Nobody waits at the exit for work that never returns."""
    program = (
        "import threading; from familiar_connect.support.workers import Workers;"
        "Workers('x').submit(threading.Event().wait); print('left')"
    )

    source = Path(__file__).parents[2] / "src"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )

    assert (done.returncode, done.stdout.strip()) == (0, "left")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets one thread step back")
def test_a_thread_that_steps_back_holds_back_no_other() -> None:
    """Its own standing is the lowest, the main thread's is what it was, even when that one asks."""

    def standing() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    def stepped_back() -> int:
        step_back()
        return standing()

    before = standing()
    there = Workers("test").submit(stepped_back).result(5)
    step_back()

    assert there == max(LOWEST, before)
    assert standing() == before
