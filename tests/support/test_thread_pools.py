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


@pytest.mark.parametrize(("work", "torn_down"), [("time.sleep(1000)", ""), ("None", "torn down")], ids=["busy", "idle"])
def test_a_program_that_ends_while_a_thread_is_at_work_is_not_taken_apart_around_it(work: str, torn_down: str) -> None:
    """The thread may be in a library that crashes then. What was written is out, and the exit code is the program's."""
    script = f"""
import atexit, sys, threading, time
from familiar_connect.support.thread_pools import end_process, pool_for
class Last:
    def __del__(self, write=sys.stdout.write, flush=sys.stdout.flush):
        write("torn down")
        flush()
last = Last()
began = threading.Event()
def work():
    began.set()
    {work}
call = pool_for(work).submit(work)
began.wait()
if {torn_down!r}:
    call.result()
    while pool_for(work).is_busy:
        time.sleep(0)
atexit.register(print, "at exit")
sys.stdout.write("written ")
end_process(3)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )

    assert (done.returncode, done.stdout.split("\n")) == (3, ["written at exit", torn_down])


def test_the_installed_command_ends_as_well_as_the_module(tmp_path: Path) -> None:
    """The script an installer makes of `cli:main` is not taken apart around a busy thread either."""
    script = tmp_path / "familiar"
    script.write_text(
        """
import sys, threading, time
from familiar_connect.support.thread_pools import pool_for
class Last:
    def __del__(self, write=sys.stdout.write, flush=sys.stdout.flush):
        write("torn down")
        flush()
last = Last()
began = threading.Event()
def work():
    began.set()
    time.sleep(1000)
pool_for(work).submit(work)
began.wait()
from familiar_connect.cli import main
sys.exit(main())
"""
    )
    done = subprocess.run(
        [sys.executable, script, "no-such-verb"],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert "no-such-verb" in done.stderr
