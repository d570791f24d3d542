"""`familiar chat` as a process that is talked to line by line, while a test changes what lies around it."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from tests.fakes.program_process import environment, start_program


class RunningChat:
    """`familiar chat --plain` as a process, fed line by line."""

    def __init__(self, home: Path) -> None:
        reads, says = os.pipe()
        self._hears, writes = os.pipe()
        self._says = os.fdopen(says, "wb")
        try:
            self._process = start_program(["-v", "chat", "--plain"], (reads, writes, writes), environment(home))
        finally:
            os.close(reads)
            os.close(writes)
        self.said = ""
        self._heard = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in iter(lambda: os.read(self._hears, 4096), b""):
            with self._heard:
                self.said += line.decode(errors="replace")
                self._heard.notify_all()

    def say(self, words: str, *, replies: int) -> None:
        """Say *words* and wait until there were so many replies."""
        self._says.write(f"{words}\n".encode())
        self._says.flush()
        with self._heard:
            self._heard.wait_for(lambda: self.said.count("Hi") >= replies, timeout=200)

    def end(self) -> str:
        """Close its input, wait for its end, and return all that it said."""
        self._says.close()
        self._process.wait(300)
        self._reader.join(10)
        return self.said

    def close(self) -> None:
        """Let go of it, whatever happened."""
        self._process.kill()
        self._process.wait(10)
        self._reader.join(10)
        self._says.close()
        os.close(self._hears)
