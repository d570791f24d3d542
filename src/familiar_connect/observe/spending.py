"""SpendingStore: what each day cost, person by person, and who was not answered, in `metrics.db` beside the traces.

Several programs may add to one day. A database that cannot be read or written costs one warning; the caller keeps
what it could not write.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from familiar_connect.observe.ledger import open_ledger

logger = logging.getLogger(__name__)

NOBODY = ""
"""Whom calls are counted for that no person asked for, such as the memory writer's."""
KEEP_DAYS = 400
"""Days kept; older ones go when a new day begins."""
KEEP_MINUTES = 60
"""Minutes whose replies are kept one by one."""


@dataclass(frozen=True, kw_only=True)
class Spending:
    """What was used: by one person on one day, or in one call."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    money: float = 0.0

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Spending) -> Spending:
        return Spending(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            money=self.money + other.money,
        )


@dataclass(frozen=True, kw_only=True)
class RefusedMessages:
    """Messages of one person that were not answered, for one reason, on one day."""

    messages: int = 0
    is_told: bool = False
    """Whether somebody was told."""
    last_at: str = ""

    def __add__(self, other: RefusedMessages) -> RefusedMessages:
        return RefusedMessages(
            messages=self.messages + other.messages,
            is_told=self.is_told or other.is_told,
            last_at=max(self.last_at, other.last_at),
        )


@dataclass
class DayRecord:
    """One day: spending by person and by place, refusals by person and reason; and the replies of the last hour."""

    day: str
    spending: dict[str, Spending] = field(default_factory=dict)
    refusals: dict[tuple[str, str], RefusedMessages] = field(default_factory=dict)
    places: dict[str, Spending] = field(default_factory=dict)
    """Of what people took, the part of each `channel:ID`, and of each `server:ID` that has limits of its own."""
    replies: dict[tuple[str, int], int] = field(default_factory=dict)
    """By the person or place that has a limit an hour, and the minute since 1970; they may be of the day before."""

    @property
    def total(self) -> Spending:
        spent = self.spending.values()
        return Spending(  # asked at every message: one sum for each number, not one for each person
            calls=sum(each.calls for each in spent),
            prompt_tokens=sum(each.prompt_tokens for each in spent),
            completion_tokens=sum(each.completion_tokens for each in spent),
            money=sum(each.money for each in spent),
        )

    def add_spending(self, person: str, spent: Spending) -> None:
        self.spending[person] = self.spending.get(person, Spending()) + spent

    def add_place(self, place: str, spent: Spending) -> None:
        self.places[place] = self.places.get(place, Spending()) + spent

    def add_refusal(self, person: str, reason: str, refused: RefusedMessages) -> None:
        self.refusals[person, reason] = self.refusals.get((person, reason), RefusedMessages()) + refused

    def add_replies(self, whose: str, minute: int, number: int) -> None:
        self.replies[whose, minute] = self.replies.get((whose, minute), 0) + number

    def add_day(self, other: DayRecord) -> None:
        for person, spent in other.spending.items():
            self.add_spending(person, spent)
        for place, spent in other.places.items():
            self.add_place(place, spent)
        for (person, reason), refused in other.refusals.items():
            self.add_refusal(person, reason, refused)
        for (whose, minute), number in other.replies.items():
            self.add_replies(whose, minute, number)

    @property
    def is_empty(self) -> bool:
        return not (self.spending or self.refusals or self.places or self.replies)


class SpendingStore:
    """The spending of one familiar, in the ledger at *path*. Synchronous: callers on a loop run it in a thread."""

    def __init__(self, path: Path, familiar_id: str) -> None:
        self._path = path
        self._familiar_id = familiar_id
        self._warned = False

    def add(self, record: DayRecord) -> bool:
        """Add *record* to its day; False: it could not be written."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with open_ledger(self._path) as db, db:
                self._write(db, record)
        except (sqlite3.Error, OSError) as failure:
            self._warn(failure)
            return False
        self._warned = False
        return True

    def add_and_read(self, records: Sequence[DayRecord], day: str) -> tuple[DayRecord | None, list[DayRecord]]:
        """Add each of *records* to its day; what is kept of *day* then, and the records that could not be written.

        As `add` and `read` one after the other, by one opening of the file: it is asked for after every call.
        """
        if not records:
            return self.read(day), []
        found, left = DayRecord(day), list(records)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with open_ledger(self._path) as db:
                with db:
                    for each in records:
                        self._write(db, each)
                left = []
                self._read_into(db, found)
        except (sqlite3.Error, OSError, TypeError, ValueError):
            return self.read(day), [each for each in left if not self.add(each)]
        self._warned = False
        return found, []

    def read(self, day: str) -> DayRecord | None:
        """What is kept of *day*; None: it cannot be read."""
        record = DayRecord(day)
        if not self._path.exists():
            return record
        try:
            with open_ledger(self._path) as db:
                self._read_into(db, record)
        except (sqlite3.Error, OSError, TypeError, ValueError) as failure:
            self._warn(failure)
            return None
        return record

    def has_refusals(self) -> bool:
        """Whether anybody was not answered on any day that is kept; False where that cannot be read."""
        if not self._path.exists():
            return False
        try:
            with open_ledger(self._path) as db:
                found = db.execute("SELECT 1 FROM refusals WHERE familiar_id = ? LIMIT 1", (self._familiar_id,))
                return found.fetchone() is not None
        except (sqlite3.Error, OSError) as failure:
            self._warn(failure)
            return False

    def erase(self, person: str) -> None:
        """Keep what *person* cost without saying whose it was, and not that they were refused."""
        if not self._path.exists():
            return
        try:
            with open_ledger(self._path) as db:
                db.execute("PRAGMA secure_delete = ON")
                with db:
                    self._move_to_nobody(db, person)
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except (sqlite3.Error, OSError) as failure:
            self._warn(failure)

    def _move_to_nobody(self, db: sqlite3.Connection, person: str) -> None:
        rows = db.execute(
            "SELECT day, calls, prompt_tokens, completion_tokens, money FROM spending"
            " WHERE familiar_id = ? AND person = ?",
            (self._familiar_id, person),
        ).fetchall()
        for table in ("spending", "refusals"):
            db.execute(f"DELETE FROM {table} WHERE familiar_id = ? AND person = ?", (self._familiar_id, person))
        db.execute("DELETE FROM replies WHERE familiar_id = ? AND whose = ?", (self._familiar_id, person))
        for day, calls, read, written, money in rows:
            spent = Spending(calls=calls, prompt_tokens=read, completion_tokens=written, money=money)
            self._write(db, DayRecord(day, {NOBODY: spent}))

    def _write(self, db: sqlite3.Connection, record: DayRecord) -> None:
        for table, amounts in (("spending", record.spending), ("place_spending", record.places)):
            db.executemany(
                f"INSERT INTO {table} VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
                " calls = calls + excluded.calls, prompt_tokens = prompt_tokens + excluded.prompt_tokens,"
                " completion_tokens = completion_tokens + excluded.completion_tokens, money = money + excluded.money",
                [
                    (
                        self._familiar_id,
                        record.day,
                        whose,
                        one.calls,
                        one.prompt_tokens,
                        one.completion_tokens,
                        one.money,
                    )
                    for whose, one in amounts.items()
                ],
            )
        db.executemany(
            "INSERT INTO refusals VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
            " messages = messages + excluded.messages, told = max(told, excluded.told),"
            " last_at = max(last_at, excluded.last_at)",
            [
                (self._familiar_id, record.day, person, reason, one.messages, int(one.is_told), one.last_at)
                for (person, reason), one in record.refusals.items()
            ],
        )
        self._write_replies(db, record)
        for table in ("spending", "place_spending", "refusals"):
            db.execute(
                f"DELETE FROM {table} WHERE familiar_id = ? AND day < date(?, ?)",
                (self._familiar_id, record.day, f"-{KEEP_DAYS} days"),
            )

    def _write_replies(self, db: sqlite3.Connection, record: DayRecord) -> None:
        """The replies of *record*; what is more than an hour from the newest, in either direction, goes."""
        if not record.replies:
            return
        db.executemany(
            "INSERT INTO replies VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET replies = replies + excluded.replies",
            [(self._familiar_id, minute, whose, number) for (whose, minute), number in record.replies.items()],
        )
        newest = max(minute for _, minute in record.replies)
        db.execute(
            "DELETE FROM replies WHERE familiar_id = ? AND minute NOT BETWEEN ? AND ?",
            (self._familiar_id, newest - KEEP_MINUTES, newest + KEEP_MINUTES),
        )

    def _read_into(self, db: sqlite3.Connection, record: DayRecord) -> None:
        where: Sequence[str] = (self._familiar_id, record.day)
        for table, column, amounts in (
            ("spending", "person", record.spending),
            ("place_spending", "place", record.places),
        ):
            for whose, calls, read, written, money in db.execute(
                f"SELECT {column}, calls, prompt_tokens, completion_tokens, money FROM {table}"
                " WHERE familiar_id = ? AND day = ?",
                where,
            ):
                amounts[str(whose)] = Spending(
                    calls=int(calls), prompt_tokens=int(read), completion_tokens=int(written), money=float(money)
                )
        for person, reason, messages, told, last_at in db.execute(
            "SELECT person, reason, messages, told, last_at FROM refusals WHERE familiar_id = ? AND day = ?", where
        ):
            record.refusals[str(person), str(reason)] = RefusedMessages(
                messages=int(messages), is_told=bool(told), last_at=str(last_at)
            )
        for whose, minute, number in db.execute(
            "SELECT whose, minute, replies FROM replies WHERE familiar_id = ?", (self._familiar_id,)
        ):
            record.add_replies(str(whose), int(minute), int(number))

    def _warn(self, failure: Exception) -> None:
        if not self._warned:
            logger.warning(
                "the day's spending cannot be kept or read; limits count from the start of the program",
                extra={"file": str(self._path), "error": f"{type(failure).__name__}: {failure}"},
            )
        self._warned = True
