"""Whoever speaks to the familiar on Discord is answered, or told why not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from familiar_connect.chat.directives import STOP
from familiar_connect.config import CharacterConfig
from familiar_connect.config.types import DecideWith
from familiar_connect.errors import ModelError, ModelSetupError, ModelTimeoutError
from familiar_connect.extensions.discord.demo.world import Room
from familiar_connect.llm.types import Message
from familiar_connect.slash.roleplay import NOT_YOURS
from tests.fakes.familiar_on_discord import FamiliarOnDiscord, familiar_on_discord
from tests.fakes.long_text import make_words
from tests.fakes.scripted_familiar import with_dms
from tests.fakes.waiting import until


def notices_in(den: FamiliarOnDiscord, room: Room) -> list[str]:
    """What people were told there that is not the familiar speaking."""
    posted = [facts["message"] for facts in den.server.facts_of("posted") if facts["room"] == room.id]
    return [embed["description"] for message in posted for embed in message["embeds"]]


async def until_noticed(den: FamiliarOnDiscord, room: Room) -> str:
    await den.server.until(lambda: notices_in(den, room))
    return notices_in(den, room)[-1]


@pytest.mark.parametrize("way", list(DecideWith))
async def test_a_mention_a_reply_and_a_direct_message_are_put_to_no_vote(tmp_path: Path, way: DecideWith) -> None:
    """Whoever decides otherwise, and even where the model would rather be silent."""

    def settings(config: CharacterConfig) -> CharacterConfig:
        return with_dms("everyone")(replace(config, decide_with=way))

    async with familiar_on_discord(tmp_path, lambda messages: "I hear you.", settings=settings) as den:
        await den.mention("one")
        await den.server.until_replied(den.room)
        await den.wait_until_idle()
        ours = den.server.facts_of("posted")[0]["message"]
        await den.server.reply(den.room, den.ben, "two", to=ours)
        await den.server.until_replied(den.room, 2)
        direct = den.server.world.direct_room(den.ada)
        await den.server.post(direct, den.ada, "three")

        assert await den.server.until_replied(direct) == ["I hear you."]


async def test_f4_an_empty_answer_is_asked_again_once(tmp_path: Path) -> None:
    """F4: whoever asked sees only the second."""
    async with familiar_on_discord(tmp_path, ["  ", "Here I am."]) as den:
        await den.mention("hello?")

        assert await den.server.until_replied(den.room) == ["Here I am."]
        assert len(den.model.calls) == 2


async def test_f4_a_second_empty_answer_is_said(tmp_path: Path) -> None:
    """F4: in a few words where it was asked, in full to the owner."""
    async with familiar_on_discord(tmp_path, ["", ""]) as den:
        await den.mention("hello?")
        told = await until_noticed(den, den.room)
        owner = await den.server.until_replied(den.server.world.direct_room(den.server.world.owner))

        assert told == "No reply: the model answered with nothing, twice. My owner gets the details."
        assert "`familiar connect`" in owner[0]


async def test_f4_a_model_that_stays_silent_to_a_mention_is_asked_again_once(tmp_path: Path) -> None:
    """F4: nobody sees the mark by which it declined."""
    async with familiar_on_discord(tmp_path, ["<silence>", "Here I am. <silence>"]) as den:
        await den.mention("hello?")

        assert await den.server.until_replied(den.room) == ["Here I am."]
        assert len(den.model.calls) == 2


async def test_f4_a_second_silence_to_a_mention_is_told_as_what_it_is(tmp_path: Path) -> None:
    """F4: to who asked, to the owner, and in the trace of the turn."""
    async with familiar_on_discord(tmp_path, ["<silence>", " <SILENCE>"]) as den:
        await den.mention("hello?")
        told = await until_noticed(den, den.room)
        await den.server.until_replied(den.server.world.direct_room(den.server.world.owner))
        await den.wait_until_idle()
        trace = den.familiar.reply_path.collector.last_trace("ember")

        assert told == "No reply: the model chose to say nothing, twice. My owner gets the details."
        assert den.server.replies_in(den.room) == [""]
        assert trace is not None
        assert trace.tags["silent"] == "yes"


@pytest.mark.parametrize(
    ("failure", "shortly", "fully"),
    [
        (ModelError("http://x answered with status 500.", status=500), "the model's server failed (500)", "http://x"),
        (
            ModelSetupError("http://x refused the key (401): set `api_key_env`.", status=401),
            "the model's server does not accept my key (401)",
            "api_key_env",
        ),
        (ModelTimeoutError("no first word within `first_token_s`."), "the model took too long", "first_token_s"),
        (ValueError("SECRET"), "something went wrong on my side", "familiar doctor"),
    ],
)
async def test_a_failure_is_told_in_its_own_words(tmp_path: Path, failure: Exception, shortly: str, fully: str) -> None:
    """Shortly in the channel, without addresses or settings; in full to the owner, and never what nobody foresaw."""
    async with familiar_on_discord(tmp_path, [failure]) as den:
        await den.mention("hello?")
        told = await until_noticed(den, den.room)
        owner = await den.server.until_replied(den.server.world.direct_room(den.server.world.owner))

        assert told == f"No reply: {shortly}. My owner gets the details."
        assert fully in owner[0]
        assert "SECRET" not in owner[0] + told


async def test_the_owner_who_asks_directly_is_told_once_and_in_full(tmp_path: Path) -> None:
    """There is nobody to be short for."""
    async with familiar_on_discord(tmp_path, [ModelError("http://x answered with status 500.", status=500)]) as den:
        owners = den.server.world.direct_room(den.server.world.owner)
        await den.server.post(owners, den.server.world.owner, "hello?")
        told = await until_noticed(den, owners)
        await den.wait_until_idle(owners)

        assert told == "No reply: http://x answered with status 500."
        assert [text for text in den.server.replies_in(owners) if text] == []


def three_messages(messages: list[Message]) -> str:
    return "\n\n".join(f"{number} {make_words(230)}" for number in range(3))


async def answer_held_at_its_second_message(den: FamiliarOnDiscord) -> Callable[[], None]:
    """Ada asks; of her answer of three messages the first is out and the second is held. Lets it go on."""
    path = f"/channels/{den.room.id}/messages"
    first = den.server.faults.add_hold("POST", path)
    second = den.server.faults.add_hold("POST", path)
    await den.mention("tell me everything")
    await first.reached.wait()
    assert first.until is not None
    assert second.until is not None
    first.until.set()
    await second.reached.wait()
    return second.until.set


async def test_the_chatter_of_others_does_not_cut_an_answer(tmp_path: Path) -> None:
    """Ada gets all three messages though Ben talks meanwhile."""
    async with familiar_on_discord(tmp_path, three_messages) as den:
        go_on = await answer_held_at_its_second_message(den)
        await den.server.post(den.room, den.ben, "I had soup")
        await den.wait_stored("soup")
        go_on()

        assert len(await den.server.until_replied(den.room, 3)) == 3


async def test_whoever_is_answered_may_cut_in(tmp_path: Path) -> None:
    """Ada says something else: the rest is left out, and she is answered anew."""
    async with familiar_on_discord(tmp_path, [three_messages([]), "Right."]) as den:
        go_on = await answer_held_at_its_second_message(den)
        await den.mention("wait, something else")
        await den.wait_stored("something else")
        await den.familiar.intake.wait_until_idle()  # stored is not yet heard
        go_on()
        await den.server.until(lambda: "Right." in den.server.replies_in(den.room))
        await den.wait_until_idle()

        assert not any(text.startswith("2 ") for text in den.server.replies_in(den.room))


async def test_stop_ends_a_reply_for_the_owner_and_for_whoever_is_answered(tmp_path: Path) -> None:
    """Ben may not; what had arrived stays and is remembered."""
    async with familiar_on_discord(tmp_path, three_messages) as den:
        go_on = await answer_held_at_its_second_message(den)
        refused = await den.server.until_answered(await den.server.command(den.room, den.ben, "stop"))
        stopping = await den.server.command(den.room, den.server.world.owner, "stop")
        tracker = den.familiar.reply_path.deliveries.get(den.room.id)
        await until(lambda: tracker.task is not None and tracker.task.cancelling())
        go_on()
        stopped = await den.server.until_answered(stopping)
        await den.wait_until_idle()

        assert refused[0]["data"]["content"] == NOT_YOURS
        assert "Stopped" in str(stopped)
        assert not any(text.startswith("2 ") for text in den.server.replies_in(den.room))
        assert den.roles_and_texts()[-1][1].startswith("0 word")


async def test_a_stop_with_a_word_is_acknowledged_by_the_familiar(tmp_path: Path) -> None:
    """The model is told that it was asked to stop; the rest of the old reply stays unsaid."""
    async with familiar_on_discord(tmp_path, [three_messages([]), "As you wish."]) as den:
        go_on = await answer_held_at_its_second_message(den)
        token = await den.server.command(den.room, den.ada, "stop", {"how": "say"})
        tracker = den.familiar.reply_path.deliveries.get(den.room.id)
        await until(lambda: tracker.task is not None and tracker.task.cancelling())
        go_on()
        await den.server.until_answered(token)
        await den.server.until(lambda: "As you wish." in den.server.replies_in(den.room))
        await den.wait_until_idle()

        assert STOP in den.model.calls[-1][-1].content
        assert STOP not in "".join(message.content for message in den.model.calls[0])
        assert not any(text.startswith("2 ") for text in den.server.replies_in(den.room))


async def test_what_nobody_foresaw_while_a_turn_is_made_is_told_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error outside of any model is no reason to say nothing."""
    async with familiar_on_discord(tmp_path) as den:

        async def fails(*args: object, **more: object) -> None:
            raise RuntimeError("odd")

        monkeypatch.setattr(den.familiar.reply_path.turns, "build", fails)
        await den.mention("hello?")

        assert (
            await until_noticed(den, den.room)
            == "No reply: something went wrong on my side. My owner gets the details."
        )
