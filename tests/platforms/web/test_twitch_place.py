"""Taking part in the chat of a stream from the page: the real library, a Twitch of our own, the page over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.page import Answered, PageClient, needs_page

pytestmark = needs_page
pytest.importorskip("twitchAPI", reason="the Twitch library is an extra")

from tests.fakes.served_page import served_page  # noqa: E402 - needs the packages of the page
from tests.fakes.twitch_server import TwitchServer  # noqa: E402 - needs the library's own
from tests.fakes.twitch_stage import CHANNEL_ID, Stage, on_stage  # noqa: E402

PLACE = f"/places/{CHANNEL_ID}"


@asynccontextmanager
async def live_chat(home: Path, *replies: str) -> AsyncIterator[tuple[Stage, PageClient]]:
    """Ben has greeted Ember in Ada's chat and was answered; the page is open."""
    async with (
        on_stage(home, TwitchServer(), replies=("Hello, Ben.", *replies), broadcaster=None) as stage,
        served_page(stage.house.familiar) as page,
    ):
        await stage.server.chat("Ember, hello!")
        await stage.server.until(lambda: stage.server.sent)
        await stage.house.familiar.reply_path.queue.wait_until_channel_idle(CHANNEL_ID)
        yield stage, page


async def ask(page: PageClient, path: str) -> Answered:
    return await asyncio.to_thread(page.ask, "GET", path)


async def post(page: PageClient, verb: str, **fields: str) -> Answered:
    return await asyncio.to_thread(page.post, f"{PLACE}/{verb}", **fields)


async def test_the_chat_of_a_stream_can_be_taken_part_in(tmp_path: Path) -> None:
    """Under its name, with what was said there; who reads it is told whose words they are."""
    async with live_chat(tmp_path) as (_, page):
        body = (await ask(page, PLACE)).body

    assert "#ada_live" in body
    assert "Twitch" in body
    assert "Ember, hello!" in body
    assert "Hello, Ben." in body
    assert "Everyone there reads it as Ember" in body
    assert "is not connected in this program" not in body


async def test_words_are_posted_to_the_stream_and_remembered_as_the_familiars_own(tmp_path: Path) -> None:
    """The next prompt holds them as its own."""
    async with live_chat(tmp_path, "Mine.") as (stage, page):
        answer = await post(page, "say", text="The kettle is mine.")
        await stage.server.chat("Ember, whose kettle is it?")
        await stage.server.until(lambda: "Mine." in stage.server.sent)
        messages: list[Any] = stage.house.model.calls[-1]
        roles = [(turn.role, turn.content) for turn in stage.history()]

    assert answer.status == 200, answer.body
    assert stage.server.sent == ["Hello, Ben.", "The kettle is mine.", "Mine."]
    assert ("assistant", "The kettle is mine.") in roles
    assert any(each.role == "assistant" and "The kettle is mine." in str(each.content) for each in messages)


async def test_it_speaks_on_the_stream_when_it_is_asked_to(tmp_path: Path) -> None:
    """Though nobody has addressed it; nobody is replied to."""
    async with live_chat(tmp_path, "By the way, it rains.") as (stage, page):
        answer = await post(page, "speak")
        await stage.server.until(lambda: len(stage.server.sent) == 2)

    assert answer.status == 200, answer.body
    assert stage.server.sent[-1] == "By the way, it rains."


async def test_a_long_text_is_posted_in_lines_that_twitch_takes_and_stored_once(tmp_path: Path) -> None:
    """No line is longer than 500 characters."""
    text = "\n\n".join(f"{number}. {'word ' * 60}".strip() for number in range(4))
    async with live_chat(tmp_path) as (stage, page):
        answer = await post(page, "say", text=text)
        own = [turn.content for turn in stage.history() if turn.role == "assistant"]

    assert answer.status == 200, answer.body
    assert len(stage.server.sent) > 2
    assert all(len(line) <= 500 for line in stage.server.sent)
    assert len(own) == 2


async def test_what_twitch_refuses_is_a_sentence_and_is_not_remembered(tmp_path: Path) -> None:
    """As if nothing was said."""
    async with live_chat(tmp_path) as (stage, page):
        stage.server.twitch.room.banned.add("900")
        answer = await post(page, "say", text="Let me in.")
        own = [turn.content for turn in stage.history() if turn.role == "assistant"]

    assert answer.status == 400
    assert "did not arrive" in answer.json()["problem"]
    assert own == ["Hello, Ben."]


async def test_what_is_said_on_the_stream_comes_to_the_page_by_itself(tmp_path: Path) -> None:
    """By the stream of events, drawn; the page does not ask for it."""
    async with live_chat(tmp_path) as (stage, page):
        with ExitStack() as stack:
            events = await asyncio.to_thread(stack.enter_context, page.events(path=f"{PLACE}/events"))
            first = await asyncio.to_thread(events.next)
            await stage.server.chat("nice weather")
            came, _ = await asyncio.to_thread(events.until, "said")

    assert first[0] == "state"
    assert "nice weather" in came["html"]
    assert came["after"] == first[1]["latest"]
    assert "data-verb" not in came["html"]
