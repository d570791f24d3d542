"""/setup on Discord: lists of channels, roles and people to choose from, and a familiar that talks at the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from familiar_connect.extensions.discord.demo.rights import MANAGE_CHANNELS, MANAGE_GUILD, ORDINARY
from familiar_connect.extensions.discord.demo.server import DiscordServer
from familiar_connect.extensions.discord.demo.world import Payload
from familiar_connect.subscriptions import SubscriptionKind
from tests.extensions.discord.test_commands import is_private, used, words
from tests.fakes.familiar_on_discord import familiar_on_discord
from tests.fakes.scripted_familiar import NO_TYPING_DELAY

CHANNELS, ROLES, PEOPLE = "use:setup:channels", "use:setup:roles", "use:setup:people"
UPDATED = 7


def lists_below(shown: Payload) -> list[str]:
    return [part["custom_id"] for row in shown["data"]["components"] for part in row["components"]]


async def chosen(server: DiscordServer, token: str) -> Payload:
    return (await server.until_answered(token))[-1]


async def test_setup_ends_in_a_familiar_that_talks(tmp_path: Path) -> None:
    """A manager of the server chooses a channel in the list; everybody there learns of it, and a hello is answered."""
    async with familiar_on_discord(tmp_path, lambda messages: "Good evening.", arrive=False) as den:
        world, server = den.server.world, den.server
        keepers = world.role(den.guild, "Keepers", ORDINARY | MANAGE_CHANNELS | MANAGE_GUILD)
        den.ada.roles = (keepers.id,)
        hall = world.room(den.guild, "hall")
        (den.familiar.root / "channels" / f"{hall.id}.toml").write_text(NO_TYPING_DELAY, encoding="utf-8")
        await den.connect()
        (shown,) = await used(den, "setup")
        answer = await chosen(server, await server.pick(den.room, den.ada, shown, CHANNELS, [hall.id]))
        await den.server.post(hall, den.ben, "Ember, hello!")
        said = await server.until_replied(hall, 2)

        assert lists_below(shown) == [CHANNELS, ROLES, PEOPLE]
        assert is_private(shown)
        assert answer["type"] == UPDATED
        assert "I listen in #hall now" in words(answer)
        assert "listen in this channel from now on" in said[0]
        assert said[1] == "Good evening."


async def test_the_library_finds_its_own_first_answer_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It looks for it where something can be chosen below; a setup that went well leaves no warning."""
    async with familiar_on_discord(tmp_path, arrive=False) as den:
        hall = den.server.world.room(den.guild, "hall")
        await den.connect()
        (shown,) = await used(den, "setup", who=den.server.world.owner)
        token = await den.server.pick(den.room, den.server.world.owner, shown, CHANNELS, [hall.id])
        await chosen(den.server, token)
        await den.disconnect()

        assert "could not be answered" not in caplog.text


async def test_a_channel_is_chosen_only_by_those_who_may_manage_it(tmp_path: Path) -> None:
    """Whatever the list shows; and only one where the familiar may write."""
    async with familiar_on_discord(tmp_path, arrive=False) as den:
        hall = den.server.world.room(den.guild, "hall")
        await den.connect()
        (shown,) = await used(den, "setup")
        answer = await chosen(den.server, await den.server.pick(den.room, den.ada, shown, CHANNELS, [hall.id]))
        (refused,) = await used(den, "setup", who=den.ben, may_manage=False)

        assert lists_below(shown) == [CHANNELS]
        assert "#hall: you need the right to manage it." in words(answer)
        assert den.familiar.subscriptions.get(channel_id=hall.id, kind=SubscriptionKind.text) is None
        assert "components" not in refused["data"] or not refused["data"]["components"]


async def test_a_role_and_a_person_may_be_let_use_the_controls(tmp_path: Path) -> None:
    """They are named, not numbered, and kept for the next start; others are refused as before."""
    async with familiar_on_discord(tmp_path, lambda messages: "Tea.", arrive=False) as den:
        world, server = den.server.world, den.server
        keepers = world.role(den.guild, "Keepers", ORDINARY | MANAGE_GUILD)
        poets = world.role(den.guild, "Poets", ORDINARY)
        cy, dee = world.person("cy"), world.person("dee")
        den.ada.roles, den.ben.roles = (keepers.id,), (poets.id,)
        await den.connect()
        (shown,) = await used(den, "setup")
        await chosen(server, await server.pick(den.room, den.ada, shown, ROLES, [poets.id]))
        answer = await chosen(server, await server.pick(den.room, den.ada, shown, PEOPLE, [cy.id]))
        lines = [words((await used(den, "lines", who=who, may_manage=False))[0]) for who in (den.ben, cy, dee)]
    async with familiar_on_discord(tmp_path, arrive=False) as again:
        kept = again.familiar.stores.control_grants.of_server(den.guild.id)

        assert "Poets, Cy may use my controls" in words(answer)
        assert ["Nothing has been said" in each for each in lines] == [True, True, False]
        assert [(each.kind, each.name) for each in kept] == [("role", "Poets"), ("person", "Cy")]


async def test_one_channel_can_be_chosen_in_the_command_itself(tmp_path: Path) -> None:
    """Discord shows its channels while the command is typed."""
    async with familiar_on_discord(tmp_path, arrive=False) as den:
        hall = den.server.world.room(den.guild, "hall")
        await den.connect()
        (answer,) = await used(den, "setup", who=den.server.world.owner, channel=hall.id)

        assert "I listen in #hall now" in words(answer)
