"""TwinWatch: a message that an application says again under another name takes over from the one it repeats.

PluralKit and its like have people write as themselves, say the same by a webhook under the name of a member, and delete
what was written first, in either order. Somebody else may say the same words by a bridge: only a deletion shows that
two messages are one. Who asked so is answered once, as the name that stays.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta

from familiar_connect.chat.types import InboundMessage
from familiar_connect.conversation.queue import ReplyQueue
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.types import HistoryTurn, TurnMark
from familiar_connect.history.versions import TurnVersionStore
from familiar_connect.support.aio import off_loop
from familiar_connect.support.lru import LruCache

TWIN_WITHIN = timedelta(seconds=15)
"""The longest from a message to its twin."""
DELETION_WITHIN_S = 2.0
"""So long a message that may be a twin waits for the deletion that shows it."""
MAX_CHANNELS, MAX_RECENT = 2_000, 40
MAX_TAG_CHARS = 40
"""The longest mark by which people say who speaks; the twin comes without it."""


@dataclass(eq=False)
class _Original:
    """What somebody wrote under their own name."""

    message: InboundMessage
    turn_id: int
    words: str
    is_for_us: bool
    gone: asyncio.Event = field(default_factory=asyncio.Event)


class TwinWatch:
    """The last messages of each channel, to know a twin by."""

    def __init__(self, history: HistoryStore, familiar_id: str, queue: ReplyQueue) -> None:
        self._versions = TurnVersionStore(history, familiar_id)
        self._queue = queue
        self._recent: LruCache[int, deque[_Original]] = LruCache(MAX_CHANNELS)

    def note_heard(self, message: InboundMessage, turn: HistoryTurn, *, is_for_us: bool) -> None:
        """Remember what a person wrote under their own name, where messages can be said again by a webhook."""
        if message.webhook is not None or message.guild_id is None or message.is_bot:
            return
        recent = self._recent.get(message.channel_id) or deque(maxlen=MAX_RECENT)
        recent.append(_Original(message, turn.id, _words_of(message), is_for_us))
        self._recent.put(message.channel_id, recent)

    def note_gone(self, channel_id: int, turn_id: int) -> None:
        """A message was deleted."""
        for each in self._recent.get(channel_id) or ():
            if each.turn_id == turn_id:
                each.gone.set()

    def may_be_twin(self, message: InboundMessage) -> bool:
        """Whether *message* says again what somebody wrote just now."""
        return self._find_original(message) is not None

    async def take_over(self, message: InboundMessage) -> InboundMessage | None:
        """*message* as it is to be answered, once it is known whether it is a twin; None: it was answered already.

        As a twin it asks what its original asked, and the original stands in no prompt any more.
        """
        original = self._find_original(message)
        if original is None:
            return message
        with suppress(TimeoutError):
            async with asyncio.timeout(DELETION_WITHIN_S):
                await original.gone.wait()
        recent = self._recent.get(message.channel_id) or deque()
        if not original.gone.is_set() or original not in recent:
            return message
        recent.remove(original)
        await self._queue.wait_until_let_go(message.channel_id, original.turn_id)
        await off_loop(self._versions.mark_turns, [original.turn_id], TurnMark.undone)
        if self._queue.was_answered(original.turn_id):
            return None
        asks = message.is_mention or original.is_for_us
        return replace(message, is_mention=asks, reply_to=message.reply_to or original.message.reply_to)

    def _find_original(self, message: InboundMessage) -> _Original | None:
        hook = message.webhook
        if hook is None or hook.bridge_user is None or message.is_bot or message.is_past:
            return None
        words = _words_of(message)
        if not words:
            return None
        for each in reversed(self._recent.get(message.channel_id) or ()):
            is_near = abs(message.timestamp - each.message.timestamp) <= TWIN_WITHIN
            if is_near and words in each.words and len(each.words) - len(words) <= MAX_TAG_CHARS:
                return each
        return None


def _words_of(message: InboundMessage) -> str:
    """The words of *message*, and what it shows, in one line."""
    shown = [each.filename or "" for each in message.attachments]
    return " ".join((message.text or " ".join(shown)).split())
