"""Random rooms on our own Discord, through the real library: what each event made the models see."""

from __future__ import annotations

import asyncio
import random
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.room_events import ROLES, Event, Story
from benchmarks.room_world import ADMIN, CONNECT, EVERYONE, OWNER, VIEW, RoomWorld
from benchmarks.rooms_rehearsed import CARELESS, settings_for
from familiar_connect.bootstrap.starter import make_starter
from familiar_connect.config.llm import SLOT_TEMPERATURES
from familiar_connect.config.load import load_character_config
from familiar_connect.config.merge import merge_settings
from familiar_connect.context import gather
from familiar_connect.context.providers.content_search import provider
from familiar_connect.context.types import NO_DEADLINE
from familiar_connect.extensions.discord.adapter import DiscordPlatform
from familiar_connect.extensions.discord.demo import rights
from familiar_connect.extensions.discord.demo import world as discord_world
from familiar_connect.extensions.discord.demo.pluralkit import say_by_proxy
from familiar_connect.extensions.discord.demo.server import DiscordServer
from familiar_connect.extensions.discord.demo.world import FakePerson, Guild, Payload, Room
from familiar_connect.extensions.platforms import make_host
from familiar_connect.familiar import Familiar
from familiar_connect.llm.types import Capabilities
from familiar_connect.rehearsal.models import CallLog, RehearsedModel
from familiar_connect.rehearsal.types import ModelScript
from familiar_connect.subscriptions import SubscriptionKind
from familiar_connect.support.aio import cancel_and_wait

KINDS = {
    "text": discord_world.TEXT,
    "voice": discord_world.VOICE,
    "forum_root": discord_world.FORUM,
    "forum_post": discord_world.PUBLIC_THREAD,
    "thread": discord_world.PUBLIC_THREAD,
    "private_thread": discord_world.PRIVATE_THREAD,
}
WITHIN_S = 60.0
QUIET = '[typing_simulation]\nenabled = false\n[discord]\ndms = "everyone"\n'


def bits_of(ours: int) -> int:
    pairs = ((VIEW, rights.VIEW_CHANNEL), (CONNECT, rights.CONNECT), (ADMIN, rights.ADMINISTRATOR))
    return sum(theirs for mine, theirs in pairs if ours & mine)


def play_on_discord(first: RoomWorld, story: Story, *, is_open: bool) -> dict[int, dict[str, Any]]:
    """What each event made, by its number."""
    with (
        tempfile.TemporaryDirectory(prefix="familiar-", ignore_cleanup_errors=True) as folder,
        patch.object(gather, "_limit", lambda provider, time_left_s: NO_DEADLINE),
        patch.object(provider, "time_granted_s", lambda request, own_s: NO_DEADLINE),
    ):  # what is told must not hang on how busy the machine is
        return asyncio.run(_play(Path(folder), first, story, is_open=is_open))


async def _play(home: Path, first: RoomWorld, story: Story, *, is_open: bool) -> dict[int, dict[str, Any]]:
    async with DiscordServer() as server:
        player = DiscordRooms(home, server, first, is_open=is_open)
        await player.open()
        try:
            return {number: await player.perform(number, event) for number, event in enumerate(story.events, start=1)}
        finally:
            await player.close()


