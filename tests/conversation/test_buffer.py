"""What was said since we last spoke."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.config.types import Interjection
from familiar_connect.conversation.buffer import (
    MAX_BUFFERED,
    MAX_CHANNELS,
    Buffer,
    ChannelState,
    ChannelStates,
    InterjectionSchedule,
    LullTimers,
    without_oldest,
)
from familiar_connect.conversation.types import BufferedMessage, ResponseTrigger
from tests.fakes.scripted_familiar import ANA, NOON


def said(number: int) -> BufferedMessage:
    return BufferedMessage(ANA, "the same words", NOON, number)


@given(st.lists(st.sampled_from(["add", "look", "drain", "take"]), max_size=60))
def test_each_message_leaves_once_whatever_is_done(events: list[str]) -> None:
    """Equal words are still two messages."""
    buffer, seen, gone = Buffer(), list[BufferedMessage](), list[int]()
    count = 0
    for event in events:
        if event == "add":
            count += 1
            buffer.add(said(count))
        elif event == "look":
            seen = buffer.snapshot()
        elif event == "drain":
            gone += [message.history_id or 0 for message in buffer.still_there(seen)]
            buffer.drain(seen)
        else:
            gone += [message.history_id or 0 for message in buffer.take_all()]

    assert [*gone, *(message.history_id for message in buffer.take_all())] == list(range(1, count + 1))


@given(st.permutations(range(1, 8)))
def test_messages_stand_in_the_order_of_the_history(order: list[int]) -> None:
    """One that was overtaken on its way finds its place."""
    buffer = Buffer()
    for number in order:
        buffer.add(said(number))

    assert [message.history_id for message in buffer.snapshot()] == sorted(order)


def test_a_full_buffer_keeps_the_newest() -> None:
    """The history keeps the rest."""
    buffer = Buffer(most=3)
    for number in range(1, 6):
        buffer.add(said(number))

    assert [message.history_id for message in buffer.snapshot()] == [3, 4, 5]
    usual = Buffer()
    for number in range(1, MAX_BUFFERED + 2):
        usual.add(said(number))
    assert (len(usual), usual.snapshot()[0].history_id) == (200, 2)


def test_the_channel_quiet_longest_is_forgotten_first() -> None:
    """There is no end of channels in the world."""
    channels = ChannelStates(lambda: ChannelState(InterjectionSchedule(Interjection.quiet, lambda: 0.5)))
    first = channels.get(0)
    for channel_id in range(1, MAX_CHANNELS):
        channels.get(channel_id)
    assert channels.get(0) is first
    channels.get(MAX_CHANNELS)

    assert channels.find(0) is first
    assert channels.find(1) is None


def test_a_message_that_was_edited_is_still_the_same() -> None:
    """Whoever looked at it before finds it in its new words; one taken back is gone."""
    buffer = Buffer()
    for number in (1, 2, 3):
        buffer.add(said(number))
    seen = buffer.snapshot()
    buffer.revise(2, "other words")
    buffer.revise(3, None)

    assert [message.text for message in buffer.still_there(seen)] == ["the same words", "other words"]
    buffer.drain(seen)
    assert len(buffer) == 0


class NotingTimers:
    """Timers that a test lets go off."""

    def __init__(self) -> None:
        self.waiting: list[tuple[float, Callable[[], None]]] = []

    def later(self, seconds: float, then: Callable[[], None]) -> NotingTimers.One:
        entry = (seconds, then)
        self.waiting.append(entry)
        return NotingTimers.One(self, entry)

    class One:
        def __init__(self, timers: NotingTimers, entry: tuple[float, Callable[[], None]]) -> None:
            self._timers, self._entry = timers, entry

        def cancel(self) -> None:
            self._timers.waiting.remove(self._entry)


def test_a_lull_is_told_once_of_each_channel_and_only_where_it_still_waits() -> None:
    """Every message begins it anew; a channel that waits for nothing can be cancelled all the same."""
    timers, lulls = NotingTimers(), list[int]()
    lull = LullTimers(lulls.append, timers.later)
    lull.restart(1, 5.0)
    lull.restart(1, 7.0)
    for channel_id in (2, 3, 4):
        lull.restart(channel_id, 9.0)
    lull.cancel(2)
    lull.cancel(2)
    assert [seconds for seconds, _ in timers.waiting] == [7.0, 9.0, 9.0]

    timers.waiting.pop(0)[1]()
    assert lulls == [1]
    assert sorted(lull._timers) == [3, 4]  # nothing is kept of a channel that nobody speaks in
    lull.cancel(1)
    lull.restart(1, 3.0)
    assert [seconds for seconds, _ in timers.waiting] == [9.0, 9.0, 3.0]

    lull.cancel_all()
    assert (timers.waiting, lulls) == ([], [1])


def test_what_was_surely_said_to_us_leaves_a_full_buffer_last() -> None:
    """The rest goes oldest first, and what stays keeps its order."""
    messages = [replace(said(number), is_for_us=number in (1, 3)) for number in range(1, 6)]

    def left(most: int) -> list[int | None]:
        return [message.history_id for message in without_oldest(messages, most)]

    assert [left(most) for most in (6, 5, 3, 2, 1)] == [[1, 2, 3, 4, 5], [1, 2, 3, 4, 5], [1, 3, 5], [1, 3], [3]]


def test_messages_without_a_row_stand_as_they_came() -> None:
    """One alone keeps all of them from being sorted; each is the same only as itself."""
    buffer = Buffer()
    for message in (said(2), replace(said(0), history_id=None), replace(said(0), history_id=None), said(1)):
        buffer.add(message)
    seen = buffer.snapshot()[:2]

    assert [message.history_id for message in buffer.snapshot()] == [2, None, None, 1]
    assert [message.history_id for message in buffer.still_there(seen)] == [2, None]
    buffer.drain(seen)
    assert [message.history_id for message in buffer.snapshot()] == [None, 1]


async def test_a_channel_has_one_look_at_a_time_and_a_new_loop_begins_anew() -> None:
    """A look that waited on a loop that is gone waits for nothing."""
    channel = ChannelState(InterjectionSchedule(Interjection.quiet, lambda: 0.5))
    lock = channel.lock
    channel.queued_triggers.add(ResponseTrigger.lull)
    assert channel.lock is lock
    assert channel.queued_triggers == {ResponseTrigger.lull}

    async def look() -> asyncio.Lock:
        return channel.lock

    other = await asyncio.to_thread(lambda: asyncio.run(look()))
    assert other is not lock
    assert channel.queued_triggers == set()


def test_a_forgotten_channel_begins_anew() -> None:
    """Nothing that waited in it is left."""
    channels = ChannelStates(lambda: ChannelState(InterjectionSchedule(Interjection.quiet, lambda: 0.5)))
    first = channels.get(1)
    assert channels.get(1) is first
    channels.forget(1)

    assert channels.find(1) is None
    assert channels.get(1) is not first
