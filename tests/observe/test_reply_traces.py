"""A reply knows the turn that made it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from familiar_connect.observe.reply_traces import match_replies

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def at(second: float) -> datetime:
    return NOON + timedelta(seconds=second)


def test_each_reply_has_the_latest_turn_that_had_begun() -> None:
    """A greeting has none, and a turn that failed is nobody's."""
    starts = [(name, at(second).timestamp()) for name, second in (("a", 10), ("failed", 20), ("b", 30))]

    found = match_replies({1: at(0), 2: at(15), 3: at(34), 4: at(35)}, starts)

    assert found == {2: "a", 3: "b"}


def test_without_turns_there_is_nothing_to_match() -> None:
    """And without replies neither."""
    assert match_replies({1: at(0)}, []) == {}
    assert match_replies({}, [("a", 0.0)]) == {}
