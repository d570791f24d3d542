"""Rewards: which channel-point rewards are told as events, so that words given with one are heard once.

Twitch shows such words in the chat and in the redemption, in either order; the chat names the reward by an id
alone. What an id stands for is learnt from the redemptions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from familiar_connect.api.support import LruCache

HOLD_S = 3.0
"""How long a line with an unknown reward waits for its redemption."""
MOST_KNOWN = 1_000

Sleep = Callable[[float], Awaitable[None]]


class Rewards:
    """What is known of a channel's rewards."""

    def __init__(self, sleep: Sleep = asyncio.sleep) -> None:
        self._sleep = sleep
        self._told: LruCache[str, bool] = LruCache(MOST_KNOWN)
        self._waiting: dict[str, asyncio.Event] = {}

    def learn(self, reward_id: str, *, is_told: bool) -> None:
        """A redemption of the reward was, or was not, told as an event."""
        self._told.put(reward_id, is_told)
        if (waiting := self._waiting.pop(reward_id, None)) is not None:
            waiting.set()

    def lookup(self, reward_id: str) -> bool | None:
        """Whether redemptions of the reward are told; None: none was seen yet."""
        return self._told.get(reward_id)

    async def lookup_or_wait(self, reward_id: str) -> bool:
        """As `known`, after waiting a moment for the first redemption; one that does not come is not told."""
        if (known := self.lookup(reward_id)) is not None:
            return known
        learnt = self._waiting.setdefault(reward_id, asyncio.Event())
        waits = {asyncio.ensure_future(self._sleep(HOLD_S)), asyncio.ensure_future(learnt.wait())}
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        if self.lookup(reward_id) is None:
            self.learn(reward_id, is_told=False)
        return bool(self.lookup(reward_id))
