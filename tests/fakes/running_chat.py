"""`familiar chat` as a process that is talked to line by line, while a test changes what lies around it."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

from tests.fakes.program_process import PROGRAM, environment


class RunningChat:
    """`familiar chat --plain` as a process, fed line by line."""

    def __init__(self, home: Path) -> None:
        self._process = subprocess.Popen(
            [*PROGRAM, "-v", "chat", "--plain"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment(home),
            start_new_session=True,
        )
        self.said = ""
        self._heard = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in iter(lambda: os.read(self._process.stdout.fileno(), 4096), b""):  # type: ignore[union-attr]
            with self._heard:
                self.said += line.decode(errors="replace")
                self._heard.notify_all()

    def say(self, words: str, *, replies: int) -> None:
        """Say *words* and wait until there were so many replies."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{words}\n".encode())
        self._process.stdin.flush()
        with self._heard:
            self._heard.wait_for(lambda: self.said.count("Hi") >= replies, timeout=200)

    def end(self) -> str:
        """Close its input, wait for its end, and return all that it said."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(300)
        self._reader.join(10)
        return self.said

    def close(self) -> None:
        """Let go of it, whatever happened."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.kill()
        self._process.wait(10)
        self._reader.join(10)
        self._process.stdin.close()
        self._process.stdout.close()
