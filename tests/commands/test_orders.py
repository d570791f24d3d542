"""Orders to a familiar through the program as a process: rehearsed, and typed at the terminal."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.fakes.model_server import stream_answer
from tests.fakes.page import PageProcess, needs_page
from tests.fakes.program import make_home, model_endpoint, run_program
from tests.fakes.waiting import wait_until

EXAMPLES = Path(__file__).parents[2] / "examples" / "rehearse"


@pytest.mark.parametrize("name", ["marks_set", "reminders_kept", "reminders_come_again"])
def test_the_example_holds(tmp_path: Path, name: str) -> None:
    """As an owner would rehearse it."""
    done = run_program(tmp_path, "rehearse", str(EXAMPLES / f"{name}.json"), "--scripted")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 failed" in done.stdout


def test_a_chat_at_the_terminal_is_begun_anew(tmp_path: Path) -> None:
    """What was said is not sent any more, until that is taken back."""
    with model_endpoint(*(stream_answer(text) for text in ("One.", "Two.", "Three."))) as server:
        make_home(tmp_path, server)
        said = "I like ska.\n/reset\nHello?\n/reset undo\nWell?\n"
        done = run_program(tmp_path, "chat", "--plain", said=said)

    assert "starts over" in done.stdout
    sent = [str(request.payload["messages"]) for request in server.requests]
    assert ["I like ska." in each for each in sent] == [True, False, True]


def test_a_reminder_set_at_the_terminal_is_told_at_the_next_visit(tmp_path: Path) -> None:
    """Late, and it says so; then it is crossed out."""
    with model_endpoint(stream_answer("Hm.")) as server:
        root = make_home(tmp_path, server)
        done = run_program(tmp_path, "chat", "--plain", said="/remind in 1 minute stretch\n/remind list\n")
        assert done.stdout.count("stretch") == 2
        with closing(sqlite3.connect(root / "history.db")) as database, database:
            database.execute("UPDATE reminders SET due_at = '2026-03-01T08:00:00+00:00'")
        later = run_program(tmp_path, "chat", "--plain", said="/remind list\n")

    assert "stretch (late: it was due on 2026-03-01 at 08:00)" in later.stderr
    assert "You have no reminders." in later.stdout


@needs_page
def test_a_reminder_is_told_at_the_page_too(tmp_path: Path) -> None:
    """In the chat it was asked for in, in the familiar's own words."""
    with model_endpoint(stream_answer("Up you get, and stretch!")) as server:
        root = make_home(tmp_path, server)
        run_program(tmp_path, "chat", "--plain", said="/remind in 1 minute stretch\n")
        with closing(sqlite3.connect(root / "history.db")) as database, database:
            database.execute("UPDATE reminders SET due_at = '2026-03-01T08:00:00+00:00'")
        with PageProcess(tmp_path) as page:
            page.enter()
            wait_until(lambda: "Up you get" in page.ask("GET", "/chats/1").body, "the reminder is told")

    assert "say that it comes late" in str(server.requests[-1].payload["messages"])
