"""Sending a reply out, piece by piece, and knowing at any moment what was really sent.

A delivery can be ended between two pieces; what went out stays out and is what gets recorded.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from familiar_connect.config import TypingSimulationConfig
from familiar_connect.errors import DeliveryError
from familiar_connect.reply.chunks import pack_reply, split_reply_into_chunks
from familiar_connect.reply.pacing import compute_typing_delay
from familiar_connect.reply.protocols import Delivery
from familiar_connect.support.aio import cancel_and_wait, finish


@dataclass
class TextDeliveryTracker:
    """What is being delivered in one channel, and what of it has gone out."""

    channel_id: int
    task: asyncio.Task[Any] | None = None
    sent_chunks: list[str] = field(default_factory=list)

    def start(self, task: asyncio.Task[Any]) -> None:
        self.task = task
        self.sent_chunks = []

    def mark_sent(self, chunk: str) -> None:
        self.sent_chunks.append(chunk)

    def is_active(self) -> bool:
        return self.task is not None and not self.task.done()

    async def cancel_and_wait(self) -> list[str]:
        """End the delivery; the pieces that had gone out. Idle: none."""
        task = self.task
        if task is None or task.done():
            return []
        await cancel_and_wait(task)
        return list(self.sent_chunks)

    def clear(self) -> None:
        self.task = None
        self.sent_chunks = []


class TextDeliveryRegistry:
    """One tracker per channel, made when first asked for."""

    def __init__(self) -> None:
        self._trackers: dict[int, TextDeliveryTracker] = {}

    def get(self, channel_id: int) -> TextDeliveryTracker:
        return self._trackers.setdefault(channel_id, TextDeliveryTracker(channel_id))

    def drop(self, channel_id: int) -> None:
        self._trackers.pop(channel_id, None)

    def snapshot(self) -> dict[int, TextDeliveryTracker]:
        return dict(self._trackers)


async def deliver(
    reply: str | AsyncIterable[str],
    place: Delivery,
    pacing: TypingSimulationConfig,
    tracker: TextDeliveryTracker | None = None,
    *,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Send *reply* out: pieces as they come, or a finished text split to the platform's limit."""
    tracker = tracker or TextDeliveryTracker(channel_id=0)
    if not isinstance(reply, str):
        await _pass_on(reply, place, tracker)
    elif place.streams:
        await _pass_on(_one_piece(reply), place, tracker)
    elif pacing.enabled:
        await _type_out(reply, place, pacing, tracker, sleep)
    else:
        _begin(tracker)
        for piece in pack_reply(reply, limit=place.limit):
            await _send(piece, place, tracker)


async def _pass_on(pieces: AsyncIterable[str], place: Delivery, tracker: TextDeliveryTracker) -> None:
    """Hand each piece on as it comes. Until the first is there, the reply is still being written."""
    async for piece in pieces:
        if not tracker.is_active():
            _begin(tracker)
        await _send(piece, place, tracker)


async def _type_out(
    text: str,
    place: Delivery,
    pacing: TypingSimulationConfig,
    tracker: TextDeliveryTracker,
    sleep: Callable[[float], Awaitable[None]],
) -> None:
    """Type, wait, send, pause, piece by piece."""
    _begin(tracker)
    pieces = split_reply_into_chunks(
        text, sentence_split_threshold=pacing.sentence_split_threshold, hard_cap=place.limit
    )
    for position, piece in enumerate(pieces):
        if position:
            await sleep(pacing.inter_line_pause_s)
        async with place.thinking():
            await sleep(compute_typing_delay(piece, pacing))
        await _send(piece, place, tracker)


def _begin(tracker: TextDeliveryTracker) -> None:
    task = asyncio.current_task()
    assert task is not None
    tracker.start(task)


async def _send(piece: str, place: Delivery, tracker: TextDeliveryTracker) -> None:
    """Send one piece and know it: ended meanwhile, the piece on its way still arrives and counts."""

    async def out() -> None:
        try:
            await place.send(piece)
        except Exception as error:  # whatever a platform's library raises
            raise DeliveryError(f"the place cannot be written to ({type(error).__name__})") from error
        tracker.mark_sent(piece)

    await finish(out())


async def _one_piece(text: str) -> AsyncIterator[str]:
    if text:
        yield text
