"""A program that keeps a chat itself: it says things, edits, regenerates, takes back, moves and leaves out lines."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from familiar_connect.extensions.serve.reconcile import ShownLine

Send = Callable[[Sequence[ShownLine]], Awaitable[str]]
"""Sends what the program shows, and gives the reply."""
DEEDS = ("say", "say", "say", "regenerate", "edit", "take back", "take out", "move", "leave out")


@dataclass
class ClientHistory:
    """One chat of such a program. Every text is another one, so that each can be counted. No reply has its numbers."""

    rng: random.Random
    lines: list[ShownLine] = field(default_factory=list)
    first: int = 0
    """How many lines at the top it leaves out for room."""
    said: int = 0
    deeds: list[str] = field(default_factory=list)

    @property
    def shown(self) -> list[ShownLine]:
        """What it sends."""
        return self.lines[self.first :]

    async def act(self, send: Send) -> None:
        """Do one thing, and send what is shown then."""
        deed = self.rng.choice(DEEDS) if len(self.shown) >= 2 else "say"
        self.deeds.append(deed)
        getattr(self, f"_{deed.replace(' ', '_')}")()
        if not self.shown or self.shown[-1].is_own:
            self._say()
        reply = await send(self.shown)
        self.lines.append(ShownLine(True, reply))

    def _say(self) -> None:
        self.said += 1
        self.lines.append(ShownLine(False, f"line {self.said}c of what was said here"))

    def _regenerate(self) -> None:
        self.lines.pop()

    def _edit(self) -> None:
        at = self._any()
        self.said += 1
        self.lines[at] = ShownLine(self.lines[at].is_own, f"line {self.said}c, which was edited")
        if self.rng.random() < 0.5:  # most programs go on from there
            del self.lines[at + 1 :]

    def _take_back(self) -> None:
        del self.lines[self._any() + 1 :]

    def _take_out(self) -> None:
        del self.lines[self._any()]

    def _move(self) -> None:
        one, other = self._any(), self._any()
        self.lines[one], self.lines[other] = self.lines[other], self.lines[one]

    def _leave_out(self) -> None:
        if len(self.shown) > 4:
            self.first += self.rng.randrange(1, len(self.shown) - 3)

    def _any(self) -> int:
        """A line that is shown."""
        return self.rng.randrange(self.first, len(self.lines))


def find_faults(client: ClientHistory, kept: Sequence[ShownLine]) -> list[str]:
    """What *kept* has twice, lacks or has in another order than the program shows."""
    texts = [line.text for line in kept]
    doubled = [text for text in set(texts) if texts.count(text) > 1]
    lost = [line.text for line in client.lines if line.text not in texts]
    shown = client.shown
    faults = [f"doubled: {text}" for text in doubled] + [f"lost: {text}" for text in lost]
    if [line.key for line in kept[-len(shown) :]] != [line.key for line in shown]:
        faults.append("another order")
    return faults
