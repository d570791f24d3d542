"""Which messages of a channel are shown."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.chat.build import build_turn
from familiar_connect.chat.message_parts import Embed
from familiar_connect.chat.scene import WindowStart
from familiar_connect.chat.types import InboundMessage
from familiar_connect.chat.window import window_start
from familiar_connect.identity import FixedPrivacy, PrivacyLevel
from tests.fakes.chat import (
    PERSONA,
    FakeChannel,
    a_turn,
    an_exchange,
    entry_contents,
    message_by,
    our_message,
    with_settings,
)
from tests.fakes.context import ADA, BO, CY

sizes = st.integers(1, 200)
counts = st.integers(0, 10_000)


class Counted:
    """A store that knows how many turns there are, each under its number."""

    def __init__(self, stored: int) -> None:
        self.stored = stored

    async def window(
        self,
        *,
        familiar_id: str,
        channel_id: int,
        before_id: int | None,
        mode: str | None,
        first: Callable[[int], int],
    ) -> WindowStart:
        row = first(self.stored)
        return WindowStart(stored=self.stored, history_id=row, message_id=str(row))


def talk(count: int) -> list[InboundMessage]:
    """Messages by two people in turn, so that none merge, with rows from 0."""
    return [message_by(f"<{n}>", ADA if n % 2 else BO, n, history_id=n) for n in range(count)]


@given(counts, sizes)
def test_without_a_step_the_last_turns_are_shown(stored: int, size: int) -> None:
    """E8: exactly as many as the window holds, or all there are."""
    assert stored - window_start(stored, size) == min(stored, size)


@given(counts, sizes, sizes)
def test_with_a_step_it_starts_at_whole_steps(stored: int, size: int, step: int) -> None:
    """E8: the start is a multiple of the step, so it holds for many turns."""
    assert window_start(stored, size, step) % step == 0


@given(counts, sizes, sizes)
def test_a_window_never_shows_less_than_its_size(stored: int, size: int, step: int) -> None:
    """It grows from its size to one step more, and is then cut back."""
    shown = stored - window_start(stored, size, step)

    assert min(stored, size) <= shown < size + step


@given(counts, sizes, sizes)
def test_one_more_turn_moves_it_by_nothing_or_one_step(stored: int, size: int, step: int) -> None:
    """It never slides."""
    moved = window_start(stored + 1, size, step) - window_start(stored, size, step)

    assert moved in (0, step)


@pytest.mark.parametrize(("wanted", "asked"), [(5, 20), (80, 80), (1000, 500)])
async def test_a_sensible_number_of_messages_is_looked_at(wanted: int, asked: int) -> None:
    """E1: what is set, within twenty and a hundred."""
    channel = FakeChannel([message_by("hi")])
    await build_turn(an_exchange(message_by("hi")), channel, settings=with_settings(message_fetch_limit=wanted))

    assert channel.asked == [asked]


async def test_messages_come_oldest_first() -> None:
    """E1: in the order they were written."""
    assert await entry_contents(message_by("one", ADA, 1), message_by("two", BO, 2), message_by("three", ADA, 3)) == [
        "one",
        "two",
        "three",
    ]


async def test_the_window_starts_where_the_store_says() -> None:
    """E8: at the turn its absolute count gives, so that it moves by whole steps."""
    settings = with_settings(window_size=10, window_step=10)
    starts = []
    for count in (29, 30, 35, 39, 40):
        turn = await a_turn(*talk(count + 1), settings=settings, stored=Counted(count))
        starts.append(turn.messages[0].content)

    assert starts == ["<10>", "<20>", "<20>", "<20>", "<30>"]


async def test_a_start_that_was_not_fetched_is_the_oldest_message_looked_at() -> None:
    """E8: nothing earlier can be shown."""
    messages = talk(31)[25:]
    turn = await a_turn(*messages, settings=with_settings(window_size=20), stored=Counted(30))

    assert turn.messages[0].content == "<25>"


async def test_entries_know_their_place_among_all_that_was_stored() -> None:
    """E8: counted from the first ever."""
    turn = await a_turn(*talk(31), settings=with_settings(window_size=3), stored=Counted(30))

    assert [entry.ordinal for entry in turn.messages] == [27, 28, 29, 30]


async def test_a_message_that_is_not_in_sight_is_appended() -> None:
    """E2: what is being answered always stands last."""
    turn = await build_turn(
        an_exchange(message_by("look here", BO, 9)), FakeChannel([message_by("earlier", ADA, 1)]), settings=PERSONA
    )

    assert [(entry.content, entry.in_exchange) for entry in turn.messages] == [("earlier", False), ("look here", True)]


async def test_what_came_later_waits_for_its_own_turn() -> None:
    """The exchange is the newest thing said; our own words meanwhile stand before it."""
    messages = [
        message_by("first", ADA, 1, history_id=1),
        message_by("second", ADA, 2, history_id=2),
        our_message("to the first", 3, history_id=3),
        message_by("third", CY, 4, history_id=4),
    ]
    turn = await build_turn(an_exchange(messages[1]), FakeChannel(messages), settings=PERSONA)

    assert [entry.content for entry in turn.messages] == ["first", "to the first", "second"]


async def test_history_starts_after_a_reset() -> None:
    """E3: the mark itself is not shown, and the newest mark counts."""
    reset = our_message("", 2, embeds=(Embed(notice="reset", title="Forgotten"),))

    assert await entry_contents(message_by("old", ADA, 1), reset, message_by("new", ADA, 3)) == ["new"]


async def test_history_starts_at_a_compact_refresh() -> None:
    """E3: its summary becomes the first entry."""
    mark = our_message("", 2, embeds=(Embed(notice="compact_refresh", description="They met."),))

    assert await entry_contents(message_by("old", ADA, 1), mark, message_by("new", ADA, 3)) == [
        "[System: They met.]",
        "new",
    ]


async def test_of_two_marks_the_newest_counts() -> None:
    """E3: scanned from the newest; somebody else's embed is no mark."""
    forged = message_by("x", BO, 4, embeds=(Embed(notice="reset"),))
    refresh = our_message("", 2, embeds=(Embed(notice="compact_refresh", description="Summed up."),))
    reset = our_message("", 1, embeds=(Embed(notice="reset"),))

    assert (await entry_contents(reset, refresh, message_by("a", ADA, 3), forged, message_by("b", ADA, 5)))[
        0
    ] == "[System: Summed up.]"


