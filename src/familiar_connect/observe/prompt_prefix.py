"""Shared prefix: how much of a prompt equals the one before it, so that a provider's cache can serve it.

A model that caches prompts starts where a new one leaves the one before. The share is counted in
tokens, to the character inside the first message that differs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from familiar_connect.llm.types import Message
from familiar_connect.support.lru import LruCache
from familiar_connect.support.tokens import estimate_tokens

DEFAULT_CHANNELS = 64
"""Prompts kept for comparison; the channel silent longest goes first."""


@dataclass(frozen=True)
class PrefixShare:
    """What a prompt has in common with the one before it."""

    ratio: float
    shared_tokens: int
    total_tokens: int
    ended_by: int | None
    """Index of the message where the sharing ends; None when the whole prompt is shared."""
    compared: bool = True
    """Whether there was a prompt to compare with: nothing is known of those of an earlier run."""
    ended_at: int | None = None
    """Characters of that message's words that are shared; None where nothing tells."""

    def facts(self) -> dict[str, object]:
        """The share as a trace keeps it."""
        if not self.compared:
            return {"prefix_compared": False, "prefix_total_tokens": self.total_tokens}
        return {
            "prefix_ratio": round(self.ratio, 4),
            "prefix_shared_tokens": self.shared_tokens,
            "prefix_total_tokens": self.total_tokens,
            "prefix_ended_by": self.ended_by,
            **({} if self.ended_at is None else {"prefix_ended_at": self.ended_at}),
        }


def measure_prefix(previous: Sequence[Message] | None, current: Sequence[Message]) -> PrefixShare:
    """How much of *current* repeats the start of *previous*."""
    before = previous or ()
    total = sum(estimate_tokens(_as_read(message)) for message in current)
    shared = 0
    ended_by: int | None = None
    ended_at: int | None = None
    for index, message in enumerate(current):
        if index < len(before) and message == before[index]:
            shared += estimate_tokens(_as_read(message))
            continue
        if index < len(before) and message.media == before[index].media:
            text = _as_read(message)
            common = common_length(text, _as_read(before[index]))
            shared += estimate_tokens(text[:common])
            ended_at = max(0, common - (len(text) - len(message.content)))
        ended_by = index
        break
    return PrefixShare(shared / total if total else 0.0, shared, total, ended_by, previous is not None, ended_at)


class PrefixMeter:
    """The last prompt of each channel, in memory, and the share of the next one."""

    def __init__(self, *, channels: int = DEFAULT_CHANNELS) -> None:
        self._previous: LruCache[int, tuple[Message, ...]] = LruCache(channels)

    def measure(self, channel_id: int, messages: Sequence[Message]) -> PrefixShare:
        """The share of *messages* with the channel's prompt before; they are what the next one meets."""
        share = measure_prefix(self._previous.get(channel_id), messages)
        self._previous.put(channel_id, tuple(replace(message) for message in messages))
        return share

    def forget_words(self, is_meant: Callable[[object], bool], *, since: datetime) -> int:
        """Let go of every prompt: the next of each channel is compared with none."""
        gone = len(self._previous)
        self._previous.clear()
        return gone


def common_length(one: str, other: str) -> int:
    """Characters *one* and *other* share from the start, found by halving: long texts stay cheap."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _as_read(message: Message) -> str:
    """A message as one text, in the order a chat template gives it."""
    return f"{message.role}\n{message.name or ''}\n{message.content}"
