"""SillyTavern's chat files."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from familiar_connect.bootstrap.chat_files.sillytavern_chat import read_sillytavern_chat
from familiar_connect.chat.files.file_lines import parse_send_date
from familiar_connect.errors import ConfigError
from familiar_connect.presets.story.types import Story

HEADER = {
    "user_name": "Ada",
    "character_name": "Rook",
    "chat_metadata": {
        "note_prompt": "Short.",
        "note_position": 0,
        "note_role": 2,
        "variables": {"n": 3, "mood": "wry"},
        "world_info": "Harbour",
    },
}
LINES = [
    {"name": "Rook", "is_user": False, "mes": "Hi.", "swipes": ["Hi.", "Ho."], "swipe_id": 1},
    {"name": "Guest", "is_user": False, "mes": "I.", "force_avatar": "x.png"},
    {"name": "Storm", "is_user": False, "mes": "Wind.", "extra": {"type": "narrator"}},
    {"name": "System", "is_system": True, "mes": "secret"},
    {"name": "Ada", "is_user": True, "mes": "Go on.", "send_date": "March 1, 2026 6:05pm"},
]


def write(path: Path, *rows: object) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n", encoding="utf-8")
    return path


def test_lines_note_variables_and_names_are_kept(tmp_path: Path) -> None:
    """The header says whose chat it is; the file's name is the chat's."""
    chat = read_sillytavern_chat(write(tmp_path / "evening.jsonl", HEADER, *LINES))
    assert [
        (m.author.label, m.is_self, m.line.is_narrator, m.line.is_hidden, m.line.is_other) for m in chat.messages
    ] == [
        ("Rook", True, False, False, False),
        ("Guest", True, False, False, True),
        ("Storm", True, True, False, False),
        ("System", True, False, True, False),
        ("Ada", False, False, False, False),
    ]
    assert chat.messages[0].line.swipes == ("Hi.", "Ho.")
    assert chat.messages[4].timestamp == datetime(2026, 3, 1, 18, 5, tzinfo=UTC)
    story = chat.tell_story(Story())
    assert (story.user, story.chat_id, story.state.variables) == ("Ada", "evening", {"n": "3", "mood": "wry"})
    assert story.note is not None
    assert (story.note.text, story.note.position, story.note.role) == ("Short.", "after_main", "assistant")
    assert chat.answered == 1


def test_a_chat_without_header_is_read_and_one_that_is_none_is_told(tmp_path: Path) -> None:
    """The sentence names file and line."""
    assert read_sillytavern_chat(write(tmp_path / "a.jsonl", *LINES)).facts.user == "Ada"
    with pytest.raises(ConfigError, match="holds no messages"):
        read_sillytavern_chat(write(tmp_path / "b.jsonl", HEADER))
    (tmp_path / "c.jsonl").write_text("{}\nnot json\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="line 2: is not a JSON object"):
        read_sillytavern_chat(tmp_path / "c.jsonl")


@pytest.mark.parametrize(
    "written",
    ["2026-03-01T18:05:00.000Z", "March 1, 2026 6:05pm", "2026-3-1 @18h 05m 00s 000ms", 1772388300000, "1772388300000"],
)
def test_every_way_a_date_was_written_is_read(written: object) -> None:
    """Without a zone it is UTC."""
    assert parse_send_date(written) == datetime(2026, 3, 1, 18, 5, tzinfo=UTC)
    assert parse_send_date("some day") is None
