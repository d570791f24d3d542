"""ChannelReaders: who can read each channel now, from what the library knows of roles, overwrites and members.

What was worked out is kept for each server until an event says that it is different. Where the list of members is
not complete nothing is concluded from it: then only what follows from the rules alone counts.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from familiar_connect.api import Scene
from familiar_connect.api.servers import Parents, ReaderRecords, ReaderSet, RuledChannel
from familiar_connect.api.support import LoopBreak, LruCache, off_loop
from familiar_connect.extensions.discord.guild_rules import find_hidden_threads, find_parent_id, read_guild_rules
from familiar_connect.extensions.discord.people import find_people_in
from familiar_connect.extensions.discord.permissions import (
    MemberIndex,
    ReadRules,
    ServerMember,
    members_in,
)

logger = logging.getLogger(__name__)

PLATFORM = "discord"
MAX_KEYS = 2_000
"""Hidden channels of which it is asked whether their talk may be told in a place; each under each of its rules."""
MAX_CHANNELS = 1_000
"""Channels and threads of a server that are looked at for a direct message."""
MAX_PEOPLE_ASKED = 200
"""Readers of a channel who are looked up on another server, one by one."""
MAX_WRITERS = 1_000
MAX_MESSAGES_NOTED = 5_000
"""Messages that wait to be heard, of which it is known under which rules they were said."""
MAX_THREADS_KNOWN = 5_000
THREAD_MEMBERS_WITHIN_S = 1.0
_RULES_EVENTS = (
    "GUILD_UPDATE",
    "GUILD_ROLE_CREATE",
    "GUILD_ROLE_UPDATE",
    "GUILD_ROLE_DELETE",
    "CHANNEL_CREATE",
    "CHANNEL_UPDATE",
    "CHANNEL_DELETE",
    "THREAD_CREATE",
    "THREAD_UPDATE",
    "THREAD_DELETE",
    "THREAD_LIST_SYNC",
)
_SERVER_EVENTS = ("GUILD_CREATE", "GUILD_DELETE")
_MEMBER_EVENTS = ("GUILD_MEMBER_ADD", "GUILD_MEMBER_UPDATE", "GUILD_MEMBER_REMOVE")
_THREAD_EVENTS = ("THREAD_MEMBERS_UPDATE", "THREAD_MEMBER_UPDATE")


@dataclass
class _Server:
    """What was worked out for one server."""

    rules: dict[int, ReadRules | None] = field(default_factory=dict)
    readers: dict[int, int] = field(default_factory=dict)
    """By channel, in the bits of *index*."""
    index: MemberIndex | None = None
    threads: dict[int, Any] = field(default_factory=dict)
    """Private threads whose members were asked for; another object for the same thread knows nothing of them."""
    changed: set[int] = field(default_factory=set)
    """Members who changed while the index was being made."""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(frozen=True)
class _Here:
    """Who can read the place that is asked about; nobody left out, whoever may have confirmed no age."""

    guild: Any = None
    rules: ReadRules | None = None
    index: MemberIndex | None = None
    everyone: int | None = None
    """On the server, in the bits of *index*; None: not known."""
    direct: tuple[int, ...] | None = None
    """In a direct message."""

    @cached_property
    def people(self) -> tuple[int, ...] | None:
        """Their ids, where they are few; None: not known, or many."""
        if self.index is None or self.everyone is None or self.everyone.bit_count() > MAX_PEOPLE_ASKED:
            return self.direct
        return tuple(each.id for each in members_in(self.index.snapshot(), self.everyone))


class ChannelReaders:
    """Answers for one client. Only the loop's own thread asks; what takes long is done off it."""

    def __init__(self, records: ReaderRecords) -> None:
        self._records = records
        self._servers: dict[int, _Server] = {}
        self._said: LruCache[int, str] = LruCache(MAX_MESSAGES_NOTED)
        self._noted: LruCache[RuledChannel, tuple[int, int]] = LruCache(MAX_KEYS)

    # What has changed

    def hooks(self, find_guild: Callable[[int], Any]) -> dict[str, Callable[[dict[str, Any]], None]]:
        """What is to be called after each event that bears on who can read what."""
        hooks: dict[str, Callable[[dict[str, Any]], None]] = {}
        hooks |= dict.fromkeys(_RULES_EVENTS, lambda data: self._forget_rules(_guild_id(data)))
        hooks |= dict.fromkeys(_SERVER_EVENTS, lambda data: self._forget_server(_guild_id(data)))
        hooks["GUILD_MEMBERS_CHUNK"] = lambda data: self._forget_members(_guild_id(data))
        hooks |= dict.fromkeys(_MEMBER_EVENTS, lambda data: self._on_member(data, find_guild(_guild_id(data))))
        hooks |= dict.fromkeys(_THREAD_EVENTS, lambda data: self._on_thread_members(data))
        return hooks

    def note_message(self, message_id: int, channel: Any) -> None:
        """A message came in: what its channel's rules are at this moment, before anything else happens."""
        if channel is not None and getattr(channel, "guild", None) is not None and self.is_hidden(channel):
            self._said.put(message_id, self.fingerprint_of(channel))

    def rules_at(self, message_id: int) -> str | None:
        """The rules of a hidden channel when a message came in; None: it was open, or nobody saw it come."""
        return self._said.get(message_id) or None

    def forget_connection(self) -> None:
        """A new connection: nothing is known any more."""
        self._servers.clear()

    def _forget_rules(self, guild_id: int) -> None:
        known = self._servers.get(guild_id)
        if known is not None:
            known.rules.clear()
            known.readers.clear()

    def _forget_members(self, guild_id: int) -> None:
        known = self._servers.get(guild_id)
        if known is not None:
            known.index = None
            known.readers.clear()

    def _forget_server(self, guild_id: int) -> None:
        self._servers.pop(guild_id, None)

    def _on_member(self, data: Mapping[str, Any], guild: Any) -> None:
        known = self._servers.get(_guild_id(data))
        if known is None:
            return
        member_id = int(data["user"]["id"])
        known.changed.add(member_id)
        known.readers.clear()
        if guild is not None and guild.get_member(member_id) is None:
            for thread in known.threads.values():  # the library keeps them there, though they would have to join anew
                thread._pop_member(member_id)
        if known.index is not None:
            _refresh(known.index, guild, member_id)

    def _on_thread_members(self, data: Mapping[str, Any]) -> None:
        known = self._servers.get(_guild_id(data))
        if known is not None:
            known.readers.pop(int(data["id"]), None)

    # Rules

    def rules_of(self, channel: Any) -> ReadRules | None:
        """What decides who can read *channel*; None where the library cannot tell."""
        guild = getattr(channel, "guild", None)
        if guild is None or not hasattr(guild, "_roles"):
            return None
        known = self._servers.setdefault(guild.id, _Server())
        if channel.id not in known.rules:
            known.rules[channel.id] = read_guild_rules(channel, guild)
        return known.rules[channel.id]

    def is_hidden(self, channel: Any) -> bool:
        """Whether the rules let not everybody on the server read *channel*. What nobody can tell counts as hidden."""
        rules = self.rules_of(channel)
        return rules is None or not rules.is_open

    def fingerprint_of(self, channel: Any) -> str:
        rules = self.rules_of(channel)
        return rules.fingerprint if rules is not None else ""

    # Who can read a place, and what they could read

    async def look(self, scene: Scene, channel: Any, client: Any) -> Scene:
        """*scene* with who can read *channel* now and which hidden channels let all of them in."""
        guild = getattr(channel, "guild", None)
        if guild is not None and self._records.is_parent_news(channel.id, find_parent_id(channel)):
            await off_loop(self._records.note_parent, channel.id, guild.id, find_parent_id(channel))
        for each in client.guilds if guild is None else (guild,):
            await self._learn_rules(each)
        if guild is None:
            scene = self._with_people(scene, channel, client.guilds)
            people = tuple(find_people_in(scene, channel)) or None
            here = _Here(direct=people)
        else:
            scene = self._with_rules(scene, channel, guild)
            here = await self._readers_of(channel, guild, client)
        asked = [each for each in client.guilds if each is guild or each.id in scene.reader_server_ids]
        scene = await self._with_threads(scene, asked)
        await self._note(channel, here)
        return replace(scene, reader_channels=await self._channels_told(here, client))

    def _with_rules(self, scene: Scene, channel: Any, guild: Any) -> Scene:
        hidden = [each for each in _rooms_of(guild) if self.is_hidden(each)]
        return replace(
            scene,
            is_hidden=self.is_hidden(channel),
            rules=self.fingerprint_of(channel),
            private_channel_ids=frozenset(each.id for each in hidden),
            private_channel_rules=tuple((each.id, self.fingerprint_of(each)) for each in hidden),
        )

    async def _learn_rules(self, guild: Any) -> None:
        """Work out the rules of every channel, a few at a time, so that a large server does not hold up the loop."""
        pause = LoopBreak()
        for each in _rooms_of(guild):
            self.fingerprint_of(each)
            await pause.when_due()

    async def _with_threads(self, scene: Scene, guilds: Collection[Any]) -> Scene:
        """*scene* with what was heard in hidden threads that the library has forgotten."""
        heard = await off_loop(self._records.find_heard, [each.id for each in guilds])
        known = scene.private_channel_ids
        away = [pair for each in guilds for pair in find_hidden_threads(each, heard[each.id], known, self.rules_of)]
        if not away:
            return scene
        ids = known | {channel_id for channel_id, _ in away}
        return replace(scene, private_channel_ids=ids, private_channel_rules=(*scene.private_channel_rules, *away))

    async def threads_to_hide(self, channel: Any) -> list[int]:
        """The threads that are hidden along with *channel*, whether the library still knows them or not."""
        return await off_loop(self._records.find_open_threads, channel.guild.id, channel.id)

    def _with_people(self, scene: Scene, channel: Any, guilds: Iterable[Any]) -> Scene:
        """The scene of a direct or group message with who can read it, and where those people are members right now."""
        people = find_people_in(scene, channel)
        if not people:
            return scene
        ids = list(people)
        shared = [guild for guild in guilds if all(guild.get_member(each) is not None for each in ids)]
        hidden: list[Any] = []
        readable: set[int] = set()
        for guild in shared:
            index = _small_index(guild, ids)
            for each in _rooms_of(guild):
                if not self.is_hidden(each):
                    continue
                hidden.append(each)
                rules = self.rules_of(each)
                is_known = rules is not None and not rules.is_age_restricted
                if rules is not None and is_known and index.readers(rules, self._thread_members(each)) == index.humans:
                    readable.add(each.id)
        return replace(
            scene,
            reader_keys=frozenset(people.values()),
            reader_server_ids=frozenset(guild.id for guild in shared),
            private_channel_ids=frozenset(each.id for each in hidden),
            private_channel_rules=tuple((each.id, self.fingerprint_of(each)) for each in hidden),
            reader_channel_ids=frozenset(readable),
        )

    async def _readers_of(self, channel: Any, guild: Any, client: Any) -> _Here:
        rules = self.rules_of(channel)
        if rules is None or not _is_complete(guild, client):
            return _Here(guild, rules)
        if rules.is_private_thread:
            await self._learn_thread(channel)
        index = await self._index_of(guild)
        return _Here(guild, rules, index, self._mask_of(channel, rules, index, thread_is_whole=True))

    async def _index_of(self, guild: Any) -> MemberIndex:
        """The members of *guild*, made off the loop: on a large server that takes a while."""
        known = self._servers.setdefault(guild.id, _Server())
        async with known.lock:
            if known.index is None:
                known.changed.clear()
                members = list(guild._members.values())
                index = await off_loop(lambda: MemberIndex(guild.id, map(_server_member, members)))
                for member_id in known.changed:
                    _refresh(index, guild, member_id)
                known.index = index
            return known.index

    def _mask_of(self, channel: Any, rules: ReadRules, index: MemberIndex, *, thread_is_whole: bool = False) -> int:
        """Humans who can read *channel*; of a private thread whose members nobody told: nobody, or whoever may be."""
        if rules.is_private_thread and not self._is_thread_known(channel):
            return index.readers(replace(rules, is_private_thread=False)) & index.humans if thread_is_whole else 0
        readers = self._servers.setdefault(channel.guild.id, _Server()).readers
        if channel.id not in readers:
            readers[channel.id] = index.readers(rules, self._thread_members(channel)) & index.humans
        return readers[channel.id]

    async def _learn_thread(self, thread: Any) -> None:
        """Ask once for the members of a private thread; from then on events tell of them."""
        if self._is_thread_known(thread):
            return
        try:
            async with asyncio.timeout(THREAD_MEMBERS_WITHIN_S):
                await thread.fetch_members()
        except Exception as error:  # isolation: what is not known counts as no
            logger.debug("the members of a thread are not known", extra={"error": type(error).__name__})
            return
        known = self._servers.setdefault(thread.guild.id, _Server())
        if len(known.threads) >= MAX_THREADS_KNOWN:
            known.threads.clear()
        known.threads[thread.id] = thread
        known.readers.pop(thread.id, None)

    def _is_thread_known(self, thread: Any) -> bool:
        known = self._servers.get(thread.guild.id)
        return known is not None and known.threads.get(thread.id) is thread

    def _thread_members(self, channel: Any) -> Collection[int]:
        if getattr(channel.type, "name", "") != "private_thread" or not self._is_thread_known(channel):
            return ()
        return [each.id for each in channel.members]

    async def _note(self, channel: Any, here: _Here) -> None:
        """Write down who can read a hidden channel now, where that is news."""
        rules, index = here.rules, here.index
        if rules is None or rules.is_open or index is None:
            return
        sure = self._mask_of(channel, rules, index)
        if rules.is_age_restricted:
            writers = await off_loop(self._writers, [channel.id])
            sure &= index.set_of(writers.get(channel.id, ()))
        key, now = RuledChannel(PLATFORM, channel.id, rules.fingerprint), (index.version, sure)
        if self._noted.get(key) == now:
            return
        snapshot, others = index.snapshot(), index.humans & ~sure
        await off_loop(
            lambda: self._records.note_readers(key, _ids(snapshot, sure), _ids(snapshot, others)),
        )
        self._noted.put(key, now)

    # What may be told to them

    async def _channels_told(self, here: _Here, client: Any) -> frozenset[RuledChannel]:
        """The hidden channels, under their rules of some time, whose readers of then include everybody *here*."""
        if here.everyone is None and here.direct is None and here.rules is None:
            return frozenset()
        keys, parents = await off_loop(self._read_stored_keys)
        channels = {
            key: client.get_channel(key.channel_id) or client.get_channel(parents.get(key.channel_id) or 0)
            for key in keys
        }
        restricted = [each.id for each in channels.values() if each is not None and self._is_age_restricted(each)]
        writers = await off_loop(self._writers, restricted) if restricted else {}
        told: set[RuledChannel] = set()
        doubtful: list[tuple[RuledChannel, int | tuple[ServerMember, ...]]] = []
        pause = LoopBreak()
        for key, channel in channels.items():
            await pause.when_due()
            rules = self.rules_of(channel) if channel is not None else None
            if rules is not None and rules.fingerprint != key.rules:
                rules = None
            if rules is not None and rules == here.rules and not rules.is_private_thread:
                told.add(key)
                continue
            left = self._left_out(here, channel, rules, writers)
            if left is not None and not left:
                told.add(key)
            elif left is not None:
                doubtful.append((key, left))
        if doubtful:
            snapshot = here.index.snapshot() if here.index is not None else []
            told |= await off_loop(self._were_there, doubtful, snapshot)
        return frozenset(told)

    def _left_out(
        self,
        here: _Here,
        channel: Any,
        rules: ReadRules | None,
        writers: Mapping[int, Collection[int]],
    ) -> int | tuple[ServerMember, ...] | None:
        """Those *here* whom the channel, with the *rules* of then, does not let in now; None: nobody knows."""
        guild = getattr(channel, "guild", None)
        if here.index is not None and here.everyone is not None and (guild is None or guild.id == here.guild.id):
            if rules is None:
                return here.everyone
            can = self._mask_of(channel, rules, here.index)
            if rules.is_age_restricted and not (here.rules is not None and here.rules.is_age_restricted):
                can &= here.index.set_of(writers.get(channel.id, ()))
            return here.everyone & ~can
        if here.people is None:
            return None
        if guild is None:
            return tuple(ServerMember(each) for each in here.people)
        index = _small_index(guild, here.people)
        can = self._mask_of_few(channel, rules, index) if rules is not None else 0
        if rules is not None and rules.is_age_restricted:
            can &= index.set_of(writers.get(channel.id, ()))
        readers = {each.id for each in members_in(index.snapshot(), can)}
        there = {each.id: each for each in index.snapshot() if each is not None}
        return tuple(there.get(each, ServerMember(each)) for each in here.people if each not in readers)

    def _mask_of_few(self, channel: Any, rules: ReadRules, index: MemberIndex) -> int:
        if rules.is_private_thread and not self._is_thread_known(channel):
            return 0
        return index.readers(rules, self._thread_members(channel)) & index.humans

    def _is_age_restricted(self, channel: Any) -> bool:
        rules = self.rules_of(channel)
        return rules is not None and rules.is_age_restricted

    # Off the loop

    def _read_stored_keys(self) -> tuple[list[RuledChannel], Parents]:
        """The hidden channels, and of which channel each is a thread."""
        chosen = self._records.list_hidden(MAX_KEYS)
        return chosen, self._records.find_parents(key.channel_id for key in chosen)

    def _writers(self, channel_ids: Sequence[int]) -> dict[int, list[int]]:
        """Who has written in each channel: where an age is asked for, they have confirmed it."""
        found = self._records.find_writers(channel_ids, MAX_WRITERS)
        return {channel_id: [int(each) for each in writers if each.isdigit()] for channel_id, writers in found.items()}

    def _were_there(
        self,
        doubtful: Sequence[tuple[RuledChannel, int | tuple[ServerMember, ...]]],
        snapshot: Sequence[ServerMember | None],
    ) -> set[RuledChannel]:
        """The channels that everybody left over could read all the time they had these rules."""
        found: set[RuledChannel] = set()
        for key, left in doubtful:
            people = self._records.find_readers(key)
            if people is None or (isinstance(left, int) and _is_too_many(left, people)):
                continue
            members = members_in(snapshot, left) if isinstance(left, int) else left
            if all(people.includes(str(each.id), each.joined_at) for each in members):
                found.add(key)
        return found


