"""What is kept of a chat at the terminal where no model writes memory: facts, and no small talk."""

from __future__ import annotations

import json
from pathlib import Path

from tests.fakes.model_server import stream_answer
from tests.fakes.program import make_home, model_endpoint, run_program
from tests.fakes.writer_setup import writer_answer

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

    compacted = first.stdout.partition("instead of the chat so far")[2]
    for text in (compacted, before):
        assert [words for words in FACTS if words not in text] == []
        assert [words for words in CHATTER if words in text] == []
    assert "I moved to Graz" not in after
    assert "I live in Vienna now" in after
    assert "gone: “" in log
    assert "I moved to Graz”, out of date" in log


def test_facts_in_other_languages_are_kept_as_they_were_said(tmp_path: Path) -> None:
    """German, Spanish and Japanese in one chat: each in its own words, and the small talk of none."""
    facts = ("Ich wohne seit 2019 in Graz", "Mi hermana es enfermera en Sevilla", "猫を二匹飼っています")
    chatter = ("Boah, ich bin heute so müde", "hoy hace muchísimo calor", "今日めっちゃ暑い")
    said = [line for pair in zip(facts, chatter, strict=True) for line in pair]
    with model_endpoint(*(stream_answer("Hm.") for _ in range(len(said) + 1))) as server:
        root = make_home(tmp_path, server)
        run_program(tmp_path, "chat", "--plain", said="\n".join((*said, "")))
        run_program(tmp_path, "memory", "write-now")
        kept = (root / "memory" / "people" / "terminal-you.md").read_text(encoding="utf-8")

    assert [words for words in facts if words not in kept] == []
    assert [words for words in chatter if words in kept] == []


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


def test_a_correction_in_a_direct_message_holds_there_and_tells_nobody_else(tmp_path: Path) -> None:
    """Graz was told to everyone, Vienna to the familiar alone: a prompt has the notes that its readers may hear."""
    settings = '[providers.content_search]\nembedder = "hashing"\nturns = false\n'
    script = {
        "familiar": {"settings": settings},
        "people": {"ada": {"name": "Ada", "id": "101"}, "bo": {"name": "Bo", "id": "102"}},
        "places": {"tea": {"server": "Tea House"}, "letter": {"kind": "dm", "members": ["ada"]}},
        "models": {"main_prose": {"otherwise": "Mm."}, "memory_writer": {"otherwise": writer_answer("They talked.")}},
        "steps": [
            {"at": "2026-03-01T08:00:00+00:00", "in": "tea", "by": "ada", "say": "I moved to Graz."},
            {"after": "10m", "write_up": True},
            {"after": "3d", "in": "letter", "by": "ada", "say": "I live in Vienna now."},
            {"after": "10m", "write_up": True},
            {"restart": True},
            {"after": "3d", "in": "letter", "by": "ada", "say": "Where do I live?"},
            {"expect": {"prompt_has": ["- Ada (2026-03-04): I live in Vienna"], "prompt_lacks": ["- Ada: I moved"]}},
            {"after": "1m", "in": "tea", "by": "bo", "say": "Ember, where does Ada live?", "mention": True},
            {"expect": {"prompt_has": ["- Ada: I moved to Graz"], "prompt_lacks": ["Vienna"]}},
        ],
    }
    (tmp_path / "home.json").write_text(json.dumps(script), encoding="utf-8")
    done = run_program(tmp_path, "rehearse", str(tmp_path / "home.json"))

    assert done.returncode == 0, done.stdout + done.stderr
