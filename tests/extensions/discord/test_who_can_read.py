"""Who can really read a channel, through the real library on our own Discord, held against that Discord's reckoning."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.discord_permissions import measure
from familiar_connect.audience import AudienceKind
from familiar_connect.config import CharacterConfig
from familiar_connect.extensions.discord.demo.gateway import MEMBERS_FLAG
from familiar_connect.extensions.discord.demo.rights import (
    ADMINISTRATOR,
    CONNECT,
    MANAGE_THREADS,
    ORDINARY,
    VIEW_CHANNEL,
    FakeRole,
    Overwrite,
)
from familiar_connect.extensions.discord.demo.world import (
    CATEGORY,
    FORUM,
    PRIVATE_THREAD,
    PUBLIC_THREAD,
    STAGE,
    TEXT,
    VOICE,
    FakePerson,
    Room,
)
from familiar_connect.extensions.discord.permissions import members_in
from familiar_connect.identity import Author
from familiar_connect.llm.types import Message
from tests.extensions.discord.test_confidence import prompt_for
from tests.fakes.familiar_on_discord import FamiliarOnDiscord, familiar_on_discord
from tests.fakes.waiting import until


def client_of(den: FamiliarOnDiscord) -> Any:
    assert den.platform is not None
    return den.platform._client


async def readers_in(den: FamiliarOnDiscord, room: Room) -> frozenset[int] | None:
    """The humans who can read *room*, as the product works it out; None where it does not know."""
    assert den.platform is not None
    client = client_of(den)
    channel = client.get_channel(room.id)
    found = await den.platform._readers._readers_of(channel, channel.guild, client)
    if found.index is None or found.everyone is None:
        return None
    return frozenset(each.id for each in members_in(found.index.snapshot(), found.everyone))


def humans_in(den: FamiliarOnDiscord, room: Room) -> frozenset[int]:
    """The humans who can read *room*, as our own Discord works it out."""
    bots = {key for key, person in den.server.world.people.items() if person.is_bot}
    return den.guild.readers_of(room) - bots


async def until_told(den: FamiliarOnDiscord) -> None:
    """Wait until the client has taken in everything that happened so far."""
    marker = den.server.world.role(den.guild, f"marker {den.server.world.new_id()}")
    about = {"guild_id": str(den.guild.id), "role": den.guild.role_payload(marker.id)}
    await den.server.gateway.dispatch("GUILD_ROLE_CREATE", about)
    await until(lambda: client_of(den).get_guild(den.guild.id).get_role(marker.id) is not None)


def a_random_server(den: FamiliarOnDiscord, rng: random.Random) -> tuple[list[Room], list[FakeRole]]:
    """Roles, categories, channels of every kind, threads and overwrites by chance."""
    world, guild = den.server.world, den.guild
    for number in range(6):
        world.person(f"p{number}", is_pending=number == 0)
    world.person("helper", is_bot=True)
    bits = (0, VIEW_CHANNEL, CONNECT, VIEW_CHANNEL | CONNECT, MANAGE_THREADS, ADMINISTRATOR)
    roles = [world.role(guild, f"r{number}", rng.choice(bits)) for number in range(4)]
    guild.everyone_may = rng.choice((ORDINARY, ORDINARY, ORDINARY & ~VIEW_CHANNEL, ORDINARY & ~CONNECT))
    for person in guild.people.values():
        person.roles = tuple(role.id for role in roles if rng.random() < 0.25)
    rooms = []
    for number in range(24):
        kind = rng.choice((TEXT, TEXT, VOICE, STAGE, FORUM, CATEGORY))
        room = world.room(guild, f"c{number}", kind=kind)
        room.overwrites = {
            key: Overwrite(rng.choice((0, 0, *bits[1:5])), rng.choice((0, *bits[1:5])), is_member=key in guild.people)
            for key in rng.sample([guild.id, *guild.roles, *guild.people], rng.choice((0, 1, 2, 4)))
        }
        rooms.append(room)
    for number in range(12):
        parent = rng.choice([each for each in rooms if each.kind in (TEXT, FORUM)])
        kind = PUBLIC_THREAD if parent.kind == FORUM else rng.choice((PUBLIC_THREAD, PRIVATE_THREAD))
        members = set(rng.sample(sorted(guild.people), 3))
        rooms.append(world.room(guild, f"t{number}", kind=kind, parent_id=parent.id, thread_members=members))
    return [room for room in rooms if room.kind != CATEGORY], roles


async def change_something(
    den: FamiliarOnDiscord, rng: random.Random, rooms: list[Room], roles: list[FakeRole]
) -> None:
    server, guild = den.server, den.guild
    room, role = rng.choice(rooms), rng.choice(roles)
    person = rng.choice([each for each in guild.people.values() if not each.is_bot])
    what = rng.randrange(7)
    if what == 0 and not room.is_thread:
        await server.set_overwrite(room, person, deny=rng.choice((0, VIEW_CHANNEL)))
    elif what == 1 and not room.is_thread:
        await server.set_overwrite(room, role, allow=rng.choice((0, VIEW_CHANNEL | CONNECT)), deny=CONNECT)
    elif what == 2:
        await server.set_role(guild, rng.choice((role, None)), rng.choice((ORDINARY, ADMINISTRATOR, 0)))
    elif what == 3:
        await server.set_member_roles(guild, person, *rng.sample(roles, rng.randrange(3)))
    elif what == 4:
        await server.remove_member(guild, person)
    elif what == 5:
        for each in [each for each in server.world.people.values() if each.id not in guild.people][:1]:
            await server.add_member(guild, each)
    elif room.is_thread:
        await server.change_thread_members(room, added=[person])


async def test_readers_are_those_of_discords_own_reckoning_whatever_changes(tmp_path: Path) -> None:
    """Every kind of channel, by chance; then roles, overwrites, members and thread members change, and all again."""
    rng = random.Random(7)
    async with familiar_on_discord(tmp_path, arrive=False) as den:
        rooms, roles = a_random_server(den, rng)
        await den.connect()
        await until(lambda: client_of(den).get_guild(den.guild.id) is not None)
        for _ in range(25):
            for room in rooms:
                assert await readers_in(den, room) == humans_in(den, room), room
            for _ in range(3):
                await change_something(den, rng, rooms, roles)
            await until_told(den)


@pytest.mark.parametrize("is_role", [False, True], ids=["one member denied", "one role denied"])
async def test_whoever_a_channel_is_closed_to_is_not_told_what_is_said_in_it(tmp_path: Path, is_role: bool) -> None:
    """Everybody may view it but one; that one asks where they are, and in a direct message."""
    async with familiar_on_discord(tmp_path, lambda _: "Mm.", arrive=False) as den:
        world = den.server.world
        role = world.role(den.guild, "Guest")
        den.ben.roles = (role.id,)
        party = world.room(den.guild, "party")
        whom: FakePerson | FakeRole = role if is_role else den.ben
        party.overwrites[whom.id] = Overwrite(deny=VIEW_CHANNEL, is_member=not is_role)
        den.subscribe(party)
        await den.connect()
        await prompt_for(den, party, den.ada, "the present for Ben is plugh")
        public = await prompt_for(den, den.room, den.ben, "what is the present?")
        own = await prompt_for(den, party, den.ada, "what is the present?")

        heard = (await den.wait_stored("plugh", room=party)).audience

    assert heard.kind is AudienceKind.CHANNEL
    assert ("plugh" in public, "plugh" in own) == (False, True)


async def test_a_role_given_under_the_same_rules_hears_and_a_change_of_rules_opens_nothing(tmp_path: Path) -> None:
    """Asked in a channel of the same people, and in the channel itself."""
    async with familiar_on_discord(tmp_path, lambda _: "Mm.", arrive=False) as den:
        world, server = den.server.world, den.server
        crew, guests = world.role(den.guild, "Crew"), world.role(den.guild, "Guests")
        den.ada.roles = (crew.id,)
        deck, bridge = (world.room(den.guild, name) for name in ("deck", "bridge"))
        for room in (deck, bridge):
            room.overwrites[den.guild.id] = Overwrite(deny=VIEW_CHANNEL)
            room.overwrites[crew.id] = Overwrite(allow=VIEW_CHANNEL)
            room.overwrites[world.bot.id] = Overwrite(allow=VIEW_CHANNEL, is_member=True)
            den.subscribe(room)
        await den.connect()
        await prompt_for(den, deck, den.ada, "the course is plugh")
        same_people = await prompt_for(den, bridge, den.ada, "what is the course?")
        await server.set_member_roles(den.guild, den.ben, crew)
        await until_told(den)
        newcomer = await prompt_for(den, bridge, den.ben, "what is the course, please?")
        await server.set_overwrite(deck, guests, allow=VIEW_CHANNEL)
        await until_told(den)
        nobody_new = await prompt_for(den, deck, den.ada, "which course was it?")
        cy = world.person("cy")
        cy.roles = (guests.id,)
        await server.add_member(den.guild, cy)
        await until_told(den)
        let_in = await prompt_for(den, deck, cy, "and which course is it now?")

    assert ["plugh" in each for each in (same_people, newcomer, nobody_new, let_in)] == [True, True, False, False]


async def test_voice_needs_the_right_to_connect_and_an_age_is_never_taken_for_granted(tmp_path: Path) -> None:
    """Their rules alone make them hidden, whoever is on the server; so does a forum's for its posts."""
    async with familiar_on_discord(tmp_path, arrive=False) as den:
        world = den.server.world
        role = world.role(den.guild, "Newcomer")
        closed = Overwrite(deny=CONNECT)
        group = world.room(den.guild, "wing", kind=CATEGORY, overwrites={role.id: Overwrite(deny=VIEW_CHANNEL)})
        forum = world.room(den.guild, "asks", kind=FORUM, overwrites=dict(group.overwrites), parent_id=group.id)
        rooms = {
            "open": den.room,
            "text without connect": world.room(den.guild, "text", overwrites={role.id: closed}),
            "voice": world.room(den.guild, "hall", kind=VOICE),
            "voice without connect": world.room(den.guild, "call", kind=VOICE, overwrites={role.id: closed}),
            "stage without connect": world.room(den.guild, "stage", kind=STAGE, overwrites={role.id: closed}),
            "unsynced": world.room(den.guild, "corner", parent_id=group.id),
            "synced": world.room(den.guild, "den", parent_id=group.id, overwrites=dict(group.overwrites)),
            "post": world.room(den.guild, "how to", kind=PUBLIC_THREAD, parent_id=forum.id),
            "age-restricted": world.room(den.guild, "bar", is_age_restricted=True),
            "private thread": world.room(
                den.guild, "gift", kind=PRIVATE_THREAD, parent_id=den.room.id, thread_members={world.bot.id}
            ),
        }
        await den.connect()
        assert den.platform is not None
        await until(lambda: client_of(den).get_channel(rooms["private thread"].id) is not None)
        reader = den.platform._readers
        hidden = {name for name, room in rooms.items() if reader.is_hidden(client_of(den).get_channel(room.id))}
        corner = await den.platform._place(client_of(den).get_channel(rooms["unsynced"].id)).scene()
        assert not {group.id, rooms["unsynced"].id} & corner.private_channel_ids

        await den.server.set_overwrite(group, role)
        await until_told(den)
        later = {name for name, room in rooms.items() if reader.is_hidden(client_of(den).get_channel(room.id))}

    always = {"voice without connect", "stage without connect", "age-restricted", "private thread"}
    assert hidden == always | {"synced", "post"}
    assert later == always


