"""Owned tasks and work off the loop."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading

import pytest

from familiar_connect.support.aio import (
    BackgroundTasks,
    KeyedLocks,
    SingleFlight,
    cancel_and_wait,
    off_loop,
    run_to_end,
)
from tests.fakes.waiting import until


async def test_blocking_work_leaves_the_loop_free() -> None:
    """A thread waits for the loop, and the loop gets round to it."""
    gate = threading.Event()
    asyncio.get_running_loop().call_soon(gate.set)

    assert await off_loop(gate.wait, 5)


async def test_a_deadline_cuts_blocking_work_short() -> None:
    """The thread may go on; whoever waited does not."""
    gate = threading.Event()

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await off_loop(gate.wait, 5)
    gate.set()


async def test_a_cancelled_task_has_ended_when_we_go_on() -> None:
    """Whatever it made of its cancellation."""
    task = asyncio.create_task(asyncio.Event().wait())
    await cancel_and_wait(task)

    assert task.done()


async def test_work_that_must_finish_does_so_before_the_cancellation_goes_on() -> None:
    """What was begun is on disk; only then are we gone."""
    reached, go, done = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def write() -> None:
        reached.set()
        await go.wait()
        done.set()

    task = asyncio.create_task(run_to_end(write()))
    await reached.wait()
    task.cancel()
    asyncio.get_running_loop().call_soon(go.set)
    await asyncio.wait({task})

    assert (done.is_set(), task.cancelled()) == (True, True)


async def test_work_that_fails_after_we_were_cancelled_is_no_news_to_the_loop() -> None:
    """Nobody waits for it any more."""
    reached, go = asyncio.Event(), asyncio.Event()
    complaints: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context))

    async def fail() -> None:
        reached.set()
        await go.wait()
        raise ValueError("too late")

    task = asyncio.create_task(run_to_end(fail()))
    await reached.wait()
    task.cancel()
    asyncio.get_running_loop().call_soon(go.set)
    await asyncio.wait({task})
    gc.collect()

    assert task.cancelled()
    assert complaints == []


async def test_closing_cancels_what_is_left() -> None:
    """No work outlives its owner."""
    owner = BackgroundTasks("test")
    task = owner.start(asyncio.Event().wait(), name="forever")
    await owner.aclose()

    assert (task.cancelled(), task.get_name()) == (True, "test:forever")


async def test_settled_means_everything_is_done() -> None:
    """Also what was started meanwhile."""
    owner = BackgroundTasks("test")
    order: list[str] = []

    async def second() -> None:
        order.append("second")

    async def first() -> None:
        order.append("first")
        owner.start(second(), name="second")

    owner.start(first(), name="first")
    await owner.wait_until_idle()

    assert order == ["first", "second"]


async def test_a_failure_in_the_background_is_logged_with_its_name(caplog: pytest.LogCaptureFixture) -> None:
    """Nobody awaits it, so somebody must be told."""

    async def fail() -> None:
        raise ValueError("no")

    owner = BackgroundTasks("test")
    owner.start(fail(), name="fails")
    await owner.wait_until_idle()
    await asyncio.sleep(0)

    assert [(r.levelno, r.__dict__["task"]) for r in caplog.records] == [(logging.ERROR, "test:fails")]


def test_an_owner_serves_successive_loops() -> None:
    """Built outside a loop, used in one after another; what a closed loop left is no error."""
    owner = BackgroundTasks("test")

    async def leave_something() -> None:
        owner.start(asyncio.Event().wait(), name="left")

    async def close() -> None:
        await owner.wait_until_idle()
        await owner.aclose()

    asyncio.run(leave_something())
    asyncio.run(close())


async def test_the_same_key_flies_once() -> None:
    """A second start joins the first; after landing the key is free again."""
    owner = BackgroundTasks("test")
    flights = SingleFlight(owner)
    go = asyncio.Event()
    first = flights.start("key", go.wait)
    second = flights.start("key", go.wait)
    other = flights.start("other", go.wait)
    go.set()
    await owner.wait_until_idle()
    await asyncio.sleep(0)

    assert (first, second, other, flights.start("key", go.wait)) == (True, False, True, True)
    await owner.wait_until_idle()


async def test_a_line_is_served_in_the_order_people_came_and_then_forgotten() -> None:
    """One at a time; whoever gives up keeps nobody waiting, and other lines go on."""
    lines, served, go = KeyedLocks(), list[str](), asyncio.Event()

    async def come(line: str, name: str) -> None:
        async with lines.lock(line):
            served.append(name)
            await go.wait()

    first, quitter, last = (asyncio.create_task(come("a", name)) for name in ("first", "quitter", "last"))
    other = asyncio.create_task(come("b", "other"))
    await until(lambda: len(served) == 2)
    await cancel_and_wait(quitter)
    go.set()
    await asyncio.gather(first, last, other)

    assert served == ["first", "other", "last"]
    assert lines._lines == {}


async def test_work_that_fails_while_it_is_being_ended_is_told_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """The cancellation is what its caller sees."""
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        await go_on.wait()
        raise ValueError("too late")

    task = asyncio.create_task(run_to_end(work()))
    await begun.wait()
    task.cancel()
    await asyncio.sleep(0)
    go_on.set()
    await asyncio.wait({task})

    assert task.cancelled()
    assert [record.message for record in caplog.records] == ["work failed while it was being ended"]
