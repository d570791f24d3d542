"""The doors: how each is made ready, how something is asked there, and what whoever asked has seen.

Each stands against a stand-in on loopback that lives in this process and so outlives every kill.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import pty
import re
import sqlite3
import struct
import termios
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from dataclasses import dataclass, field
from fcntl import ioctl
from pathlib import Path
from typing import Any

from benchmarks.reliability.door_kills.page_notices import hear_notices
from benchmarks.reliability.harness import FAMILIAR_ID, make_home
from benchmarks.reliability.program import NumberModel
from familiar_connect.bootstrap.starter import make_starter
from familiar_connect.config.consent import OwnerConsent
from familiar_connect.extensions.discord.demo.server import DiscordServer
from familiar_connect.extensions.discord.demo.world import PUBLIC_THREAD, FakePerson, Room
from familiar_connect.extensions.twitch.demo.helix import SentLine
from familiar_connect.extensions.twitch.demo.server import TwitchServer
from familiar_connect.extensions.twitch.demo.tokens import Token
from familiar_connect.reply.outbox import MAY_BE_MISSING
from tests.fakes.program_process import environment

PIECES = 2
SETTINGS = 'decide_with = "rules"\n'
TYPED = """\
mode = "text_conversation_rp"
[typing_simulation]
enabled = true
chars_per_second = 1000.0
min_delay_s = 0.0
max_delay_s = 0.01
inter_line_pause_s = 0.0
"""
"""Each paragraph is a message of its own."""
UNTOLD = "The program stopped before"
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07|[()][A-Z0-9]|[=>])")
AS_LAST_TIME = "  "
"""So begin the lines in which a chat shows where it was left."""
_ASK_CURSOR = b"\x1b[6n"
_TOLD = re.compile(rf"{UNTOLD} your questions? (?:was|were) answered: ([^\n]*)")
TWITCH_CHANNEL = 500
MANY_LINES = 1_000_000
"""More lines than a campaign writes: Twitch's own limit would hold up every life."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What people saw behind a door, of all lives."""

    said: Sequence[str]
    """The familiar's words, piece by piece or as one text."""
    told: frozenset[int]
    """Questions whose asker was told that there is no answer."""


@dataclass
class Door:
    """One door. `home` is the program's home; `ready` is asked until the program can be talked to."""

    folder: Path
    model: NumberModel
    name: str = ""
    words: tuple[str, ...] = ("run",)
    asks: int = 5
    """Questions of one life."""
    hears_later: bool = False
    """What is said while the program is away reaches it."""
    hangs_up: bool = False
    """Who asks sees by themselves that nobody took the question."""
    patience_s: float = 20.0
    """How long who asks over HTTP waits."""
    is_terminal: bool = False
    ends_itself: bool = False
    ports: dict[str, str] = field(default_factory=dict)
    lives: int = 0

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def root(self) -> Path:
        return self.home / "familiars" / FAMILIAR_ID

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            await self.prepare(stack)
            slot = f'\n[llm.main_prose]\nmodel = "numbers"\nbase_url = "{self.model.base_url}"\n'
            with (self.root / "character.toml").open("a", encoding="utf-8") as settings:
                settings.write(slot)
            self.ports[_port(self.model.base_url)] = "the model"
            self._set("limits", "tokens_per_person_per_day = 0")  # one person asks as much as a crowd
            yield

    async def prepare(self, stack: AsyncExitStack) -> None:
        """Make the home and whatever stands on the other side."""
        make_starter(self.home, FAMILIAR_ID)

    def _set(self, section: str, line: str) -> None:
        """Put *line* below the heading of a section of the settings."""
        settings = self.root / "character.toml"
        text = settings.read_text(encoding="utf-8")
        assert f"\n[{section}]\n" in text, section
        settings.write_text(text.replace(f"\n[{section}]\n", f"\n[{section}]\n{line}\n"), encoding="utf-8")

    def environment(self) -> Mapping[str, str]:
        return {}

    def begin(self, number: int) -> dict[str, Any]:
        """What the next life is asked to be; *number* is the next question."""
        self.lives += 1
        streams = self.streams()
        names = dict(zip(streams, ("standard input", "standard output", "standard error"), strict=True))
        return {
            "words": [*self.words],
            "environment": environment(self.home, self.environment()),
            "folder": str(self.home),
            "terminal": self.is_terminal,
            "streams": streams,
            "names": names,
            "home": str(self.home),
            "ports": self.ports,
            "counts": str(self.folder / "counts"),
        }

    def streams(self) -> list[str]:
        return ["/dev/null", str(self.folder / "output"), str(self.folder / "errors")]

    async def is_ready(self) -> bool:
        return True

    async def ask(self, number: int) -> None:
        raise NotImplementedError

    async def look(self) -> Seen:
        raise NotImplementedError

    def listen(self) -> None:
        """Begin to hear what is told beside the talk, where that takes doing."""

    async def shown(self) -> str:
        """All that whoever asks here has been shown, in the order it came; streams are theirs behind most doors."""
        return "".join(_text_of(self.folder / name) for name in ("output", "errors"))

    def is_heard(self, number: int) -> bool:
        """Whether the question is in the history."""
        with closing(sqlite3.connect(f"file:{self.root / 'history.db'}?mode=ro", uri=True)) as database:
            like = f"%[m{number:06d}]%"
            return bool(
                database.execute("SELECT 1 FROM turns WHERE role = 'user' AND content LIKE ?", (like,)).fetchall()
            )

    def answers_kept(self) -> str:
        """All that the history says the familiar said."""
        with closing(sqlite3.connect(f"file:{self.root / 'history.db'}?mode=ro", uri=True)) as database:
            return "\n".join(row[0] for row in database.execute("SELECT content FROM turns WHERE role = 'assistant'"))

    def between_lives(self) -> None:
        """What happens while the program is away."""


