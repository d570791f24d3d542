"""run_demo: talk with a familiar on a Discord of our own, as several people, from one terminal.

The familiar goes through the real Discord library, as it would with a token; only the Discord is ours. What it
hears there is kept like anything else it hears.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable
from contextlib import suppress

from familiar_connect.familiar import Familiar
from familiar_connect.platforms.discord.adapter import DiscordPlatform
from familiar_connect.platforms.terminal.line_input import Interrupted, LineReader, PipeReader
from familiar_connect.slash.registry import find_command
from familiar_connect.subscriptions import SubscriptionKind
from familiar_connect.support.aio import cancel_and_wait, off_loop
from familiar_connect.support.text import printable
from familiar_connect.testing.discord_server.api import EPHEMERAL
from familiar_connect.testing.discord_server.server import DiscordServer, Note
from familiar_connect.testing.discord_server.world import FakePerson, Payload, Room

SERVER_ID, CHANNEL_ID = 1001, 1002
"""The same at each start, so that the familiar knows the place again."""
YOU = "you"
_SAID_BY = re.compile(r"([a-z0-9_.]{2,32}):(?!//)\s*(.*)", re.IGNORECASE | re.DOTALL)
_REPLY = ">"

HOW = """\
This is a Discord of our own on this computer; nobody else is here.
  hello                     you say it in #general; the bot is yours
  {example:<25} Ada says it; any name will do. @{name} mentions it
  ada: > really?            she replies to what it said last
  /persona                  a slash command; `ada: /privacy full` is hers
