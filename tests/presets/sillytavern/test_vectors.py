"""The runner of SillyTavern's vectors, on a folder made here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.sillytavern.__main__ import main
from benchmarks.sillytavern.prompts import allows

PRESET = {
    "prompts": [
        {"identifier": "main", "system_prompt": True, "role": "system", "content": "You are {{char}}."},
        {"identifier": "chatHistory", "system_prompt": True, "marker": True},
    ],
    "prompt_order": [
        {
            "character_id": 100001,
            "order": [{"identifier": "main", "enabled": True}, {"identifier": "chatHistory", "enabled": True}],
        }
    ],
    "new_chat_prompt": "[new]",
}
CARD = {"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Rook", "description": ""}}
VECTOR: dict[str, Any] = {
    "fixed_now_utc": "2025-03-14T15:09:26.000Z",
    "case": {"preset": "p.json", "card": "c.json"},
    "chat": [{"name": "{{char}}", "mes": "Hi."}, {"name": "Ada", "is_user": True, "mes": "Who is {{char}}?"}],
    "user": "Ada",
    "char": "Rook",
    "settings_used": {"new_chat_prompt": "[new]", "openai_max_context": 4000, "openai_max_tokens": 300},
    "wi_activated": [],
    "deterministic": True,
    "messages": [
        {"role": "system", "content": "You are Rook."},
        {"role": "system", "content": "[new]"},
        {"role": "assistant", "content": "Hi."},
        {"role": "user", "content": "Who is Rook?"},
    ],
    "post_processed": {
        "merge": [
            {"role": "system", "content": "You are Rook.\n\n[new]"},
            {"role": "assistant", "content": "Hi."},
            {"role": "user", "content": "Who is Rook?"},
        ]
    },
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, content in (("presets/p.json", PRESET), ("cards/c.json", CARD)):
        write(tmp_path, name, content)
    return tmp_path


def write(folder: Path, name: str, content: object) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


def test_agreement_is_counted_and_exits_with_zero(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A vector whose messages and post-processed forms we make as well passes once."""
    write(folder, "expected/prompts/same.json", VECTOR)

    assert main([str(folder), "--only", "prompts"]) == 0
    assert capsys.readouterr().out == "prompts: 1/1\n"


def test_the_first_difference_of_a_failure_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Message, field and place; the run exits with one."""
    other = VECTOR | {"messages": [{"role": "system", "content": "You are Wren."}, *VECTOR["messages"][1:]]}
    write(folder, "expected/prompts/other.json", other)

    assert main([str(folder), "--json", "--only", "prompts"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["tally"] == {"prompts": {"passed": 0, "total": 1, "out_of_scope": 0}}
    assert told["failed"][0]["difference"].startswith("message 0, content: at 8 we have 'You are Rook.'")


def test_broken_files_are_failures_with_a_sentence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Never a traceback: half a vector, a missing preset, an empty object."""
    write(folder, "expected/prompts/half.json", '{"case": ')
    write(folder, "expected/prompts/lost.json", VECTOR | {"case": {"preset": "gone.json", "card": "c.json"}})
    write(folder, "expected/prompts/empty.json", {})

    assert main([str(folder), "--only", "prompts"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("prompts: 0/3\n")
    assert "gone.json" in out


def test_a_folder_without_vectors_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing to check is not a pass."""
    assert main([str(tmp_path)]) == 1
    assert "holds no vectors" in capsys.readouterr().out


def test_where_chance_had_a_hand_two_runs_set_the_bounds(folder: Path) -> None:
    """What both runs share must be there; where they differ anything may stand."""
    preset = json.loads(json.dumps(PRESET))
    preset["prompts"][0]["content"] = "Roll {{roll::d6}} now."
    write(folder, "presets/p.json", preset)
    rolled = [[{"role": "system", "content": f"Roll {roll} now."}, *VECTOR["messages"][1:]] for roll in (1, 6)]
    vector = VECTOR | {
        "deterministic": False,
        "messages": rolled[0],
        "messages_second": rolled[1],
        "post_processed": {},
    }
    write(folder, "expected/prompts/chance.json", vector)

    assert main([str(folder), "--only", "prompts"]) == 0


@pytest.mark.parametrize(
    ("text", "fits"),
    [("Roll 4 now.", True), ("Roll now.", False), ("Rolled 4 now.", False), ("Roll 4 now. And", False)],
)
def test_only_what_differs_between_two_runs_is_free(text: str, fits: bool) -> None:
    """Beginning, end and all between must be as both runs have it."""
    assert allows("Roll 1 now.", "Roll 6 now.", text) == fits