def mark(number: int) -> str:
    return f"[m{number:06d}]"


def _port(url: str) -> str:
    return url.split("//")[1].split("/")[0].rpartition(":")[2]


# Discord


@dataclass
class DiscordDoor(Door):
    """A room, where the familiar is mentioned."""

    name: str = "discord room"
    hears_later: bool = True
    _asked: dict[str, int] = field(default_factory=dict)

    async def prepare(self, stack: AsyncExitStack) -> None:
        self.server = await stack.enter_async_context(DiscordServer())
        world = self.server.world
        self.person: FakePerson = world.person("ada")
        guild = world.guild("Harbour")
        self.room = self.make_room(world.room(guild, "lamps"))
        self.ports[_port(self.server.api_url)] = "Discord"
        rooms = [each for each in guild.rooms.values() if not each.is_thread]
        make_home(self.home, rooms, settings=SETTINGS, channel=TYPED)
        self._set("discord", 'dms = "everyone"')
        OwnerConsent(self.home, self.root.name).allow_setting("discord.dms", "everyone")
        (self.root / "channels" / f"{self.room.id}.toml").write_text(TYPED, encoding="utf-8")

    def make_room(self, room: Room) -> Room:
        return room

    def environment(self) -> Mapping[str, str]:
        return {"DISCORD_BOT": self.server.token, "DISCORD_API_URL": self.server.api_url}

    def begin(self, number: int) -> dict[str, Any]:
        self._before = len(self.server.facts_of("gateway:2"))
        return super().begin(number)

    async def is_ready(self) -> bool:
        return len(self.server.facts_of("gateway:2")) > self._before

    async def ask(self, number: int) -> None:
        text = f"<@{self.server.world.bot.id}> what about the lamp? {mark(number)}"
        message = await self.server.post(self.room, self.person, text)
        self._asked[message["id"]] = number

    async def look(self) -> Seen:
        ours = str(self.server.world.bot.id)
        own = [each for each in self.room.messages.values() if each["author"]["id"] == ours]
        told = {
            self._asked[each["message_reference"]["message_id"]]
            for each in own
            if each.get("embeds") and (each.get("message_reference") or {}).get("message_id") in self._asked
        }
        return Seen(said=[each["content"] for each in own], told=frozenset(told))

    async def shown(self) -> str:
        ours = str(self.server.world.bot.id)
        own = [each for each in self.room.messages.values() if each["author"]["id"] == ours]
        told = [each["content"] + " ".join(e.get("description") or "" for e in each["embeds"]) for each in own]
        return "".join(f"{line}\n" for line in told)


@dataclass
class DirectDoor(DiscordDoor):
    """A direct conversation on Discord."""

    name: str = "discord direct"

    def make_room(self, room: Room) -> Room:
        return self.server.world.direct_room(self.person)


@dataclass
class ThreadDoor(DiscordDoor):
    """A thread of a room; every other time it has been archived when the program comes back."""

    name: str = "discord thread"

    def make_room(self, room: Room) -> Room:
        world = self.server.world
        assert room.guild_id is not None
        return world.room(world.guilds[room.guild_id], "wicks", kind=PUBLIC_THREAD, parent_id=room.id)

    def between_lives(self) -> None:
        self.room.is_archived = bool(self.lives % 2)


# Twitch