It answers when it is meant, and may speak up when all fall quiet. Ctrl-D ends it."""


def write_line(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


async def run_demo(
    familiar: Familiar, *, reader: LineReader | None = None, say: Callable[[str], None] = write_line
) -> None:
    """Until the input ends and everything said is answered."""
    async with DiscordServer() as server:
        stage = _Stage(familiar, server, say)
        kind = SubscriptionKind.text
        await off_loop(familiar.subscriptions.add, channel_id=CHANNEL_ID, kind=kind, guild_id=SERVER_ID)
        platform = DiscordPlatform(familiar, token=server.token, api_url=server.api_url, guild_ready_timeout_s=0.2)
        playing = asyncio.create_task(platform.run(), name="demo-discord")
        talking = asyncio.create_task(stage.talk(reader or PipeReader(sys.stdin)), name="demo-people")
        try:
            await asyncio.wait({playing, talking}, return_when=asyncio.FIRST_COMPLETED)
            for task in (playing, talking):
                if task.done():
                    task.result()
        finally:
            for task in (talking, playing):
                await cancel_and_wait(task)
            await off_loop(familiar.subscriptions.remove, channel_id=CHANNEL_ID, kind=kind)


class _Stage:
    """One server, one channel, and whoever is named."""

    def __init__(self, familiar: Familiar, server: DiscordServer, say: Callable[[str], None]) -> None:
        self._familiar = familiar
        self._server = server
        self._say = say
        self._asked: dict[str, FakePerson] = {}
        world = server.world
        world.bot.username = "familiar"
        world.bot.display_name = familiar.name
        guild = world.guild("The Burrow", id=SERVER_ID, description="A place to try things out")
        self._room: Room = world.room(guild, "general", id=CHANNEL_ID, topic="Whatever comes to mind")
        self._you = world.person(YOU, "You")
        world.set_owner(self._you)
        server.follow(self._show)

    async def talk(self, reader: LineReader) -> None:
        name = printable(self._familiar.name)
        self._say(HOW.format(name=name, example=f"ada: hello {name}"))
        await self._server.until_ready()
        with suppress(Interrupted):
            while (line := await reader.line()) is not None:
                if line.strip():
                    await self._take(line.strip())
        await self._quiet()

    async def _take(self, line: str) -> None:
        found = _SAID_BY.fullmatch(line)
        person, words = self._you, line
        if found is not None:
            name = found[1].lower()
            person, words = await self._met(name), found[2].strip()
        if words.startswith("/"):
            await self._use(person, words)
        elif words.startswith(_REPLY):
            await self._reply(person, words.removeprefix(_REPLY).strip())
        elif words:
            await self._server.post(self._room, person, self._with_mention(words))

    def _with_mention(self, words: str) -> str:
        called = re.compile(f"@{re.escape(self._familiar.name)}", re.IGNORECASE)
        return called.sub(f"<@{self._server.world.bot.id}>", words)

    async def _reply(self, person: FakePerson, words: str) -> None:
        """*person* replies to the last thing the familiar said."""
        ours = [message for message in self._room.messages.values() if message["author"]["bot"]]
        if ours:
            await self._server.reply(self._room, person, self._with_mention(words), to=ours[-1])
        else:
            self._say(f"{printable(self._familiar.name)} has said nothing yet that could be replied to.")

    async def _met(self, name: str) -> FakePerson:
        """Somebody of that name, let in if new."""
        world = self._server.world
        known = len(world.people)
        person = world.person(name)
        if len(world.people) > known:
            joined = person.member() | {"guild_id": str(SERVER_ID)}
            await self._server.gateway.dispatch("GUILD_MEMBER_ADD", joined)
        return person

    async def _use(self, person: FakePerson, words: str) -> None:
        name, _, rest = words[1:].partition(" ")
        wanted = find_command(name)
        if wanted is None:
            known = ", ".join(f"/{each['name']}" for each in self._server.api.commands)
            self._say(f"There is no /{name} here. There are {known}.")
            return
        options: dict[str, str] = {}
        for position, option in enumerate(wanted.options):
            last = position == len(wanted.options) - 1
            value, _, rest = (rest, "", "") if last else rest.partition(" ")
            if value.strip():
                options[option.name] = value.strip()
        token = await self._server.command(self._room, person, name, options)
        self._asked[token] = person

    def _show(self, note: Note) -> None:
        if note.what == "posted":
            message: Payload = note.facts["message"]
            notice = " ".join(embed.get("description", "") for embed in message["embeds"])
            text = message["content"] or f"({notice})"
            self._say(f"{printable(self._familiar.name)}: {printable(text)}")
        elif note.what == "answered" and "content" in note.facts["data"]:
            person = self._asked.get(note.facts["token"], self._you)
            hidden = note.facts["data"].get("flags", 0) & EPHEMERAL
            files = "".join(f" [{name}]" for name in note.facts["files"])
            asker = "only you see" if person is self._you else f"only {person.display_name} sees"
            seen_by = asker if hidden else "everyone sees"
            self._say(f"({seen_by}) {printable(note.facts['data']['content'])}{files}")
        elif note.what == "answered" and "components" in note.facts["data"]:
            self._say("(Discord would open a form here.)")

    async def _quiet(self) -> None:
        """Wait until everything said is heard and answered."""
        heard = [message for message in self._room.messages.values() if not message["author"]["bot"]]
        if heard:
            await self._heard(heard[-1]["id"])
        await self._familiar.intake.wait_until_idle()
        await self._familiar.reply_path.queue.wait_until_channel_idle(CHANNEL_ID)
        await self._server.until(
            lambda: set(self._asked) <= {each["token"] for each in self._server.facts_of("answered")}
        )

    async def _heard(self, message_id: str) -> None:
        """Wait until the message is stored, for a while: a private person's never is."""
        with suppress(TimeoutError):
            async with asyncio.timeout(2.0):
                while not await off_loop(self._is_stored, message_id):  # noqa: ASYNC110 - a store tells nobody
                    await asyncio.sleep(0.02)

    def _is_stored(self, message_id: str) -> bool:
        recent = self._familiar.history_store.recent(familiar_id=self._familiar.id, channel_id=CHANNEL_ID, limit=20)
        return any(turn.platform_message_id == message_id for turn in recent)
