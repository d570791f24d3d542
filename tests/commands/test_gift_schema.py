"""A folder that somebody sent, whose database has code in it: the real program on a copy of it."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.fakes.model_server import stream_answer
from tests.fakes.program import make_home, model_endpoint, run_program
from tests.support.test_sqlite_schema import TELLS_ALL


def test_a_trigger_in_a_copied_folder_opens_no_word_to_everyone(tmp_path: Path) -> None:
    """What is said to the familiar stays with its owner, and one line says what was found, where, and what became."""
    with model_endpoint(stream_answer("Yes.")) as server:
        giver, receiver = tmp_path / "giver", tmp_path / "receiver"
        root = make_home(giver, server)
        assert run_program(giver, "ask", "Are you there?").returncode == 0
        with closing(sqlite3.connect(root / "history.db")) as database:
            database.execute(TELLS_ALL)
        shutil.copytree(giver, receiver)

        done = run_program(receiver, "ask", "Keep this to yourself.")

    folder = receiver / root.relative_to(giver)
    with closing(sqlite3.connect(folder / "history.db")) as database:
        audiences = {row[0] for row in database.execute("SELECT DISTINCT audience FROM turns")}
        triggers = {row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")}
    assert (done.returncode, "Traceback" in done.stderr, done.stdout.strip()) == (0, False, "Yes."), done.stderr
    assert "everyone" not in audiences
    assert "helpful" not in triggers
    logged = run_program(receiver, "logs", "--program")
    (line,) = [line for line in logged.stdout.splitlines() if "helpful" in line]
    assert "history.db" in line
    assert "taken out before it could run" in line


def test_a_database_with_a_computed_column_is_refused_in_a_sentence(tmp_path: Path) -> None:
    """No traceback, a code that is not 0, and the file is left as it was."""
    root = make_home(tmp_path)
    with closing(sqlite3.connect(root / "history.db")) as database:
        database.execute("CREATE TABLE turns (content TEXT, loud TEXT AS (upper(content)))")
        database.commit()

    done = run_program(tmp_path, "ask", "Are you there?")

    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert 'the table "turns" is not as this program makes it' in done.stderr
