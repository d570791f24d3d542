"""What is kept of a chat at the terminal where no model writes memory: facts, and no small talk."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.model_server import stream_answer
from tests.fakes.program import make_home, model_endpoint, run_program

FACTS = ("Jonas proposed", "I said yes", "he died in 2019", "I'm lactose intolerant", "I moved to Graz")
CHATTER = ("I hate Mondays", "my wifi is down again")
SAID = (FACTS[0], FACTS[1], CHATTER[0], "My dad was a sailor", FACTS[2], CHATTER[1], FACTS[3], FACTS[4])


def test_facts_stand_in_the_file_and_in_the_compacted_chat(tmp_path: Path) -> None:
    """Events, health and the third person; no moods, no gadgets; of two homes the later, and both in the log."""
    with model_endpoint(*(stream_answer("Hm.") for _ in range(len(SAID) + 1))) as server:
        root = make_home(tmp_path, server)
        first = run_program(tmp_path, "chat", "--plain", said="\n".join((*SAID, "/compact\n")))
        run_program(tmp_path, "memory", "write-now")
        before = (root / "memory" / "people" / "terminal-you.md").read_text(encoding="utf-8")
        run_program(tmp_path, "chat", "--plain", "--continue", said="I live in Vienna now\n")
        run_program(tmp_path, "memory", "write-now")
        after = (root / "memory" / "people" / "terminal-you.md").read_text(encoding="utf-8")
        log = run_program(tmp_path, "memory", "log", "people/terminal-you.md").stdout

    compacted = first.stdout.partition("In place of what was said here")[2]
    for text in (compacted, before):
        assert [words for words in FACTS if words not in text] == []
        assert [words for words in CHATTER if words in text] == []
    assert "I moved to Graz" not in after
    assert "I live in Vienna now" in after
    assert "gone: “" in log
    assert "I moved to Graz”, out of date" in log


def test_what_is_taken_back_goes_from_the_file_and_stands_in_the_log(tmp_path: Path) -> None:
    """A plan that fell through, a thing that was sold, an allergy that was none, a joke; what still holds stays."""
    first = ("We're flying to Crete in May", "I drive an old Volvo", "I'm allergic to nuts", "My sister lives in Bern")
    second = (
        "nah, Crete is cancelled",
        "we sold the Volvo",
        "I'm not allergic to nuts, they tested it",
        "I have a twin",
    )
    with model_endpoint(*(stream_answer("Hm.") for _ in range(len(first) + len(second) + 2))) as server:
        root = make_home(tmp_path, server)
        run_program(tmp_path, "chat", "--plain", said="\n".join((*first, "")))
        run_program(tmp_path, "memory", "write-now")
        before = (root / "memory" / "people" / "terminal-you.md").read_text(encoding="utf-8")
        run_program(tmp_path, "chat", "--plain", "--continue", said="\n".join((*second, "jk", "")))
        run_program(tmp_path, "memory", "write-now")
        after = (root / "memory" / "people" / "terminal-you.md").read_text(encoding="utf-8")
        log = run_program(tmp_path, "memory", "log", "people/terminal-you.md").stdout

    assert [words for words in first if words not in before] == []
    assert [words for words in (*first, "I have a twin") if f"said: {words}" in after] == ["My sister lives in Bern"]
    assert [words for words in first[:3] if f"{words}”, out of date" not in log] == []
