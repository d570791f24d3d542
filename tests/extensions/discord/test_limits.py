"""Limits and /ignore on Discord, through the real library."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from familiar_connect.config import CharacterConfig
from familiar_connect.extensions.discord.demo.world import Room
from familiar_connect.slash.registry import NOT_THE_OPERATOR
from tests.fakes.familiar_on_discord import FamiliarOnDiscord, familiar_on_discord
from tests.fakes.scripted_familiar import ChangeSettings


def with_limits(**limits: Any) -> ChangeSettings:
    def change(config: CharacterConfig) -> CharacterConfig:
        return replace(config, limits=replace(config.limits, **limits))

    return change


def notices_in(den: FamiliarOnDiscord, room: Room) -> list[str]:
    """What was said in a frame of its own, by the program and not by the familiar."""
    posted = [facts["message"] for facts in den.server.facts_of("posted") if facts["room"] == room.id]
    return [embed["description"] for message in posted for embed in message["embeds"]]


async def command_answer(den: FamiliarOnDiscord, name: str, **how: Any) -> str:
    who = how.pop("who", den.server.world.owner)
    token = await den.server.command(den.room, who, name, how)
    return str((await den.server.until_answered(token))[0]["data"]["content"])


async def test_a_stranger_over_the_rate_is_told_once_in_the_channel(tmp_path: Path) -> None:
    """Further messages are stored and cost no call; somebody else is answered."""
    settings = with_limits(replies_per_person_per_minute=1)
    async with familiar_on_discord(tmp_path, lambda _: "Hello.", settings=settings) as den:
        await den.mention("one")
        await den.server.until_replied(den.room)
        for text in ("two", "three"):
            await den.mention(text)
            await den.wait_stored(text)
        await den.server.until(lambda: notices_in(den, den.room))
        await den.mention("and me?", who=den.ben)
        await den.server.until_replied(den.room, 3)
        await den.wait_until_idle()

        assert len(den.model.calls) == 2
        assert len(notices_in(den, den.room)) == 1
        assert "at most 1 times a minute" in notices_in(den, den.room)[0]


async def test_the_days_cap_is_told_to_the_owner_by_direct_message(tmp_path: Path) -> None:
    """With the setting that holds it; whoever asks is told politely, once."""
    async with familiar_on_discord(tmp_path, lambda _: "Hello.", settings=with_limits(tokens_per_day=10)) as den:
        await den.mention("one")
        await den.server.until_replied(den.room)
        owners = den.server.world.direct_room(den.server.world.owner)
        told = await den.server.until_replied(owners)
        for text in ("two", "three"):
            await den.mention(text)
            await den.wait_stored(text)
        await den.server.until(lambda: notices_in(den, den.room))
        await den.wait_until_idle()

        assert "[limits] tokens_per_day" in told[0]
        assert len(den.server.replies_in(owners)) == 1
        assert len(den.model.calls) == 1
        assert ["tomorrow" in notice for notice in notices_in(den, den.room)] == [True]


async def test_the_owner_ignores_somebody_by_mention_and_takes_it_back_by_name(tmp_path: Path) -> None:
    """Nobody else may; what an ignored person says stays in the history."""
    async with familiar_on_discord(tmp_path, lambda _: "Hello.") as den:
        refused = await command_answer(den, "ignore", who=den.ada, person="ben")
        done = await command_answer(den, "ignore", person=f"<@{den.ben.id}>")
        await den.mention("hello?", who=den.ben)
        await den.wait_stored("hello?")
        await den.wait_until_idle()
        asked = len(den.model.calls)
        listed = await command_answer(den, "ignore")
        back = await command_answer(den, "unignore", person="ben")
        await den.mention("and now?", who=den.ben)
        await den.server.until_replied(den.room)

        assert refused == NOT_THE_OPERATOR
        assert f"discord:{den.ben.id}" in done
        assert f"discord:{den.ben.id}" in listed
        assert "again" in back
        assert asked == 0
        assert len(den.model.calls) == 1