@dataclass
class TwitchDoor(Door):
    """The chat of a channel."""

    name: str = "twitch"
    _asked: dict[str, int] = field(default_factory=dict)

    async def prepare(self, stack: AsyncExitStack) -> None:
        self.server = await stack.enter_async_context(TwitchServer())
        self.server.tokens.known["good-token"] = Token("900", "ember_bot")
        self.person = self.server.room.viewer("ben", "22")
        bot = self.server.room.viewer("ember_bot", "900")
        bot.is_moderator = True  # whom no rule on repeated lines keeps from saying one twice
        limits = self.server.room.limits
        limits.for_viewers = limits.for_moderators = MANY_LINES
        make_home(self.home, [], settings=SETTINGS)
        self._set("twitch", 'channel = "ada_live"')
        (self.root / "channels" / f"{TWITCH_CHANNEL}.toml").write_text(TYPED, encoding="utf-8")
        self.ports[_port(self.server.addresses.api or "")] = "Twitch"

    def environment(self) -> Mapping[str, str]:
        return {"TWITCH_CLIENT_ID": "client-1", "TWITCH_TOKEN": "good-token"}

    def begin(self, number: int) -> dict[str, Any]:
        where = self.server.addresses
        self._before = len(self.server.sessions.asked)
        return {**super().begin(number), "twitch": {"api": where.api, "auth": where.auth, "eventsub": where.eventsub}}

    async def is_ready(self) -> bool:
        return len(self.server.sessions.asked) >= self._before + 4

    async def ask(self, number: int) -> None:
        line_id = await self.server.show(self.person, f"Ember, what about the lamp? {mark(number)}")
        self._asked[line_id] = number

    async def look(self) -> Seen:
        lines = list(self.server.lines)
        told = {self._asked[line.parent_id or ""] for line in lines if self._is_told(line)}
        return Seen(said=self.server.list_sent(), told=frozenset(told))

    def _is_told(self, line: SentLine) -> bool:
        return line.parent_id in self._asked and MAY_BE_MISSING in line.text

    async def shown(self) -> str:
        return "".join(f"{line}\n" for line in self.server.list_sent())


# The page


@dataclass
class PageDoor(Door):
    """The page, over HTTP as a browser asks."""

    name: str = "page"
    words: tuple[str, ...] = ("web", "--no-open", "--port", "0", "--plain-address")
    hangs_up: bool = True
    _replies: str = ""
    _notices: list[str] = field(default_factory=list)
    _cookie: str | None = None
    _host: str = ""
    _from: int = 0
    _seen: Seen = Seen(said=(), told=frozenset())
    _lines: dict[str, str] = field(default_factory=dict)
    """By their numbers: a page shows the latest alone."""

    def begin(self, number: int) -> dict[str, Any]:
        output = self.folder / "output"
        self._from = output.stat().st_size if output.exists() else 0
        self._cookie = None
        return super().begin(number)

    async def is_ready(self) -> bool:
        printed = _text_of(self.folder / "output")[self._from :]
        found = re.search(r"http://(\S+)/open\?token=(\S+)", printed)
        if found is None:
            return False
        self._host = found[1]
        with suppress(OSError, http.client.HTTPException):  # it may have been ended by now
            status, headers, _ = await self._fetch("GET", f"/open?token={found[2]}")
            if status == 200:
                self._cookie = headers["set-cookie"].split(";")[0]
        return self._cookie is not None

    async def ask(self, number: int) -> None:
        words = json.dumps({"text": f"What about the lamp? {mark(number)}"})
        with suppress(OSError, http.client.HTTPException):
            status, _, reply = await self._fetch("POST", f"/f/{FAMILIAR_ID}/chats/1/messages", words)
            self._replies += f"{reply}\n" if status >= http.HTTPStatus.BAD_REQUEST else ""

    def listen(self) -> None:
        """As the page's script does: notices come by the stream of events alone."""
        hear_notices(self._host, self._cookie or "", self._notices)

    async def shown(self) -> str:
        return self._replies + "".join(self._notices)

    async def look(self) -> Seen:
        if self._cookie is not None:
            with suppress(OSError, http.client.HTTPException):
                status, _, page = await self._fetch("GET", f"/f/{FAMILIAR_ID}/chats/1")
                if status == 200:
                    self._seen = self._read(page)
        return self._seen

    def _read(self, page: str) -> Seen:
        self._lines |= dict(re.findall(r'class="message own[^>]*data-id="(\d+)"(.*?)</li>', page, re.DOTALL))
        told = {number for line in _TOLD.findall(page) for number in _numbers(line)}
        return Seen(said=list(self._lines.values()), told=self._seen.told | told)

    async def _fetch(self, method: str, path: str, body: str | None = None) -> tuple[int, dict[str, str], str]:
        return await asyncio.to_thread(self._fetch_now, method, path, body)

    def _fetch_now(self, method: str, path: str, body: str | None) -> tuple[int, dict[str, str], str]:
        connection = http.client.HTTPConnection(self._host, timeout=self.patience_s)
        headers = {"Origin": f"http://{self._host}", "Accept": "text/html" if body is None else "application/json"}
        headers |= {"Cookie": self._cookie} if self._cookie is not None else {}
        headers |= {"Content-Type": "application/json"} if body is not None else {}
        with closing(connection):
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, found, answer.read().decode()


