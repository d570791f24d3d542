"""Summaries without a model."""

from __future__ import annotations

from datetime import UTC, datetime

from familiar_connect.context.providers.history.summaries import MAX_CHARS, extract_summary, tell_elsewhere
from familiar_connect.history.types import HistoryTurn
from familiar_connect.identity import Author
from tests.fakes.context import ADA, BO

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def said(content: str, author: Author | None = ADA) -> HistoryTurn:
    return HistoryTurn(1, NOON, "user" if author else "assistant", author, content)


def test_what_lasts_is_kept_in_peoples_words() -> None:
    """Greetings, questions, small talk and the familiar's own words are not."""
    turns = [
        said("Hello!"),
        said("How are you?"),
        said("I love my cat.", None),
        said("My sister died in 2019. Ok.", BO),
        said("I hate Mondays"),
        said("my wifi is down again", BO),
        said("Jonas proposed"),
        said("I said yes"),
    ]

    assert (
        extract_summary("", turns) == "Bo said: My sister died in 2019.\nAda said: Jonas proposed\nAda said: I said yes"
    )


def test_earlier_lines_are_carried_on() -> None:
    """Each once, and those that weigh most stay when there are too many."""
    previous = "Ada said: I moved to Graz in May."
    many = [said(f"I like record number {n} of my shelf.") for n in range(200)]
    full = extract_summary(previous, many, max_lines=20)

    assert extract_summary(previous, [said("I moved to Graz in May.")]) == previous
    assert full.startswith(previous)
    assert len(full.splitlines()) == 20
    assert len(extract_summary(previous, many, max_lines=200)) <= MAX_CHARS


def test_news_are_what_weighs_most() -> None:
    """The newest of equals."""
    turns = [said("I got the job"), said("She is pregnant"), said("the bus is late", BO)]

    assert tell_elsewhere(turns) == "Meanwhile, in another channel, Ada said: I got the job"


def test_news_are_the_last_words_where_nothing_weighs_anything() -> None:
    """Of a person; nothing said, nothing told."""
    turns = [said("first"), said("the last\nword", BO), said("hm", None)]

    assert tell_elsewhere(turns) == "Meanwhile, in another channel, Bo said: the last word"
    assert tell_elsewhere([said("hm", None)]) == ""
