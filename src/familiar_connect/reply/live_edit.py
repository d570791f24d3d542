"""Live edit: a reply as one message that is edited while text arrives, continued in another when it is full.

At any moment the tracker holds what the messages read, and that is what gets recorded.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable

from familiar_connect.chat.place import Place
from familiar_connect.reply.chunks import pack_reply
from familiar_connect.reply.deliver import Sleep, TextDeliveryTracker, send_with_retry, start_tracking
from familiar_connect.support.clock import Clock


async def deliver_with_edits(
    pieces: AsyncIterable[str],
    place: Place,
    tracker: TextDeliveryTracker,
    *,
    clock: Clock,
    sleep: Sleep = asyncio.sleep,
) -> None:
    """Show *pieces* as they come, no oftener than the platform likes; at the end, all of them."""
    grown = _LiveMessages(place, tracker, sleep)
    shown_at: float | None = None
    async for piece in pieces:
        grown.add(piece)
        if not grown.has_words:
            continue
        if not tracker.is_active():
            start_tracking(tracker)
        if shown_at is None or clock.monotonic() - shown_at >= place.features.edit_interval_s:
            await grown.show()
            shown_at = clock.monotonic()
    await grown.show()


class _LiveMessages:
    """The messages of one reply and what each reads."""

    def __init__(self, place: Place, tracker: TextDeliveryTracker, sleep: Sleep) -> None:
        self._place = place
        self._tracker = tracker
        self._sleep = sleep
        self._growing = ""
        """The part of the reply that still grows: what stands in full messages is done."""
        self._reads = ""
        self._posted: object | None = None

    def add(self, piece: str) -> None:
        self._growing += piece

    @property
    def has_words(self) -> bool:
        return bool(self._growing.strip())

    async def show(self) -> None:
        """Let the messages read what there is; all but the last are full then and stay as they are."""
        pieces = pack_reply(self._growing, limit=self._place.features.limit)
        for full in pieces[:-1]:
            await self._put(full)
            self._posted, self._reads = None, ""
        if len(pieces) > 1:
            gap = self._growing[len(self._growing.rstrip()) :]
            self._growing = pieces[-1] + gap
        if pieces:
            await self._put(pieces[-1])

    async def _put(self, piece: str) -> None:
        if piece == self._reads:
            return
        if self._posted is None:
            await send_with_retry(lambda: self._post(piece), self._sleep)
        else:
            await send_with_retry(lambda: self._edit(piece), self._sleep)
        self._reads = piece

    async def _post(self, piece: str) -> None:
        self._posted = await self._place.post(piece)
        self._tracker.mark_sent(piece)

    async def _edit(self, piece: str) -> None:
        await self._place.edit(self._posted, piece)
        self._tracker.mark_changed(piece)
