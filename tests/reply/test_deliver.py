"""Sending a reply out, and knowing at any moment what was really sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from familiar_connect.config import TypingSimulationConfig
from familiar_connect.errors import DeliveryError
from familiar_connect.reply.deliver import (
    MAX_RETRIES,
    MAX_WAIT_S,
    TextDeliveryRegistry,
    TextDeliveryTracker,
    deliver,
    send_with_retry,
)
from tests.fakes.place import RecordingPlace
from tests.fakes.simulated_test import in_simulated_time

AT_ONCE = TypingSimulationConfig()
TYPED = TypingSimulationConfig(enabled=True, chars_per_second=10, min_delay_s=0, max_delay_s=9, inter_line_pause_s=0.7)


async def for_ever() -> None:
    await asyncio.Event().wait()


async def test_an_idle_tracker_has_nothing_to_end() -> None:
    """Asked to stop while nothing goes out, it says so and raises nothing."""
    tracker = TextDeliveryTracker(7)

    assert (tracker.task, tracker.sent_chunks, tracker.is_active()) == (None, [], False)
    assert await tracker.cancel_and_wait() == []


async def test_a_start_forgets_what_was_sent_before() -> None:
    """Each delivery counts its own pieces."""
    tracker = TextDeliveryTracker(7, sent_chunks=["old"])
    task = asyncio.create_task(for_ever())

    tracker.start(task)

    assert tracker.is_active()
    assert tracker.sent_chunks == []
    tracker.mark_sent("new")
    assert await tracker.cancel_and_wait() == ["new"]
    assert task.cancelled()
    assert not tracker.is_active()


async def test_clear_forgets_task_and_pieces() -> None:
    """Nothing of a delivery is left behind."""
    tracker = TextDeliveryTracker(7, sent_chunks=["a"])

    tracker.clear()

    assert (tracker.task, tracker.sent_chunks) == (None, [])


def test_a_registry_makes_a_tracker_when_first_asked() -> None:
    """One per channel; a snapshot is a copy; a dropped one is made anew."""
    registry = TextDeliveryRegistry()
    tracker = registry.get(7)

    assert registry.get(7) is tracker
    snapshot = registry.snapshot()
    registry.drop(7)
    registry.drop(8)
    assert snapshot == {7: tracker}
    assert registry.snapshot() == {}
    assert registry.get(7) is not tracker


async def test_without_typing_a_reply_is_split_to_the_limit() -> None:
    """Every piece fits the platform."""
    place, tracker = RecordingPlace(limit=5), TextDeliveryTracker(7)

    await deliver("aaa bbb\n\nccc", place, AT_ONCE, tracker)

    assert place.sent == ["aaa", "bbb", "ccc"]
    assert tracker.sent_chunks == place.sent
    assert place.thoughts == 0


async def test_with_typing_each_piece_is_typed_sent_and_followed_by_a_pause() -> None:
    """Typing, delay, send, pause, per piece."""
    place, slept = RecordingPlace(), []

    async def sleep(seconds: float) -> None:
        slept.append((seconds, len(place.sent)))

    await deliver("aaaaa\n\nbbbbbbbbbb", place, TYPED, TextDeliveryTracker(7), sleep=sleep)

    assert place.sent == ["aaaaa", "bbbbbbbbbb"]
    assert slept == [(0.5, 0), (0.7, 1), (1.0, 1)]
    assert place.thoughts == 2


async def test_a_streaming_place_gets_pieces_as_they_come() -> None:
    """And a finished text as one."""
    place = RecordingPlace(streams=True)

    async def pieces() -> AsyncIterator[str]:
        yield "Hel"
        yield "lo"

    await deliver(pieces(), place, TYPED)
    await deliver("Bye", place, TYPED)
    await deliver("", place, TYPED)

    assert place.sent == ["Hel", "lo", "Bye"]


async def test_until_its_first_piece_a_stream_is_not_being_delivered() -> None:
    """A newer message ends a delivery, not the writing of a reply."""
    place, tracker, written = RecordingPlace(streams=True), TextDeliveryTracker(7), asyncio.Event()

    async def pieces() -> AsyncIterator[str]:
        await written.wait()
        yield "Hello"

    task = asyncio.create_task(deliver(pieces(), place, AT_ONCE, tracker))
    await asyncio.sleep(0)

    assert await tracker.cancel_and_wait() == []
    written.set()
    await task
    assert place.sent == ["Hello"]


async def test_a_piece_on_its_way_still_arrives_and_counts() -> None:
    """What is recorded as said was sent, and what was sent is recorded."""
    place, tracker = RecordingPlace(limit=3, hold=asyncio.Event()), TextDeliveryTracker(7)
    task = asyncio.create_task(deliver("aaa bbb", place, AT_ONCE, tracker))
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    ending = asyncio.create_task(tracker.cancel_and_wait())
    await asyncio.sleep(0)
    assert place.hold is not None
    place.hold.set()

    assert await ending == ["aaa"]
    assert place.sent == ["aaa"]
    assert task.cancelled()


class ShakyPlace(RecordingPlace):
    """Fails as told, then lets things through."""

    def __init__(self, *failures: Exception, limit: int = 2000) -> None:
        super().__init__(limit=limit)
        self.failures = list(failures)

    async def send(self, text: str) -> None:
        if self.failures:
            raise self.failures.pop(0)
        await super().send(text)


def hiccup(retry_after_s: float | None = None) -> DeliveryError:
    return DeliveryError("the platform has the hiccups", retryable=True, retry_after_s=retry_after_s)


async def test_what_surely_did_not_arrive_is_sent_again_after_growing_waits() -> None:
    """As long as the platform asked, never beyond half a minute; each piece once."""
    place, tracker, slept = ShakyPlace(hiccup(), hiccup(), hiccup(7.5), hiccup(900)), TextDeliveryTracker(7), []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    await deliver("Hello", place, AT_ONCE, tracker, sleep=sleep)

    assert place.sent == tracker.sent_chunks == ["Hello"]
    assert slept == [1.0, 2.0, 7.5, 30.0]


async def test_trying_again_has_an_end_and_what_arrived_before_stays() -> None:
    """The pieces that went out are known."""
    place, tracker = ShakyPlace(limit=3), TextDeliveryTracker(7)
    tries = 0

    async def sleep(seconds: float) -> None:
        nonlocal tries
        tries += 1

    async def first_then_none(text: str) -> None:
        if place.sent:
            raise hiccup()
        await RecordingPlace.send(place, text)

    place.send = first_then_none  # type: ignore[method-assign]
    with pytest.raises(DeliveryError, match="hiccups"):
        await deliver("aaa bbb", place, AT_ONCE, tracker, sleep=sleep)

    assert tries == MAX_RETRIES
    assert tracker.sent_chunks == ["aaa"]


@pytest.mark.parametrize("failure", [OSError("gone"), TimeoutError(), DeliveryError("forbidden")])
async def test_what_may_have_arrived_or_never_will_is_not_sent_again(failure: Exception) -> None:
    """Nobody reads the same words twice."""
    place = ShakyPlace(failure)

    with pytest.raises(DeliveryError):
        await deliver("Hello", place, AT_ONCE)
    assert place.sent == []


async def test_a_newer_message_ends_the_trying_too() -> None:
    """A wait between two tries is no reason to go on."""
    place, tracker = ShakyPlace(hiccup()), TextDeliveryTracker(7)
    waiting = asyncio.Event()

    async def sleep(seconds: float) -> None:
        waiting.set()
        await for_ever()

    task = asyncio.create_task(deliver("Hello", place, AT_ONCE, tracker, sleep=sleep))
    await waiting.wait()

    assert await tracker.cancel_and_wait() == []
    assert task.cancelled()


async def test_a_newer_message_waits_until_it_is_known_whether_a_piece_arrived() -> None:
    """The platform took the words and its answer got lost: trying again tells, and it counts as sent."""
    lost = DeliveryError("no answer", retryable=True, may_have_arrived=True)
    place, tracker = ShakyPlace(lost, hiccup()), TextDeliveryTracker(7)
    waiting = asyncio.Event()

    async def sleep(seconds: float) -> None:
        if not waiting.is_set():
            waiting.set()
            await for_ever()

    task = asyncio.create_task(deliver("Hello", place, AT_ONCE, tracker, sleep=sleep))
    await waiting.wait()

    assert await tracker.cancel_and_wait() == ["Hello"]
    assert task.cancelled()
    assert place.sent == ["Hello"]


async def test_a_piece_of_which_nobody_knows_whether_it_arrived_is_an_error() -> None:
    """Ended or not: it is reported, and not said anew in other words."""
    lost = DeliveryError("no answer", retryable=True, may_have_arrived=True)
    place, tracker = ShakyPlace(*[lost] * 9), TextDeliveryTracker(7)
    waiting = asyncio.Event()

    async def sleep(seconds: float) -> None:
        if not waiting.is_set():
            waiting.set()
            await for_ever()

    task = asyncio.create_task(deliver("Hello", place, AT_ONCE, tracker, sleep=sleep))
    await waiting.wait()
    await tracker.cancel_and_wait()

    with pytest.raises(DeliveryError, match="no answer"):
        task.result()


async def test_many_newer_messages_end_a_delivery_no_harder_than_one() -> None:
    """The piece that is on its way arrives and is known."""
    place, tracker = RecordingPlace(hold=asyncio.Event()), TextDeliveryTracker(7)
    asyncio.create_task(deliver("Hello", place, AT_ONCE, tracker))  # noqa: RUF006 - the tracker holds it
    await asyncio.sleep(0)
    newer = [asyncio.create_task(tracker.cancel_and_wait()) for _ in range(3)]
    for _ in range(5):
        await asyncio.sleep(0)
    assert place.hold is not None
    place.hold.set()

    assert [await each for each in newer] == [["Hello"]] * 3


async def test_a_reply_that_insists_is_not_ended_before_its_first_piece() -> None:
    """After it, a newer message ends it as any other."""
    place, tracker = RecordingPlace(), TextDeliveryTracker(7)
    slept: list[float] = []
    cuts_before: list[bool] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if not place.sent:
            cuts_before.append(tracker.may_be_cut_by("anybody"))
        else:
            await for_ever()

    task = asyncio.create_task(deliver("One.\n\nTwo.", place, TYPED, tracker, sleep=sleep, sends_first_piece=True))
    while not (place.sent and len(slept) > 1):  # noqa: ASYNC110 - it is the sleep that is faked
        await asyncio.sleep(0)

    assert cuts_before == [False]
    assert tracker.may_be_cut_by("anybody")
    assert await tracker.cancel_and_wait() == ["One."]
    assert task.cancelled()
    assert place.sent == ["One."]


@in_simulated_time
async def test_a_place_that_never_comes_back_does_not_keep_a_delivery_from_ending() -> None:
    """What is on its way is waited for, but not for ever: nobody could end the program."""
    ended: list[str] = []

    async def send_for_ever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("sending")

    delivering = asyncio.create_task(send_with_retry(send_for_ever, asyncio.sleep))
    await asyncio.sleep(1.0)
    delivering.cancel()
    began = asyncio.get_running_loop().time()
    async with asyncio.timeout(10 * MAX_WAIT_S):
        with pytest.raises(asyncio.CancelledError):
            await delivering
    await asyncio.sleep(0)

    assert asyncio.get_running_loop().time() - began == pytest.approx(MAX_WAIT_S)
    assert ended == ["sending"]