async def test_in_an_age_restricted_channel_only_who_wrote_there_is_known_to_read_it(tmp_path: Path) -> None:
    """Ada wrote there and hears of it in a small channel; with Ben, who never did, it is not told."""
    async with familiar_on_discord(tmp_path, lambda _: "Mm.", arrive=False) as den:
        world = den.server.world
        bar = world.room(den.guild, "bar", is_age_restricted=True)
        insiders = frozenset({den.ada.id, world.bot.id})
        nook = world.room(den.guild, "nook", readers=insiders)
        booth = world.room(den.guild, "booth", readers=insiders | {den.ben.id})
        den.guild.owner_id = den.ada.id
        for room in (bar, nook, booth):
            den.subscribe(room)
        await den.connect()
        await prompt_for(den, bar, den.ada, "the drink is plugh")
        alone = await prompt_for(den, nook, den.ada, "what is the drink?")
        with_ben = await prompt_for(den, booth, den.ben, "what is the drink?")

    assert ("plugh" in alone, "plugh" in with_ben) == (True, False)


async def test_where_the_members_are_not_all_known_only_the_rules_count(tmp_path: Path) -> None:
    """A large server that names few members: open rules are open, and hidden talk goes where the rules are the same."""
    async with familiar_on_discord(tmp_path, lambda _: "Mm.", arrive=False) as den:
        world = den.server.world
        den.server.gateway.flags &= ~MEMBERS_FLAG
        den.guild.unlisted = {den.ben.id}
        role = world.role(den.guild, "Quiet")
        rules = {role.id: Overwrite(deny=VIEW_CHANNEL)}
        one, two, other = (world.room(den.guild, name, overwrites=dict(rules)) for name in ("one", "two", "other"))
        other.overwrites[den.ben.id] = Overwrite(deny=VIEW_CHANNEL, is_member=True)
        for room in (one, two, other):
            den.subscribe(room)
        await den.connect()
        await prompt_for(den, one, den.ada, "the word is plugh")
        prompts = [await prompt_for(den, room, den.ada, "what is the word?") for room in (two, other, den.room)]
        known = await readers_in(den, one)

    assert known is None
    assert ["plugh" in prompt for prompt in prompts] == [True, False, False]


