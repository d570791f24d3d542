"""The owner corrects memory with an editor while the real program writes it: what they wrote is never lost."""

from __future__ import annotations

import json
from pathlib import Path

from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author
from tests.fakes.model_server import ModelServer, whole_answer
from tests.fakes.program import make_home, model_endpoint, run_program
from tests.fakes.writer_setup import writer_answer

SAM = Author("discord", "41", "sam_w", "Sam")
FILE = "people/discord-41.md"

FIRST = "# Sam\n\n## What I know\n- Lives in Graz.\n- Plays the cello.\n"
SECOND = (
    "# Sam\n\n## What I know\n- Plays the cello in a quartet.\n- Moved to Lyon.\n"
    "OUTDATED [{turn}]: Lives in Graz.\nOUTDATED [{turn}]: Allergic to nuts, ask before baking!\n"
)


def say(root: Path, words: str) -> int:
    history = HistoryStore(root / "history.db")
    turn = history.append_turn(familiar_id="ember", channel_id=5, role="user", content=words, author=SAM, guild_id=7).id
    history.close()
    return turn


def home_with_writer(home: Path, server: ModelServer) -> Path:
    """A home whose memory is written by the model behind *server*."""
    root = make_home(home)
    settings = root / "character.toml"
    slot = f'\n[llm.memory_writer]\nmodel = "m"\nbase_url = "{server.base_url}"\n'
    settings.write_text(settings.read_text(encoding="utf-8") + slot, encoding="utf-8")
    return root


def test_the_owners_line_outlives_a_pass_of_the_program(tmp_path: Path) -> None:
    """Written by the program, edited on disk, left out and called out of date by the model: it stands, and is asked."""
    answers = [
        whole_answer(writer_answer("We met.", {"discord-41.md": FIRST})),
        whole_answer(writer_answer("We met again.", {"discord-41.md": SECOND.format(turn=2)})),
    ]
    with model_endpoint(*answers) as server:
        root = home_with_writer(tmp_path, server)
        say(root, "I live in Graz and I play the cello.")
        first = run_program(tmp_path, "memory", "write-now")
        path = root / "memory" / FILE
        owners = "- Allergic to nuts, ask before baking!\n\n## The owner's heading\n"
        path.write_text(path.read_text().replace("- Plays the cello.\n", f"- Plays the cello.\n{owners}"))
        assert say(root, "I moved to Lyon, and I play in a quartet now.") == 2
        second = run_program(tmp_path, "memory", "write-now")
    log = json.loads(run_program(tmp_path, "memory", "log", "Sam", "--json").stdout)
    told = run_program(tmp_path, "memory", "log", "Sam").stdout
    why = run_program(tmp_path, "memory", "why", "Sam").stdout
    waiting = json.loads(run_program(tmp_path, "memory", "review", "--json").stdout)
    shown = run_program(tmp_path, "memory", "review", "--show", waiting[0]["id"]).stdout

    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert "user (Sam): I moved to Lyon" in server.requests[1].payload["messages"][1]["content"]
    assert set(owners.splitlines()) <= set(path.read_text().splitlines())
    assert "Lives in Graz" not in path.read_text()
    assert [row["source"] for row in log] == ["memory_writer", "owner", "memory_writer"]
    assert log[-1]["removed_lines"] == [
        {"text": "- Lives in Graz.", "reason": "outdated", "turn": 2},
        {"text": "- Plays the cello.", "reason": "extended", "turn": None},
    ]
    assert "gone: “Lives in Graz.”, out of date since turn 2" in told
    assert "owner" in why.partition("Allergic to nuts")[2].splitlines()[1]
    assert "would change one of your lines: `familiar memory review --show outdated-" in second.stdout
    assert "-- Allergic to nuts, ask before baking!" in shown.splitlines()
    assert run_program(tmp_path, "memory", "review", "--reject", waiting[0]["id"]).returncode == 0
    assert "- Allergic to nuts, ask before baking!" in path.read_text()


def test_forgetting_shows_and_erases_what_is_quoted_elsewhere(tmp_path: Path) -> None:
    """In the session and in another's file, by the turns each line came from; others' lines stay."""
    root = make_home(tmp_path)
    ana = Author("discord", "42", "ana", "Ana")
    history = HistoryStore(root / "history.db")
    for who, words in ((SAM, "My secret garden has 40 rare orchids."), (ana, "I bought a red bicycle in Vienna.")):
        history.append_turn(familiar_id="ember", channel_id=5, role="user", content=words, author=who, guild_id=7)
    history.close()
    assert run_program(tmp_path, "memory", "write-now").returncode == 0
    memory = root / "memory"
    session = next(memory.glob("sessions/*.md"))
    plan = run_program(tmp_path, "memory", "forget", "Sam", said="no\n")
    asked = session.read_text()
    facts = json.loads(run_program(tmp_path, "memory", "forget", "Sam", "--yes", "--json").stdout)
    versions = json.loads(run_program(tmp_path, "memory", "log", f"sessions/{session.name}", "--json").stdout)

    assert plan.returncode == 1
    assert f"    sessions/{session.name}: " in plan.stdout
    assert "      Sam said: My secret garden has 40 rare orchids." in plan.stdout
    assert "orchids" in asked
    assert {quote["file"] for quote in facts["quoted"]} == {f"sessions/{session.name}"}
    assert "orchids" not in session.read_text()
    assert "red bicycle" in session.read_text()
    assert "discord-41" not in session.read_text()
    assert [row["source"] for row in versions] == ["forget"]
