"""What Discord takes and what it refuses: first answers in time, replies, names of webhooks, direct messages."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.audience import AudienceKind
from familiar_connect.config import CharacterConfig
from familiar_connect.config.character import Alter
from familiar_connect.extensions.discord import slash
from familiar_connect.extensions.discord.demo.rights import READ_MESSAGE_HISTORY
from familiar_connect.extensions.discord.demo.world import PUBLIC_THREAD
from familiar_connect.extensions.discord.first_words import NOT_HERE
from familiar_connect.slash.command import SlashCommand, SlashReply
from familiar_connect.subscriptions import SubscriptionKind
from tests.extensions.discord.test_commands import LATER, is_private, used, words
from tests.extensions.discord.test_controls import use
from tests.extensions.discord.test_first_words import settle
from tests.fakes.familiar_on_discord import familiar_on_discord
from tests.fakes.waiting import until


async def test_a_command_in_a_thread_that_is_slow_to_look_at_is_answered_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Discord waits for the first word from when the command is used, and not from when its place is known."""
    monkeypatch.setattr(slash, "PATIENCE_S", 0.0)
    async with familiar_on_discord(tmp_path, arrive=False) as den:
        thread = den.server.world.room(den.guild, "badgers", kind=PUBLIC_THREAD, parent_id=den.room.id)
        await den.connect()
        den.server.api.interactions.deadline_s = 0.7
        slow = den.server.faults.add_hold("GET", f"/channels/{den.room.id}/messages/{thread.id}")
        answers = await used(den, "persona", room=thread, answers=2)
        assert slow.until is not None
        slow.until.set()

        assert answers[0]["type"] == LATER
        assert "Ember" in words(answers[1])


async def test_a_public_answer_that_takes_long_is_seen_by_everybody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What Discord showed as being thought about stays as hidden as it was, so the answer comes below it."""
    monkeypatch.setattr(slash, "PATIENCE_S", 0.0)

    async def toss(*_: Any) -> SlashReply:
        return SlashReply(text="Heads.", public=True)

    coin = SlashCommand(name="persona", description="Toss a coin.", run=toss)
    async with familiar_on_discord(tmp_path) as den:
        assert den.platform is not None
        assert den.platform._interactions is not None
        monkeypatch.setattr(den.platform._interactions._commands, "find", lambda name: coin)
        answers = await used(den, "persona", answers=3)

        assert [is_private(each) for each in answers[1:]] == [True, False]
        assert words(answers[2]) == "Heads."


async def test_without_the_right_to_read_back_an_answer_is_no_reply_and_goes_out(tmp_path: Path) -> None:
    """Discord takes no reply of a bot that may not read what was said before."""
    async with familiar_on_discord(tmp_path, ["First.", "Second."]) as den:
        other = den.server.world.room(den.guild, "elsewhere")
        await den.server.add_room(other)
        for each in (den.room, other):
            await den.server.set_overwrite(each, den.server.world.bot, deny=READ_MESSAGE_HISTORY)
        await den.mention("one")
        await den.server.until_replied(den.room)
        await den.wait_until_idle()
        thinking = den.model.pause_after(0)
        await den.mention("two")
        await thinking.reached.wait()
        await den.server.post(den.room, den.ben, "I had soup")
        await den.wait_stored("soup")
        thinking.resume.set()
        await den.server.until_replied(den.room, 2)
        await den.mention("hello?", room=other)

        assert den.server.replies_in(den.room) == ["First.", "Second."]
        assert "message_reference" not in den.server.facts_of("posted")[1]["asked"]
        assert await den.server.until_replied(other) == [NOT_HERE]


def with_a_name_discord_forbids(config: CharacterConfig) -> CharacterConfig:
    return replace(config, alters=[Alter(name="Clyde")])


async def test_a_name_that_discord_forbids_to_webhooks_is_written_so_that_it_takes_it(tmp_path: Path) -> None:
    """Of a further persona and of a member: it looks the same, and the words go out."""
    replies = ("Damp.", "Tea.", "Milk.", "Here you are.")
    async with familiar_on_discord(tmp_path, replies, settings=with_a_name_discord_forbids) as den:
        den.ada.display_name = "Discordia"
        await den.server.gateway.dispatch(
            "GUILD_MEMBER_UPDATE", den.guild.member(den.ada) | {"guild_id": str(den.guild.id)}
        )
        await den.mention("how are you, Clyde?")
        await den.server.until_replied(den.room)
        await den.wait_until_idle()
        await den.mention("What, Ember?")
        await den.server.until_replied(den.room, 2)
        await den.wait_until_idle()
        await use(den, "impersonate")
        said = await use(den, "impersonate", how="say")
        await den.server.until_replied(den.room, 4)
        names = [facts["message"]["author"]["username"] for facts in den.server.facts_of("posted")]

        assert den.server.replies_in(den.room)[0] == "Damp."
        assert names[0].replace("\u200b", "") == "Clyde"
        assert said == "Posted under your name."
        assert names[2].replace("\u200b", "") == "Discordia"


async def test_an_owner_who_cannot_be_written_to_is_told_where_the_program_runs_and_by_message_later(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Thrown out of the only server that they share, the familiar can write to them no more."""
    async with familiar_on_discord(tmp_path, lambda messages: "Here.") as den:
        world = den.server.world
        told: list[str] = []
        assert den.platform is not None
        den.platform._host._tell = told.append
        await den.server.remove_guild(den.guild)
        await until(lambda: told)
        assert "no longer on the server The Burrow" in told[0]

        await den.disconnect()
        warren = world.guild("The Warren")
        hall = world.room(warren, "hall")
        den.familiar.subscriptions.add(channel_id=hall.id, kind=SubscriptionKind.text, guild_id=warren.id)
        await den.connect()
        [later] = await den.server.until_replied(world.direct_room(world.owner))
        assert f"its id is {den.guild.id}" in later


async def test_a_member_who_takes_no_direct_messages_costs_nothing(tmp_path: Path) -> None:
    """Whoever shuts their direct messages before the answer is told nothing, and others are answered."""
    async with familiar_on_discord(tmp_path, lambda messages: "Here.") as den:
        den.server.world.owner.takes_direct = False
        direct = den.server.world.direct_room(den.server.world.owner)
        await den.server.post(direct, den.server.world.owner, "hello")
        await den.wait_stored("hello", room=direct)
        await settle(den)

        assert den.server.replies_in(direct) == []
        assert den.server.replies_in(den.room) == ["Here."]


async def test_a_thread_whose_beginning_cannot_be_looked_up_in_time_is_known_all_the_same(tmp_path: Path) -> None:
    """Who reads there and what people are called does not wait for the message that it began with."""
    async with familiar_on_discord(tmp_path, arrive=False) as den:
        thread = den.server.world.room(den.guild, "badgers", kind=PUBLIC_THREAD, parent_id=den.room.id)
        await den.connect()
        slow = den.server.faults.add_hold("GET", f"/channels/{den.room.id}/messages/{thread.id}")
        slow.times = 100
        await den.mention("any cake?", room=thread)
        await den.server.until_replied(thread)
        await den.wait_until_idle(thread)
        assert slow.until is not None
        slow.until.set()
        prompt = "\n".join(message.content for message in den.model.calls[-1])
        [asked] = [turn for turn in den.history(thread) if turn.role == "user"]

        assert "Familiar any cake?" in prompt
        assert asked.audience.kind is AudienceKind.SERVER
