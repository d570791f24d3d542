"""memory search, reindex and stats, as somebody at a terminal meets them."""

from __future__ import annotations

import io
import itertools
import json
import re
import sqlite3
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from familiar_connect.commands.memory import search as memory_search
from familiar_connect.errors import HomeError
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import PrivacyLevel
from familiar_connect.memory.index.hashing import HashingModel
from familiar_connect.memory.index.protocols import SIGNALS
from familiar_connect.privacy import PrivacyRegistry
from tests.fakes.command_call import call_command
from tests.fakes.retrieval import ADA, BO, a_memory

Shown = pytest.CaptureFixture[str]
FILES = {
    "people/discord-2.md": "# Bo\n\nPaints boats.",
    "topics/boats.md": "# Boats\n\nThe green boat leaks near the lighthouse.",
    "self/name.md": "Wren",
    ".hidden/x.md": "not memory",
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with one familiar, who has files and a past."""
    monkeypatch.setattr(memory_search, "_embedder", lambda *_args, **_more: HashingModel())
    monkeypatch.delenv("FAMILIAR_ID", raising=False)
    root = tmp_path / "familiars" / "wren"
    a_memory(root / "memory", FILES)
    history = HistoryStore(root / "history.db")
    said = [(BO, "I buried the silver spoon under the fig tree"), (ADA, "really, the spoon?"), (ADA, "good night")]
    for minute, (who, words) in enumerate(said):
        history.append_turn(
            familiar_id="wren",
            channel_id=7,
            role="user",
            author=who,
            guild_id=5,
            content=words,
            timestamp=datetime(2025, 6, 1, 12, minute, tzinfo=UTC),
        )
    history.close()
    return tmp_path


def test_search_shows_what_was_said_with_who_and_when(home: Path, capsys: Shown) -> None:
    """Best first, with what was said right after it; exit code 0. A place is called by its name once it has one."""
    assert call_command(memory_search.search, home, "where", "is", "the", "silver", "spoon?") == 0
    shown = capsys.readouterr().out
    named = home / "familiars" / "wren" / "channels" / "7.toml"
    named.parent.mkdir()
    named.write_text('channel_name = "garden"\n', encoding="utf-8")
    assert call_command(memory_search.search, home, "where", "is", "the", "silver", "spoon?") == 0

    assert capsys.readouterr().out.startswith(" 1. said 2025-06-01 12:00 in garden (turn 1)\n")
    assert shown.startswith(" 1. said 2025-06-01 12:00 in channel 7 (turn 1)\n")
    assert "> Bo: I buried the silver spoon under the fig tree" in shown


def test_search_shows_files_with_their_place(home: Path, capsys: Shown) -> None:
    """Only files, when only files are asked for."""
    call_command(memory_search.search, home, "boat lighthouse spoon", "--files")

    shown = capsys.readouterr().out
    assert "topics/boats.md, Boats" in shown
    assert "The green boat leaks near the lighthouse." in shown
    assert "said" not in shown


def test_nothing_found_is_exit_code_1(home: Path, capsys: Shown) -> None:
    """And a sentence."""
    (home / "familiars" / "wren" / "history.db").unlink()
    assert call_command(memory_search.search, home, "zzyzx", "--turns") == 1
    assert capsys.readouterr().out == "Nothing in memory matches that.\n"


def test_a_list_that_is_cut_says_that_there_is_more(home: Path, capsys: Shown) -> None:
    """On standard error, so that a script reads what it read before; a whole list says nothing."""
    call_command(memory_search.search, home, "what did Bo bury?", "--limit", "1", "--json")
    cut = capsys.readouterr()
    call_command(memory_search.search, home, "what did Bo bury?", "--limit", "200", "--json")
    whole = capsys.readouterr()

    assert len(json.loads(cut.out)) == 1 < len(json.loads(whole.out))
    assert "these are the best 1, there are more: `--limit` shows up to 200" in cut.err
    assert "there are more" not in whole.err


def test_explain_shows_each_signals_share_and_what_it_means(home: Path, capsys: Shown) -> None:
    """The score as a sum, and below it a line for every signal that took part."""
    call_command(memory_search.search, home, "what did Bo bury?", "--explain", "--limit", "1")

    shown = capsys.readouterr().out
    assert " = " in shown
    assert re.search(r"\bwho \d\.\d\d", shown)
    assert SIGNALS["who"] in shown


def test_the_shares_add_up_in_json(home: Path, capsys: Shown) -> None:
    """What a script gets is the same, in full."""
    call_command(memory_search.search, home, "silver spoon", "--json")

    hits = json.loads(capsys.readouterr().out)
    assert hits[0]["text"] == "I buried the silver spoon under the fig tree"
    assert (hits[0]["speaker"], hits[0]["channel_id"], hits[0]["source"]) == ("Bo", 7, "turn")
    for hit in hits:
        assert sum(hit["signals"].values()) == pytest.approx(hit["score"], abs=0.01)


def test_every_signal_is_explained(home: Path, capsys: Shown) -> None:
    """No name is shown that the legend does not know."""
    call_command(memory_search.search, home, "where did Bo bury the spoon in June 2025?", "--channel", "7", "--json")

    hits = json.loads(capsys.readouterr().out)
    assert {name for hit in hits for name in hit["signals"]} <= SIGNALS.keys()


def test_search_takes_in_what_was_edited_meanwhile(home: Path, capsys: Shown) -> None:
    """From any editor, without a word."""
    call_command(memory_search.search, home, "boats")
    (home / "familiars/wren/memory/topics/kites.md").write_text("# Kites\n\nThe red kite fell.", encoding="utf-8")
    capsys.readouterr()

    call_command(memory_search.search, home, "red kite", "--files")

    assert "The red kite fell." in capsys.readouterr().out


def test_whoever_wants_not_to_be_heard_is_not_found(home: Path, capsys: Shown) -> None:
    """Even words stored before the wish."""
    PrivacyRegistry(home / "familiars/wren/privacy.toml").set(BO, PrivacyLevel.FULL)

    call_command(memory_search.search, home, "silver spoon", "--turns")

    assert "buried" not in capsys.readouterr().out


def test_reindex_tells_what_it_did(home: Path, capsys: Shown) -> None:
    """The first time everything, the second time nothing, anew everything again."""
    took = []
    for words in ([], [], ["--anew"]):
        call_command(memory_search.reindex, home, "--json", *words)
        facts = json.loads(capsys.readouterr().out)
        took.append((facts["files_taken_in"], facts["turns_taken_in"]))

    assert took == [(3, 3), (0, 0), (3, 3)]


def test_reindex_in_words(home: Path, capsys: Shown) -> None:
    """For a person."""
    call_command(memory_search.reindex, home)

    shown = capsys.readouterr().out
    assert "Added 3 files and 3 turns, removed 0 files" in shown
    assert "embedder: hashing-384" in shown


def test_a_bar_is_shown_to_whoever_watches(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the error stream of a terminal, and nowhere else."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)

    call_command(memory_search.reindex, home)

    assert "memory files" in screen.getvalue()
    assert "100%" in screen.getvalue()


def test_reindex_of_a_locked_index_says_so(home: Path) -> None:
    """One sentence, with the fix."""
    call_command(memory_search.reindex, home, "--json")
    (home / "familiars/wren/memory/new.md").write_text("new", encoding="utf-8")
    other = sqlite3.connect(home / "familiars/wren/memory/.index/embeddings.sqlite", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")

    try:
        with pytest.raises(HomeError, match="could not be updated"):
            call_command(memory_search.reindex, home, "--json")
    finally:
        other.close()


def test_stats_count_files_and_index(home: Path, capsys: Shown) -> None:
    """By folder, dot folders left out; and what the index holds."""
    call_command(memory_search.reindex, home, "--json")
    capsys.readouterr()

    call_command(memory_search.stats, home, "--json")

    facts = json.loads(capsys.readouterr().out)
    assert facts["files_by_folder"] == {"people": 1, "self": 1, "topics": 1}
    assert (facts["memory_files"], facts["indexed_files"], facts["pieces_of_talk"]) == (3, 3, 3)
    assert facts["index_bytes"] > 0


def test_stats_of_a_memory_nobody_has_used(tmp_path: Path, capsys: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    """No files, no history, no index: zeros and no error."""
    monkeypatch.setattr(memory_search, "_embedder", lambda *_args, **_more: HashingModel())
    (tmp_path / "familiars" / "wren").mkdir(parents=True)

    call_command(memory_search.stats, tmp_path)

    assert "memory files: 0, 0 bytes (none yet)" in capsys.readouterr().out


def test_a_busy_machine_takes_in_as_much_as_an_idle_one(
    home: Path, capsys: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An hour by the clock passes between two looks at it; what limits the work is the work."""
    hours = itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: 3_600.0 * next(hours))

    assert call_command(memory_search.search, home, "silver spoon") == 0

    assert "by their words alone" not in capsys.readouterr().err
