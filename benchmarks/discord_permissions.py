"""Who can read what on a large Discord server: 10,000 members, 500 channels, 100 roles.

    python -m benchmarks.discord_permissions                      the whole server
    python -m benchmarks.discord_permissions --members 200 --channels 20

Prints milliseconds: making the index of members, the readers of every channel for the first time, whether what was
said in every channel may be told in one (what a message costs), and the same after one member changed. Then the whole
look at a channel with the objects of the Discord library and a history that heard something in every channel: the
first, the next ones, after a change of roles, in a direct message; and how long any of them held the event loop.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from familiar_connect.audience import hidden_channel, whole_server
from familiar_connect.chat.scene import Scene
from familiar_connect.extensions.discord.channel_readers import ChannelReaders
from familiar_connect.extensions.discord.client import Application, make_client
from familiar_connect.extensions.discord.demo.rights import Overwrite
from familiar_connect.extensions.discord.demo.world import FakePerson, Guild, World
from familiar_connect.extensions.discord.permissions import (
    ADMINISTRATOR,
    CONNECT,
    VIEW_CHANNEL,
    ChannelOverwrite,
    MemberIndex,
    ReadRules,
    ServerMember,
    read_rules,
)
from familiar_connect.extensions.hosts.reader_records import ReaderRecords
from familiar_connect.history.store import HistoryStore

ROLES, GUILD = 100, 1
OPEN = VIEW_CHANNEL | CONNECT


def random_server(members: int, channels: int) -> tuple[list[ServerMember], list[ReadRules]]:
    """Members with a few roles each, and channels with up to eight overwrites."""
    rng = random.Random(0)
    roles = [(GUILD, OPEN), *((10 + each, ADMINISTRATOR if each == 0 else 0) for each in range(ROLES))]
    people = [
        ServerMember(1_000 + each, tuple(10 + rng.randrange(1, ROLES) for _ in range(rng.randrange(8))))
        for each in range(members)
    ]
    rules = []
    for _ in range(channels):
        wanted = rng.sample([key for key, _ in roles], rng.randrange(9))
        overwrites = [ChannelOverwrite(key, *rng.choice(((0, VIEW_CHANNEL), (VIEW_CHANNEL, 0)))) for key in wanted]
        single = [ChannelOverwrite(rng.choice(people).id, 0, VIEW_CHANNEL)] if rng.random() < 0.2 else []
        rules.append(
            read_rules(
                guild_id=GUILD, owner_id=1_000, roles=roles, role_overwrites=overwrites, member_overwrites=single
            )
        )
    return people, rules


def measure(members: int, channels: int) -> dict[str, float]:
    """Milliseconds by what was done."""
    people, rules = random_server(members, channels)
    taken: dict[str, float] = {}

    def run(what: str, work: Callable[[], object]) -> None:
        began = time.perf_counter()
        work()
        taken[what] = (time.perf_counter() - began) * 1000

    index = MemberIndex(GUILD, people)
    run("index of all members", lambda: MemberIndex(GUILD, people))
    readers: list[int] = []
    run("readers of every channel", lambda: readers.extend(index.readers(each) for each in rules))
    run("a message: may each channel be told in one", lambda: [readers[0] & ~each == 0 for each in readers])
    changed = replace(people[-1], roles=(*people[-1].roles, 11))

    def change() -> None:
        index.put(changed)
        readers[:] = [index.readers(each) for each in rules]

    run("one member changed, readers of every channel", change)
    return taken


def library_server(members: int, channels: int) -> tuple[Any, Guild, World]:
    """The same kind of server as objects of the Discord library, made from what our own Discord would send."""
    rng, world = random.Random(0), World()
    guild = world.guild("Large")
    roles = [world.role(guild, f"r{each}") for each in range(ROLES)]
    for number in range(members):
        chosen = tuple(each.id for each in rng.sample(roles, rng.randrange(8)))
        guild.people[1_000 + number] = FakePerson(1_000 + number, f"p{number}", f"P{number}", roles=chosen)
    for number in range(channels):
        overwrites = {each.id: Overwrite(deny=VIEW_CHANNEL) for each in rng.sample(roles, rng.randrange(9))}
        world.room(guild, f"c{number}", overwrites=overwrites)
    client = make_client(Application(frozenset(), may_see_members=True, may_see_presence=False))
    state = client._connection
    import discord

    about: Any = world.bot.payload()
    state.user = discord.ClientUser(state=state, data=about)
    state._add_guild_from_data(guild.payload())
    return client, guild, world


def heard_everywhere(folder: Path, readers_of: Callable[[HistoryStore], ChannelReaders], client: Any) -> ChannelReaders:
    """A history with something said in each channel, to whom its rules let in."""
    history = HistoryStore(folder / "history.db")
    readers = readers_of(history)
    for guild in client.guilds:
        for channel in guild.channels:
            rules = readers.fingerprint_of(channel)
            hidden = hidden_channel("discord", channel.id, guild.id, rules)
            audience = hidden if readers.is_hidden(channel) else whole_server("discord", guild.id)
            history.append_turn(
                familiar_id="f", channel_id=channel.id, role="user", content="x", guild_id=guild.id, audience=audience
            )
            history.channel_parents.note("discord", channel.id, guild.id, 0)
    return readers


class LoopWatch:
    """The longest time that the event loop was held."""

    def __init__(self) -> None:
        self.longest_ms = 0.0

    async def run(self) -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0)
            self.longest_ms = max(self.longest_ms, (time.perf_counter() - began) * 1000)
            await asyncio.sleep(0.0005)


async def measure_look(members: int, channels: int) -> dict[str, float]:
    """Milliseconds of `ChannelReaders.look`, and the longest the event loop was held in each case."""
    client, _, _ = library_server(members, channels)
    server, taken = client.guilds[0], {}
    with tempfile.TemporaryDirectory() as folder:
        readers = heard_everywhere(
            Path(folder), lambda history: ChannelReaders(ReaderRecords(history, "f", "discord")), client
        )
        rooms = [each for each in server.channels if readers.is_hidden(each)]
        direct = _DirectMessage(server.members[-1])

        async def timed(what: str, work: Callable[[], Awaitable[object]], times: int = 1) -> None:
            watch = LoopWatch()
            watching = asyncio.create_task(watch.run())
            await asyncio.sleep(0)
            began = time.perf_counter()
            for _ in range(times):
                await work()
            taken[f"look: {what}"] = (time.perf_counter() - began) * 1000 / times
            watching.cancel()
            taken[f"look: {what}, event loop held at most"] = watch.longest_ms

        readers.forget_connection()
        await timed("first message", lambda: readers.look(Scene(), rooms[0], client))
        await timed("next messages", lambda: readers.look(Scene(), rooms[0], client), times=20)
        await timed("another channel", lambda: readers.look(Scene(), rooms[-1], client))
        readers._forget_rules(server.id)
        await timed("after a role changed", lambda: readers.look(Scene(), rooms[0], client))
        await timed("direct message", lambda: readers.look(Scene(), direct, client), times=5)
        readers._records._history.close()
    await client.http.close()
    return taken


class _DirectMessage:
    """A direct message with one member, as far as it matters here."""

    def __init__(self, person: Any) -> None:
        self.id, self.recipient, self.type = 1, person, None


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what was measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.discord_permissions")
    parser.add_argument("--members", type=int, default=10_000)
    parser.add_argument("--channels", type=int, default=500)
    options = parser.parse_args(arguments)
    for what, taken in measure(options.members, options.channels).items():
        print(f"{what}: {taken:.2f} ms")
    for what, taken in asyncio.run(measure_look(options.members, options.channels)).items():
        print(f"{what}: {taken:.2f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
