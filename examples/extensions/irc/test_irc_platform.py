"""The checks that every platform passes, for IRC: run them with `pytest`. The server is a few lines of this file."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from familiar_irc import extension

from familiar_connect.api import ReadBy
from familiar_connect.api.testing import PlatformCheckFailed, PlatformFault, PlatformNetwork, check_platform

ROOM = "#den"
LONGEST_LINE = 512


class IrcNetwork(PlatformNetwork):
    """One server with one room, which everybody may come into."""

    room_read_by = ReadBy.everyone

    def __init__(self, modes: str = "+nt") -> None:
        self._modes = modes
        self._shown: dict[str, list[str]] = {}
        self._nicks: dict[str, str] = {}
        self._is_joined = asyncio.Event()
        self._is_refused = False
        self._writer: asyncio.StreamWriter | None = None
        self._server: asyncio.Server | None = None
        self._nick = ""

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        address = f'host = "127.0.0.1"\nport = {port}\ntls = false\n'
        self.settings = f'[irc]\n{address}pause_s = 0.0\nchannels = ["{ROOM}"]\n'

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        if self._writer is not None:
            self._writer.close()

    async def say(self, person: str, text: str, *, is_dm: bool) -> None:
        await self._is_joined.wait()
        words = text if is_dm else f"{self._nick}: {text}"
        await self._tell(f":{self._prefix(person)} PRIVMSG {self._nick if is_dm else ROOM} :{words}")

    async def list_shown(self, person: str | None) -> Sequence[str]:
        return self._shown.get(ROOM if person is None else self._nicks.get(person, person), [])

    async def refuse(self, *, is_refused: bool) -> None:
        self._is_refused = is_refused
        if is_refused and self._writer is not None:
            self._writer.close()
            self._is_joined.clear()
            await asyncio.sleep(0.05)  # until the other end has noticed

    async def rename(self, person: str, name: str) -> bool:
        await self._tell(f":{self._prefix(person)} NICK :{name}")
        self._nicks[person] = name
        return True

    def _prefix(self, person: str) -> str:
        return f"{self._nicks.get(person, person)}!{person}@host.{person}"

    async def _tell(self, line: str) -> None:
        if self._writer is not None:
            self._writer.write(line.encode() + b"\r\n")
            await self._writer.drain()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_refused:
            writer.close()
            return
        self._writer = writer
        while line := await reader.readline():
            assert len(line) <= LONGEST_LINE
            command, _, rest = line.decode().rstrip("\r\n").partition(" ")
            await self._answer(command, rest)
        self._is_joined.clear()
        writer.close()

    async def _answer(self, command: str, rest: str) -> None:
        if command == "NICK":
            self._nick = rest
        elif command == "USER":
            await self._tell(f":irc 001 {self._nick} :Hello")
            await self._tell(f":irc 376 {self._nick} :End")
        elif command == "JOIN":
            await self._tell(f":{self._nick}!familiar@here JOIN {rest}")
        elif command == "MODE":
            await self._tell(f":irc 324 {self._nick} {rest} {self._modes}")
            self._is_joined.set()
        elif command == "WHOIS":
            await self._tell(f":irc 311 {self._nick} {rest} {rest} host.{rest} * :{rest}")
        elif command == "PRIVMSG":
            target, _, text = rest.partition(" :")
            self._shown.setdefault(target, []).append(text)


def test_irc_does_all_that_the_program_counts_on() -> None:
    """It hears, answers, splits, knows people apart, says who reads what, fails and ends as it should."""
    asyncio.run(check_platform(extension, IrcNetwork()))


def test_a_room_that_is_not_open_is_told_as_what_it_is() -> None:
    """The check sees it: a server that says "secret" is not one that everybody reads."""
    with pytest.raises(PlatformCheckFailed) as failed:
        asyncio.run(check_platform(extension, IrcNetwork(modes="+s")))

    faults: Sequence[PlatformFault] = failed.value.faults
    assert [(each.check, each.method) for each in faults] == [("readers", "Place.scene")]
