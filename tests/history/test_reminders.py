"""What people asked to be reminded of, as it is kept."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from familiar_connect.errors import HistoryError
from familiar_connect.history.reminders import (
    MAX_PER_PERSON,
    MAX_PURPOSE_CHARS,
    MAX_RECURRING,
    ReminderBook,
)
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author
from familiar_connect.support.clock import ManualClock
from familiar_connect.support.recurrence import Recurrence

ADA = Author("discord", "1", "ada", "Ada")
BEN = Author("discord", "2", "ben", "Ben")
NOW = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[HistoryStore]:
    store = HistoryStore(tmp_path / "history.db")
    yield store
    store.close()


async def put(book: ReminderBook, who: Author, what: str, minutes: float, channel_id: int = 7) -> int:
    return (await book.set(who, what, NOW + timedelta(minutes=minutes), channel_id=channel_id, guild_id=None)).id


async def test_a_reminder_is_its_askers_and_its_places(store: HistoryStore) -> None:
    """Only who set it lists and cancels it; a channel knows its own; what is due comes in order."""
    clock = ManualClock(NOW)
    book = ReminderBook(store, "sage", clock=clock)
    later, sooner = await put(book, ADA, "two", 20), await put(book, ADA, "one", 10, channel_id=8)
    await put(book, BEN, "three", 30)

    assert [each.purpose for each in book.of_person(ADA)] == ["one", "two"]
    assert [each.purpose for each in book.of_channel(7)] == ["two", "three"]
    assert await book.cancel(BEN, later) is None
    assert book.due_and_upcoming(["discord"]) == ([], NOW + timedelta(minutes=10))
    clock.advance(1500)
    due, upcoming = book.due_and_upcoming(["discord"])
    assert ([each.id for each in due], upcoming) == ([sooner, later], NOW + timedelta(minutes=30))
    assert book.due_and_upcoming(["terminal"]) == ([], None)
    assert (await book.cancel(ADA, later)) is not None
    assert [each.id for each in book.due_and_upcoming(["discord"])[0]] == [sooner]


async def test_there_is_an_end_to_what_is_kept(store: HistoryStore) -> None:
    """So many for a person, so many words, and no time that is past or beyond all sense."""
    book = ReminderBook(store, "sage", clock=ManualClock(NOW))
    for number in range(MAX_PER_PERSON):
        await put(book, ADA, "x" * 1000, number + 1)
    with pytest.raises(HistoryError, match="/remind cancel NUMBER"):
        await put(book, ADA, "one too many", 5)
    assert max(len(each.purpose) for each in book.of_person(ADA)) <= MAX_PURPOSE_CHARS
    for what, minutes in (("", 5.0), ("late", -1.0), ("far", 60.0 * 24 * 4000)):
        with pytest.raises(HistoryError):
            await put(book, BEN, what, minutes)


async def test_whoever_is_erased_has_no_reminders_left(store: HistoryStore) -> None:
    """Those of others stay."""
    book = ReminderBook(store, "sage", clock=ManualClock(NOW))
    await put(book, ADA, "one", 1)
    await put(book, BEN, "two", 1)
    store.erase_author(familiar_id="sage", author=ADA)

    assert (book.of_person(ADA), len(book.of_person(BEN))) == ([], 1)


async def test_few_of_one_person_come_again_and_none_too_often(store: HistoryStore) -> None:
    """Those that come once are counted apart; a rule is read back as it was kept."""
    book = ReminderBook(store, "sage", clock=ManualClock(NOW))

    async def put_again(minutes: int) -> int:
        rule, due = Recurrence(minutes=minutes), NOW + timedelta(minutes=minutes)
        return (await book.set(ADA, "water", due, channel_id=7, guild_id=None, repeats=rule)).id

    with pytest.raises(HistoryError, match="too often"):
        await put_again(14)
    for _ in range(MAX_RECURRING):
        kept = await put_again(15)
    with pytest.raises(HistoryError, match="/remind cancel NUMBER"):
        await put_again(15)
    await put(book, ADA, "once", 5)

    assert [each.repeats for each in book.of_person(ADA)[:2]] == [None, Recurrence(minutes=15)]
    book.move_on(kept, NOW + timedelta(days=1))
    assert book.of_person(ADA)[-1].due_at == NOW + timedelta(days=1)
