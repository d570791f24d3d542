"""What was said since we last spoke."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.config.types import Interjection
from familiar_connect.conversation.buffer import MAX_CHANNELS, Buffer, ChannelState, ChannelStates, InterjectionSchedule
from familiar_connect.conversation.types import BufferedMessage
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
