"""run_demo: talk with a familiar on a Discord of our own, as several people, from one terminal.

The familiar goes through the real Discord library, as it would with a token; only the Discord is ours. Whoever calls
this decides whether it is the familiar itself or a copy.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable
from contextlib import suppress

from familiar_connect.extensions.discord.adapter import DiscordPlatform
from familiar_connect.extensions.discord.demo.api import EPHEMERAL
from familiar_connect.extensions.discord.demo.demo_world import DIRECT, PICTURE, SERVER_ID, DemoWorld, picture_bytes
from familiar_connect.extensions.discord.demo.server import DiscordServer, Note
from familiar_connect.extensions.discord.demo.world import FakePerson, Payload, Room
from familiar_connect.extensions.platforms import make_host
from familiar_connect.familiar import Familiar
from familiar_connect.platforms.terminal.help import help_row
from familiar_connect.platforms.terminal.line_input import EditorReader, Interrupted, LineReader, PipeReader
from familiar_connect.platforms.terminal.screen import Screen
from familiar_connect.slash.registry import find_command
from familiar_connect.subscriptions import SubscriptionKind
from familiar_connect.support.aio import cancel_and_wait, off_loop
from familiar_connect.support.text import one_line, printable
from familiar_connect.support.word_wrap import terminal_width, wrap_for, wrap_words

_IN_ROOM = re.compile(r"#([a-z][\w-]*)(?:\s+(.*))?", re.IGNORECASE | re.DOTALL)
_SAID_BY = re.compile(r"([a-z0-9_.]{2,32}):(?!//)\s*(.*)", re.IGNORECASE | re.DOTALL)
START_ROOM = "general"
_REPLY, _REACT, _PICTURE = ">", "+", "!picture"
_LONGEST_EMOJI = 16

FORMS = {
    "hello {name}": "you say it in #general, and it answers, as it is named; the bot is yours",
    "ada: hello @{name}": "Ada says it; any name will do. @{name} mentions it",
    "ada: > really?": "she replies to what it said last; `ada: +👍` reacts to it",
    "ada: !picture look": "she sends a picture",
    "#garden hello": "in another channel: #general, #garden, #council (hidden), or the thread #birthday",
    "#dm hello": "a direct message; `#garden` alone goes there",
    "/persona": "a slash command; `ada: /privacy full` is hers",
}
"""What can be typed, and what that does."""
FORM_COLUMN = 26
PIPE_COLUMNS = 100
"""So wide is the help where there is no window."""


def how_text(name: str, width: int) -> str:
    """How one talks there, for a window of *width* columns."""
    name = one_line(name)
    opening = f"This is a Discord of our own on this computer. A copy of {name} is here: try what you like."
    closing = "It answers when it is meant, and may speak up when all fall quiet. Ctrl-D ends it."
    rows = [
        help_row(form.replace("{name}", name), meaning.replace("{name}", name), width, names=FORM_COLUMN)
        for form, meaning in FORMS.items()
    ]
    return "\n".join([wrap_words(opening, width), *rows, wrap_words(closing, width)])


def write_line(text: str) -> None:
    """A line of the demonstration, broken at words where there is a window."""
    sys.stdout.write(f"{wrap_for(sys.stdout, text)}\n")
    sys.stdout.flush()


async def run_demo(
    familiar: Familiar,
    *,
    reader: LineReader | None = None,
    say: Callable[[str], None] | None = None,
    is_scripted: bool = False,
) -> None:
    """Until the input ends and everything said is answered; without *reader* and *say* at this terminal or pipe.

    When it *is_scripted*, each line is shown and answered before the next one, and nobody is told how to type.
    """
    if reader is None:
        reader, say_here = _open_terminal()
        say = say or say_here
    async with DiscordServer() as server:
        stage = _Stage(familiar, server, say or write_line, is_scripted=is_scripted)
        kind = SubscriptionKind.text
        for channel_id in stage.channel_ids:
            await off_loop(familiar.subscriptions.add, channel_id=channel_id, kind=kind, guild_id=SERVER_ID)
        platform = DiscordPlatform(
            make_host(familiar, "discord"), token=server.token, api_url=server.api_url, guild_ready_timeout_s=0.2
        )
        playing = asyncio.create_task(platform.run(), name="demo-discord")
        talking = asyncio.create_task(stage.talk(reader), name="demo-people")
        try:
            await asyncio.wait({playing, talking}, return_when=asyncio.FIRST_COMPLETED)
            for task in (playing, talking):
                if task.done():
                    task.result()
        finally:
            for task in (talking, playing):
                await cancel_and_wait(task)
            for channel_id in stage.channel_ids:
                await off_loop(familiar.subscriptions.remove, channel_id=channel_id, kind=kind)


def _open_terminal() -> tuple[LineReader, Callable[[str], None]]:
    """Where lines come from and go to: at a terminal what is said stands above the line that is typed."""
    if not sys.stdin.isatty() or not sys.stdout.isatty():
        return PipeReader(sys.stdin), write_line
    screen = Screen(sys.stdout, sys.stderr, plain=False)
    return EditorReader(_prompt_in(START_ROOM), None, screen=screen), screen.line


async def _next_line(reader: LineReader) -> str | None:
    """What is typed next; Ctrl-C ends it as Ctrl-D does, and in a line that was begun gives that line up."""
    try:
        return await reader.line()
    except Interrupted as interrupted:
        return "" if interrupted.had_text else None


def _prompt_in(room_name: str) -> str:
    return f"#{room_name} > "


class _Stage:
    """What is typed becomes something that somebody does, and what the familiar does becomes a line."""

    def __init__(
        self, familiar: Familiar, server: DiscordServer, say: Callable[[str], None], *, is_scripted: bool
    ) -> None:
        self._familiar = familiar
        self._name = printable(familiar.name)
        self._server = server
        self._say = say
        self._is_scripted = is_scripted
        self._asked: dict[str, FakePerson] = {}
        self._demo = DemoWorld(server.world, familiar.name)
        server.attachments[PICTURE] = picture_bytes()
        self.channel_ids = self._demo.channel_ids
        self._you = self._demo.you
        self._room_name = START_ROOM
        self._newest: dict[int, str] = {}
        """Of each room in which somebody spoke, the last message of a person."""
        self._typing_in: set[int] = set()
        server.follow(self._show)

    async def talk(self, reader: LineReader) -> None:
        if not self._is_scripted:
            width = terminal_width() if sys.stdout.isatty() else PIPE_COLUMNS
            self._say(how_text(self._name, width))
        await self._server.until_ready()
        while (line := await _next_line(reader)) is not None:
            if not line.strip():
                continue
            if self._is_scripted:
                self._say(line.strip())
            await self._take(line.strip())
            reader.set_prompt(_prompt_in(self._room_name))
            if self._is_scripted:
                await self._quiet()
        await self._quiet()

    # What people do

    async def _take(self, line: str) -> None:
        room_name, line = self._read_room(line)
        found = _SAID_BY.fullmatch(line)
        person, words = self._you, line
        if found is not None:
            if room_name is None:  # `ada: #garden hello` is `#garden ada: hello`
                room_name, words = self._read_room(found[2].strip())
            else:
                words = found[2].strip()
            if words:
                person = await self._met(found[1].lower())
        room_name = room_name or self._room_name
        room = self._demo.room(room_name, person)
        if room is None:
            known = ", ".join(f"#{name}" for name in (*self._demo.rooms, DIRECT))
            self._say(f"There is no #{room_name} here, so that was not said. There are {known}.")
        elif not words and found is not None:
            self._say(f"Say what {found[1]} says: `{found[1]}: hello`.")
        elif not words:
            self._room_name = room_name
            self._say(f"(You are in #{room_name} now.)")
        elif room.readers is not None and person.id not in room.readers:
            self._say(f"({person.display_name} cannot see #{room_name}.)")
        else:
            await self._act(room, person, words)

    @staticmethod
    def _read_room(line: str) -> tuple[str | None, str]:
        """The room that *line* begins with, where it does, and the rest."""
        place = _IN_ROOM.fullmatch(line)
        return (None, line) if place is None else (place[1].lower(), (place[2] or "").strip())

    async def _act(self, room: Room, person: FakePerson, words: str) -> None:
        if words.startswith("/"):
            await self._use(room, person, words)
        elif words.startswith(_REACT) and len(words) <= _LONGEST_EMOJI and not words.isascii():
            await self._react(room, person, words.removeprefix(_REACT).strip())
        elif words.startswith(_REPLY):
            await self._reply(room, person, words.removeprefix(_REPLY).strip())
        elif words.lower().startswith(_PICTURE):
            picture = self._demo.picture(f"{self._server.api_url}/attachments")
            await self._post(room, person, words[len(_PICTURE) :].strip(), attachments=[picture])
        else:
            await self._post(room, person, words)

    async def _post(self, room: Room, person: FakePerson, words: str, **more: object) -> None:
        message = await self._server.post(room, person, self._with_mention(words), **more)
        self._newest[room.id] = message["id"]

    def _with_mention(self, words: str) -> str:
        called = re.compile(f"@{re.escape(self._familiar.name)}", re.IGNORECASE)
        return called.sub(f"<@{self._server.world.bot.id}>", words)

    def _said_last(self, room: Room) -> Payload | None:
        """What the familiar said last in *room*; None, and a word about it, where that is nothing."""
        ours = [message for message in room.messages.values() if message["author"]["bot"]]
        if not ours:
            self._say(f"{self._name} has said nothing yet that could be replied to.")
        return ours[-1] if ours else None

    async def _reply(self, room: Room, person: FakePerson, words: str) -> None:
        """*person* replies to the last thing the familiar said."""
        last = self._said_last(room)
        if last is not None:
            message = await self._server.reply(room, person, self._with_mention(words), to=last)
            self._newest[room.id] = message["id"]

    async def _react(self, room: Room, person: FakePerson, emoji: str) -> None:
        last = self._said_last(room)
        if last is not None and emoji:
            await self._server.react(room, last, person, emoji)
            self._say(f"({person.display_name} reacts with {printable(emoji)}.)")

    async def _met(self, name: str) -> FakePerson:
        """Somebody of that name, let in if new."""
        person, is_new = self._demo.person(name)
        if is_new:
            self._say(f"({person.display_name} comes in.)")
            joined = person.member() | {"guild_id": str(SERVER_ID)}
            await self._server.gateway.dispatch("GUILD_MEMBER_ADD", joined)
        return person

    async def _use(self, room: Room, person: FakePerson, words: str) -> None:
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
        token = await self._server.command(room, person, name, options)
        self._asked[token] = person

    # What the familiar does

    def _show(self, note: Note) -> None:
        if note.what == "typing":
            if note.facts["room"] not in self._typing_in:
                self._typing_in.add(note.facts["room"])
                self._say(f"{self._where(note.facts['room'])}({self._name} is typing…)")
        elif note.what in ("posted", "edited", "deleted"):
            self._typing_in.discard(note.facts["room"])
            self._show_message(note.what, note.facts["room"], note.facts["message"])
        elif note.what == "answered" and "content" in note.facts["data"]:
            person = self._asked.get(note.facts["token"], self._you)
            hidden = note.facts["data"].get("flags", 0) & EPHEMERAL
            files = "".join(f" [{name}]" for name in note.facts["files"])
            asker = "only you see" if person is self._you else f"only {person.display_name} sees"
            seen_by = asker if hidden else "everyone sees"
            self._say(f"({seen_by}) {printable(note.facts['data']['content'])}{files}")
        elif note.what == "answered" and "components" in note.facts["data"]:
            self._say("(Discord would open a form here.)")

    def _show_message(self, what: str, room_id: int, message: Payload) -> None:
        notice = " ".join(embed.get("description", "") for embed in message["embeds"])
        text = printable(self._readable(message["content"] or f"({notice})"))
        where = self._where(room_id)
        if what == "edited":
            self._say(f"{where}({self._name} changed that to: {text})")
        elif what == "deleted":
            self._say(f"{where}({self._name} took that back: {text})")
        else:
            self._say(f"{where}{self._name}{self._answered(room_id, message)}: {text}")

    def _where(self, room_id: int) -> str:
        """The room before a line, unless it is the one you are in."""
        found = self._demo.room_by_id(room_id)
        name = found[0] if found is not None else str(room_id)
        return "" if name == self._room_name else f"[#{name}] "

    def _answered(self, room_id: int, message: Payload) -> str:
        """Whom a reply in Discord's own form is to."""
        reference = message.get("message_reference") or {}
        room = self._server.world.find(room_id)
        answered = room.messages.get(int(reference.get("message_id") or 0)) if room is not None else None
        return f" (to {answered['author']['global_name']})" if answered is not None else ""

    def _readable(self, text: str) -> str:
        people = self._server.world.people
        named = re.sub(
            r"<@!?(\d+)>", lambda m: f"@{people[int(m[1])].display_name}" if int(m[1]) in people else m[0], text
        )
        return re.sub(r"<a?(:\w+:)\d+>", r"\1", named)

    async def _quiet(self) -> None:
        """Wait until everything said is heard and answered."""
        for room_id, message_id in self._newest.items():
            await self._heard(room_id, message_id)
        await self._familiar.intake.wait_until_idle()
        for room_id in self._newest:
            await self._familiar.reply_path.queue.wait_until_channel_idle(room_id)
        await self._server.until(
            lambda: set(self._asked) <= {each["token"] for each in self._server.facts_of("answered")}
        )

    async def _heard(self, room_id: int, message_id: str) -> None:
        """Wait until the message is stored, for a while: a private person's never is."""
        with suppress(TimeoutError):
            async with asyncio.timeout(2.0):
                while not await off_loop(self._is_stored, room_id, message_id):  # noqa: ASYNC110 - a store tells nobody
                    await asyncio.sleep(0.02)

    def _is_stored(self, room_id: int, message_id: str) -> bool:
        recent = self._familiar.history_store.recent(familiar_id=self._familiar.id, channel_id=room_id, limit=20)
        return any(turn.platform_message_id == message_id for turn in recent)