async def test_the_members_of_a_large_server_are_asked_for(tmp_path: Path) -> None:
    """Those it did not name by itself."""
    async with familiar_on_discord(tmp_path, arrive=False) as den:
        den.guild.unlisted = {den.ben.id}
        await den.connect()
        async with asyncio.timeout(300):
            await den.server.until(lambda: den.server.facts_of("gateway:8"))
            await until(lambda: client_of(den).get_guild(den.guild.id).chunked)
        assert await readers_in(den, den.room) == humans_in(den, den.room)


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "as it is written"])
async def test_an_answer_made_for_fewer_people_than_can_read_it_by_now_is_made_again(
    tmp_path: Path, streams: bool
) -> None:
    """The channel is opened to the server while the model writes."""

    def tell_word(messages: list[Message]) -> str:
        return "It is plugh." if "plugh" in str(messages) else "I cannot say."

    def change(config: CharacterConfig) -> CharacterConfig:
        return replace(config, delivery="growing") if streams else config

    async with familiar_on_discord(tmp_path, tell_word, arrive=False, settings=change) as den:
        world = den.server.world
        few = frozenset({den.ada.id, world.bot.id})
        staff, nook = (world.room(den.guild, name, readers=few) for name in ("staff", "nook"))
        for room in (staff, nook):
            den.subscribe(room)
        await den.connect()
        await prompt_for(den, staff, den.ada, "the safe code is plugh")
        pause = den.model.pause_after(0)
        await den.mention("what is the safe code?", room=nook)
        await pause.reached.wait()
        asked = str(den.model.calls[-1])
        await den.server.set_readers(nook, None)
        await until_told(den)
        pause.resume.set()
        await den.server.until_replied(nook)
        await den.wait_until_idle(nook)
        shown = [each["content"] for each in nook.messages.values() if int(each["author"]["id"]) == world.bot.id]

    assert "plugh" in asked
    assert shown == ["I cannot say."]


