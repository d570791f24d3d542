"""One database, one owner: migrations, transactions, threads, and what is said when SQLite complains."""

from __future__ import annotations

import os
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.errors import FamiliarError, HistoryError
from familiar_connect.support.no_follow import LinkRefused
from familiar_connect.support.sqlite import Database, Migration, connect_unlinked
from familiar_connect.support.text import without_surrogates


def _notes(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT)")


def _first_note(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO notes (body) VALUES ('first')")


NOTES = (Migration("notes", _notes), Migration("first_note", _first_note))


def bodies(database: Database) -> list[str]:
    return [row[0] for row in database.read("SELECT body FROM notes ORDER BY id")]


def test_migrations_run_once_in_order(tmp_path: Path) -> None:
    """Opening a second time changes nothing."""
    for _ in range(2):
        with Database(tmp_path / "a.db", NOTES) as database:
            found = bodies(database)

    assert found == ["first"]


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="links need a system that has them")
@pytest.mark.parametrize("query", ["", "mode=rwc"])
def test_a_link_put_there_while_it_is_opened_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    """It was none when it was looked at; what it leads to stays as it was."""
    path, target = tmp_path / "a.db", tmp_path / "outside.db"
    Database(target, NOTES).close()
    before = target.read_bytes(), target.stat().st_mtime_ns
    real = sqlite3.connect

    def connect_too_late(*args: Any, **settings: Any) -> sqlite3.Connection:
        path.symlink_to(target)
        opened: sqlite3.Connection = real(*args, **settings)
        return opened

    monkeypatch.setattr(sqlite3, "connect", connect_too_late)
    with pytest.raises(LinkRefused, match=r"a\.db is a link"):
        connect_unlinked(path, query)
    assert (target.read_bytes(), target.stat().st_mtime_ns) == before


def test_a_new_migration_runs_on_an_older_file(tmp_path: Path) -> None:
    """Only what has not run yet runs."""
    Database(tmp_path / "a.db", NOTES[:1]).close()

    with Database(tmp_path / "a.db", NOTES) as database:
        assert bodies(database) == ["first"]


def test_a_failing_migration_leaves_nothing_behind(tmp_path: Path) -> None:
    """Half a step is undone, and the next start tries it again."""

    def breaks(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO notes (body) VALUES ('half')")
        connection.execute("SELECT * FROM nowhere")

    with pytest.raises(FamiliarError, match=r"could not be used \(no such table: nowhere\)"):
        Database(tmp_path / "a.db", (*NOTES, Migration("breaks", breaks)))

    with Database(tmp_path / "a.db", NOTES) as database:
        assert bodies(database) == ["first"]


def test_many_may_open_a_new_file_at_once(tmp_path: Path) -> None:
    """Whoever comes second waits, and nothing runs twice."""
    with ThreadPoolExecutor(6) as pool:
        opened = list(pool.map(lambda _: Database(tmp_path / "a.db", NOTES), range(6)))

    assert [bodies(database) for database in opened] == [["first"]] * 6
    for database in opened:
        database.close()


def test_history_grade_durability_is_asked_of_sqlite(tmp_path: Path) -> None:
    """A write-ahead log, flushed at every commit."""
    with Database(tmp_path / "a.db", NOTES, synchronous="FULL") as database, database.transaction() as connection:
        found = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]

    assert found == ["wal", 2]


def test_a_transaction_is_all_or_nothing() -> None:
    """An exception undoes what was written before it, in inner transactions too."""
    database = Database(":memory:", NOTES)

    def interrupted() -> None:
        with database.transaction():
            with database.transaction():
                database.write("INSERT INTO notes (body) VALUES ('second')")
            assert bodies(database) == ["first", "second"]
            raise KeyError("third")

    with pytest.raises(KeyError):
        interrupted()
    assert bodies(database) == ["first"]
    database.close()


def test_readers_do_not_wait_for_a_writer(tmp_path: Path) -> None:
    """While one thread is in a transaction, another reads what was there before it."""
    with Database(tmp_path / "a.db", NOTES) as database, ThreadPoolExecutor(1) as pool:
        with database.transaction():
            database.write("INSERT INTO notes (body) VALUES ('second')")
            seen_meanwhile = pool.submit(bodies, database).result(timeout=100)

        assert (seen_meanwhile, bodies(database)) == (["first"], ["first", "second"])


@pytest.mark.parametrize("place", ["file", ":memory:"])
def test_threads_write_side_by_side(tmp_path: Path, place: str) -> None:
    """Every thread's rows arrive, in a file or in memory."""
    database = Database(tmp_path / "a.db" if place == "file" else place, NOTES)
    start = threading.Barrier(4)

    def write(who: int) -> None:
        start.wait(timeout=100)
        for number in range(25):
            database.write("INSERT INTO notes (body) VALUES (?)", (f"{who}-{number}",))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))

    assert sorted(bodies(database)[1:]) == sorted(f"{who}-{number}" for who in range(4) for number in range(25))
    database.close()


def test_a_file_that_is_no_database_is_named_and_left_alone(tmp_path: Path) -> None:
    """One sentence says which file, what to do, and not a byte of it changes."""
    path = tmp_path / "a.db"
    path.write_bytes(b"this was a shopping list\n" * 400)

    with pytest.raises(HistoryError) as caught:
        Database(path, NOTES, error=HistoryError, doctor="familiar doctor")
    assert str(caught.value) == (
        f"{path} is damaged (file is not a database); it was left as it is: move it aside with the files beside it "
        f"(mv {path}* SOME-OTHER-FOLDER/) to start a new one, or run `familiar doctor`."
    )
    assert path.read_bytes() == b"this was a shopping list\n" * 400
    assert [found.name for found in tmp_path.iterdir()] == ["a.db"]


