"""SpendingStore and its report: days, people and refusals in the ledger."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from familiar_connect.config.limits import LimitsConfig
from familiar_connect.observe.ledger import SQLiteCollector
from familiar_connect.observe.spending import NOBODY, DayRecord, RefusedMessages, Spending, SpendingStore
from familiar_connect.observe.spending_report import refusals_text, spending_facts, spending_text

DAY = "2026-03-01"
PERSON = "discord:4711471147114711"


def filled_store(path: Path) -> SpendingStore:
    store = SpendingStore(path / "metrics.db", "ember")
    record = DayRecord(DAY)
    record.add_spending(PERSON, Spending(calls=1, prompt_tokens=1000, completion_tokens=50, money=0.5))
    record.add_spending(NOBODY, Spending(calls=2, prompt_tokens=10))
    record.add_refusal(PERSON, "ignored", RefusedMessages(messages=3, last_at="2026-03-01T10:00:00+01:00"))
    assert store.add(record)
    assert store.add(record)
    return store


def test_what_is_added_twice_is_twice_as_much_and_each_familiar_has_its_own(tmp_path: Path) -> None:
    """Rows are sums."""
    record = filled_store(tmp_path).read(DAY)
    other = SpendingStore(tmp_path / "metrics.db", "mira").read(DAY)

    assert record is not None
    assert (record.total.tokens, record.total.calls, record.total.money) == (2120, 6, 1.0)
    assert record.refusals[PERSON, "ignored"].messages == 6
    assert other is not None
    assert other.is_empty


def test_writing_and_reading_at_once_is_as_one_after_the_other(tmp_path: Path) -> None:
    """Also where nothing is to be written, for which no file is made, and where the day is another one."""
    store = SpendingStore(tmp_path / "metrics.db", "ember")
    assert store.add_and_read([], DAY) == (DayRecord(DAY), [])
    assert not (tmp_path / "metrics.db").exists()

    spent = DayRecord(DAY, {PERSON: Spending(calls=1, prompt_tokens=7)})
    before = DayRecord("2026-02-28", {PERSON: Spending(calls=5)})
    assert store.add_and_read([before, spent], DAY) == (spent, [])
    assert store.add_and_read([spent], DAY) == (store.read(DAY), [])
    twice = store.read(DAY)
    assert twice is not None
    assert twice.total == Spending(calls=2, prompt_tokens=14)


def test_what_cannot_be_written_comes_back_and_what_was_is_not_written_again(tmp_path: Path) -> None:
    """A file that is no database takes nothing; a row that cannot be read costs the reading alone."""
    spent = DayRecord(DAY, {PERSON: Spending(calls=1)})
    (tmp_path / "broken.db").write_text("no database at all, and long enough to be seen as none of ours" * 20)
    assert SpendingStore(tmp_path / "broken.db", "ember").add_and_read([spent], DAY) == (None, [spent])

    store = SpendingStore(tmp_path / "metrics.db", "ember")
    store.add(spent)
    with sqlite3.connect(tmp_path / "metrics.db") as db:
        db.execute("INSERT INTO spending VALUES ('ember', ?, 'someone', 'many', 0, 0, 0)", (DAY,))
    db.close()
    assert store.add_and_read([spent], DAY) == (None, [])
    with sqlite3.connect(tmp_path / "metrics.db") as db:
        assert db.execute("SELECT calls FROM spending WHERE person = ?", (PERSON,)).fetchall() == [(2,)]
    db.close()


def test_a_ledger_of_an_earlier_version_gets_its_tables(tmp_path: Path) -> None:
    """They are made when something is first counted."""
    filled_store(tmp_path)
    with sqlite3.connect(tmp_path / "metrics.db") as db:
        db.executescript("DROP TABLE spending; DROP TABLE refusals;")
    db.close()
    record = filled_store(tmp_path).read(DAY)

    assert record is not None
    assert record.total.tokens == 2120
    assert SQLiteCollector(tmp_path / "metrics.db").problem() is None


def test_days_long_past_are_let_go(tmp_path: Path) -> None:
    """The table does not grow for ever."""
    store = filled_store(tmp_path)
    store.add(DayRecord("2027-06-01", {PERSON: Spending(calls=1)}))

    past, now = store.read(DAY), store.read("2027-06-01")
    assert past is not None
    assert past.is_empty
    assert now is not None
    assert not now.is_empty


def test_a_person_who_is_forgotten_leaves_the_sum_and_no_trace(tmp_path: Path) -> None:
    """Neither in a row nor in a free page or the log."""
    store = filled_store(tmp_path)
    store.erase(PERSON)
    record = store.read(DAY)

    assert record is not None
    assert record.total.tokens == 2120
    assert record.refusals == {}
    for path in tmp_path.iterdir():
        assert PERSON.encode() not in path.read_bytes()


def test_the_report_tells_the_day_each_person_and_who_was_not_answered(tmp_path: Path) -> None:
    """Against the limits, with the reason."""
    record = filled_store(tmp_path).read(DAY)
    assert record is not None
    text = spending_text(record, LimitsConfig(tokens_per_day=5000))
    refused = refusals_text(record)

    assert "2,120" in text
    assert "5,000" in text
    assert "(memory and upkeep)" in text
    assert "tokens 1,000,000, money 1.00" in text
    assert PERSON in refused
    assert "you ignore them" in refused
    assert refusals_text(DayRecord(DAY)) == ""
    assert spending_facts(record, LimitsConfig())["tokens_per_day"] is None
