"""Direct chats on a Telegram of our own, through the real library: heard once, answered, and what goes wrong."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

pytest.importorskip("telegram", reason="the Telegram library is an extra")

from familiar_connect.errors import SetupError
from familiar_connect.extensions.telegram.client import BotClient
from familiar_connect.extensions.telegram.demo.faults import Fault
from familiar_connect.extensions.telegram.demo.server import TelegramServer
from familiar_connect.extensions.telegram.settings import Settings
from tests.fakes.telegram_stage import OWNER_ID, telegram_stage
from tests.fakes.waiting import until


async def test_each_person_is_answered_alone(tmp_path: Path) -> None:
    """What one of them said is in the history of their chat, and the audience is theirs."""
    async with telegram_stage(tmp_path, replies=("Hello, Ada.", "Hello, Ben.")) as stage:
        ada, ben = stage.server.world.user("ada", 502), stage.server.world.user("ben", 503)
        stage.server.say(ada, "I am afraid of 🐙")
        await stage.until_sent(1)
        stage.server.say(ben, "good evening")
        await stage.until_sent(2)
        await stage.until_idle()

        assert stage.server.list_sent(stage.server.world.direct(ada)) == ["Hello, Ada."]
        assert [turn.content for turn in await stage.history(502)] == ["I am afraid of 🐙", "Hello, Ada."]
        assert [str(turn.audience) for turn in await stage.history(503)] == ["people:telegram:503"] * 2


async def test_what_was_not_confirmed_comes_again_and_is_stored_once(tmp_path: Path) -> None:
    """The program ends after it has stored a message and before it has confirmed it."""
    server = TelegramServer()
    ada = server.world.user("ada", 502)
    async with telegram_stage(tmp_path, server) as stage:
        held = server.faults.add(Fault("getUpdates", until=asyncio.Event()))
        server.say(ada, "one")
        await held.reached.wait()
        await stage.until_sent(1)
    assert server.updates.confirmed < server.updates.newest_id, "the program ended before it could say that it has it"
    server.say(ada, "two, while nobody listened")
    async with telegram_stage(tmp_path, server, replies=("Two.",)) as stage:
        await server.until(lambda: server.list_sent()[-1] == "Two.", within_s=60)

        assert await stage.heard(502) == ["one", "two, while nobody listened"]


async def test_telegram_asks_us_to_wait_and_gets_the_message_later(tmp_path: Path) -> None:
    """After 429 nothing is lost and nothing is said twice."""
    async with telegram_stage(tmp_path) as stage:
        ada = stage.server.world.user("ada", 502)
        chat = stage.server.world.direct(ada)
        for _ in range(5):
            stage.server.api.limits.take(chat.id, is_group=False)
        stage.server.say(ada, "hello")
        await stage.until_sent(1)

        assert stage.server.list_sent() == ["Hello."]


async def test_what_may_have_arrived_is_not_said_again(tmp_path: Path) -> None:
    """The answer to a message that was sent is lost: the owner is told of it, and it stands there once."""
    async with telegram_stage(tmp_path) as stage:
        stage.server.faults.add(Fault("sendMessage", is_after_effect=True))
        stage.server.say(stage.server.world.user("you", OWNER_ID), "hello")
        await stage.until_sent(2)
        await stage.until_idle()
        sent = stage.server.list_sent()

        assert sent[0] == "Hello."
        assert "could not be sent: Telegram could not be reached" in sent[1]
        assert len(sent) == 2


async def test_somebody_who_blocked_the_bot_costs_nobody_else_an_answer(tmp_path: Path) -> None:
    """403 ends that reply alone."""
    async with telegram_stage(tmp_path, replies=("For Ada.", "For Ben.")) as stage:
        ada, ben = stage.server.world.user("ada", 502), stage.server.world.user("ben", 503)
        held = stage.server.faults.add(Fault("sendMessage", status=403))
        stage.server.say(ada, "hello")
        await held.reached.wait()
        stage.server.block(ada)
        stage.server.say(ben, "hello")
        await stage.until_sent(1)

        assert stage.server.list_sent() == ["For Ben."]


async def test_only_the_owner_is_heard_unless_the_settings_say_otherwise(tmp_path: Path) -> None:
    """A stranger is told their user id, once; nothing of theirs is kept."""
    settings = Settings(owner=str(OWNER_ID))
    async with telegram_stage(tmp_path, settings=settings) as stage:
        stranger = stage.server.world.user("eve", 666)
        stage.server.say(stranger, "hello")
        stage.server.say(stranger, "hello?")
        stage.server.say(stage.server.world.user("you", OWNER_ID), "hello")
        await stage.until_sent(2)
        await stage.until_idle()

        assert stage.server.list_sent() == ["I only answer my owner here. Your user id is 666.", "Hello."]
        assert await stage.heard(666) == []
        assert [str(turn.audience) for turn in await stage.history(OWNER_ID)] == ["owner", "owner"]


async def test_two_programs_with_one_token_are_told_apart_from_trouble(tmp_path: Path) -> None:
    """The first ends with a sentence that says what to do; so does one with a token that is none."""
    async with telegram_stage(tmp_path) as stage:
        second = BotClient(stage.server.token, stage.server.url)
        async with second.open():
            polling = asyncio.create_task(second.updates())
            await until(stage.task.done)
            stage.server.say(stage.server.world.user("ada"), "hello")
            await polling

        with pytest.raises(SetupError, match="Another program reads what is said to @ember_bot"):
            stage.task.result()
        with pytest.raises(SetupError, match="does not accept the token") as refused:
            async with BotClient("12:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", stage.server.url).open():
                pass
        assert "aaaa" not in str(refused.value)
