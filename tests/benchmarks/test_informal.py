"""The informal chats: the files the recall benchmark reads say what the chats say, and every answer is in a turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.dialogues import read_dialogues
from benchmarks.informal import DATA, HALVES, as_json, read_chat, read_chats


@pytest.mark.parametrize("half", HALVES)
def test_the_json_is_what_the_chats_say(half: str) -> None:
    """`python -m benchmarks.informal` was run after the last change."""
    assert (DATA / f"informal_{half}.json").read_text(encoding="utf-8") == as_json(read_chats(half))


@pytest.mark.parametrize("half", HALVES)
def test_the_recall_benchmark_reads_every_turn_and_question(half: str) -> None:
    """No question is dropped for want of evidence, and sessions follow one another in time."""
    chats = read_chats(half)

    dialogues = read_dialogues(DATA / f"informal_{half}.json")

    assert [len(d.questions) for d in dialogues] == [len(chat["qa"]) for chat in chats]
    assert all(len({turn.speaker for turn in d.turns}) >= 3 for d in dialogues)
    assert all([turn.when for turn in d.turns] == sorted(turn.when for turn in d.turns) for d in dialogues)


def test_no_chat_is_in_both_halves() -> None:
    """What is tuned on is never what is reported."""
    names = [{chat["sample_id"] for chat in read_chats(half)} for half in HALVES]

    assert not names[0] & names[1]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("== 9:00 am on 1 May, 2025\nno speaker here", "speaker: words"),
        ("== 9:00 am on 1 May, 2025\nann: hi ^a\nann: ho ^a", "used twice"),
        ("== 9:00 am on 1 May, 2025\nann: hi ^a\n== questions\n4 | who? | ann | b", "marked ^b"),
        ("== 9:00 am on 1 May, 2025\nann: hi ^a\n== questions\n7 | who? | ann | a", "category | question"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(tmp_path: Path, lines: str, said: str) -> None:
    """Whoever edits a chat is told which line to mend."""
    path = tmp_path / "chat.txt"
    path.write_text(lines, encoding="utf-8")

    with pytest.raises(ValueError, match=r"chat\.txt:\d+: ") as caught:
        read_chat(path, "tune")

    assert said in str(caught.value)