def test_a_log_without_its_database_is_kept(tmp_path: Path) -> None:
    """SQLite would delete it, and what was last written with it."""
    log = tmp_path / "a.db-wal"
    log.write_bytes(b"the last things said")
    (tmp_path / "a.db").touch()

    with pytest.raises(FamiliarError, match=r"a\.db is damaged \(empty or missing, while a\.db-wal"):
        Database(tmp_path / "a.db", NOTES)
    assert log.read_bytes() == b"the last things said"


def test_damaged_pages_are_recognised(tmp_path: Path) -> None:
    """A file that opens well but is torn inside says so when it is read, and in a check."""
    path = tmp_path / "a.db"
    with Database(path, NOTES) as database, database.transaction() as connection:
        connection.executemany("INSERT INTO notes (body) VALUES (?)", [("x" * 500,)] * 400)
        sound = database.check()
    torn = bytearray(path.read_bytes())
    torn[3 * 4096 :] = b"\x5a" * (len(torn) - 3 * 4096)
    path.write_bytes(torn)

    with Database(path, NOTES) as database:
        complaints = database.check()
        with pytest.raises(FamiliarError, match="is damaged"):
            bodies(database)
    assert sound == []
    assert complaints


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    """The write that does not fit is refused in a sentence; what was there stays, and later writes go on."""
    with Database(tmp_path / "a.db", NOTES) as database:
        pages = database.read("PRAGMA page_count")[0][0]
        database.write(f"PRAGMA max_page_count={pages + 1}")

        with pytest.raises(FamiliarError, match=r"a\.db cannot grow because the disk is full: free some space"):
            database.write("INSERT INTO notes (body) VALUES (?)", ("x" * 50_000,))

        database.write("PRAGMA max_page_count=10000")
        database.write("INSERT INTO notes (body) VALUES ('second')")
        assert bodies(database) == ["first", "second"]


def test_a_full_disk_undoes_a_transaction(tmp_path: Path) -> None:
    """All or nothing holds when the disk fills up in between."""
    with Database(tmp_path / "a.db", NOTES) as database:
        pages = database.read("PRAGMA page_count")[0][0]
        database.write(f"PRAGMA max_page_count={pages + 1}")

        def too_much() -> None:
            with database.transaction():
                database.write("INSERT INTO notes (body) VALUES ('second')")
                database.write("INSERT INTO notes (body) VALUES (?)", ("x" * 50_000,))

        with pytest.raises(FamiliarError, match="disk is full"):
            too_much()
        assert bodies(database) == ["first"]


def test_a_read_only_file_is_named(tmp_path: Path) -> None:
    """The sentence says what may not be written."""
    with Database(tmp_path / "a.db", NOTES) as database:
        database.write("PRAGMA query_only=ON")

        with pytest.raises(FamiliarError, match=r"a\.db is read-only: allow writing"):
            database.write("INSERT INTO notes (body) VALUES ('second')")
        assert bodies(database) == ["first"]


def test_a_place_where_no_file_can_be_is_named(tmp_path: Path) -> None:
    """Under a file, or where a folder stands, nothing can be opened."""
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    (tmp_path / "folder").mkdir()

    with pytest.raises(FamiliarError, match=r"a\.db cannot be opened or created"):
        Database(tmp_path / "file" / "a.db", NOTES)
    with pytest.raises(FamiliarError, match="folder cannot be opened or created: check that it is a file"):
        Database(tmp_path / "folder", NOTES)


def test_a_file_in_use_elsewhere_is_named(tmp_path: Path) -> None:
    """After the busy timeout the writer gives up with a sentence, and reads still work."""
    with Database(tmp_path / "a.db", NOTES, busy_timeout_s=0.05) as database:
        other = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")

        with pytest.raises(FamiliarError, match=r"in use by another program for over 0\.05 s"):
            database.write("INSERT INTO notes (body) VALUES ('second')")
        assert bodies(database) == ["first"]
        other.close()


def test_a_closed_database_says_so() -> None:
    """Closing twice is fine; reading or writing afterwards is not."""
    database = Database(":memory:", NOTES)
    database.close()
    database.close()

    with pytest.raises(FamiliarError, match="was closed"):
        database.read("SELECT 1")
    with pytest.raises(FamiliarError, match="was closed"):
        database.write("DELETE FROM notes")


def test_one_bad_byte_costs_that_byte() -> None:
    """Text that is not UTF-8 is read with a mark in its place, and later reads are unharmed."""
    database = Database(":memory:", NOTES)
    database.write("INSERT INTO notes (body) VALUES (CAST(? AS TEXT))", (b"caf\xe9!",))

    assert bodies(database) == ["first", "caf\ufffd!"]
    assert database.read("SELECT 'ü'") == [("ü",)]
    database.close()


@given(st.text(st.characters(codec=None)))
def test_storable_text_can_always_be_encoded(text: str) -> None:
    """Lone surrogates alone are replaced; everything else comes through as it is."""
    kept = without_surrogates(text)

    assert kept.encode().decode() == kept
    assert kept == text or any("\ud800" <= letter <= "\udfff" for letter in text)


def test_halves_of_a_pair_are_joined() -> None:
    """An emoji cut in two by its sender is whole again; half of one becomes U+FFFD."""
    assert without_surrogates("\ud83d\ude00 and \ud83d and \ude00") == "\U0001f600 and \ufffd and \ufffd"
