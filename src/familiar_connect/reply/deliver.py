"""Sending a reply out, piece by piece, and knowing at any moment what was really sent.

A delivery can be ended between two pieces; what went out stays out and is what gets recorded. What surely did
not arrive is tried again a few times.

Live edit: a reply as one message that is edited while text arrives, continued in another when it is full.

At any moment the tracker holds what the messages read, and that is what gets recorded.

DeliveryTasks: each delivery runs as a task of its own, so that a newer message can end it and nothing else.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from familiar_connect.chat.place import Place
from familiar_connect.config.channel import TypingSimulationConfig
from familiar_connect.errors import DeliveryError
from familiar_connect.reply.chunks import pack_reply, split_reply_into_chunks
from familiar_connect.reply.pacing import compute_typing_delay
from familiar_connect.support.aio import cancel_and_wait, closing_stream
from familiar_connect.support.clock import Clock, SystemClock

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
    sends_first_piece: bool = False
    """No newer message ends it before its first piece."""
    has_spoken: bool = False
    """Whether any of the words that answer the exchange under way are out, of this reply or of one before it."""

    def answers(self, person: str) -> bool:
        """Whether a reply to *person* is being made or sent."""
        return person in self.answered

    def may_be_cut_by(self, person: str) -> bool:
        """Whether a newer message of *person* ends what is being sent: the chatter of others ends no answer."""
        if self.sends_first_piece and not self.sent_chunks:
            return False
        return not self.answered or person in self.answered

    def start(self, task: asyncio.Task[object]) -> None:
        self.task = task
        self.sent_chunks = []

    def mark_sent(self, chunk: str) -> None:
        self.sent_chunks.append(chunk)
        self.has_spoken = True

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
        self.sends_first_piece = False

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
    sends_first_piece: bool = False,
) -> None:
    """Send *reply* out: pieces as they come, or a finished text split to the platform's limit.

    Where it *sends_first_piece*, a newer message ends it only after its first piece; the platform does not stream then.
    """
    tracker = tracker or TextDeliveryTracker(channel_id=0)
    limit = place.features.limit
    if not isinstance(reply, str):
        await _send_stream(reply, place, tracker, sleep)
        return
    if place.features.streams:
        await _send_stream(_one_piece(reply), place, tracker, sleep)
        return
    tracker.sends_first_piece = sends_first_piece
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


class DeliveryTasks:
    """Sends replies out: piece by piece, as they come where the place likes it, or in one message that grows."""

    def __init__(
        self,
        registry: TextDeliveryRegistry,
        *,
        edits_live: bool = False,
        clock: Clock | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        """*edits_live*: where messages can be changed, a reply grows in one."""
        self._registry = registry
        self._edits_live = edits_live
        self._clock = clock or SystemClock()
        self._sleep = sleep

    def begin(self, channel_id: int, answered: frozenset[str] = frozenset()) -> TextDeliveryTracker:
        """The channel's tracker, with nothing sent yet; *answered* are the canonical keys of those who asked."""
        tracker = self._registry.get(channel_id)
        tracker.begin(answered)
        return tracker

    def takes_pieces(self, place: Place) -> bool:
        """Whether *place* is given a reply while it is still being written."""
        return place.features.streams or (self._edits_live and place.features.edits)

    async def deliver(
        self,
        reply: str | AsyncIterable[str],
        place: Place,
        pacing: TypingSimulationConfig,
        tracker: TextDeliveryTracker,
        *,
        sends_first_piece: bool = False,
    ) -> None:
        """Send *reply* out; ended from outside, it ends its task and waits for it."""
        work: Coroutine[Any, Any, None]
        if place.features.speaks:
            work = speak(reply, place, tracker)
        elif not isinstance(reply, str) and not place.features.streams and place.features.edits:
            work = deliver_with_edits(reply, place, tracker, clock=self._clock, sleep=self._sleep)
        else:
            work = deliver(reply, place, pacing, tracker, sleep=self._sleep, sends_first_piece=sends_first_piece)
        task = asyncio.get_running_loop().create_task(work, name=f"deliver:{tracker.channel_id}")
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            await cancel_and_wait(task)
            raise
        if not task.cancelled():
            task.result()
