"""What happens in a chat, for none, one and many pages: drawn once, told to each in its order, bounded for all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from familiar_connect.errors import HomeError
from familiar_connect.platforms.web import live
from familiar_connect.platforms.web.live import MAX_WAITING, ChatEvents, OpenPage
from familiar_connect.platforms.web.shared_fragments import SharedFragments
from familiar_connect.support.clock import ManualClock, SystemClock
from tests.fakes.waiting import until

CHAT = 1


class Drawings:
    """Counts how often something was drawn."""

    def __init__(self) -> None:
        self.asked: list[bool] = []

    async def draw(self, channel_id: int, with_own: bool) -> dict[str, Any]:
        self.asked.append(with_own)
        return {"after": 1, "html": f"<li>{len(self.asked)}</li>"}


@asynccontextmanager
async def open_pages(
    number: int, drawings: Drawings | None = None
) -> AsyncIterator[tuple[ChatEvents, list[list[str]]]]:
    """Pages that read at once, and what each was told."""
    events = ChatEvents(SystemClock())
    told: list[list[str]] = [[] for _ in range(number)]
    draw = (drawings or Drawings()).draw

    async def read(into: list[str]) -> None:
        async for text in events.listen(CHAT, lambda: "first", draw):
            into.append(text)

    readers = [asyncio.ensure_future(read(into)) for into in told]
    await until(lambda: all(told))
    try:
        yield events, told
    finally:
        await events.aclose()
        await asyncio.wait(readers) if readers else None


def kinds(told: list[str]) -> list[str]:
    return [line[7:] for text in told for line in text.splitlines() if line.startswith("event: ")]


async def test_what_is_new_is_drawn_once_for_twenty_pages() -> None:
    """And each of them is told it."""
    drawings = Drawings()
    async with open_pages(20, drawings) as (events, told):
        events.publish_new(CHAT)
        await until(lambda: all("said" in kinds(each) for each in told))

    assert drawings.asked == [True]
    assert len({each[-1] for each in told}) == 1


async def test_nothing_is_drawn_where_nobody_looks() -> None:
    """A reply in a chat without a page costs the page nothing."""
    drawings = Drawings()
    async with open_pages(1, drawings) as (events, _):
        events.publish_new(CHAT + 1)
        events.begin_reply(CHAT + 1)
        events.add_piece(CHAT + 1, "Hm.")
        events.end_reply(CHAT + 1)
        await asyncio.sleep(0)

    assert drawings.asked == []


async def test_a_reply_is_told_in_its_order_to_every_page() -> None:
    """The words it answers are drawn without it, and when it is over it is drawn itself."""
    drawings = Drawings()
    async with open_pages(9, drawings) as (events, told):
        events.publish_new(CHAT, wait_s=100.0)  # cut short by the end of the reply
        events.begin_reply(CHAT)
        events.add_piece(CHAT, "*nods*")
        await until(lambda: all("piece" in kinds(each) for each in told))
        events.end_reply(CHAT, changed=[])
        await until(lambda: all("done" in kinds(each) for each in told))

    assert drawings.asked == [False, True]
    assert all(kinds(each) == ["thinking", "piece", "said", "done"] for each in told)


async def test_a_reply_that_is_there_at_once_is_drawn_once() -> None:
    """When it is kept; on the way there is nothing to show."""
    async with open_pages(1) as (events, told):
        events.begin_reply(CHAT)
        events.add_piece(CHAT, "Hm.")
        events.mark_whole(CHAT)
        await until(lambda: "thinking" in kinds(told[0]))
        events.end_reply(CHAT)
        await until(lambda: "done" in kinds(told[0]))

    assert kinds(told[0]) == ["thinking", "done"]


async def test_a_drawing_that_fails_is_left_to_each_page() -> None:
    """It is told that there is something, and asks."""

    async def fail(channel_id: int, with_own: bool) -> dict[str, Any]:
        raise HomeError("no")

    drawings = Drawings()
    drawings.draw = fail  # type: ignore[method-assign]
    async with open_pages(1, drawings) as (events, told):
        events.end_reply(CHAT)
        await until(lambda: "done" in kinds(told[0]))

    assert "html" not in told[0][-1]


@pytest.mark.slow
async def test_a_page_that_does_not_read_is_let_go_and_holds_nobody() -> None:
    """Its events have an end; the others are told everything."""
    async with open_pages(1) as (events, told):
        stuck = events.listen(CHAT, lambda: "first", Drawings().draw)
        await anext(aiter(stuck))
        for number in range(MAX_WAITING + 1):
            events.publish(CHAT, "notice", text=str(number))
            await until(lambda: kinds(told[0]).count("notice") > number)  # noqa: B023 - awaited at once
        left = [text async for text in stuck]

    assert left == []


def test_of_several_states_of_a_reply_a_slow_page_is_told_the_last() -> None:
    """Each holds the whole reply so far."""
    page = OpenPage(Drawings().draw)
    for text in ("one", "two", "three"):
        page.add("piece", text)
    page.add("done", "over")

    assert [text for _, text in page._waiting] == ["three", "over"]


async def test_many_pages_are_written_to_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first ones at once, the others later, so that twenty are no burst beside a reply."""
    monkeypatch.setattr(live, "BETWEEN_PAGES_S", 1_000.0)
    async with open_pages(20) as (events, told):
        events.publish(CHAT, "notice", text="hello")
        await until(lambda: sum("notice" in kinds(each) for each in told) >= live.PAGES_AT_ONCE)
        await asyncio.sleep(0)
        reached = sum("notice" in kinds(each) for each in told)

    assert reached == live.PAGES_AT_ONCE


async def test_a_piece_that_twenty_pages_ask_for_is_drawn_once() -> None:
    """Those who ask together wait for one drawing; later it is drawn anew."""
    clock = ManualClock(datetime(2026, 5, 1, tzinfo=UTC))
    shared, drawn = SharedFragments(clock, keep_s=2.0), 0

    async def draw() -> bytes:
        nonlocal drawn
        drawn += 1
        await asyncio.sleep(0)
        return b"%d" % drawn

    together = await asyncio.gather(*(shared.get("turn", draw) for _ in range(20)))
    clock.advance(3.0)
    later = await shared.get("turn", draw)

    assert set(together) == {b"1"}
    assert later == b"2"


async def test_a_drawing_that_fails_is_tried_again_by_the_next() -> None:
    """Nobody is told an old error."""
    shared = SharedFragments(SystemClock(), keep_s=100.0)

    async def fail() -> bytes:
        raise HomeError("not yet")

    async def draw() -> bytes:
        return b"here"

    with pytest.raises(HomeError):
        await shared.get("turn", fail)

    assert await shared.get("turn", draw) == b"here"