async def test_of_a_team_only_its_owner_is_the_familiars_owner(tmp_path: Path) -> None:
    """Whoever else is in it may help with the bot, and is nobody's confidant."""
    async with familiar_on_discord(tmp_path, arrive=False) as den:
        den.server.world.set_team(den.ada, den.ben)
        await den.connect()
        owner = den.familiar.owner
        found = [
            owner.is_owner(Author("discord", str(each.id), None, None))
            for each in (den.ada, den.ben, den.server.world.owner)
        ]

    assert found == [True, False, False]


async def test_what_was_said_just_before_a_channel_is_opened_stays_with_those_it_was_said_to(tmp_path: Path) -> None:
    """Discord tells of both in one breath; the message is stored after."""
    async with familiar_on_discord(tmp_path, lambda _: "Mm.", arrive=False) as den:
        world = den.server.world
        staff = world.room(den.guild, "staff", readers=frozenset({den.ada.id, world.bot.id}))
        den.subscribe(staff)
        await den.connect()
        await until(lambda: client_of(den).get_channel(staff.id) is not None)
        said = world.event(staff, world.message(staff, den.ada, "the safe code is plugh"))
        staff.readers = None
        client = client_of(den)
        for event, data in (("MESSAGE_CREATE", said), ("CHANNEL_UPDATE", staff.payload())):
            client._connection.parsers[event](data)
        turn = await den.wait_stored("plugh", room=staff)
        opened = await prompt_for(den, staff, den.ben, "what is the safe code?")

    assert turn.audience.kind is AudienceKind.CHANNEL
    assert "plugh" not in opened


def test_the_readers_of_a_large_server_are_measured() -> None:
    """The small form of `python -m benchmarks.discord_permissions`."""
    taken = measure(members=200, channels=20)

    assert len(taken) == 4
    assert all(each >= 0 for each in taken.values())
