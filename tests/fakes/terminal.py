"""TerminalSession: the real program on a real pseudo-terminal, typed at and watched."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from tests.fakes.program_process import environment, start_program
from tests.fakes.screen import ScreenEmulator
from tests.fakes.waiting import wait_until

_ASK_CURSOR = b"\x1b[6n"
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07|[()][A-Z0-9]|[=>])")
_ALL_READ = b"\x1b]all read\x07"
"""A command that no terminal knows, written behind the last words of the program."""
LAST_WORDS_S = 10.0
"""How long the last that the program wrote is waited for, after its end."""


class TerminalSession:
    """Use as a context manager; whatever still runs at its end is ended."""

    def __init__(
        self, home: Path, *words: str, env: Mapping[str, str] | None = None, columns: int = 120, rows: int = 40
    ) -> None:
        self.screen = ScreenEmulator(columns, rows)
        """What the window shows."""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.raw = b""
        """Everything the program wrote, as bytes."""
        self.writes = 0
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._slave = slave
        self.settings_before = termios.tcgetattr(slave)
        surroundings = environment(home, {"TERM": "xterm-256color", **(env or {})})
        self._child = start_program(list(words), (slave, slave, slave), surroundings, terminal=True)
        self._reading = threading.Thread(target=self._read, name="terminal", daemon=True)
        self._reading.start()

    def _read(self) -> None:
        while True:
            try:
                piece = os.read(self._master, 65536)
            except OSError:
                return
            if not piece:
                return
            self.writes += 1
            self.raw += piece
            self.screen.feed(self._decoder.decode(piece))
            if _ASK_CURSOR in piece:  # a terminal answers where its cursor is
                os.write(self._master, f"\x1b[{self.screen.row + 1};{self.screen.column + 1}R".encode())

    def __enter__(self) -> TerminalSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._child.poll() is None:
            self._child.kill()
        self._child.wait(100)
        os.close(self._slave)
        self._reading.join(LAST_WORDS_S)  # it ends when all is read, unless somebody else still holds the terminal
        os.close(self._master)
        self._reading.join(100)

    @property
    def text(self) -> str:
        """What was written, without the commands to the terminal."""
        return _ESCAPES.sub("", self.raw.decode(errors="replace")).replace("\r", "")

    def wait_for_text(self, words: str, *, times: int = 1) -> None:
        """Wait until *words* have been written so often."""
        wait_until(lambda: self.text.count(words) >= times, lambda: f"{words!r} x{times} in {self.text!r}")

    def wait_for_screen(self, words: str) -> None:
        """Wait until the window shows *words*, as text with line ends."""
        wait_until(
            lambda: words in self.screen.everything, lambda: f"{words!r} on the screen\n{self.screen.everything}"
        )

    def resize(self, columns: int, rows: int) -> None:
        self.screen.resize(columns, rows)
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def enter(self, line: str) -> None:
        self.type(f"{line}\r")

    def ctrl_c(self) -> None:
        self.type("\x03")

    def signal(self, number: signal.Signals) -> None:
        self._child.send_signal(number)

    def wait_end(self) -> int:
        """Wait for the program to leave and for all it wrote; its exit code."""
        code = self._child.wait(300)
        self._wait_for_last_words()
        return code

    def _wait_for_last_words(self) -> None:
        os.write(self._slave, _ALL_READ)
        wait_until(lambda: _ALL_READ in self.raw, lambda: f"the last words behind {self.text!r}")
        self.raw = self.raw.replace(_ALL_READ, b"")

    def leave(self) -> int:
        """Type Ctrl-D until the program has left: one typed while no prompt is up is not seen. Its exit code."""
        for tried in range(60):
            self.type("\x04")
            try:
                self._child.wait(min(1.5, 0.1 * 2**tried))
            except subprocess.TimeoutExpired:
                continue
            break
        return self.wait_end()

    @property
    def settings_now(self) -> list[object]:
        return termios.tcgetattr(self._slave)
