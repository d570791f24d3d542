"""A reply that grows in one message."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable

from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.errors import DeliveryError
from familiar_connect.reply.deliver import TextDeliveryTracker, deliver_with_edits
from familiar_connect.support.clock import ManualClock
from tests.fakes.place import EditablePlace
from tests.fakes.scripted_familiar import NOON


async def spoken(pieces: Iterable[str], clock: ManualClock, seconds: float) -> AsyncIterator[str]:
    for piece in pieces:
        yield piece
        clock.advance(seconds)


async def grow(place: EditablePlace, pieces: Iterable[str], *, seconds: float = 1.0) -> TextDeliveryTracker:
    """Let the reply grow, a piece every so many seconds."""
    tracker, clock = TextDeliveryTracker(7), ManualClock(NOON)
    await deliver_with_edits(spoken(pieces, clock, seconds), place, tracker, clock=clock)
    return tracker


async def test_one_message_grows_with_the_words() -> None:
    """What is recorded is what it reads in the end."""
    place = EditablePlace()
    tracker = await grow(place, ["Once", " upon", " a", " time"])

    assert place.seen == [("Once",), ("Once upon",), ("Once upon a",), ("Once upon a time",)]
    assert tracker.sent_chunks == place.sent == ["Once upon a time"]


async def test_it_is_changed_no_oftener_than_the_platform_likes() -> None:
    """The last words are shown at the end in any case."""
    place = EditablePlace(edit_interval_s=2.5)
    await grow(place, "abcdefg")

    assert [state[0] for state in place.seen] == ["a", "abcd", "abcdefg"]


async def test_a_full_message_stays_and_another_grows() -> None:
    """The limit holds at every moment."""
    place = EditablePlace(limit=10)
    tracker = await grow(place, ["aaaa ", "bbbb ", "cccc ", "dddd"])

    assert place.sent == ["aaaa bbbb", "cccc dddd"]
    assert tracker.sent_chunks == place.sent
    assert all(len(piece) <= 10 for state in place.seen for piece in state)


async def test_a_code_block_goes_on_in_the_next_message() -> None:
    """Closed here, opened there."""
    place = EditablePlace(limit=40)
    await grow(place, ["```py\n", *(f"line_{number}()\n" for number in range(8)), "```"])

    assert all(piece.startswith("```py\n") and piece.endswith("\n```") for piece in place.sent)


async def test_nothing_but_white_space_is_no_message() -> None:
    """Silence leaves no trace."""
    place = EditablePlace()
    tracker = await grow(place, [" ", "\n"])

    assert (place.sent, tracker.sent_chunks, tracker.task) == ([], [], None)


async def test_a_newer_message_leaves_what_can_be_read() -> None:
    """Recorded is what the message reads, not what was written meanwhile."""
    place, tracker, clock = EditablePlace(edit_interval_s=60.0), TextDeliveryTracker(7), ManualClock(NOON)
    held = asyncio.Event()

    async def pieces() -> AsyncIterator[str]:
        yield "Once"
        yield " upon"
        held.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(deliver_with_edits(pieces(), place, tracker, clock=clock))
    await held.wait()

    assert await tracker.cancel_and_wait() == ["Once"] == place.sent
    assert task.cancelled()


async def test_a_change_that_did_not_arrive_is_made_again() -> None:
    """As a message would be sent again."""
    place, tracker, clock = EditablePlace(), TextDeliveryTracker(7), ManualClock(NOON)

    async def sleep(seconds: float) -> None:
        place.fails_with = None

    async def pieces() -> AsyncIterator[str]:
        yield "Once"
        place.fails_with = DeliveryError("slow down", retryable=True)
        yield " more"

    await deliver_with_edits(pieces(), place, tracker, clock=clock, sleep=sleep)

    assert place.sent == tracker.sent_chunks == ["Once more"]


@given(st.lists(st.text(alphabet="ab .\n", max_size=12), max_size=40), st.integers(5, 30), st.floats(0, 2))
async def test_however_it_comes_every_letter_is_shown_once_within_the_limit(
    pieces: list[str], limit: int, seconds: float
) -> None:
    """At every moment, and all of it in the end."""
    place = EditablePlace(limit=limit)
    tracker = await grow(place, pieces, seconds=seconds)

    assert "".join("".join(place.sent).split()) == "".join("".join(pieces).split())
    assert tracker.sent_chunks == place.sent
    assert all(0 < len(piece) <= limit for state in place.seen for piece in state)
