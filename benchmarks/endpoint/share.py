"""What a message costs the program itself: through the endpoint, beside the terminal, block by block in one run.

Both are processes of the program with the same character and the same words, asked in turn; the model answers at once.
Told is processor time, which other programs on the machine change least, and time on the clock.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from benchmarks.table import Row, percentile
from familiar_connect.config.folders import HomeFolder
from familiar_connect.extensions.serve.keys import KeyAudience, KeyBook
from tests.fakes.endpoint import Endpoint, number_replies
from tests.fakes.program import make_home, model_endpoint
from tests.fakes.program_process import PROGRAM, environment

BLOCKS, QUICK_BLOCKS = 12, 2
BLOCK = 10
WARM_UP = 5
MOST_RATIO = 1.2
WAIT_S = 60.0
SAID = "We talked about the {number} lamps of the old lighthouse and who lit them."
TICKS = os.sysconf("SC_CLK_TCK")


class Door(Protocol):
    """Where one thing is said, until it is answered."""

    pid: int

    def say(self, text: str) -> None: ...


@dataclass
class TerminalDoor:
    """`familiar chat --plain` in a pipe."""

    process: subprocess.Popen[str]
    pid: int = 0

    def __post_init__(self) -> None:
        self.pid = self.process.pid

    def say(self, text: str) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{text}\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if "This is reply" in line:
                return
        raise RuntimeError("the chat has ended")


@dataclass
class EndpointDoor:
    """`familiar serve`, asked as programs do: with the whole chat each time."""

    endpoint: Endpoint
    key: str
    pid: int
    messages: list[dict[str, str]] = field(default_factory=list)

    def say(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})
        asked = {"model": "ember", "messages": self.messages, "chat_id": "one"}
        status, answer = self.endpoint.ask("/chat/completions", asked, key=self.key)
        if status != 200:
            raise RuntimeError(str(answer))
        self.messages.append({"role": "assistant", "content": answer["choices"][0]["message"]["content"]})


def measure(*, blocks: int = BLOCKS) -> dict[str, Any]:
    """Blocks of messages through both doors in turn; the middle of what a message took."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="familiar-share-")))
        doors: dict[str, Door] = {
            "terminal": stack.enter_context(_open_terminal(folder / "terminal")),
            "endpoint": stack.enter_context(_open_endpoint(folder / "endpoint")),
        }
        number = 0
        for door in doors.values():
            for warm in range(WARM_UP):
                door.say(SAID.format(number=f"warm {warm}"))
        spent: dict[str, list[tuple[float, float]]] = {name: [] for name in doors}
        for _ in range(blocks):
            for name, door in doors.items():
                began, worked = time.monotonic(), _processor_s(door.pid)
                for _ in range(BLOCK):
                    number += 1
                    door.say(SAID.format(number=number))
                spent[name].append(((_processor_s(door.pid) - worked) / BLOCK, (time.monotonic() - began) / BLOCK))
    found: dict[str, Any] = {"messages": blocks * BLOCK}
    for name, pairs in spent.items():
        found[f"{name}_cpu_ms"] = percentile([cpu for cpu, _ in pairs], 0.5) * 1000
        found[f"{name}_ms"] = percentile([clock for _, clock in pairs], 0.5) * 1000
    found["cpu_ratio"] = found["endpoint_cpu_ms"] / found["terminal_cpu_ms"]
    found["clock_ratio"] = found["endpoint_ms"] / found["terminal_ms"]
    return found


@contextmanager
def _open_terminal(home: Path) -> Iterator[TerminalDoor]:
    with model_endpoint(number_replies()) as model:
        make_home(home, model)
        with _started(home, "chat", "--plain", "--as", "Sam") as process:
            try:
                yield TerminalDoor(process)
            finally:
                assert process.stdin is not None
                process.stdin.close()


@contextmanager
def _open_endpoint(home: Path) -> Iterator[EndpointDoor]:
    with model_endpoint(number_replies()) as model:
        make_home(home, model)
        book = KeyBook(HomeFolder(home).extension_data("serve"))
        key = book.add("client", person="Sam", audience=KeyAudience.private, is_owner=True)
        with _started(home, "serve", "--port", "0") as process:
            assert process.stdout is not None
            url = next(found[1] for line in process.stdout if (found := re.search(r"(http://\S+/v1)", line)))
            try:
                yield EndpointDoor(Endpoint(home, url, model), key, process.pid)
            finally:
                process.terminate()


@contextmanager
def _started(home: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [*PROGRAM, *words],
        env=environment(home),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        bufsize=1,
    ) as process:
        try:
            yield process
            process.wait(WAIT_S)
        finally:
            process.kill()


def _processor_s(pid: int) -> float:
    """Processor time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def rows(found: dict[str, Any]) -> list[Row]:
    return [
        Row(
            name=f"processor time of a message through the endpoint, beside the terminal ({found['messages']} each)",
            value=f"{found['cpu_ratio']:.2f}x ({found['endpoint_cpu_ms']:.1f} ms, {found['terminal_cpu_ms']:.1f} ms)",
            bar=f"≤ {MOST_RATIO}x",
            ok=found["cpu_ratio"] <= MOST_RATIO,
        ),
        Row(
            name="the same on the clock",
            value=f"{found['clock_ratio']:.2f}x ({found['endpoint_ms']:.1f} ms, {found['terminal_ms']:.1f} ms)",
        ),
    ]
