"""Two prompts compared block by block: what is new, what is gone, what reads differently.

Shared prefix: how much of a prompt equals the one before it, so that a provider's cache can serve it.

A model that caches prompts starts where a new one leaves the one before. The share is counted in
tokens, to the character inside the first message that differs.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from familiar_connect.llm.types import Message
from familiar_connect.support.lru import LruCache
from familiar_connect.support.tokens import estimate_tokens

MOST_LINES = 2_000
"""Lines of one block that are compared; more are shown as replaced."""


@dataclass(frozen=True)
class PromptBlock:
    """One piece of a prompt."""

    role: str
    source: str
    tag: str | None
    text: str

    @property
    def title(self) -> str:
        return f"{self.tag or 'untagged'} ({self.source}, {self.role})"


@dataclass(frozen=True)
class BlockChange:
    """What became of one block."""

    kind: Literal["new", "gone", "changed", "moved"]
    block: PromptBlock
    lines: tuple[str, ...] = ()
    """The difference, each line marked ` `, `-` or `+`."""


def diff_blocks(before: Sequence[PromptBlock], after: Sequence[PromptBlock]) -> list[BlockChange]:
    """How *after* differs from *before*, in the order of *after*, with what is gone at its old place."""
    changes: list[BlockChange] = []
    matcher = difflib.SequenceMatcher(a=before, b=after, autojunk=False)
    for kind, a, to_a, b, to_b in matcher.get_opcodes():
        if kind == "equal":
            continue
        changes += _between(before[a:to_a], after[b:to_b])
    return _with_moves(changes)


def _between(gone: Sequence[PromptBlock], new: Sequence[PromptBlock]) -> Iterable[BlockChange]:
    """Pairs of the same source and tag are one block that changed; the rest went or came."""
    left = list(gone)
    for block in new:
        same = next((old for old in left if _kind(old) == _kind(block)), None)
        if same is None:
            yield BlockChange("new", block, _marked("+", block.text))
        else:
            left.remove(same)
            yield BlockChange("changed", block, _unified(same, block))
    yield from (BlockChange("gone", block, _marked("-", block.text)) for block in left)


def _kind(block: PromptBlock) -> tuple[str, str | None]:
    return block.source, block.tag


def _with_moves(changes: Sequence[BlockChange]) -> list[BlockChange]:
    """A block that went here and came there, word for word, has moved."""
    gone = [change.block for change in changes if change.kind == "gone"]
    new = [change.block for change in changes if change.kind == "new"]
    moved = [block for block in gone if block in new]
    result: list[BlockChange] = []
    for change in changes:
        if change.block in moved and change.kind == "new":
            result.append(BlockChange("moved", change.block))
        elif not (change.block in moved and change.kind == "gone"):
            result.append(change)
    return result


def _unified(old: PromptBlock, new: PromptBlock) -> tuple[str, ...]:
    before, after = old.text.splitlines(), new.text.splitlines()
    if len(before) > MOST_LINES or len(after) > MOST_LINES:
        return (*_marked("-", old.text), *_marked("+", new.text))
    lines = list(difflib.unified_diff(before, after, n=2, lineterm=""))[2:]
    if old.role != new.role:
        lines = [f"-role {old.role}", f"+role {new.role}", *lines]
    return tuple(lines) or (" (the same lines; only line ends or spaces after them differ)",)


def _marked(mark: str, text: str) -> tuple[str, ...]:
    return tuple(f"{mark}{line}" for line in text.splitlines())


def describe_changes(changes: Sequence[BlockChange]) -> str:
    """*changes* for a person."""
    if not changes:
        return "Today it would be built just the same."
    count = f"{len(changes)} block{' differs' if len(changes) == 1 else 's differ'} from what would be built today:"
    parts = [count]
    for change in changes:
        parts.append("\n".join([f"{change.kind}: {change.block.title}", *(f"  {line}" for line in change.lines)]))
    return "\n\n".join(parts)


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
