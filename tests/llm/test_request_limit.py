"""How many calls run at once, and who goes first."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable

import pytest

from familiar_connect.llm.openai_compatible import LLMClient
from familiar_connect.llm.request_limit import (
    ANYWHERE,
    RequestPlace,
    RequestSemaphore,
    get_request_semaphore,
    request_semaphore,
)
from familiar_connect.llm.types import CompletionRequest, Message
from tests.fakes.model_server import ModelServer, answer_after, event, head, raw_answer, stall, whole_answer

Make = Callable[..., LLMClient]


async def settle() -> None:
    """Let every task that can go on do so."""
    for _ in range(20):
        await asyncio.sleep(0)


class Visitor:
    """Someone inside, or on the way in, until told to go."""

    def __init__(self, gate: RequestSemaphore, *, main: bool, place: RequestPlace = ANYWHERE) -> None:
        self.inside = False
        self._go = asyncio.Event()
        self.task = asyncio.create_task(self._visit(gate, main, place))

    async def _visit(self, gate: RequestSemaphore, main: bool, place: RequestPlace) -> None:
        async with gate.reserve(main=main, place=place):
            self.inside = True
            await self._go.wait()
        self.inside = False

    async def leave(self) -> None:
        self._go.set()
        await self.task


def test_there_is_one_gate_of_four_places() -> None:
    """Process-wide, whoever asks."""
    assert get_request_semaphore() is get_request_semaphore()
    assert inspect.signature(get_request_semaphore).parameters["max_concurrent"].default == 4
    assert get_request_semaphore().max_concurrent == 4


async def test_as_a_context_it_lets_in_so_many_and_no_more() -> None:
    """`async with` counts like a semaphore."""
    gate = RequestSemaphore(2)
    seen: list[int] = []

    async def visit() -> None:
        async with gate:
            seen.append(gate.running)
            await settle()

    await asyncio.gather(*(visit() for _ in range(6)))

    assert (max(seen), gate.running) == (2, 0)


async def test_side_calls_leave_the_last_place_free() -> None:
    """The reply never waits behind them."""
    gate = RequestSemaphore(3)
    sides = [Visitor(gate, main=False) for _ in range(5)]
    await settle()
    main = Visitor(gate, main=True)
    await settle()

    assert [visitor.inside for visitor in sides] == [True, True, False, False, False]
    assert main.inside
    for visitor in [main, *sides]:
        await visitor.leave()


async def test_a_waiting_reply_goes_before_waiting_side_calls() -> None:
    """First come, first served, but replies first of all."""
    gate = RequestSemaphore(1)
    first = Visitor(gate, main=True)
    await settle()
    side, main = Visitor(gate, main=False), Visitor(gate, main=True)
    await settle()
    await first.leave()
    await settle()

    assert (side.inside, main.inside) == (False, True)
    await main.leave()
    await side.leave()


async def test_replies_have_as_many_places_as_their_slot_says_at_each_endpoint() -> None:
    """More than the process has for side calls; another endpoint has its own."""
    gate = RequestSemaphore(4)
    here = RequestPlace(endpoint="https://here.test", slot="main_prose", at_once=6)
    there = RequestPlace(endpoint="https://there.test", slot="main_prose", at_once=1)
    replies = [Visitor(gate, main=True, place=here) for _ in range(7)]
    others = [Visitor(gate, main=True, place=there) for _ in range(2)]
    await settle()

    assert [each.inside for each in replies] == [True] * 6 + [False]
    assert [each.inside for each in others] == [True, False]
    for visitor in [*replies, *others]:
        await visitor.leave()


async def test_no_side_call_begins_where_a_reply_waits() -> None:
    """At another endpoint it does; once the reply is asked, side calls go on beside it."""
    gate = RequestSemaphore(4)
    reply_place = RequestPlace(endpoint="https://here.test", slot="main_prose", at_once=1)
    first, second = (Visitor(gate, main=True, place=reply_place) for _ in range(2))
    await settle()
    side = Visitor(gate, main=False, place=RequestPlace(endpoint="https://here.test", slot="mood_eval"))
    elsewhere = Visitor(gate, main=False, place=RequestPlace(endpoint="https://there.test", slot="mood_eval"))
    await settle()
    assert (second.inside, side.inside, elsewhere.inside) == (False, False, True)
    await first.leave()
    await settle()

    assert (second.inside, side.inside) == (True, True)
    for visitor in (second, side, elsewhere):
        await visitor.leave()


async def test_one_place_serves_side_calls_too() -> None:
    """A gate of one keeps nobody out for ever."""
    gate = RequestSemaphore(1)
    side = Visitor(gate, main=False)
    await settle()

    assert side.inside
    await side.leave()


async def test_who_gives_up_waiting_takes_no_place() -> None:
    """A cancelled call leaves the queue, and a place it had just been given."""
    gate = RequestSemaphore(1)
    first = Visitor(gate, main=True)
    await settle()
    second, third = Visitor(gate, main=True), Visitor(gate, main=True)
    await settle()
    second.task.cancel()
    await asyncio.wait({second.task})
    await first.leave()
    await settle()

    assert third.inside
    await third.leave()
    assert (gate.running, gate.waiting) == (0, 0)


def test_it_serves_loop_after_loop_and_forgets_the_dead() -> None:
    """A loop that closed while holding a place gives it back."""
    gate = RequestSemaphore(1)
    dead = asyncio.new_event_loop()
    dead.run_until_complete(gate.acquire())
    dead.close()

    async def visit() -> bool:
        async with gate:
            return True

    assert asyncio.run(visit())
    assert asyncio.run(visit())


def test_loops_side_by_side_share_it() -> None:
    """A place freed in one thread wakes a waiter in another."""
    gate = RequestSemaphore(1)
    holding, release = threading.Event(), threading.Event()

    async def hold() -> None:
        async with gate:
            holding.set()
            await asyncio.to_thread(release.wait)

    async def enter() -> None:
        entering = asyncio.create_task(gate.acquire())
        await settle()
        release.set()
        await entering
        gate.release()

    thread = threading.Thread(target=asyncio.run, args=(hold(),))
    thread.start()
    holding.wait()
    asyncio.run(enter())
    thread.join()

    assert gate.running == 0


def test_no_places_at_all_is_a_mistake() -> None:
    """A gate nobody can pass is refused."""
    with pytest.raises(ValueError, match="at least 1"):
        RequestSemaphore(0)


async def test_side_clients_never_fill_the_gate(client_of: Make) -> None:
    """Ten side calls at once are three at a time, and the reply comes through beside them."""
    opened = asyncio.Event()
    async with (
        ModelServer([answer_after(opened, whole_answer("side"))]) as sides,
        ModelServer([whole_answer("main")]) as mains,
    ):
        clients = [client_of(sides) for _ in range(10)]
        calls = [asyncio.create_task(client.chat([Message("user", "x")])) for client in clients]
        await sides.arrived.wait()
        reply = await client_of(mains, is_main=True).chat([Message("user", "x")])
        opened.set()
        await asyncio.gather(*calls)

        assert reply.content == "main"
        assert sides.most_running <= 3


async def test_a_stream_holds_its_place_until_it_ends(client_of: Make) -> None:
    """The place is free when the stream is closed, not before."""
    async with ModelServer([raw_answer(head(), event("Once "), then=stall)]) as server:
        stream = client_of(server).start(CompletionRequest([Message("user", "x")]))
        async for _ in stream:
            during = request_semaphore().running
            break
        await stream.aclose()

    assert (during, request_semaphore().running) == (1, 0)
