"""A real IRC server on loopback, and somebody with a plain socket who talks on it."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.fakes.waiting import wait_until
from tools.irc_server import find_irc_server

PATIENCE_S = 60.0
CONFIG = """[Global]
Name = irc.test.example
Listen = 127.0.0.1
Ports = {port}
MotdPhrase = Hello
[Limits]
MaxConnectionsIP = 0
MaxPenaltyTime = 0
MaxNickLength = 16
MaxJoins = 0
[Options]
DNS = no
Ident = no
PAM = no
"""


class IrcServer:
    """An ngircd that can be stopped and started again on the same port."""

    def __init__(self, folder: Path) -> None:
        program = find_irc_server()
        if program is None and not os.environ.get("CI"):
            pytest.skip("there is no ngircd here; `apt install ngircd` brings it")
        assert program is not None, "there is no ngircd in CI: see tools/irc_server.py"
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        config = folder / "ngircd.conf"
        config.write_text(CONFIG.format(port=self.port), encoding="utf-8")
        self._command = [program, "-n", "-f", str(config)]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(self._listens, "ngircd listens", within_s=PATIENCE_S)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE_S)

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True


class IrcClient:
    """Somebody on IRC: lines out, lines in."""

    def __init__(self, port: int, nick: str) -> None:
        self.nick = nick
        self.lines: list[str] = []
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        self._rest = b""
        self.send(f"NICK {nick}")
        self.send(f"USER {nick} 0 * :{nick}")
        self.wait_for(r" (?:376|422) ")

    def send(self, line: str) -> None:
        self._socket.sendall(line.encode() + b"\r\n")

    def say(self, target: str, text: str) -> None:
        self.send(f"PRIVMSG {target} :{text}")

    def join_with(self, room: str, nick: str) -> None:
        """Come into *room*, by its name and key, and wait until *nick* is there, too."""
        name = room.split()[0]
        self.send(f"JOIN {room}")
        self.wait_for(rf" 366 {self.nick} {name} ")
        here = re.compile(rf" 353 .*{name} :(?:.* )?[@+]?{nick}(?: |$)|:{nick}!\S+ JOIN :?{name}")
        if not any(here.search(line) for line in self.lines):
            self.wait_for(rf":{nick}!\S+ JOIN :?{name}")

    def wait_for(self, pattern: str, *, within_s: float = PATIENCE_S, count: int = 1) -> str:
        """The line that matches *pattern*, the *count*th of them."""
        ends = time.monotonic() + within_s
        while len(found := [each for each in self.lines if re.search(pattern, each)]) < count:
            assert time.monotonic() < ends, f"no line like {pattern!r} came: {self.lines[-30:]}"
            self._read(ends - time.monotonic())
        return found[count - 1]

    def settle(self) -> list[str]:
        """Every line that the server sent until now."""
        token = f"now{len(self.lines)}"
        self.send(f"PING {token}")
        self.wait_for(rf"PONG .*{token}")
        return self.lines

    def close(self) -> None:
        self._socket.close()

    def _read(self, within_s: float) -> None:
        self._socket.settimeout(max(within_s, 0.01))
        try:
            got = self._socket.recv(65_536)
        except TimeoutError:
            return
        assert got, "the server hung up"
        *lines, self._rest = (self._rest + got).split(b"\r\n")
        for line in lines:
            if line.startswith(b"PING"):
                self._socket.sendall(b"PONG" + line[4:] + b"\r\n")
            self.lines.append(line.decode())


@contextmanager
def irc_server(folder: Path) -> Iterator[IrcServer]:
    server = IrcServer(folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()
