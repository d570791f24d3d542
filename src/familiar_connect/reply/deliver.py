"""Sending a reply out, piece by piece, and knowing at any moment what was really sent.

A delivery can be ended between two pieces; what went out stays out and is what gets recorded. What surely did
not arrive is tried again a few times.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from familiar_connect.chat.place import Place
from familiar_connect.config import TypingSimulationConfig
from familiar_connect.errors import DeliveryError
from familiar_connect.reply.chunks import pack_reply, split_reply_into_chunks
from familiar_connect.reply.pacing import compute_typing_delay
from familiar_connect.support.aio import closing_stream

logger = logging.getLogger(__name__)

MAX_RETRIES = 4
MAX_WAIT_S = 30.0

Sleep = Callable[[float], Awaitable[None]]


@dataclass
class TextDeliveryTracker:
    """What is being delivered in one channel, and what of it has gone out."""

    channel_id: int
    task: asyncio.Task[object] | None = None
    sent_chunks: list[str] = field(default_factory=list)
    answered: frozenset[str] = frozenset()
    """Canonical keys of those it answers; empty: nobody asked."""

    def answers(self, person: str) -> bool:
        """Whether a reply to *person* is being made or sent."""
        return person in self.answered

    def may_be_cut_by(self, person: str) -> bool:
        """Whether a newer message of *person* ends what is being sent: the chatter of others ends no answer."""
        return not self.answered or person in self.answered

    def start(self, task: asyncio.Task[object]) -> None:
        self.task = task
        self.sent_chunks = []

    def mark_sent(self, chunk: str) -> None:
        self.sent_chunks.append(chunk)

    def mark_changed(self, chunk: str) -> None:
        """The piece sent last reads *chunk* now."""
        self.sent_chunks[-1] = chunk

    def is_active(self) -> bool:
        return self.task is not None and not self.task.done()

    async def cancel_and_wait(self) -> list[str]:
        """End the delivery; the pieces that had gone out. Idle: none."""
        task = self.task
        if task is None or task.done():
            return []
        if not task.cancelling():  # told once: a second time would end the piece that is on its way
            task.cancel()
        await asyncio.wait({task})
        return list(self.sent_chunks)

    def clear(self) -> None:
        self.task = None
        self.sent_chunks = []
        self.answered = frozenset()

    def begin(self, answered: frozenset[str]) -> None:
        """A reply to *answered* is about to be made."""
        self.clear()
        self.answered = answered


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
    place: Place,
    pacing: TypingSimulationConfig,
    tracker: TextDeliveryTracker | None = None,
    *,
    sleep: Sleep = asyncio.sleep,
    insists: bool = False,
) -> None:
    """Send *reply* out: pieces as they come, or a finished text split to the platform's limit.

    When it *insists*, a newer message ends it only after its first piece; the platform does not stream then.
    """
    tracker = tracker or TextDeliveryTracker(channel_id=0)
    limit = place.features.limit
    if not isinstance(reply, str):
        await _send_stream(reply, place, tracker, sleep)
        return
    if place.features.streams:
        await _send_stream(_one_piece(reply), place, tracker, sleep)
        return
    if not insists:
        start_tracking(tracker)
    pieces = (
        split_reply_into_chunks(reply, sentence_split_threshold=pacing.sentence_split_threshold, hard_cap=limit)
        if pacing.enabled
        else pack_reply(reply, limit=limit)
    )
    await place.plan(pieces)
    if pacing.enabled:
        await _type_out(pieces, place, pacing, tracker, sleep)
    else:
        for piece in pieces:
            await _send(piece, place, tracker, sleep)


async def speak(reply: str | AsyncIterable[str], place: Place, tracker: TextDeliveryTracker) -> None:
    """Have *reply* spoken; what was heard of it counts as sent."""
    start_tracking(tracker)
    await place.speak(_one_piece(reply) if isinstance(reply, str) else reply, tracker.mark_sent)


async def _send_stream(pieces: AsyncIterable[str], place: Place, tracker: TextDeliveryTracker, sleep: Sleep) -> None:
    """Hand each piece on as it comes. Until the first is there, the reply is still being written."""
    async with closing_stream(pieces) as stream:
        async for piece in stream:
            if not tracker.is_active():
                start_tracking(tracker)
            await _send(piece, place, tracker, sleep)


async def _type_out(
    pieces: Sequence[str],
    place: Place,
    pacing: TypingSimulationConfig,
    tracker: TextDeliveryTracker,
    sleep: Sleep,
) -> None:
    """Type, wait, send, pause, piece by piece."""
    for position, piece in enumerate(pieces):
        if position:
            await sleep(pacing.inter_line_pause_s)
        async with place.thinking():
            await sleep(compute_typing_delay(piece, pacing))
        await _send(piece, place, tracker, sleep)


def start_tracking(tracker: TextDeliveryTracker) -> None:
    """From here on a newer message ends what this task does."""
    task = asyncio.current_task()
    assert task is not None
    tracker.start(task)


async def _send(piece: str, place: Place, tracker: TextDeliveryTracker, sleep: Sleep) -> None:
    task = asyncio.current_task()

    async def out() -> None:
        await place.send(piece)
        if tracker.task is None and task is not None:
            tracker.start(task)
        tracker.mark_sent(piece)

    await send_with_retry(out, sleep)


async def send_with_retry(step: Callable[[], Coroutine[Any, Any, None]], sleep: Sleep) -> None:
    """Do one step of a delivery and know of it: ended meanwhile, what is on its way still arrives and counts."""
    may_have_arrived = False
    for attempt in range(MAX_RETRIES + 1):
        trying = asyncio.ensure_future(_try(step))
        try:
            error = await asyncio.shield(trying)
            if error is None:
                return
            may_have_arrived |= error.may_have_arrived
            if not error.retryable or attempt == MAX_RETRIES:
                raise error
            asked = error.retry_after_s if error.retry_after_s is not None else 2.0**attempt
            logger.warning("sending failed, trying again", extra={"attempt": attempt + 1, "reason": str(error)})
            await sleep(min(max(0.0, asked), MAX_WAIT_S))
        except asyncio.CancelledError:
            await asyncio.wait({trying}, timeout=MAX_WAIT_S)
            if not trying.done():  # whether it arrived nobody knows; a place that never comes back ends no program
                logger.warning("a place did not say whether a piece arrived", extra={"waited_s": MAX_WAIT_S})
                trying.cancel()
                raise
            failure = trying.result()
            if failure is not None and failure.retryable and (may_have_arrived or failure.may_have_arrived):
                await _confirm_arrival(step, failure, sleep)
            raise


async def _confirm_arrival(step: Callable[[], Coroutine[Any, Any, None]], failure: DeliveryError, sleep: Sleep) -> None:
    """Learn whether people have read what is not to be sent any more: trying again tells, and says nothing twice.

    Raises *failure* when it cannot be learned.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(MAX_WAIT_S):
            for attempt in range(MAX_RETRIES):
                found = await _try(step)
                if found is None or not found.retryable:
                    return
                await sleep(2.0**attempt)
    raise failure


async def _try(step: Callable[[], Coroutine[Any, Any, None]]) -> DeliveryError | None:
    """Why the step failed, if it did."""
    try:
        await step()
    except DeliveryError as error:
        return error
    except Exception as error:  # whatever a platform's library raises
        failure = DeliveryError(f"the place cannot be written to ({type(error).__name__})")
        failure.__cause__ = error
        return failure
    return None


async def _one_piece(text: str) -> AsyncIterator[str]:
    if text:
        yield text
