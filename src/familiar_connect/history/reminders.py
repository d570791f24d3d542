"""ReminderBook: what people asked to be reminded of, on disk before it is confirmed, until it was told.

One that comes again stays, with the time it comes next, until it is cancelled.

A reminder belongs to who asked for it and to the place where they did; it is told there and to nobody else.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from familiar_connect.errors import HistoryError
from familiar_connect.history.rows import author_from_columns, in_utc, parse_timestamp
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author
from familiar_connect.support.aio import off_loop
from familiar_connect.support.clock import Clock
from familiar_connect.support.recurrence import Recurrence, read_recurrence
from familiar_connect.support.sqlite import Row, storable_all
from familiar_connect.support.text import one_line, truncate_chars

MAX_PER_PERSON = 25
MAX_RECURRING = 10
"""Those of one person that come again."""
SHORTEST_APART = timedelta(minutes=15)
MAX_ALL = 1_000
"""Reminders of one familiar."""
MAX_PURPOSE_CHARS = 300
MAX_AHEAD = timedelta(days=5 * 366)
SHOWN = 50
_COLUMNS = (
    "id, channel_id, guild_id, author_platform, author_user_id, author_username, author_display_name, purpose,"
    " due_at, made_at, repeats"
)


@dataclass(frozen=True, kw_only=True)
class StoredReminder:
    """Somebody is to be reminded of something, in the place where they asked for it."""

    id: int
    channel_id: int
    guild_id: int | None
    author: Author
    purpose: str
    due_at: datetime
    made_at: datetime
    repeats: Recurrence | None = None
    """How it comes again; None: it comes once."""


class ReminderBook:
    """The reminders of one familiar. Whoever sets or cancels one is told of nothing else; watchers are."""

    def __init__(self, store: HistoryStore, familiar_id: str, *, clock: Clock) -> None:
        self._store = store
        self._database = store.database
        self._familiar_id = familiar_id
        self._clock = clock
        self._watchers: list[Callable[[], None]] = []

    def watch(self, on_change: Callable[[], None]) -> None:
        """Call *on_change* whenever a reminder was set or cancelled."""
        self._watchers.append(on_change)

    async def set(
        self,
        author: Author,
        purpose: str,
        due_at: datetime,
        *,
        channel_id: int,
        guild_id: int | None,
        repeats: Recurrence | None = None,
    ) -> StoredReminder:
        """Keep a reminder; it is on disk when this returns. HistoryError: there is no room, or no sense in it."""
        stored = await off_loop(self._add, author, purpose, due_at, channel_id, guild_id, repeats)
        self._tell_watchers()
        return stored

    async def cancel(self, author: Author, reminder_id: int) -> StoredReminder | None:
        """Take back a reminder of *author*; None: they have none of that number."""
        known = next((each for each in await off_loop(self.of_person, author) if each.id == reminder_id), None)
        if known is not None:
            await off_loop(self.remove, known.id)
            self._tell_watchers()
        return known

    def _tell_watchers(self) -> None:
        for each in self._watchers:
            each()

    def _add(
        self,
        author: Author,
        purpose: str,
        due_at: datetime,
        channel_id: int,
        guild_id: int | None,
        repeats: Recurrence | None,
    ) -> StoredReminder:
        now, due = in_utc(self._clock.now()), in_utc(due_at)
        words = truncate_chars(one_line(purpose).strip(), MAX_PURPOSE_CHARS)
        if not words:
            raise HistoryError("Say what I am to remind you of.")
        if due <= now:
            raise HistoryError("That time is past.")
        if due - now > MAX_AHEAD:
            raise HistoryError("That is more than five years ahead.")
        if repeats is not None and repeats.shortest < SHORTEST_APART:
            raise HistoryError(f"That is too often: {_minutes(SHORTEST_APART)} minutes apart is the least.")
        with self._database.transaction() as connection:
            count = "SELECT COUNT(*) FROM reminders WHERE familiar_id = ?"
            own = f"{count} AND author_platform = ? AND author_user_id = ?"
            person = (self._familiar_id, author.platform, author.user_id)
            if connection.execute(own, person).fetchone()[0] >= MAX_PER_PERSON:
                raise HistoryError(f"You have {MAX_PER_PERSON} reminders: /remind cancel NUMBER makes room.")
            again = f"{own} AND repeats IS NOT NULL"
            if repeats is not None and connection.execute(again, person).fetchone()[0] >= MAX_RECURRING:
                raise HistoryError(
                    f"You have {MAX_RECURRING} reminders that come again: /remind cancel NUMBER makes room."
                )
            if connection.execute(count, (self._familiar_id,)).fetchone()[0] >= MAX_ALL:
                raise HistoryError("I have too many reminders already.")
            values = (self._familiar_id, channel_id, guild_id, author.platform, author.user_id, author.username)
            more = (
                author.display_name,
                words,
                due.isoformat(),
                now.isoformat(),
                repeats.words if repeats is not None else None,
            )
            row = connection.execute(
                "INSERT INTO reminders (familiar_id, channel_id, guild_id, author_platform, author_user_id,"
                " author_username, author_display_name, purpose, due_at, made_at, repeats)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                storable_all((*values, *more)),
            ).lastrowid
        return StoredReminder(
            id=int(row or 0),
            channel_id=channel_id,
            guild_id=guild_id,
            author=author,
            purpose=words,
            due_at=due,
            made_at=now,
            repeats=repeats,
        )

    def of_person(self, author: Author) -> list[StoredReminder]:
        """What *author* is to be reminded of, soonest first."""
        return self._read(
            "author_platform = ? AND author_user_id = ? ORDER BY due_at, id LIMIT ?",
            (author.platform, author.user_id, MAX_PER_PERSON),
        )

    def of_channel(self, channel_id: int) -> list[StoredReminder]:
        """What is to be told in a channel, soonest first."""
        return self._read("channel_id = ? ORDER BY due_at, id LIMIT ?", (channel_id, SHOWN))

    def due_and_upcoming(self, platforms: Collection[str]) -> tuple[list[StoredReminder], datetime | None]:
        """What is due for people of *platforms*, soonest first, and when the next one falls due.

        Both as of one moment: between two looks a reminder could fall due unseen by either.
        """
        now = in_utc(self._clock.now())
        found = [
            each
            for each in self._read("1 ORDER BY due_at, id LIMIT ?", (MAX_ALL,))
            if each.author.platform in platforms
        ]
        due = [each for each in found if each.due_at <= now]
        return due, found[len(due)].due_at if len(due) < len(found) else None

    def record_plain(self, reminder: StoredReminder, words: str) -> None:
        """A reminder was told in *words* that no reply of the familiar's holds: they are its words all the same."""
        self._store.append_turn(
            familiar_id=self._familiar_id,
            channel_id=reminder.channel_id,
            role="assistant",
            content=words,
            guild_id=reminder.guild_id,
        )

    def remove(self, reminder_id: int) -> None:
        """It was told, or is not wanted any more."""
        self._database.write("DELETE FROM reminders WHERE familiar_id = ? AND id = ?", (self._familiar_id, reminder_id))

    def move_on(self, reminder_id: int, due_at: datetime) -> None:
        """It was told and comes again then."""
        self._database.write(
            "UPDATE reminders SET due_at = ? WHERE familiar_id = ? AND id = ?",
            (in_utc(due_at).isoformat(), self._familiar_id, reminder_id),
        )

    def _read(self, where: str, values: tuple[object, ...]) -> list[StoredReminder]:
        rows = self._database.read(
            f"SELECT {_COLUMNS} FROM reminders WHERE familiar_id = ? AND {where}", (self._familiar_id, *values)
        )
        return [stored for row in rows if (stored := _from_row(row)) is not None]


def _minutes(span: timedelta) -> int:
    return int(span.total_seconds() // 60)


def _from_row(row: Row) -> StoredReminder | None:
    id_, channel_id, guild_id, platform, user_id, username, display_name, purpose, due_at, made_at, repeats = row
    author = author_from_columns(platform, user_id, username, display_name)
    if author is None:
        return None
    return StoredReminder(
        id=id_,
        channel_id=channel_id,
        guild_id=guild_id,
        author=author,
        purpose=str(purpose),
        due_at=parse_timestamp(due_at),
        made_at=parse_timestamp(made_at),
        repeats=read_recurrence(str(repeats)) if repeats else None,
    )
