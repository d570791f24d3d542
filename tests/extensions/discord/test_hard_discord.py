"""Discord at its hardest: limits of routes, sessions that end, large servers, rights lost, events told in part."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.extensions.discord.demo.rights import SEND_MESSAGES, VIEW_CHANNEL, Overwrite
from tests.extensions.discord.test_confidence import prompt_for
from tests.fakes.familiar_on_discord import FamiliarOnDiscord, familiar_on_discord
from tests.fakes.waiting import until

MANY = 1_100
"""More members than one answer to a request for them holds."""


def client_of(den: FamiliarOnDiscord) -> Any:
    assert den.platform is not None
    return den.platform._client


async def test_a_route_asked_too_often_is_waited_out(tmp_path: Path) -> None:
    """Somebody else has used up what the channel allows: the answer is refused, waits, and is said once."""
    async with familiar_on_discord(tmp_path) as den:
        limits = den.server.api.limits
        limits.per_route, limits.window_s = 1, 0.05
        limits.now = lambda: float(any(route.endswith("/messages") for route in limits.refused))
        limits.take("POST", f"/api/channels/{den.room.id}/messages")
        await den.mention("hello")
        await den.server.until_replied(den.room)
        await den.wait_until_idle()

        assert f"POST /api/channels/{den.room.id}/messages" in limits.refused
        assert den.server.replies_in(den.room) == ["Hello, Ada."]
        assert den.roles_and_texts() == [("user", "hello"), ("assistant", "Hello, Ada.")]


@pytest.mark.parametrize("how", ["reconnect", "resumable", "forgotten"])
async def test_what_is_said_while_a_session_ends_is_answered_once(tmp_path: Path, how: str) -> None:
    """Discord moves the connection, or calls the session invalid, with or without a way back."""
    async with familiar_on_discord(tmp_path, lambda messages: "Yes?") as den:
        await den.server.post(den.room, den.ada, "before")
        await den.wait_stored("before")
        begun = len(den.server.facts_of("gateway:2")) + len(den.server.facts_of("gateway:6"))
        if how == "reconnect":
            await den.server.gateway.ask_to_reconnect()
        else:
            await den.server.gateway.invalidate(is_resumable=how == "resumable")
        await den.mention("meanwhile")
        await den.server.until(
            lambda: len(den.server.facts_of("gateway:2")) + len(den.server.facts_of("gateway:6")) > begun
        )
        await den.server.until_replied(den.room)
        await den.mention("after")
        await den.server.until_replied(den.room, 2)
        await den.wait_until_idle()

        assert [words for role, words in den.roles_and_texts() if role == "user"] == ["before", "meanwhile", "after"]
        assert den.server.replies_in(den.room) == ["Yes?", "Yes?"]


async def test_on_a_large_server_a_role_that_is_shut_out_is_known(tmp_path: Path) -> None:
    """Its members come in chunks; one whom nobody named at first is not told what their role may not read."""
    async with familiar_on_discord(tmp_path, lambda _: "Mm.", arrive=False) as den:
        world = den.server.world
        for number in range(MANY):
            world.person(f"member{number}", status="offline")
        guests = world.role(den.guild, "Guests")
        den.ben.roles, den.ben.status = (guests.id,), "offline"
        party = world.room(den.guild, "party", overwrites={guests.id: Overwrite(deny=VIEW_CHANNEL)})
        den.subscribe(party)
        await den.connect()
        guild = client_of(den).get_guild(den.guild.id)
        async with asyncio.timeout(300):
            await until(lambda: guild.chunked)
        asked = [each["d"] for each in den.server.facts_of("gateway:8")]
        assert den.platform is not None
        is_hidden = den.platform._readers.is_hidden(client_of(den).get_channel(party.id))
        await prompt_for(den, party, den.ada, "the present for Ben is plugh")
        public = await prompt_for(den, den.room, den.ben, "what is the present?")
        own = await prompt_for(den, party, den.ada, "what is the present?")

    assert [int(each["guild_id"]) for each in asked] == [den.guild.id]
    assert (len(guild.members), is_hidden) == (len(den.guild.people), True)
    assert ("plugh" in public, "plugh" in own) == (False, True)


async def test_the_right_to_write_lost_in_the_middle_of_an_answer_costs_that_answer(tmp_path: Path) -> None:
    """Nothing is said, the owner is told where, and with the right given back the next one is answered."""
    async with familiar_on_discord(tmp_path, lambda messages: "Yes?") as den:
        owners = den.server.world.direct_room(den.server.world.owner)
        pause = den.model.pause_after(0)
        await den.mention("hello")
        await pause.reached.wait()
        await den.server.set_overwrite(den.room, den.server.world.bot, deny=SEND_MESSAGES)
        pause.resume.set()
        told = await den.server.until_replied(owners, 2)
        await den.wait_until_idle()
        said = den.server.replies_in(den.room)
        await den.server.set_overwrite(den.room, den.server.world.bot)
        await den.mention("and now?")
        await den.server.until_replied(den.room)
        await den.wait_until_idle()

    assert said == []
    assert [each for each in told if "A reply in #general on The Burrow could not be sent" in each]
    assert den.server.replies_in(den.room) == ["Yes?"]


async def test_an_update_that_tells_only_a_part_takes_nothing_away(tmp_path: Path) -> None:
    """The preview of a link comes later, without words and without an author; words alone are an edit."""
    async with familiar_on_discord(tmp_path, lambda messages: "Yes?") as den:
        first = await den.server.post(den.room, den.ada, "look at https://example.org")
        await den.wait_stored("look at")
        where = {"channel_id": str(den.room.id), "guild_id": str(den.guild.id), "id": first["id"]}
        preview = {"type": "link", "url": "https://example.org", "title": "Example"}
        await den.server.gateway.dispatch("MESSAGE_UPDATE", where | {"embeds": [preview]})
        await den.server.post(den.room, den.ada, "there it is")
        await den.wait_stored("there it is")
        kept = [words for _, words in den.roles_and_texts()]
        edited = {"content": "look away", "edited_timestamp": "2025-01-01T00:00:00+00:00"}
        den.room.messages[int(first["id"])] |= edited
        await den.server.gateway.dispatch("MESSAGE_UPDATE", where | edited)
        await den.mention("well?")
        await den.server.until_replied(den.room)
        await den.wait_until_idle()
        shown = str(den.model.calls[-1])

    assert kept == ["look at https://example.org", "there it is"]
    assert ("look away" in shown, "look at" in shown) == (True, False)
