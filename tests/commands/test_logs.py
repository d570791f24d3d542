"""logs and export chat: what was said, on the screen and in files."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.history.chats import ChatRegistry
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.types import RemovalCause
from familiar_connect.history.withdrawal.withdrawals import Withdrawals
from familiar_connect.identity import Author
from tests.fakes.program import make_home, one_sentence, run_program

SAM = Author("terminal", "sam", None, "Sam")
BEGAN = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home in which something was said in two chats and on a server."""
    root = make_home(tmp_path)
    travels = ChatRegistry(FamiliarFolder(root)).start(1, "travels")
    store = HistoryStore(root / "history.db")
    said = [
        (1, "user", SAM, "Hello \x1b[31mthere"),
        (1, "assistant", None, "Good **evening**.\nTea?"),
        (travels.channel_id, "user", SAM, "The lighthouse is green."),
        (9001, "user", SAM, "On a server."),
    ]
    for count, (channel_id, role, author, text) in enumerate(said):
        store.append_turn(
            familiar_id="ember",
            channel_id=channel_id,
            role=role,
            author=author,
            content=text,
            guild_id=7 if channel_id == 9001 else None,
            timestamp=BEGAN + timedelta(minutes=count),
        )
    store.close()
    (root / "channels").mkdir(exist_ok=True)
    (root / "channels" / "9001.toml").write_text('channel_name = "kitchen"\nmode = "text"\n', encoding="utf-8")
    return tmp_path


def test_logs_show_the_last_turns_of_all_places(home: Path) -> None:
    """Oldest first, with place and speaker; what was said commands no terminal."""
    shown = run_program(home, "logs").stdout

    assert shown.index("main  Sam: Hello") < shown.index("main  Ember: Good") < shown.index("travels  Sam: The light")
    assert "kitchen  Sam: On a server." in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize(
    ("options", "texts"),
    [
        (["-n", "1"], ["On a server."]),
        (["--chat", "Travels"], ["The lighthouse is green."]),
        (["-q", "LIGHTHOUSE"], ["The lighthouse is green."]),
        (["--channel", "9001"], ["On a server."]),
        (["-q", "nowhere"], []),
    ],
)
def test_logs_can_be_narrowed(home: Path, options: list[str], texts: list[str]) -> None:
    """By number, chat, channel and words; as JSON for scripts."""
    rows = json.loads(run_program(home, "logs", "--json", *options).stdout)

    assert [row["text"] for row in rows] == texts


def test_logs_show_what_was_taken_back_and_why(home: Path) -> None:
    """For the owner's eyes: how it was removed, and what it read."""
    store = HistoryStore(home / "familiars/ember/history.db")
    rows = Withdrawals(store, "ember")
    rows.withdraw([3], RemovalCause.deleted)
    rows.withdraw([4], RemovalCause.banned)
    store.close()
    shown = " ".join(run_program(home, "logs", "-n", "2").stdout.split())
    facts = json.loads(run_program(home, "logs", "-n", "2", "--json").stdout)

    assert "(message deleted) [removed: the message was deleted; it read: The lighthouse is green.]" in shown
    assert "(message deleted) [removed with a ban; it read: On a server.]" in shown
    assert [row["removed_by"] for row in facts] == ["delete", "ban"]


def test_the_programs_own_log_is_a_flag_away(home: Path) -> None:
    """Its last lines, or that there are none."""
    assert "nothing has been logged yet" in run_program(home, "logs", "--program").stdout
    (home / "cache").mkdir(exist_ok=True)
    (home / "cache" / "familiar.log").write_text("one\ntwo\n", encoding="utf-8")

    assert run_program(home, "logs", "--program", "-n", "1").stdout.splitlines()[-1] == "two"


def test_a_chat_goes_out_as_sillytavern_reads_it(home: Path) -> None:
    """A head with both names, then a message a line; what was said is byte for byte there."""
    done = run_program(home, "export", "chat", "--chat", "main", "-o", "-")
    head, *messages = map(json.loads, done.stdout.splitlines())

    assert (head["user_name"], head["character_name"], head["create_date"]) == (
        "Sam",
        "Ember",
        "2026-03-01T12:00:00.000Z",
    )
    assert isinstance(head["chat_metadata"], dict)
    assert [(m["name"], m["is_user"], m["is_system"], m["mes"]) for m in messages] == [
        ("Sam", True, False, "Hello \x1b[31mthere"),
        ("Ember", False, False, "Good **evening**.\nTea?"),
    ]
    assert messages[0]["send_date"] == "2026-03-01T12:00:00.000Z"
    assert (messages[1]["swipes"], messages[1]["swipe_id"]) == (["Good **evening**.\nTea?"], 0)


def test_a_chat_goes_out_as_markdown(home: Path, tmp_path: Path) -> None:
    """The ending of the file says so."""
    target = tmp_path / "main.md"
    done = run_program(home, "export", "chat", "--chat", "main", "-o", str(target))

    assert "2 messages" in done.stdout
    text = target.read_text(encoding="utf-8")
    assert text.startswith("# Ember: main\n")
    assert "\n\nGood **evening**.\nTea?\n" in text


def test_the_chat_of_last_time_goes_into_the_exports_folder(home: Path) -> None:
    """Without any option."""
    done = run_program(home, "export", "chat")
    target = home / "exports" / "ember-travels.jsonl"

    assert str(target) in done.stdout
    assert len(target.read_text(encoding="utf-8").splitlines()) == 2


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        (["--chat", "nowhere"], 1, "there are: main, travels"),
        (
            ["--familiar", "ember", "--channel", "12"],
            1,
            "nothing was said in 12 yet: `familiar chat --list --familiar ember` and `familiar logs --familiar ember`",
        ),
        (["-o", "chat.pdf"], 2, "cannot be saved as .pdf"),
        (["--chat", "main", "--channel", "1"], 2, "not both"),
    ],
)
def test_what_cannot_be_exported_is_one_sentence(home: Path, options: list[str], code: int, says: str) -> None:
    """And nothing is written."""
    done = run_program(home, "export", "chat", *options, cwd=home)

    assert done.returncode == code
    assert says in one_sentence(done)
    assert not (home / "exports").exists()


def test_names_stand_where_a_card_wrote_macros(home: Path) -> None:
    """To people; a script gets what is stored."""
    root = home / "familiars" / "ember"
    (root / "character.toml").write_text('user_name = "Sam"\n', encoding="utf-8")
    store = HistoryStore(root / "history.db")
    store.append_turn(
        familiar_id="ember", channel_id=1, role="assistant", content="{{char}} waves: before the tide, {{User}}."
    )
    store.close()

    assert "Ember: Ember waves: before the tide, Sam." in run_program(home, "logs", "-n", "1").stdout
    [row] = json.loads(run_program(home, "logs", "-n", "1", "--json").stdout)
    assert row["text"] == "{{char}} waves: before the tide, {{User}}."
