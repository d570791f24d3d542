"""Threads for blocking work, a few for each module that asks.

A call that never returns (a dead network folder, a pipe nobody writes to) keeps one thread of its own
module and no other. The threads are daemons: whatever hangs in them, the program can end.

The heap of a program that runs for long.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, NoReturn, TypeVar

MOST_ARENAS = 2
_ARENA_MAX = -8


def freeze_heap() -> None:
    """Have the garbage collector pass over all there is now: what a program loaded at its start stays until it ends.

    To look through that takes up to a tenth of a second, in which nothing else runs, again and again.
    """
    gc.collect(1)  # what came and went during the start; all of it would take as long as what this is to spare
    gc.freeze()


@cache
def share_arenas() -> None:
    """Have all threads share a few heaps of the C library, where it is glibc's; called before there are threads.

    It would give each thread one of its own, and what is freed in one is of no use to another: a program with many
    threads holds more and more that nobody uses.
    """
    if sys.platform == "linux":
        import ctypes

        with suppress(AttributeError, OSError):  # another library has no such thing
            ctypes.CDLL(None).mallopt(_ARENA_MAX, MOST_ARENAS)


T = TypeVar("T")

THREADS_PER_MODULE = 4
MAX_WAITING = 10_000
"""Calls of one module that may wait for a thread; more than that is a mistake, not a load."""
PROGRAMS = ("familiar", "familiar-connect")
"""The commands an installer makes."""
PACKAGE = "familiar_connect"
SLOW_TO_END = "numpy"
"""What searches memory needs it; together they take long to be taken apart."""
LOWEST_PRIORITY = 15
"""How far a thread steps back, as `nice` counts."""


class ThreadPool(Executor):
    """At most *size* daemon threads, started when they are needed."""

    def __init__(self, name: str, size: int = THREADS_PER_MODULE) -> None:
        self._name = name
        self._size = size
        self._calls: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._wanted = threading.Condition()
        self._threads = 0
        self._idle = 0

    def submit(self, work: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        future: Future[T] = Future()
        call = partial(work, *args, **kwargs) if args or kwargs else work
        with self._wanted:
            if len(self._calls) >= MAX_WAITING:
                raise RuntimeError(f"{MAX_WAITING} calls wait for a thread of {self._name}")
            self._calls.append((future, call))
            if self._idle >= len(self._calls) or self._threads >= self._size:
                self._wanted.notify()
            else:
                self._threads += 1
                share_arenas()
                threading.Thread(target=self._run, name=f"{self._name}-{self._threads}", daemon=True).start()
        return future

    @property
    def is_busy(self) -> bool:
        """Whether one of the threads is at work."""
        with self._wanted:
            return self._threads > self._idle

    def _run(self) -> None:
        while True:
            with self._wanted:
                self._idle += 1
                while not self._calls:
                    self._wanted.wait()
                self._idle -= 1
                future, work = self._calls.popleft()
            if future.set_running_or_notify_cancel():
                _carry_out(future, work)
            del future, work  # an idle thread keeps nothing alive


def lower_thread_priority() -> None:
    """Have this thread give way to all others from now on, where the system can do that; never the main one."""
    if sys.platform == "linux" and threading.current_thread() is not threading.main_thread():
        with suppress(OSError):  # elsewhere this would hold back the whole process
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOWEST_PRIORITY)


def has_busy_threads() -> bool:
    """Whether a call is being carried out now."""
    with _lock:
        return any(pool.is_busy for pool in _pools.values())


def is_program() -> bool:
    """Whether this process is the program itself, which leaves by `end_process`, and nobody's who only imports it."""
    started = Path(getattr(sys.modules.get("__main__"), "__file__", None) or "")
    return started.stem in PROGRAMS or (started.stem, started.parent.name) == ("__main__", PACKAGE)


def end_process(code: int) -> NoReturn:
    """Leave with *code*, without taking the interpreter apart while a call is being carried out.

    A thread that comes back from a library of C++ into an interpreter that is gone ends the process with a crash. And
    taking apart what searches memory takes a tenth of a second, which whoever asked one thing would wait for.
    """
    if has_busy_threads() or SLOW_TO_END in sys.modules:
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):  # nobody reads it any more, or there is none
                stream.flush()
        os._exit(code)
    sys.exit(code)


def _carry_out(future: Future[Any], work: Callable[[], Any]) -> None:
    try:
        result = work()
    except BaseException as error:  # it belongs to whoever waits for the result
        future.set_exception(error)
    else:
        future.set_result(result)


_pools: dict[str, ThreadPool] = {}
_lock = threading.Lock()


def pool_for(work: Callable[..., object]) -> ThreadPool:
    """The threads of the module that *work* comes from."""
    name = getattr(work, "__module__", None) or "work"
    with _lock:
        pool = _pools.get(name)
        if pool is None:
            pool = _pools[name] = ThreadPool(name)
        return pool
