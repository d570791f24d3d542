"""Threads for blocking work: a module that hangs costs itself only."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from familiar_connect.support.thread_pools import (
    LOWEST_PRIORITY,
    THREADS_PER_MODULE,
    ThreadPool,
    lower_thread_priority,
    pool_for,
)


def test_work_is_done_and_its_result_handed_back() -> None:
    """A call gives what the work gives."""
    assert ThreadPool("test").submit(lambda: 6 * 7).result(100) == 42


def test_an_error_belongs_to_whoever_waits() -> None:
    """It is raised there, and the thread goes on."""
    workers = ThreadPool("test", size=1)

    with pytest.raises(ZeroDivisionError):
        workers.submit(lambda: 1 // 0).result(100)
    assert workers.submit(lambda: "next").result(100) == "next"


def test_a_module_that_hangs_does_not_hold_up_another() -> None:
    """All threads of one pool blocked, the other pool still answers."""
    released = threading.Event()
    stuck, free = ThreadPool("stuck"), ThreadPool("free")
    waiting = [stuck.submit(released.wait) for _ in range(THREADS_PER_MODULE + 3)]

    assert free.submit(lambda: "here").result(100) == "here"
    released.set()
    assert all(each.result(100) for each in waiting)


def test_each_module_has_its_own_threads() -> None:
    """The same module's functions share; another's do not."""
    assert pool_for(subprocess.run) is pool_for(subprocess.check_output)
    assert pool_for(subprocess.run) is not pool_for(threading.settrace)


def test_the_program_ends_although_a_thread_hangs() -> None:
    """Nobody waits at the exit for work that never returns."""
    program = (
        "import threading; from familiar_connect.support.thread_pools import ThreadPool;"
        "ThreadPool('x').submit(threading.Event().wait); print('left')"
    )

    source = Path(__file__).parents[2] / "src"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )

    assert (done.returncode, done.stdout.strip()) == (0, "left")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets one thread step back")
def test_a_thread_that_steps_back_holds_back_no_other() -> None:
    """Its own standing is the lowest, the main thread's is what it was, even when that one asks."""

    def standing() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    def stepped_back() -> int:
        lower_thread_priority()
        return standing()

    before = standing()
    there = ThreadPool("test").submit(stepped_back).result(100)
    lower_thread_priority()

    assert there == max(LOWEST_PRIORITY, before)
    assert standing() == before
