"""Stored turns as dialogue items, with the marks of each mode."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from familiar_connect.config.types import ChannelMode
from familiar_connect.context.providers.history.turn_items import dialogue_items, gap_in_words
from familiar_connect.context.types import ItemTag
from familiar_connect.history.types import HistoryTurn
from familiar_connect.identity import Author
from tests.fakes.context import ADA

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def a_turn(role: str, content: str, *, after_s: float = 0, author: Author | None = None) -> HistoryTurn:
    return HistoryTurn(1, NOON + timedelta(seconds=after_s), role, author, content)


def texts(mode: ChannelMode | None, *turns: HistoryTurn, hours: int = 0) -> list[str]:
    return [item.text for item in dialogue_items(turns, mode, timezone(timedelta(hours=hours)))]


def test_a_users_words_carry_the_name_and_the_familiars_stand_bare() -> None:
    """Without an author a user's stand bare too."""
    items = dialogue_items(
        [a_turn("user", "hi", author=ADA), a_turn("assistant", "hm"), a_turn("user", "psst")], None, UTC
    )

    assert [(i.role, i.text, i.name) for i in items] == [
        ("user", "Ada: hi", "Ada"),
        ("assistant", "hm", None),
        ("user", "psst", None),
    ]
    assert {i.tag for i in items} == {ItemTag.DIALOGUE}


def test_a_text_chat_shows_when_something_was_said() -> None:
    """In the display zone, before the speaker's name; not on the familiar's own turns."""
    turns = [a_turn("user", "hi", author=ADA), a_turn("assistant", "hm"), a_turn("user", "psst")]

    assert texts(ChannelMode.text_conversation_rp, *turns, hours=2) == ["[14:00] Ada: hi", "hm", "[14:00] psst"]


def test_a_voice_call_tells_of_pauses() -> None:
    """From thirty seconds on, on anyone's turn, never on the first."""
    turns = [
        a_turn("user", "hi", author=ADA),
        a_turn("assistant", "hm", after_s=29),
        a_turn("user", "so", after_s=59, author=ADA),
        a_turn("assistant", "ah", after_s=59 + 3600),
    ]

    assert texts(ChannelMode.imitate_voice, *turns) == [
        "Ada: hi",
        "hm",
        "(about 30 seconds later) Ada: so",
        "(about 1 hour later) ah",
    ]


@pytest.mark.parametrize("mode", [ChannelMode.full_rp, None])
def test_a_scene_carries_no_marks(mode: ChannelMode | None) -> None:
    """The words alone."""
    assert texts(mode, a_turn("user", "hi", author=ADA), a_turn("assistant", "hm", after_s=999)) == ["Ada: hi", "hm"]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (30, "30 seconds"),
        (59.9, "59 seconds"),
        (60, "1 minute"),
        (3599, "59 minutes"),
        (3600, "1 hour"),
        (86_399, "23 hours"),
        (86_400, "1 day"),
        (864_000, "10 days"),
    ],
)
def test_a_pause_is_told_as_people_say_it(seconds: float, words: str) -> None:
    """One unit; a single one without an s."""
    assert gap_in_words(seconds) == words
