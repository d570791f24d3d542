"""IrcPlatform: hears rooms and direct messages, and answers there. Who is who, and what that is worth: see `rooms`.

A connection that is lost ends `run` with an ordinary error, and the program runs it again after a while. What people
see of the familiar, its places, outlives that: a reply that was being written goes out over the next connection.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from familiar_connect.api import Author, DeliveryError, Place, PlatformHost, SetupError
from familiar_irc.connection import ConnectionLost, IrcConnection
from familiar_irc.lines import IrcLine, matches_mask, plain_text, says_nick, split_text, text_room, write_line
from familiar_irc.place import DirectPlace, RoomPlace, new_message_id
from familiar_irc.rooms import People, Person, Room, ServerFacts
from familiar_irc.settings import MAX_CHANNELS, IrcSettings

MAX_NICKS = 10
"""Nicks that are tried where the first is taken."""
MAX_DIRECT = 500
"""Direct conversations that are kept open; the one used longest ago is closed first."""
MAX_LOOKED_UP = 20
"""People that are looked for after a new connection, because something is still to be said to them."""
MAX_ANSWER_LINES = 20
"""Lines of the answer to a command."""
COMMAND_PAUSE_S = 3.0
"""Between two commands of one person who manages nothing."""
NOT_JOINED = {
    "403": "there is no such room",
    "405": "we are in too many rooms",
    "471": "it is full",
    "473": "it takes an invitation",
    "474": "we are banned from it",
    "475": "it takes a key",
    "477": "it takes a registered nick",
}


class IrcPlatform:
    """One network."""

    places = (RoomPlace, DirectPlace)

    def __init__(self, host: PlatformHost) -> None:
        settings: IrcSettings = host.settings
        self._host = host
        self._settings = settings
        self._wanted_nick = settings.nick or nick_of(host.name)
        self._nick = self._wanted_nick
        self._nicks_tried = 0
        self._facts = ServerFacts()
        self._people = People(self._facts, by_nick_alone=settings.known_by == "nick")
        self._rooms: dict[str, RoomPlace] = {}
        self._direct: OrderedDict[str, DirectPlace] = OrderedDict()
        self._connection: IrcConnection | None = None
        self._commanded_at: OrderedDict[str, float] = OrderedDict()
        self._handlers: dict[str, Callable[[IrcLine], Awaitable[None]]] = {
            "PING": self._on_ping,
            "PRIVMSG": self._on_message,
            "JOIN": self._on_join,
            "PART": self._on_part,
            "KICK": self._on_kick,
            "QUIT": self._on_quit,
            "NICK": self._on_nick,
            "MODE": self._on_mode,
            "TOPIC": self._on_topic,
            "INVITE": self._on_invite,
            "ERROR": self._on_error,
            "001": self._on_welcome,
            "005": self._on_facts,
            "311": self._on_found,
            "324": self._on_modes,
            "332": self._on_topic,
            "353": self._on_names,
            "376": self._on_ready,
            "422": self._on_ready,
            "401": self._on_no_such_nick,
            "432": self._on_bad_nick,
            "433": self._on_taken_nick,
            "464": self._on_bad_password,
            **dict.fromkeys(NOT_JOINED, self._on_not_joined),
        }

    async def run(self) -> None:
        """Hear and answer until cancelled, over one connection."""
        settings = self._settings
        self._connection = await IrcConnection.open(
            settings.host, settings.port, tls=settings.tls, pause_s=settings.pause_s
        )
        try:
            with self._host.connect(self._find_channel, is_owner=self._is_owner):
                await self._register()
                while True:
                    line = await self._connection.read()
                    handle = self._handlers.get(line.command)
                    if handle is not None:
                        await handle(line)
        finally:
            self._connection.close()
            self._connection = None
            self._people.clear()
            for place in self._rooms.values():
                place.room.leave()

    # Saying

    async def _say(self, command: str, target: str, text: str) -> None:
        """*text* to a room or a person, in lines that fit; `DeliveryError` where there is no connection."""
        await self._say_lines(command, target, list(split_text(text, text_room(self._nick, command, target))))

    async def _say_lines(self, command: str, target: str, lines: list[str]) -> None:
        for number, line in enumerate(lines):
            try:
                await self._send(write_line(command, target, text=line))
            except DeliveryError as error:
                if number == 0:
                    raise
                # The first lines are out, so another try would say them twice.
                raise DeliveryError(str(error), may_have_arrived=True) from error

    async def _send(self, line: bytes) -> None:
        if self._connection is None:
            raise DeliveryError("there is no connection to the server", retryable=True)
        await self._connection.send(line)

    # Coming in

    async def _register(self) -> None:
        self._nick, self._nicks_tried = self._wanted_nick, 0
        password = self._host.secrets.get("IRC_PASSWORD")
        if password:
            await self._send(write_line("PASS", text=password))
        await self._send(write_line("NICK", self._nick))
        await self._send(write_line("USER", "familiar", "0", "*", text=self._host.name))

    async def _on_ping(self, line: IrcLine) -> None:
        if self._connection is not None:
            await self._connection.send_now(write_line("PONG", text=line.param(-1)))

    async def _on_welcome(self, line: IrcLine) -> None:
        self._nick = line.param(0) or self._nick

    async def _on_facts(self, line: IrcLine) -> None:
        self._facts.learn(line.params[1:-1])

    async def _on_ready(self, line: IrcLine) -> None:
        """The greeting is over: join the rooms, and look for those who still wait for an answer."""
        for entry in self._settings.channels[:MAX_CHANNELS]:
            name = entry.split()[0]
            self._rooms.setdefault(self._facts.fold(name), self._new_room(name))
            await self._enter(name)
        waiting = [each for each in await self._host.waiting_channels() if self._facts.fold(each) not in self._rooms]
        for user_id in list(dict.fromkeys([*reversed(self._direct), *waiting]))[:MAX_LOOKED_UP]:
            nick = user_id.partition("@")[0]
            if re.fullmatch(r"[^\s,:*?\x00]+", nick):
                await self._send(write_line("WHOIS", nick))

    async def _enter(self, name: str) -> None:
        """Ask to be let in, with the key where the owner gave one, and in the same breath who else may come in.

        So the server tells that before anybody's first line, which else would count as said behind closed doors.
        """
        entries = {self._facts.fold(entry.split()[0]): entry.split() for entry in self._settings.channels}
        await self._send(write_line("JOIN", *entries[self._facts.fold(name)]) + write_line("MODE", name))

    def _new_room(self, name: str) -> RoomPlace:
        return RoomPlace(self._host, self._facts.fold(name), self._people, self._say, Room(name, self._facts))

    async def _on_found(self, line: IrcLine) -> None:
        """Somebody we asked for is there: with the host they had, they are the one, and are answered."""
        nick, user, host = line.param(1), line.param(2), line.param(3)
        person = self._people.meet(nick, f"{nick}!{user}@{host}")
        if person.user_id in self._direct or person.user_id in await self._host.waiting_channels():
            await self._direct_place(person)

    async def _on_bad_password(self, line: IrcLine) -> None:
        raise SetupError("the server refuses the password: set it with `familiar keys set IRC_PASSWORD`")

    async def _on_bad_nick(self, line: IrcLine) -> None:
        raise SetupError(f"the server takes no {self._nick!r} for a nick: write another as `nick` under [irc]")

    async def _on_taken_nick(self, line: IrcLine) -> None:
        """Somebody has the nick: take one like it."""
        self._nicks_tried += 1
        if self._nicks_tried >= MAX_NICKS:
            raise ConnectionLost("every nick we tried is taken")
        self._nick = f"{self._wanted_nick[:7]}_{self._nicks_tried}"
        await self._send(write_line("NICK", self._nick))

    async def _on_error(self, line: IrcLine) -> None:
        raise ConnectionLost("the server closed the connection")

    # Rooms

    def _room(self, name: str) -> RoomPlace | None:
        return self._rooms.get(self._facts.fold(name))

    def _is_me(self, nick: str) -> bool:
        return self._facts.fold(nick) == self._facts.fold(self._nick)

    async def _on_join(self, line: IrcLine) -> None:
        place = self._room(line.param(0))
        if place is None:
            return
        if not self._is_me(line.nick):
            place.room.add(line.nick)
            self._people.meet(line.nick, line.prefix)
            return
        place.room.enter()
        await self._host.join(place.channel, place)

    async def _on_part(self, line: IrcLine) -> None:
        self._left(line.param(0), line.nick)

    async def _on_kick(self, line: IrcLine) -> None:
        if self._is_me(line.param(1)):
            self._host.tell_owner(f"somebody sent us out of {line.param(0)}; an invitation brings us back")
        self._left(line.param(0), line.param(1))

    def _left(self, room: str, nick: str) -> None:
        place = self._room(room)
        if place is not None and self._is_me(nick):
            place.room.leave()
        elif place is not None:
            place.room.remove(nick)

    async def _on_invite(self, line: IrcLine) -> None:
        """Into a room that the owner named; nobody else says where we go."""
        place = self._room(line.param(1))
        if place is not None and not place.room.is_joined:
            await self._enter(place.room.name)

    async def _on_not_joined(self, line: IrcLine) -> None:
        if self._room(line.param(1)) is not None:
            self._host.tell_owner(f"{line.param(1)} stays closed to us: {NOT_JOINED[line.command]}")

    async def _on_quit(self, line: IrcLine) -> None:
        self._people.forget(line.nick)
        for place in self._rooms.values():
            place.room.remove(line.nick)

    async def _on_nick(self, line: IrcLine) -> None:
        new = line.param(0)
        if self._is_me(line.nick):
            self._nick = new
        self._people.rename(line.nick, new, line.prefix)
        for place in self._rooms.values():
            place.room.rename(line.nick, new)

    async def _on_no_such_nick(self, line: IrcLine) -> None:
        self._people.forget(line.param(1))

    async def _on_mode(self, line: IrcLine) -> None:
        place = self._room(line.param(0))
        if place is not None:
            place.room.change_modes(line.param(1), line.params[2:])

    async def _on_modes(self, line: IrcLine) -> None:
        place = self._room(line.param(1))
        if place is not None:
            place.room.learn_modes(line.param(2))

    async def _on_names(self, line: IrcLine) -> None:
        place = self._room(line.param(2))
        if place is not None:
            place.room.add_names(line.param(3).split())

    async def _on_topic(self, line: IrcLine) -> None:
        place = self._room(line.param(-2))
        if place is not None:
            place.room.topic = plain_text(line.param(-1))

    # Hearing

    async def _on_message(self, line: IrcLine) -> None:
        """Somebody wrote. Programs answer by NOTICE, which is never heard, so two of them never talk for ever."""
        text = plain_text(line.param(1))
        if not text or not line.address or self._is_me(line.nick):
            return
        person = self._people.meet(line.nick, line.prefix)
        author = self._host.author(person.user_id, person.nick)
        room = self._room(line.param(0))
        is_dm = room is None and self._is_me(line.param(0))
        if room is None and not (is_dm and self._hears_direct(author)):
            return
        place = room or await self._direct_place(person)
        command = self._command_in(text, is_dm=is_dm)
        if command is not None:
            if self._may_command(author, room, person):
                self._host.start(self._use_command(command, author, place, person, room), name="command")
            return
        is_mention = not is_dm and says_nick(text, self._nick, self._facts.casemapping)
        await self._host.hear(
            place.channel, author, text, place, message_id=new_message_id(), is_mention=is_mention, is_dm=is_dm
        )

    def _hears_direct(self, author: Author) -> bool:
        return self._settings.dms == "everyone" or (self._settings.dms == "owner" and self._is_owner(author))

    async def _direct_place(self, person: Person) -> DirectPlace:
        """The conversation with *person*; what an earlier run owed them is looked after first."""
        place = self._direct.pop(person.user_id, None)
        place = place or DirectPlace(self._host, person.user_id, self._people, self._say)
        self._direct[person.user_id] = place
        if len(self._direct) > MAX_DIRECT:
            self._direct.popitem(last=False)
        if not person.is_answered:
            person.is_answered = True
            await self._host.join(place.channel, place, is_dm=True)
        return place

    def _is_owner(self, author: Author) -> bool:
        """Whether the last line under this id came from where the owner writes from."""
        person = self._people.with_id(author.user_id)
        return person is not None and matches_mask(self._settings.owner, person.prefix, self._facts.casemapping)

    async def _find_channel(self, channel: str) -> Place | None:
        """A room we are in, or a conversation with somebody who is there."""
        room = self._rooms.get(channel)
        if room is not None:
            return room if room.room.is_joined else None
        person = self._people.with_id(channel)
        return await self._direct_place(person) if person is not None else None

    # Commands

    def _command_in(self, text: str, *, is_dm: bool) -> str | None:
        """The command in `!NICK help`, in `NICK: /help`, and between two in `/help`; None: there is none."""
        folded, nick = self._facts.fold(text), self._facts.fold(self._nick)
        if folded == f"!{nick}":
            return "help"
        if folded.startswith(f"!{nick} "):
            return text[len(nick) + 2 :].strip() or "help"
        if folded.startswith((f"{nick}: /", f"{nick}, /")):
            return text[len(nick) + 3 :].strip() or "help"
        return text[1:].strip() or "help" if is_dm and text.startswith("/") else None

    def _may_command(self, author: Author, room: RoomPlace | None, person: Person) -> bool:
        """Nobody whom the owner ignores, and nobody twice within moments who manages nothing."""
        if self._host.is_ignored(author):
            return False
        if room is not None and room.room.is_operator(person.nick):
            return True
        now = self._host.clock.monotonic()
        last = self._commanded_at.pop(author.user_id, None)
        self._commanded_at[author.user_id] = now
        if len(self._commanded_at) > MAX_DIRECT:
            self._commanded_at.popitem(last=False)
        return last is None or now - last >= COMMAND_PAUSE_S

    async def _use_command(
        self, command: str, author: Author, place: Place, person: Person, room: RoomPlace | None
    ) -> None:
        """Use a command. Operators of a room may manage it; the answer goes to whoever asked, and to nobody else."""
        may_manage = room is not None and room.room.is_operator(person.nick)
        channel = room.channel if room is not None else person.user_id
        answer = await self._host.use_command(channel, author, command, place, may_manage=may_manage)
        answer = f"There is no /{command.split()[0].lstrip('/')} here." if answer is None else answer
        lines = list(split_text(answer, text_room(self._nick, "NOTICE", person.nick)))
        if len(lines) > MAX_ANSWER_LINES:
            lines = [*lines[:MAX_ANSWER_LINES], "… and more."]
        await self._say_lines("NOTICE", person.nick, lines)


def nick_of(name: str) -> str:
    """A nick from what the familiar is called."""
    letters = re.sub(r"[^A-Za-z0-9_-]", "", name.replace(" ", "_")).lstrip("0123456789-")
    return letters[:16] or "familiar"
