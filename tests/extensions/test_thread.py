"""Parts of an extension work on a loop of their own: whatever blocks there holds up nobody else."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Iterator

import pytest

from familiar_connect.context.gather import gather
from familiar_connect.context.types import ContextRequest, Contribution
from familiar_connect.extensions import thread as thread_module
from familiar_connect.extensions.create import ExtensionProvider
from familiar_connect.extensions.thread import MAX_UNDER_WAY, ExtensionBusy, ExtensionThread
from familiar_connect.support.simulated_time import SimulatedLoop, run_simulated
from tests.fakes.context import a_request


class BlockingProvider:
    """Holds the loop it works on until it is freed."""

    id = "blocks"
    deadline_s = 0.02

    def __init__(self) -> None:
        self.free = threading.Event()

    async def contribute(self, request: ContextRequest) -> list[Contribution]:
        self.free.wait(60)
        return []


@pytest.fixture
def thread() -> Iterator[ExtensionThread]:
    made = ExtensionThread("stranger")
    yield made
    made.close()


async def test_a_part_that_blocks_its_loop_is_left_behind_at_its_deadline(thread: ExtensionThread) -> None:
    """The turn goes on while the part still holds its thread."""
    provider = BlockingProvider()
    try:
        [outcome] = await gather([ExtensionProvider(provider, thread)], a_request())
        was_free = provider.free.is_set()
    finally:
        provider.free.set()

    assert (outcome.provider_id, outcome.status, was_free) == ("stranger.blocks", "timeout", False)


async def test_an_extension_that_hangs_is_not_asked_without_end(thread: ExtensionThread) -> None:
    """After so many calls that never came back the next is refused at once."""
    gate = threading.Event()

    async def hang() -> None:
        gate.wait(60)

    calls = [asyncio.create_task(thread.call(hang)) for _ in range(MAX_UNDER_WAY)]
    await asyncio.sleep(0)
    try:
        with pytest.raises(ExtensionBusy, match="stranger"):
            await thread.call(hang)
    finally:
        gate.set()
        await asyncio.gather(*calls)


async def test_cancelling_a_call_cancels_the_work(thread: ExtensionThread) -> None:
    """What the turn no longer waits for ends on the other loop too."""
    began, ended = threading.Event(), threading.Event()

    async def work() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    call = asyncio.create_task(thread.call(work))
    assert await asyncio.to_thread(began.wait, 60)
    call.cancel()

    assert await asyncio.to_thread(ended.wait, 60)


def test_simulated_time_stands_still_while_an_extension_works(thread: ExtensionThread) -> None:
    """A rehearsal's clock does not run past a deadline for which the part has not had its time."""
    worked = threading.Event()

    async def work() -> str:
        await asyncio.to_thread(worked.wait, 0.1)
        return "done"

    async def main(loop: SimulatedLoop) -> str:
        async with asyncio.timeout(0.01):
            return await thread.call(work)

    assert run_simulated(main) == "done"


def test_a_part_that_is_stuck_does_not_stop_simulated_time_for_ever(
    thread: ExtensionThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a bounded time of this computer's it is given up."""
    monkeypatch.setattr(thread_module, "SIMULATED_LIMIT_S", 0.05)
    free = threading.Event()

    async def hang() -> None:
        free.wait(60)

    try:
        with pytest.raises(TimeoutError, match="stranger took longer"):
            run_simulated(lambda loop: thread.call(hang))
    finally:
        free.set()


async def test_what_comes_in_while_the_loop_ends_is_ended_and_not_forgotten() -> None:
    """Work that was begun hears of it, and none is left behind that nobody ever awaits."""
    thread = ExtensionThread("tea")
    begun, ended = threading.Event(), threading.Event()

    async def last_long() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def go_in() -> None:
        for _ in range(50):
            thread.post(last_long)

    await thread.call(go_in)
    thread.post(last_long)
    thread.close()

    assert await asyncio.to_thread(ended.wait, 10.0)
    for each in threading.enumerate():
        if each.name == "extension tea":
            await asyncio.to_thread(each.join, 10.0)
    gc.collect()  # a coroutine that nobody awaited is told of here, as an error
    assert begun.is_set()