class DiscordRooms:
    """One world on one Discord."""

    def __init__(self, home: Path, server: DiscordServer, first: RoomWorld, *, is_open: bool) -> None:
        self._server = server
        self._first = first
        self._root = make_starter(home, "ember")
        path = self._root / "character.toml"
        settings = f"{settings_for(is_open=is_open)}{QUIET}"
        path.write_text(merge_settings(path.read_text("utf-8"), settings, where=path), encoding="utf-8")
        self._log = CallLog()
        self._models = {slot: self._model(slot) for slot in SLOT_TEMPERATURES}
        self._familiar: Familiar | None = None
        self._running: asyncio.Task[None] | None = None
        self._messages: dict[int, Payload] = {}
        self._people: dict[str, FakePerson] = {OWNER: server.world.owner}
        self._guilds: dict[str, Guild] = {}
        self._held: dict[tuple[str, str], rights.FakeRole] = {}
        self._rooms: dict[str, Room] = {}
        self._categories: dict[str, Room] = {}
        self._build()

    def _model(self, slot: str) -> RehearsedModel:
        can = Capabilities(tools=True, side_tasks=slot != "main_prose")
        return RehearsedModel(
            slot, ModelScript(is_echo=slot in CARELESS), self._log, capabilities=can, rng=random.Random(slot)
        )

    def _build(self) -> None:
        world, first = self._server.world, self._first
        for name in first.people[:-1]:
            self._people[name] = world.person(name, is_of_age=name not in first.minors)
        for name, server in first.servers.items():
            guild = self._guilds[name] = world.guild(name)
            if not server.everyone & VIEW:
                guild.everyone_may &= ~rights.VIEW_CHANNEL
            for role in ROLES:
                self._held[name, role] = world.role(guild, role, bits_of(server.role_rights.get(role, 0)))
        for name in first.people[:-1]:
            self._people[name].roles = tuple(
                self._held[server, role].id for server in first.servers for role in sorted(first.roles[name])
            )
        for place in first.places.values():
            if not place.server:
                self._rooms[place.key] = world.direct_room(self._people[next(iter(place.inside))])
                continue
            guild = self._guilds[place.server]
            parent = self._rooms[place.parent].id if place.parent else None
            if place.category:
                parent = self._category(guild, place.category, place.server, place.overwrites).id
            room = self._rooms[place.key] = world.room(guild, place.key, kind=KINDS[place.kind], parent_id=parent)
            room.is_age_restricted = place.is_for_adults
            room.thread_members = {self._people[each].id for each in place.inside} | {world.bot.id}
            if not room.is_thread:
                room.overwrites = self._overwrites(place.server, place.overwrites)

    def _category(self, guild: Guild, key: str, server: str, rules: dict[str, tuple[int, int]]) -> Room:
        if key not in self._categories:
            made = self._server.world.room(guild, key, kind=discord_world.CATEGORY)
            made.overwrites = self._overwrites(server, rules)
            self._categories[key] = made
        return self._categories[key]

    def _whom(self, server: str, name: str) -> FakePerson | rights.FakeRole | Guild:
        if name == EVERYONE:
            return self._guilds[server]
        return self._held[server, name] if name in ROLES else self._people[name]

    def _overwrites(self, server: str, rules: dict[str, tuple[int, int]]) -> dict[int, rights.Overwrite]:
        own = rights.Overwrite(rights.ORDINARY, 0, is_member=True)
        found = {
            self._whom(server, name).id: rights.Overwrite(bits_of(allow), bits_of(deny), name in self._people)
            for name, (allow, deny) in rules.items()
        }
        return found | {self._server.world.bot.id: own}

    # The familiar

    async def open(self) -> None:
        config = load_character_config(self._root / "character.toml")
        familiar = self._familiar = Familiar.from_config(
            self._root, config, llm_clients=dict(self._models), fetches_media=False
        )
        for room in self._rooms.values():
            familiar.subscriptions.add(channel_id=room.id, kind=SubscriptionKind.text, guild_id=room.guild_id)
        await familiar.start(keep_index=False)
        before = len(self._server.facts_of("gateway:2"))
        platform = DiscordPlatform(
            make_host(familiar, "discord"),
            token=self._server.token,
            api_url=self._server.api_url,
            guild_ready_timeout_s=0.05,
        )
        self._running = asyncio.create_task(platform.run(), name="discord")
        await self._server.until(
            lambda: len(self._server.facts_of("gateway:2")) > before and bool(self._server.api.interactions.commands)
        )

    async def close(self) -> None:
        if self._running is not None:
            await cancel_and_wait(self._running)
        if self._familiar is not None:
            await self._familiar.aclose()

    # What happens

    async def perform(self, number: int, event: Event) -> dict[str, Any]:
        since = len(self._log.calls)
        answers = await getattr(self, f"_{event['do']}")(number, event) or []
        await self._settle()
        calls = [
            {"slot": call.slot, "messages": [message.to_dict() for message in call.messages]}
            for call in self._log.calls[since:]
        ]
        return {"calls": calls, "answers": answers, "replies": []}

    async def _settle(self) -> None:
        familiar = self._familiar
        assert familiar is not None
        await asyncio.sleep(0.02)
        await familiar.intake.wait_until_idle()
        for room in self._rooms.values():
            await familiar.reply_path.queue.wait_until_channel_idle(room.id)
        await familiar.reply_path.recorder.wait_until_idle()
        await familiar.update_memory_index(WITHIN_S)

    async def _say(self, number: int, event: Event) -> None:
        room, person = self._rooms[event["in"]], self._people[event["by"]]
        before = len(self._server.replies_in(room))
        text = event["text"] if room.guild_id is None else f"<@{self._server.world.bot.id}> {event['text']}"
        if "proxy" in event:
            _, self._messages[number] = await say_by_proxy(self._server, room, person, text, event["proxy"])
        else:
            self._messages[number] = await self._server.post(room, person, text)
        await self._server.until(lambda: len(self._server.replies_in(room)) > before, within_s=WITHIN_S)

    async def _delete(self, number: int, event: Event) -> None:
        await self._server.delete(self._rooms[event["in"]], self._messages[event["of"]])

    async def _edit(self, number: int, event: Event) -> None:
        await self._server.edit(self._rooms[event["in"]], self._messages[event["of"]], event["text"])

    async def _overwrite(self, number: int, event: Event) -> None:
        room = self._categories[event["in"]] if event["all"] else self._rooms[event["in"]]
        whom = self._whom(self._server.world.guilds[room.guild_id or 0].name, event["name"])
        await self._server.set_overwrite(room, whom, allow=bits_of(event["allow"]), deny=bits_of(event["deny"]))

    async def _hide(self, number: int, event: Event) -> None:
        rules = {EVERYONE: (0, VIEW)} | dict.fromkeys(event["members"], (VIEW, 0))
        await self._set_rules(event["in"], rules)

    async def _open(self, number: int, event: Event) -> None:
        await self._set_rules(event["in"], {})

    async def _set_rules(self, key: str, rules: dict[str, tuple[int, int]]) -> None:
        room = self._rooms[key]
        room.overwrites = self._overwrites(self._first.places[key].server, rules)
        await self._server.update_room(room)

    async def _roles(self, number: int, event: Event) -> None:
        for name, guild in self._guilds.items():
            person = self._people[event["of"]]
            held = [self._held[name, role] for role in event["roles"]]
            if person.id in guild.people:
                await self._server.set_member_roles(guild, person, *held)
            else:
                elsewhere = [each for each in person.roles if each not in guild.roles]
                person.roles = (*elsewhere, *(role.id for role in held))

    async def _kick(self, number: int, event: Event) -> None:
        await self._server.remove_member(self._guilds[event["server"]], self._people[event["person"]])

    async def _join(self, number: int, event: Event) -> None:
        await self._server.add_member(self._guilds[event["server"]], self._people[event["person"]])

    async def _thread(self, number: int, event: Event) -> None:
        room, who = self._rooms[event["in"]], [self._people[event["person"]]]
        joins: bool = event["joins"]
        await self._server.change_thread_members(room, added=who if joins else (), removed=() if joins else who)

    async def _slash(self, number: int, event: Event) -> list[str]:
        token = await self._server.command(self._rooms[event["in"]], self._people[OWNER], event["command"])
        return [str(await self._server.until_answered(token))]

    async def _write_up(self, number: int, event: Event) -> None:
        assert self._familiar is not None
        await self._familiar.memory_writer_scheduler.flush()

    async def _restart(self, number: int, event: Event) -> None:
        await self.close()
        await self.open()
