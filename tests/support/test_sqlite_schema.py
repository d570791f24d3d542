"""A database that came from elsewhere runs no code of its own, and its tables are ours or refused."""

from __future__ import annotations

import ast
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from familiar_connect.errors import HistoryError
from familiar_connect.history.store import HistoryStore
from familiar_connect.observe.ledger import open_ledger
from familiar_connect.support.sqlite import Database, Migration, connect_unlinked
from tools import structure

TELLS_ALL = (
    "CREATE TRIGGER helpful AFTER INSERT ON turns BEGIN UPDATE turns SET audience = 'everyone' WHERE id = NEW.id; END"
)
FOREIGN = {
    "trigger": TELLS_ALL,
    "view": "CREATE VIEW helpful AS SELECT content FROM turns",
    "computed index": "CREATE INDEX helpful ON turns (lower(content))",
    "index that forbids": "CREATE UNIQUE INDEX helpful ON turns (content)",
    "partial index": "CREATE INDEX helpful ON turns (content) WHERE id > 5",
}


def plant(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.executescript(script)


def names_in(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as database:
        return {row[0] for row in database.execute("SELECT name FROM sqlite_master")}


@pytest.fixture
def history(tmp_path: Path) -> Path:
    path = tmp_path / "history.db"
    HistoryStore(path).close()
    return path


@pytest.mark.parametrize("script", FOREIGN.values(), ids=FOREIGN.keys())
def test_code_that_is_none_of_ours_is_taken_out_with_a_sentence(
    history: Path, script: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The file as it was is kept beside it, and all that is ours stays."""
    ours = names_in(history)
    plant(history, script)

    HistoryStore(history).close()

    copies = list(history.parent.glob("history.db.before-cleaning-*"))
    assert (names_in(history), len(copies)) == (ours, 1)
    assert "helpful" in names_in(copies[0])
    assert "taken out" in caplog.text
    assert '"helpful"' in caplog.records[-1].__dict__["found"]


def test_a_planted_trigger_does_not_run_even_while_an_old_file_is_brought_up_to_date(tmp_path: Path) -> None:
    """The migrations write too, and they come after the look."""
    path = tmp_path / "history.db"
    HistoryStore(path).close()
    plant(path, "CREATE TABLE loot (it); DELETE FROM migrations WHERE name IN ('turn_audiences', 'reminders');")
    plant(path, "CREATE TRIGGER helpful AFTER INSERT ON migrations BEGIN INSERT INTO loot VALUES (NEW.name); END")

    with closing(HistoryStore(path)) as store:
        assert store.database.read("SELECT * FROM loot") == []


def test_a_plain_index_and_a_plain_table_of_others_stay(history: Path) -> None:
    """They do nothing by themselves, and somebody may have put them there on purpose."""
    plant(history, "CREATE INDEX theirs ON turns (content); CREATE TABLE tags (name TEXT)")

    HistoryStore(history).close()

    assert {"theirs", "tags"} <= names_in(history)


@pytest.mark.parametrize(
    "script",
    [
        "ALTER TABLE turns ADD COLUMN loud TEXT AS (upper(content))",
        "ALTER TABLE turns ADD COLUMN odd TEXT CHECK (length(odd) < 9)",
        "DROP TABLE reminders; CREATE VIEW reminders AS SELECT * FROM turns",
        "DROP TABLE reminders; CREATE VIRTUAL TABLE reminders USING fts5(purpose)",
        "CREATE VIRTUAL TABLE more USING fts5(purpose)",
    ],
    ids=["computed column", "check", "view for a table", "virtual for a table", "virtual table"],
)
def test_a_table_of_ours_that_was_made_to_compute_is_refused(history: Path, script: str) -> None:
    """In one sentence with the file; nothing in it is changed."""
    plant(history, script)
    before = names_in(history)

    with pytest.raises(HistoryError, match=r"history\.db is damaged .*; it was left as it is: move it aside"):
        HistoryStore(history)
    assert names_in(history) == before


def test_a_trigger_of_ours_that_was_taken_out_or_changed_is_as_before(history: Path) -> None:
    """What takes a deleted turn out of the other tables runs again."""
    plant(history, "DROP TRIGGER owed_turn_removed; DROP TRIGGER revised_turn_removed")
    plant(history, "CREATE TRIGGER revised_turn_removed AFTER DELETE ON turns BEGIN SELECT 1; END")

    with closing(HistoryStore(history)) as store:
        found: dict[str, str] = dict(
            store.database.read("SELECT name, sql FROM sqlite_master WHERE name LIKE '%_turn_removed'")
        )
    assert "DELETE FROM owed_replies" in found["owed_turn_removed"]
    assert "DELETE FROM turn_revisions" in found["revised_turn_removed"]


def test_a_file_of_a_newer_version_keeps_its_triggers(history: Path) -> None:
    """An older program must not take out what a newer one relies on: it says so and goes."""
    plant(history, f"INSERT INTO migrations VALUES ('of_tomorrow', ''); {TELLS_ALL}")

    with pytest.raises(HistoryError, match="newer version of this program"):
        HistoryStore(history)
    assert "helpful" in names_in(history)


def test_the_ledger_is_cleaned_like_any_other(tmp_path: Path) -> None:
    """It is a database of ours as well."""
    path = tmp_path / "metrics.db"
    with open_ledger(path):
        pass
    plant(path, "CREATE TRIGGER helpful AFTER INSERT ON spending BEGIN DELETE FROM refusals; END")

    with open_ledger(path) as ledger:
        assert ledger.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall() == []


@pytest.mark.parametrize("query", ["", "mode=ro"])
def test_no_database_is_trusted(tmp_path: Path, query: str) -> None:
    """Whichever way it is opened, functions with an effect do not run from its schema."""
    path = tmp_path / "a.db"
    HistoryStore(path).close()

    with closing(connect_unlinked(path, query)) as connection:
        assert connection.execute("PRAGMA trusted_schema").fetchone() == (0,)
        assert connection.execute("PRAGMA cell_size_check").fetchone() == (1,)


def test_what_a_kind_of_database_is_to_hold_is_learnt_once_and_checked_in_each(tmp_path: Path) -> None:
    """To learn it is most of what opening costs; a file with code of its own is cleaned all the same."""
    ran: list[sqlite3.Connection] = []

    def make(connection: sqlite3.Connection) -> None:
        ran.append(connection)
        connection.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, said TEXT)")

    for name in ("one.db", "two.db", "two.db"):
        Database(tmp_path / name, [Migration("notes", make)]).close()
    plant(tmp_path / "two.db", "CREATE TRIGGER helpful AFTER INSERT ON notes BEGIN DELETE FROM notes; END")
    Database(tmp_path / "two.db", [Migration("notes", make)]).close()

    assert len(ran) == 3, "once to learn it, once in each file"
    assert "helpful" not in names_in(tmp_path / "two.db")


@pytest.mark.slow
def test_there_is_one_door_to_sqlite() -> None:
    """Nobody else in the program connects to a database."""
    found = {
        str(path.relative_to(structure.SRC))
        for path in structure.SRC.rglob("*.py")
        if "sqlite3" in (text := path.read_text(encoding="utf-8"))  # whoever connects names it
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute) and ast.unparse(node) in ("sqlite3.connect", "sqlite3.dbapi2.connect")
    }
    assert found == {"support/sqlite.py"}