async def test_people_at_full_privacy_are_left_out() -> None:
    """E4: as if they had said nothing."""
    told = await entry_contents(
        message_by("secret", BO, 1),
        message_by("hi", ADA, 2),
        privacy=FixedPrivacy({BO.canonical_key: PrivacyLevel.FULL}),
    )

    assert told == ["hi"]


async def test_messages_of_another_mode_are_left_out() -> None:
    """Stored messages belong to the mode they were said in; those a platform shows belong to any."""
    messages = [
        message_by("scene", ADA, 1, mode="full_rp"),
        message_by("none", BO, 2, mode=""),
        message_by("chat", CY, 3, mode="text_conversation_rp"),
        message_by("seen", BO, 4),
        message_by("now", ADA, 5),
    ]

    assert await entry_contents(*messages, settings=with_settings(mode="text_conversation_rp")) == [
        "chat",
        "seen",
        "now",
    ]


async def test_surroundings_that_see_nothing_leave_the_past_to_the_store() -> None:
    """B112: then the turn brings no messages, and stored turns are shown."""
    turn = await build_turn(an_exchange(message_by("hi")), FakeChannel([]), settings=PERSONA)

    assert (turn.messages, [said.text for said in turn.said]) == ((), ["hi"])


async def test_surroundings_that_fail_cost_nothing_but_the_view(caplog: pytest.LogCaptureFixture) -> None:
    """The turn is built; the failure is told without what was said."""

    class Broken(FakeChannel):
        async def recent(self, limit: int) -> list[InboundMessage]:
            raise ConnectionError("gone")

    turn = await build_turn(an_exchange(message_by("hi")), Broken(), settings=PERSONA)

    assert turn.messages == ()
    assert "could not be looked at" in caplog.text
