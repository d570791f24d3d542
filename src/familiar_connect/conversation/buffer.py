"""What was said in a channel since we last spoke, and who looks at it when.

Everything in a buffer is in the history already; when one is full its oldest message leaves it, unless it waits for
an answer.

What makes the familiar consider speaking: being addressed, a count of messages that shrinks, and a lull.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from familiar_connect.config.types import Interjection
from familiar_connect.conversation.name_match import contains_any_name
from familiar_connect.conversation.types import BufferedMessage, ResponseTrigger
from familiar_connect.support.aio import CallLater, RestartableTimer, call_later
from familiar_connect.support.lru import LruCache

LEAST_INTERVAL = 3
SHRINKS_BY = 3
JITTER = 5
"""Different jitters there are, none among them in the middle."""

Rng = Callable[[], float]


def is_direct_address(text: str, familiar_name: str, aliases: Iterable[str], *, is_mention: bool) -> bool:
    """A mention, or the name or an alias as a whole word."""
    return is_mention or contains_any_name(text, (familiar_name, *aliases))


def interjection_interval(interjection: Interjection, check_count: int, rng: Rng) -> int:
    """Messages until the next look at joining in: fewer each time, give or take two, never under three."""
    steady = max(LEAST_INTERVAL, interjection.starting_interval - SHRINKS_BY * check_count)
    return max(LEAST_INTERVAL, steady + int(rng() * JITTER) - JITTER // 2)


@dataclass
class InterjectionSchedule:
    """When to look at joining in, counted in messages of one channel."""

    interjection: Interjection
    rng: Rng
    count: int = 0
    check_count: int = 0
    next_at: int = field(init=False)

    def __post_init__(self) -> None:
        self.next_at = interjection_interval(self.interjection, 0, self.rng)

    def count_message(self) -> None:
        self.count += 1

    @property
    def is_due(self) -> bool:
        return self.count >= self.next_at

    def schedule_next(self) -> None:
        """There was a look and nothing was said: the next comes sooner."""
        self.check_count += 1
        self.next_at += interjection_interval(self.interjection, self.check_count, self.rng)

    def restart(self, count: int = 0) -> None:
        """Begin anew, with *count* messages heard already."""
        self.count, self.check_count = count, 0
        self.next_at = interjection_interval(self.interjection, 0, self.rng)


class LullTimers:
    """One timer for each channel, restarted by every message, that fires when nobody has spoken for a while."""

    def __init__(self, quiet: Callable[[int], None], later: CallLater = call_later) -> None:
        self._on_lull = quiet
        self._later = later
        self._timers: dict[int, RestartableTimer] = {}

    def restart(self, channel_id: int, seconds: float) -> None:
        if channel_id not in self._timers:
            self._timers[channel_id] = RestartableTimer(lambda: self._expire(channel_id), self._later)
        self._timers[channel_id].restart(seconds)

    def cancel(self, channel_id: int) -> None:
        timer = self._timers.pop(channel_id, None)
        if timer is not None:
            timer.cancel()

    def cancel_all(self) -> None:
        for channel_id in list(self._timers):
            self.cancel(channel_id)

    def _expire(self, channel_id: int) -> None:
        self._timers.pop(channel_id, None)
        self._on_lull(channel_id)


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
