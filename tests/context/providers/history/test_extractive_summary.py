"""Summaries without a model."""

from __future__ import annotations

from datetime import UTC, datetime

from familiar_connect.context.providers.history.extractive_summary import MAX_LINES, extract_summary, latest_words
from familiar_connect.history.types import HistoryTurn
from familiar_connect.identity import Author
from tests.fakes.context import ADA, BO

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def said(content: str, author: Author | None = ADA) -> HistoryTurn:
    return HistoryTurn(1, NOON, "user" if author else "assistant", author, content)


def test_what_people_tell_of_themselves_is_kept_in_their_words() -> None:
    """Greetings, questions and the familiar's own words are not."""
    turns = [said("Hello!"), said("How are you?"), said("I love my cat.", None), said("My cat is called Fig. Ok.", BO)]

    assert extract_summary("", turns) == "Bo said: My cat is called Fig."


def test_earlier_lines_are_carried_on() -> None:
    """Each once, and the most telling stay when there are too many."""
    previous = "Ada said: I love tea."
    many = [said(f"My brother number {n} was born in 19{n:02}.") for n in range(30)]

    assert extract_summary(previous, [said("I love tea.")]) == previous
    assert len(extract_summary(previous, many).splitlines()) == MAX_LINES


def test_news_are_the_last_thing_said() -> None:
    """By a person; nothing said, nothing told."""
    turns = [said("first"), said("the last\nword", BO), said("hm", None)]

    assert latest_words(turns) == "Meanwhile, in another channel, Bo said: the last word"
    assert latest_words([said("hm", None)]) == ""
