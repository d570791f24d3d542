"""ExtensionThread: an event loop of its own for each extension, so that a part that blocks holds up nobody else."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import TypeVar

from familiar_connect.support.simulated_time import SimulatedLoop

MAX_UNDER_WAY = 16
"""Calls of one extension at a time; more are refused, because an earlier one hangs."""

SIMULATED_LIMIT_S = 5.0
"""How long a call may take in a rehearsal, whose own time stands still meanwhile."""

END_LIMIT_S = 1.0
"""How long cancelled work may take to end."""

SWITCH_INTERVAL_S = 0.0005
"""How long one thread may compute while another waits for its turn. With the interpreter's own 5 ms a part that
computes without a pause slows everybody: who waits for a file gives its turn away, and gets it back that late.
`benchmarks.faulty_parts` measures what is left."""

T = TypeVar("T")


class ExtensionBusy(RuntimeError):
    """An extension is asked again while so many earlier calls of it are still under way."""


class ExtensionThread:
    """Runs the coroutines of one extension. The thread begins with the first call and is no reason to stay alive."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._free = threading.BoundedSemaphore(MAX_UNDER_WAY)

    async def call(self, work: Callable[[], Awaitable[T]]) -> T:
        """What *work* comes to, awaited on the extension's own loop. Cancelling the call cancels the work."""
        if not self._free.acquire(blocking=False):
            raise ExtensionBusy(f"{self.name} is still busy with {MAX_UNDER_WAY} earlier calls")
        future = asyncio.run_coroutine_threadsafe(_awaited(work), self._running_loop())
        future.add_done_callback(lambda _: self._free.release())
        here = asyncio.get_running_loop()
        if isinstance(here, SimulatedLoop):
            return await self._wait_in_real_time(future, here)
        return await asyncio.wrap_future(future)

    async def _wait_in_real_time(self, future: Future[T], loop: SimulatedLoop) -> T:
        """What *future* comes to while simulated time stands still, and so for a bounded time of this computer's."""
        late = threading.Event()

        def give_up() -> None:
            late.set()
            future.cancel()

        timer = threading.Timer(SIMULATED_LIMIT_S, give_up)
        timer.start()
        try:
            with loop.hold():
                return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            if late.is_set():
                raise TimeoutError(f"{self.name} took longer than {SIMULATED_LIMIT_S:g} seconds") from None
            raise
        finally:
            timer.cancel()

    def begin(self, work: Callable[[], Awaitable[None]]) -> None:
        """Have *work* done there beside all calls, until it is over or the thread is closed."""
        asyncio.run_coroutine_threadsafe(_awaited(work), self._running_loop())

    def post(self, work: Callable[[], Awaitable[None]]) -> None:
        """Have *work* done there, and wait for nothing; nothing is begun for it where no call was made yet."""
        if self._loop is not None:
            asyncio.run_coroutine_threadsafe(_awaited(work), self._loop)

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            sys.setswitchinterval(min(SWITCH_INTERVAL_S, sys.getswitchinterval()))
            threading.Thread(target=self._run, args=(self._loop,), name=f"extension {self.name}", daemon=True).start()
        return self._loop

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
            loop.run_until_complete(_end_tasks())
        finally:
            loop.close()

    def close(self) -> None:
        """End the loop once it is free; a call that hangs is left behind."""
        if self._loop is not None:
            with suppress(RuntimeError):  # closed already
                self._loop.call_soon_threadsafe(self._loop.stop)
            self._loop = None


async def _end_tasks() -> None:
    """Cancel what is still under way on this loop, and what came in while it was told to stop."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    if left:
        await asyncio.wait(left, timeout=END_LIMIT_S)


async def _awaited(work: Callable[[], Awaitable[T]]) -> T:
    return await work()
