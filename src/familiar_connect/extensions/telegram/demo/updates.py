"""UpdateQueue: what a bot has still to be told, and the one program that asks for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from familiar_connect.extensions.telegram.demo.world import Payload

KEPT_S = 24 * 3600.0
MAX_GIVEN = 100
MAX_POLL_S = 50
ONLY_WHEN_NAMED = frozenset({"chat_member", "message_reaction", "message_reaction_count"})
FIRST_ID = 814_000_001


class Terminated(Exception):
    """Another program asks for the same updates now."""


class UpdateQueue:
    """The updates of one bot."""

    def __init__(self, now: Callable[[], float], changed: Callable[[], None]) -> None:
        self._now = now
        self._changed = changed
        self._pending: list[tuple[float, Payload]] = []
        self._next_id = FIRST_ID
        self._allowed: frozenset[str] | None = None
        self._asking: asyncio.Future[None] | None = None
        self.confirmed = 0
        """The newest update that a program said it has."""

    @property
    def is_asked(self) -> bool:
        """Whether a program waits for updates."""
        return self._asking is not None

    @property
    def newest_id(self) -> int:
        return self._next_id - 1

    def add(self, kind: str, content: Payload) -> int | None:
        """Something happened; None: nobody asked to be told of such things."""
        if kind in ONLY_WHEN_NAMED if self._allowed is None else kind not in self._allowed:
            return None
        update_id, self._next_id = self._next_id, self._next_id + 1
        self._pending.append((self._now(), {"update_id": update_id, kind: content}))
        if self._asking is not None and not self._asking.done():
            self._asking.set_result(None)
        self._changed()
        return update_id

    async def give(
        self, *, offset: int = 0, limit: int = MAX_GIVEN, timeout_s: float = 0, allowed: Sequence[str] | None = None
    ) -> list[Payload]:
        """What happened since, the oldest first; after *timeout_s* nothing. `Terminated` where somebody else asks."""
        if self._asking is not None and not self._asking.done():
            self._asking.set_exception(Terminated())
        if allowed is not None:
            self._allowed = frozenset(allowed) or None
        self._confirm(offset)
        if not self._pending and timeout_s > 0:
            await self._wait(min(timeout_s, MAX_POLL_S))
        return [update for _, update in self._pending[: max(1, min(limit, MAX_GIVEN))]]

    def _confirm(self, offset: int) -> None:
        if offset < 0:
            self._pending = self._pending[offset:]
        elif offset > 0:
            self.confirmed = max(self.confirmed, min(offset - 1, self.newest_id))
            self._pending = [each for each in self._pending if each[1]["update_id"] >= offset]
        oldest = self._now() - KEPT_S
        self._pending = [each for each in self._pending if each[0] > oldest]
        self._changed()

    async def _wait(self, timeout_s: float) -> None:
        asking = self._asking = asyncio.get_running_loop().create_future()
        self._changed()
        try:
            await asyncio.wait({asking}, timeout=timeout_s)
            if asking.done():
                asking.result()
        finally:
            if self._asking is asking:
                self._asking = None
