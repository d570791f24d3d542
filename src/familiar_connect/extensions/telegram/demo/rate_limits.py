"""SendLimits: how many messages Telegram takes of a bot before it says 429."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from math import ceil

IN_CHAT, IN_CHAT_S = 5, 5.0
"""About one a second in one chat; short bursts are let through."""
IN_GROUP, IN_GROUP_S = 20, 60.0
IN_ALL, IN_ALL_S = 30, 1.0


class SendLimits:
    """The messages of one bot, lately."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._sent: dict[str, deque[float]] = {}

    def take(self, chat_id: int, *, is_group: bool) -> int | None:
        """How many seconds to wait; None: it may be sent, and counts."""
        rules = [(f"chat {chat_id}", IN_CHAT, IN_CHAT_S), ("all", IN_ALL, IN_ALL_S)]
        if is_group:
            rules.append((f"group {chat_id}", IN_GROUP, IN_GROUP_S))
        now, waits = self._now(), []
        for name, most, within_s in rules:
            sent = self._sent.setdefault(name, deque(maxlen=most))
            if len(sent) == most and now - sent[0] < within_s:
                waits.append(within_s - (now - sent[0]))
        if waits:
            return max(1, ceil(max(waits)))
        for name, _, _ in rules:
            self._sent[name].append(now)
        return None
