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


def test_what_was_told_and_decided_is_kept_in_peoples_words() -> None:
    """Greetings, questions and the familiar's own words are not."""
    turns = [said("Hello!"), said("How are you?"), said("I love my cat.", None), said("The Gulls lost again. Ok.", BO)]

    assert extract_summary("", turns) == "Bo said: The Gulls lost again."


def test_what_people_state_about_themselves_is_left_to_their_files() -> None:
    """A prompt that shows both would tell it twice."""
    turns = [said("My cat is called Fig. The match is tomorrow, they started late.", BO), said("I love tea.")]

    assert extract_summary("", turns) == "Bo said: The match is tomorrow, they started late."


def test_earlier_lines_are_carried_on() -> None:
    """Each once, and the most telling stay when there are too many."""
    previous = "Ada said: The harbour is closed next week."
    many = [said(f"The race number {n} started and was lost in 19{n:02}.") for n in range(30)]

    assert extract_summary(previous, [said("The harbour is closed next week.")]) == previous
    assert len(extract_summary(previous, many).splitlines()) == MAX_LINES


def test_news_are_the_last_thing_said() -> None:
    """By a person; nothing said, nothing told."""
    turns = [said("first"), said("the last\nword", BO), said("hm", None)]

    assert latest_words(turns) == "Meanwhile, in another channel, Bo said: the last word"
    assert latest_words([said("hm", None)]) == ""
