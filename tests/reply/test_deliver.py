"""Sending a reply out, and knowing at any moment what was really sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from familiar_connect.config import TypingSimulationConfig
from familiar_connect.reply.deliver import TextDeliveryRegistry, TextDeliveryTracker, deliver
from tests.fakes.place import ListeningPlace

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
    place, tracker = ListeningPlace(limit=5), TextDeliveryTracker(7)

    await deliver("aaa bbb\n\nccc", place, AT_ONCE, tracker)

    assert place.sent == ["aaa", "bbb", "ccc"]
    assert tracker.sent_chunks == place.sent
    assert place.thoughts == 0


async def test_with_typing_each_piece_is_typed_sent_and_followed_by_a_pause() -> None:
    """Typing, delay, send, pause, per piece."""
    place, slept = ListeningPlace(), []

    async def sleep(seconds: float) -> None:
        slept.append((seconds, len(place.sent)))

    await deliver("aaaaa\n\nbbbbbbbbbb", place, TYPED, TextDeliveryTracker(7), sleep=sleep)

    assert place.sent == ["aaaaa", "bbbbbbbbbb"]
    assert slept == [(0.5, 0), (0.7, 1), (1.0, 1)]
    assert place.thoughts == 2


async def test_a_streaming_place_gets_pieces_as_they_come() -> None:
    """And a finished text as one."""
    place = ListeningPlace(streams=True)

    async def pieces() -> AsyncIterator[str]:
        yield "Hel"
        yield "lo"

    await deliver(pieces(), place, TYPED)
    await deliver("Bye", place, TYPED)
    await deliver("", place, TYPED)

    assert place.sent == ["Hel", "lo", "Bye"]


async def test_until_its_first_piece_a_stream_is_not_being_delivered() -> None:
    """A newer message ends a delivery, not the writing of a reply."""
    place, tracker, written = ListeningPlace(streams=True), TextDeliveryTracker(7), asyncio.Event()

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
    place, tracker = ListeningPlace(limit=3, hold=asyncio.Event()), TextDeliveryTracker(7)
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
