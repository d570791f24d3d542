"""Owned tasks, work off the event loop, and a timer that can be started anew.

Every task belongs to a `Background`, which keeps it, names it, logs its failure and cancels it on
close. Blocking work goes through `off_loop`; work of one module never waits for the threads of another.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Hashable,
    Iterator,
)
from contextlib import asynccontextmanager, contextmanager
from contextvars import copy_context
from functools import partial
from typing import Any, ParamSpec, Protocol, TypeVar

from familiar_connect.support.thread_pools import pool_for

P = ParamSpec("P")
T = TypeVar("T")

logger = logging.getLogger(__name__)


async def off_loop(work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run blocking *work* in a thread; a deadline around this await is a real one. The running loop decides how.

    Context variables are there as they are here.
    """
    here = copy_context()
    return await asyncio.get_running_loop().run_in_executor(pool_for(work), partial(here.run, work, *args, **kwargs))


def is_on_loop() -> bool:
    """Whether this very thread runs an event loop: whoever waits for another task here would wait for good."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def cancel_and_wait(task: asyncio.Task[object]) -> None:
    """End *task* and wait until it has ended, whatever it makes of it."""
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled():
        task.exception()  # looked at, so that nobody complains that it was not


@asynccontextmanager
async def closing_stream(pieces: AsyncIterable[T]) -> AsyncIterator[AsyncIterator[T]]:
    """An iterator over *pieces* that is closed at the end, so that whoever makes them ends at once."""
    stream = aiter(pieces)
    try:
        yield stream
    finally:
        if isinstance(stream, AsyncGenerator):
            await stream.aclose()


class LateTasks:
    """Tasks that missed their deadline: cancelled and not waited for, but kept until they have ended.

    Even work that ignores being cancelled cannot hold whoever wanted it. *failure* is logged when one fails.
    """

    def __init__(self, failure: str) -> None:
        self._failure = failure
        self._tasks: set[asyncio.Task[object]] = set()

    def leave_behind(self, task: asyncio.Task[object]) -> None:
        task.cancel()
        self._tasks.add(task)
        task.add_done_callback(self._note_end)

    def _note_end(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.warning(self._failure, extra={"error": type(error).__name__})

    def cancel(self) -> None:
        """Ask all that still run to end, once more."""
        for task in self._tasks:
            task.cancel()


async def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run *work* to its end even if we are cancelled meanwhile; the cancellation follows after it."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.warning("work failed while it was being ended", extra={"error": type(error).__name__})
        raise


class KeyedLocks:
    """One fair lock per key: first come, first served. The lock of a key nobody waits for is dropped."""

    def __init__(self) -> None:
        self._lines: dict[Hashable, tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def lock(self, key: Hashable) -> AsyncIterator[None]:
        lock, people = self._lines.get(key) or (asyncio.Lock(), 0)
        self._lines[key] = (lock, people + 1)
        try:
            async with lock:
                yield
        finally:
            people = self._lines.pop(key)[1] - 1
            if people:
                self._lines[key] = (lock, people)


class BackgroundTasks:
    """The owner of work that outlives a turn. Built anywhere, used from whichever loop is running."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._tasks: set[asyncio.Task[object]] = set()

    def start(self, work: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]:
        task = asyncio.get_running_loop().create_task(work, name=f"{self._name}:{name}")
        self._tasks.add(task)
        task.add_done_callback(self._note_end)
        return task

    def _note_end(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("background work failed", exc_info=error, extra={"task": task.get_name()})

    def _of_this_loop(self) -> set[asyncio.Task[object]]:
        loop = asyncio.get_running_loop()
        return {task for task in self._tasks if task.get_loop() is loop}

    async def wait_until_idle(self) -> None:
        """Wait until nothing is under way."""
        while tasks := self._of_this_loop():
            await asyncio.wait(tasks)

    async def aclose(self) -> None:
        """Cancel what is left and wait for it to end."""
        tasks = self._of_this_loop() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._tasks.clear()


class SingleFlight:
    """One task per key at a time; a second start of the same key joins the first."""

    def __init__(self, owner: BackgroundTasks) -> None:
        self._owner = owner
        self._flights: dict[Hashable, asyncio.Task[object]] = {}

    def start(self, key: Hashable, work: Callable[[], Coroutine[Any, Any, Any]]) -> bool:
        """Start *work* unless *key* is in flight; says whether it did."""
        running = self._flights.get(key)
        if running is not None and not running.done() and running.get_loop() is asyncio.get_running_loop():
            return False
        task = self._owner.start(work(), name=str(key))
        self._flights[key] = task
        task.add_done_callback(lambda done: self._note_landing(key, done))
        return True

    def _note_landing(self, key: Hashable, task: asyncio.Task[object]) -> None:
        if self._flights.get(key) is task:
            del self._flights[key]


POLL_S = 1.0
"""How often it is looked whether somebody waits by now."""


class IdleGate:
    """Lets work in the background wait until nobody is busy. Bound to no loop before it is used."""

    def __init__(self) -> None:
        self._busy = 0
        self._idle: asyncio.Event | None = None

    @contextmanager
    def busy(self) -> Iterator[None]:
        """While this is open, `wait` does not return."""
        self._busy += 1
        self._idle = self._idle or asyncio.Event()
        try:
            yield
        finally:
            self._busy -= 1
            if not self._busy:
                self._idle.set()
                self._idle = None

    async def wait(self) -> None:
        """Return once nobody is busy."""
        while self._idle is not None:
            await self._idle.wait()


async def wait_unless_needed(work: Awaitable[object], somebody_waits: Callable[[], bool], *, give_up_s: float) -> bool:
    """Let *work* come to its end; after *give_up_s* only as long as nobody waits. Says whether it did."""
    task = asyncio.get_running_loop().create_task(_await_all(work))
    try:
        await asyncio.wait({task}, timeout=give_up_s)
        while not task.done():
            if somebody_waits():
                await cancel_and_wait(task)
                return False
            await asyncio.wait({task}, timeout=min(POLL_S, give_up_s))
    except asyncio.CancelledError:
        await cancel_and_wait(task)
        raise
    task.result()
    return True


async def _await_all(work: Awaitable[object]) -> None:
    await work


class LoopBreak:
    """Lets others run in the middle of work that must be done on the loop's own thread."""

    def __init__(self, every_s: float = 0.005) -> None:
        self._every_s = every_s
        self._last = time.perf_counter()

    async def when_due(self) -> None:
        if time.perf_counter() - self._last >= self._every_s:
            await asyncio.sleep(0)
            self._last = time.perf_counter()


class Timer(Protocol):
    def cancel(self) -> None: ...


CallLater = Callable[[float, Callable[[], None]], Timer]
"""Calls something after so many seconds, unless it is cancelled before."""


def call_later(seconds: float, then: Callable[[], None]) -> Timer:
    return asyncio.get_running_loop().call_later(seconds, then)


class RestartableTimer:
    """One timer that can be started anew. One left behind by a closed loop can be cancelled like any other."""

    def __init__(self, then: Callable[[], None], later: CallLater = call_later) -> None:
        self._then = then
        self._later = later
        self._timer: Timer | None = None

    def restart(self, seconds: float) -> None:
        self.cancel()
        self._timer = self._later(seconds, self._expire)

    def cancel(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    def _expire(self) -> None:
        self._timer = None
        self._then()