def _is_too_many(left: int, people: ReaderSet) -> bool:
    return people.joined_by is None and left.bit_count() > len(people.marks)


def _rooms_of(guild: Any) -> list[Any]:
    """Where something can be said: a category is no such place, and a channel in it has rules of its own."""
    rooms = (*guild.channels[:MAX_CHANNELS], *guild.threads[:MAX_CHANNELS])
    return [each for each in rooms if each.type.name != "category"]


def _is_complete(guild: Any, client: Any) -> bool:
    """Whether every member of the server is known, and whoever comes and goes is told of."""
    return bool(client.intents.members and guild.chunked)


def _server_member(member: Any) -> ServerMember:
    return ServerMember(member.id, tuple(member._roles), bool(member.bot), member.joined_at)


def _small_index(guild: Any, people: Iterable[int]) -> MemberIndex:
    found = (guild.get_member(each) for each in people)
    return MemberIndex(guild.id, [_server_member(each) for each in found if each is not None])


def _refresh(index: MemberIndex, guild: Any, member_id: int) -> None:
    member = guild.get_member(member_id) if guild is not None else None
    if member is None:
        index.remove(member_id)
    else:
        index.put(_server_member(member))


def _guild_id(data: Mapping[str, Any]) -> int:
    """The server an event is about; one about a server itself has it as its id."""
    return int(data.get("guild_id") or data.get("id") or 0)


def _ids(snapshot: Iterable[ServerMember | None], among: int) -> list[str]:
    return [str(each.id) for each in members_in(snapshot, among)]