# The terminal


def _numbers(line: str) -> list[int]:
    return [int(each) for each in re.findall(r"\[m(\d{6})\]", line)]


@dataclass
class PlainDoor(Door):
    """`chat --plain`, fed by a pipe."""

    name: str = "chat --plain"
    words: tuple[str, ...] = ("chat", "--plain")
    _typed: int | None = None

    def begin(self, number: int) -> dict[str, Any]:
        pipe = self.folder / "input"
        if self._typed is not None:
            os.close(self._typed)
        pipe.unlink(missing_ok=True)
        os.mkfifo(pipe)
        self._typed = os.open(pipe, os.O_RDWR)
        return super().begin(number)

    def streams(self) -> list[str]:
        return [str(self.folder / "input"), str(self.folder / "output"), str(self.folder / "errors")]

    async def ask(self, number: int) -> None:
        assert self._typed is not None
        os.write(self._typed, f"What about the lamp? {mark(number)}\n".encode())

    async def look(self) -> Seen:
        said, errors = (_text_of(self.folder / name) for name in ("output", "errors"))
        return Seen(said=[said], told=frozenset(n for line in _TOLD.findall(errors) for n in _numbers(line)))


def _text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


@dataclass
class AskDoor(PlainDoor):
    """`ask`: one question, one process."""

    name: str = "ask"
    asks: int = 1
    ends_itself: bool = True

    def begin(self, number: int) -> dict[str, Any]:
        self.words = ("ask", f"What about the lamp? {mark(number)}")
        return Door.begin(self, number)

    def streams(self) -> list[str]:
        return Door.streams(self)

    async def ask(self, number: int) -> None:
        """It was asked as the process began."""


@dataclass
class TerminalDoor(Door):
    """`chat` in a window, typed at."""

    name: str = "chat"
    words: tuple[str, ...] = ("chat",)
    is_terminal: bool = True
    _raw: bytes = b""
    _from: int = 0
    _master: int | None = None
    _slave: int = -1

    def begin(self, number: int) -> dict[str, Any]:
        if self._master is not None:
            asyncio.get_running_loop().remove_reader(self._master)
            os.close(self._master)
            os.close(self._slave)
        self._master, self._slave = pty.openpty()
        ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 400, 0, 0))
        os.set_blocking(self._master, False)
        asyncio.get_running_loop().add_reader(self._master, self._read)
        self._from = len(self._raw)
        return super().begin(number)

    def streams(self) -> list[str]:
        return [os.ttyname(self._slave)] * 3

    def environment(self) -> Mapping[str, str]:
        return {"TERM": "xterm-256color"}

    def _read(self) -> None:
        assert self._master is not None
        with suppress(BlockingIOError, OSError):
            piece = os.read(self._master, 65536)
            self._raw += piece
            if _ASK_CURSOR in piece:
                os.write(self._master, b"\x1b[5;1R")

    async def is_ready(self) -> bool:
        return b"/help lists commands" in self._raw[self._from :] and b"Friend: " in _bare(self._raw[self._from :])

    async def ask(self, number: int) -> None:
        assert self._master is not None
        os.write(self._master, f"What about the lamp? {mark(number)}\r".encode())

    async def look(self) -> Seen:
        self._read()
        text = _bare(self._raw).decode(errors="replace").replace("\r", "")
        said = [line for line in text.splitlines() if not line.startswith(AS_LAST_TIME)]
        return Seen(said=said, told=frozenset(n for line in _TOLD.findall(text) for n in _numbers(line)))


def _bare(raw: bytes) -> bytes:
    return _ESCAPES.sub("", raw.decode(errors="replace")).encode()


DOORS: dict[str, type[Door]] = {
    kind.name: kind
    for kind in (DiscordDoor, DirectDoor, ThreadDoor, TwitchDoor, PageDoor, TerminalDoor, PlainDoor, AskDoor)
}
