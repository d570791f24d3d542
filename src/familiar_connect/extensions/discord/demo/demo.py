"""DiscordDemo: several people and a familiar on a Discord of our own, from one terminal.

The familiar goes through the real Discord library, as it would with a token; only the Discord is ours.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping

from familiar_connect.api import PlatformHost
from familiar_connect.api.calls import VoiceSession
from familiar_connect.api.support import LruCache, cancel_and_wait, truncate_chars
from familiar_connect.extensions.discord.adapter import DiscordPlatform
from familiar_connect.extensions.discord.demo.command_rules import CHANNEL, CHAT_INPUT, PERSON
from familiar_connect.extensions.discord.demo.deeds import FORMS as DEED_FORMS
from familiar_connect.extensions.discord.demo.deeds import Deeds, describe_parts
from familiar_connect.extensions.discord.demo.demo_world import DIRECT, PICTURE, SERVER_ID, DemoWorld, picture_bytes
from familiar_connect.extensions.discord.demo.interactions import (
    ANSWER_WITHIN_S,
    EPHEMERAL,
    THINKING,
    THINKING_BELOW,
    UPDATE,
)
from familiar_connect.extensions.discord.demo.rate_limits import DISCORD_PER_ROUTE, DISCORD_WINDOW_S, RateLimits
from familiar_connect.extensions.discord.demo.server import VOICE_WISH, DiscordServer, Note
from familiar_connect.extensions.discord.demo.typed_command import is_shown, read_typed_fields
from familiar_connect.extensions.discord.demo.voice.demo_call import CALL_COMMAND, DEEDS, JOIN, DemoCall
from familiar_connect.extensions.discord.demo.voice.demo_call import FORMS as CALL_FORMS
from familiar_connect.extensions.discord.demo.world import FakePerson, Payload, Room

_IN_ROOM = re.compile(r"#([a-z][\w-]*)(?:\s+(.*))?", re.IGNORECASE | re.DOTALL)
_SAID_BY = re.compile(r"([a-z0-9_.]{2,32}):(?!//)\s*(.*)", re.IGNORECASE | re.DOTALL)
START_ROOM = "general"
_REPLY, _REACT, _PICTURE, _FILE = ">", "+", "!picture", "!file"
_LONGEST_EMOJI = 16

FORMS = {
    "hello {name}": "you say it in #general, and it answers, as it is named; the bot is yours",
    "ada: hello @{name}": "Ada says it; any name will do. @{name} mentions it",
    "ada: > really?": "she replies to what it said last; `ada: +👍` reacts to it",
    "ada: !picture look": "she sends a picture; `ada: !file tea.txt one spoon` sends a text file",
    "#garden hello": "in another channel: #general, #garden, #council (hidden), or the thread #birthday",
    "#dm hello": "a direct message; `#garden` alone goes there",
    "/persona": "a slash command; `ada: /privacy full` is hers; `/remind when: in an hour text: tea` fills in fields",
}
"""What can be typed, and what that does."""
GUILD_READY_TIMEOUT_S = 0.2
MAX_TEXTS = 2_000
MAX_FILE_CHARS = 8_000
"""Of a file that comes with an answer, so much is shown: nobody can open it here."""
NO_ANSWER_YET = frozenset({THINKING, THINKING_BELOW})


class DiscordDemo:
    """What is typed becomes something that somebody does, and what the familiar does becomes a line."""

    def __init__(self, host: PlatformHost, say: Callable[[str], None]) -> None:
        self._host = host
        self._name = host.name
        self._say = say
        self._server = DiscordServer(
            limits=RateLimits(per_route=DISCORD_PER_ROUTE, window_s=DISCORD_WINDOW_S), answer_within_s=ANSWER_WITHIN_S
        )
        self._demo = DemoWorld(self._server.world, host.name)
        self._server.attachments[PICTURE] = picture_bytes()
        self._asked: dict[str, FakePerson] = {}
        self._you = self._demo.you
        self._room_name = START_ROOM
        self._newest: dict[int, str] = {}
        """Of each room in which somebody spoke, the last message of a person."""
        self._typing_in: set[int] = set()
        self._platform: DiscordPlatform | None = None
        self._shown_texts: LruCache[str, str] = LruCache(MAX_TEXTS)
        """What the familiar's messages read, by id: an edit that changes no word is not shown."""
        self._is_to_start_again = asyncio.Event()
        self._deeds = Deeds(
            self._server,
            self._demo,
            self._name,
            say,
            asked=self._asked.__setitem__,
            posted=self._note_posted,
            said_last=self._said_last,
            restart=self._is_to_start_again.set,
        )
        self._call = DemoCall(
            host, self._server, self._demo.guild, self._demo.lounge, say, find_session=self._find_session
        )
        self._server.follow(self._show)

    @property
    def forms(self) -> Mapping[str, str]:
        missing = self._call.why_missing
        return FORMS | DEED_FORMS | (CALL_FORMS if missing is None else {JOIN: missing})

    @property
    def channels(self) -> Mapping[str, int | None]:
        return {str(channel_id): SERVER_ID for channel_id in self._demo.channel_ids}

    @property
    def room(self) -> str:
        return f"#{self._room_name}"

    @property
    def newest(self) -> Mapping[str, str]:
        return {str(room_id): message_id for room_id, message_id in self._newest.items()}

    async def run(self) -> None:
        async with self._server as server, self._call as call:
            self._platform = DiscordPlatform(
                self._host,
                token=server.token,
                api_url=server.api_url,
                guild_ready_timeout_s=GUILD_READY_TIMEOUT_S,
                make_voice=call.make_voice,
                why_no_voice=call.why_missing,
                call_watcher=call.watcher,
            )
            while await self._runs_until_started_again(self._platform):
                self._is_to_start_again.clear()

    async def _runs_until_started_again(self, platform: DiscordPlatform) -> bool:
        """Be there; True: until somebody wants it to leave and come again."""
        running = asyncio.create_task(platform.run(), name="discord")
        waiting = asyncio.create_task(self._is_to_start_again.wait(), name="discord-restart")
        try:
            await asyncio.wait({running, waiting}, return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                running.result()
            return waiting.done()
        finally:
            await cancel_and_wait(waiting)
            await cancel_and_wait(running)

    def _find_session(self) -> VoiceSession | None:
        return self._platform.find_voice_session(SERVER_ID) if self._platform is not None else None

    async def wait_until_ready(self) -> None:
        await self._server.until_ready()

    async def wait_until_answered(self) -> None:
        await self._server.until(
            lambda: (
                set(self._asked)
                <= {each["token"] for each in self._server.facts_of("answered") if each["type"] not in NO_ANSWER_YET}
            )
        )
        await self._call.wait_until_quiet()

    # What people do

    async def take(self, line: str) -> None:
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
        elif self._deeds.knows(words):
            await self._deeds.act(room, person, self._with_mention(words))
        elif words.partition(" ")[0].lower() in DEEDS:
            await self._call.act(person, words)
        elif words.startswith(_REACT) and len(words) <= _LONGEST_EMOJI and not words.isascii():
            await self._react(room, person, words.removeprefix(_REACT).strip())
        elif words.startswith(_REPLY):
            await self._reply(room, person, words.removeprefix(_REPLY).strip())
        elif words.lower().startswith(_PICTURE):
            picture = self._demo.picture(f"{self._server.api_url}/attachments")
            await self._post(room, person, words[len(_PICTURE) :].strip(), attachments=[picture])
        elif words.lower().startswith(f"{_FILE} "):
            name, _, text = words[len(_FILE) :].strip().partition(" ")
            sent = self._server.attachment(name, text.encode(), "text/plain; charset=utf-8")
            await self._post(room, person, "", attachments=[sent])
        else:
            await self._post(room, person, words)

    async def _post(self, room: Room, person: FakePerson, words: str, **more: object) -> None:
        self._note_posted(room, await self._server.post(room, person, self._with_mention(words), **more))

    def _note_posted(self, room: Room, message: Payload) -> None:
        self._newest[room.id] = message["id"]

    def _with_mention(self, words: str) -> str:
        called = re.compile(f"@{re.escape(self._host.name)}", re.IGNORECASE)
        return called.sub(f"<@{self._server.world.bot.id}>", words)

    def _said_last(self, room: Room) -> Payload | None:
        """What the familiar said last in *room*; None, and a word about it, where that is nothing."""
        us = str(self._server.world.bot.id)
        ours = [each for each in room.messages.values() if us in (each["author"]["id"], each.get("application_id"))]
        if not ours:
            self._say(f"{self._name} has said nothing yet that could be replied to.")
        return ours[-1] if ours else None

    async def _reply(self, room: Room, person: FakePerson, words: str) -> None:
        """*person* replies to the last thing the familiar said."""
        last = self._said_last(room)
        if last is not None:
            self._note_posted(room, await self._server.reply(room, person, self._with_mention(words), to=last))

    async def _react(self, room: Room, person: FakePerson, emoji: str) -> None:
        last = self._said_last(room)
        if last is not None and emoji:
            await self._server.react(room, last, person, emoji)
            self._say(f"({person.display_name} reacts with {emoji}.)")

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
        wanted = next((each for each in self._server.api.interactions.commands if each["name"] == name), None)
        if wanted is None:
            typed = [each["name"] for each in self._server.api.interactions.commands if each["type"] == CHAT_INPUT]
            known = ", ".join(f"/{each}" for each in typed)
            self._say(f"There is no /{name} here. There are {known}.")
            return
        guild = self._server.world.guilds.get(room.guild_id or 0)
        if not is_shown(wanted, guild.permissions(room, person) if guild is not None else None):
            self._say(f"(Discord does not show /{name} to {person.display_name}.)")
            return
        try:
            fields = read_typed_fields(wanted, rest, self._find_id)
            token = await self._server.command(room, person, name, fields, may_manage=False)
        except ValueError as error:
            self._say(f"(Discord would not take that: {error}.)")
            return
        self._asked[token] = person
        if name == CALL_COMMAND:
            self._call.expect_familiar(person)

    def _find_id(self, kind: int, typed: str) -> str | None:
        """What is chosen in a list on Discord, by the name that is typed here."""
        wanted = typed.removeprefix("@").removeprefix("#").casefold()
        if kind == PERSON:
            people = self._server.world.people.values()
            return next((str(each.id) for each in people if each.username.casefold() == wanted), None)
        if kind == CHANNEL:
            room = self._demo.rooms.get(wanted)
            return str(room.id) if room is not None else None
        roles = self._demo.guild.roles.values()
        return next((str(each.id) for each in roles if each.name.casefold() == wanted), None)

    # What the familiar does

    def _show(self, note: Note) -> None:
        if note.what == "typing":
            if note.facts["room"] not in self._typing_in:
                self._typing_in.add(note.facts["room"])
                self._say(f"{self._where(note.facts['room'])}({self._name} is typing…)")
        elif note.what in ("posted", "edited", "deleted"):
            self._typing_in.discard(note.facts["room"])
            self._show_message(note.what, note.facts["room"], note.facts["message"])
        elif note.what == "answered":
            self._show_answer(note.facts)
        elif note.what == VOICE_WISH:
            self._call.show_move(note.facts["d"]["channel_id"])

    def _show_answer(self, answer: Payload) -> None:
        person, data = self._asked.get(answer["token"], self._you), answer["data"]
        if "content" in data:
            hidden = data.get("flags", 0) & EPHEMERAL or answer["type"] == UPDATE
            files = "".join(
                f" [{name}]\n{truncate_chars(text, MAX_FILE_CHARS)}" for name, text in answer["files"].items()
            )
            asker = "only you see" if person is self._you else f"only {person.display_name} sees"
            self._say(f"({asker if hidden else 'everyone sees'}) {self._readable(data['content'])}{files}")
        self._deeds.note_shown(person, answer)

    def _show_message(self, what: str, room_id: int, message: Payload) -> None:
        notice = " ".join(embed.get("description", "") for embed in message["embeds"])
        text = self._readable(message["content"] or f"({notice})")
        where = self._where(room_id)
        before = self._shown_texts.get(message["id"])
        self._shown_texts.put(message["id"], text)
        if what == "edited" and before == text:
            return
        if what == "edited":
            self._say(f"{where}({self._name} changed that to: {text})")
        elif what == "deleted":
            self._say(f"{where}({self._name} took that back: {text})")
        else:
            speaker = message["author"]["username"] if message.get("webhook_id") else self._name
            self._say(f"{where}{speaker}{self._answered(room_id, message)}: {text}")
            if message.get("components"):
                self._say(describe_parts(message["components"]))

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
        if answered is None:
            return ""
        author = answered["author"]
        return f" (to {author.get('global_name') or author['username']})"

    def _readable(self, text: str) -> str:
        people = self._server.world.people
        named = re.sub(
            r"<@!?(\d+)>", lambda m: f"@{people[int(m[1])].display_name}" if int(m[1]) in people else m[0], text
        )
        return re.sub(r"<a?(:\w+:)\d+>", r"\1", named)
