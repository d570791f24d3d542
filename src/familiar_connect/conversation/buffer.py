"""What was said in a channel since we last spoke, and who looks at it when.

Everything in a buffer is in the history already; when one is full its oldest message leaves it, unless it waits for
an answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from familiar_connect.conversation.triggers import InterjectionSchedule
from familiar_connect.conversation.types import BufferedMessage, ResponseTrigger
from familiar_connect.support.lru import LruCache

MAX_BUFFERED = 200
MAX_CHANNELS = 10_000
"""Channels followed at a time; the one that was quiet longest is forgotten first."""


def sort_by_history(messages: list[BufferedMessage]) -> None:
    """Sort by row of the history; without row numbers things stay as they came."""
    if all(message.history_id is not None for message in messages):
        messages.sort(key=lambda message: message.history_id or 0)


def without_oldest(messages: Sequence[BufferedMessage], most: int) -> list[BufferedMessage]:
    """The newest *most* of *messages*; what was surely said to us goes last."""
    excess = len(messages) - most
    rest = sorted(range(len(messages)), key=lambda at: (messages[at].is_for_us, at))[max(0, excess) :]
    return [messages[at] for at in sorted(rest)]


def with_edit(messages: Sequence[BufferedMessage], history_id: int, text: str | None) -> list[BufferedMessage]:
    """*messages* with the one of that row of the history in its new words, or without it for None."""
    if text is None:
        return [message for message in messages if message.history_id != history_id]
    return [message.with_text(text) if message.history_id == history_id else message for message in messages]


def _key(message: BufferedMessage) -> tuple[str, int]:
    """The same for a message whatever it reads: its row of the history, else the object itself."""
    return ("row", message.history_id) if message.history_id is not None else ("object", id(message))


class Buffer:
    """Messages in the order they came; each leaves once."""

    def __init__(self, most: int = MAX_BUFFERED) -> None:
        self._most = most
        self._messages: list[BufferedMessage] = []

    def __len__(self) -> int:
        return len(self._messages)

    def add(self, message: BufferedMessage) -> None:
        """Keep *message*, in the order of the history where it overtook another on its way here."""
        self._messages.append(message)
        sort_by_history(self._messages)
        if len(self._messages) > self._most:
            self._messages = without_oldest(self._messages, self._most)

    def snapshot(self) -> list[BufferedMessage]:
        return list(self._messages)

    def take_all(self) -> list[BufferedMessage]:
        taken, self._messages = self._messages, []
        return taken

    def still_there(self, seen: Sequence[BufferedMessage]) -> list[BufferedMessage]:
        """Those of *seen* that nobody took out meanwhile, as they read now."""
        looked_at = {_key(message) for message in seen}
        return [message for message in self._messages if _key(message) in looked_at]

    def drain(self, seen: Sequence[BufferedMessage]) -> None:
        """Take *seen* out, whatever came meanwhile stays."""
        gone = {_key(message) for message in seen}
        self._messages = [message for message in self._messages if _key(message) not in gone]

    def revise(self, history_id: int, text: str | None) -> None:
        """The message of that row reads *text* now; None: it is gone."""
        self._messages = with_edit(self._messages, history_id, text)


@dataclass
class ChannelState:
    """One channel as it is followed."""

    schedule: InterjectionSchedule
    buffer: Buffer = field(default_factory=Buffer)
    queued_triggers: set[ResponseTrigger] = field(default_factory=set)
    """Looks that wait for the one under way."""
    _lock: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None

    @property
    def lock(self) -> asyncio.Lock:
        """One look at a time; a lock of the loop that runs."""
        loop = asyncio.get_running_loop()
        if self._lock is None or self._lock[0] is not loop:
            self._lock = (loop, asyncio.Lock())
            self.queued_triggers.clear()
        return self._lock[1]


class ChannelStates:
    """Channels by id, made when first heard of."""

    def __init__(self, make: Callable[[], ChannelState]) -> None:
        self._make = make
        self._known: LruCache[int, ChannelState] = LruCache(MAX_CHANNELS)

    def get(self, channel_id: int) -> ChannelState:
        channel = self._known.get(channel_id)
        if channel is None:
            channel = self._make()
            self._known.put(channel_id, channel)
        return channel

    def find(self, channel_id: int) -> ChannelState | None:
        return self._known.get(channel_id)

    def forget(self, channel_id: int) -> None:
        self._known.pop(channel_id)
