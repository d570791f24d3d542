"""SillyTavern's prompt through the program as a process: vectors, and a chat that goes on from turn to turn."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.sillytavern.__main__ import main
from benchmarks.sillytavern.through_program import run
from tests.fakes.model_server import stream_answer
from tests.fakes.program import make_home, model_endpoint, run_program

PRESET: dict[str, Any] = {
    "prompts": [
        {"identifier": "main", "system_prompt": True, "role": "system", "content": "You are {{char}}. {{incvar::n}}"},
        {"identifier": "worldInfoBefore", "system_prompt": True, "marker": True},
        {"identifier": "personaDescription", "system_prompt": True, "marker": True},
        {"identifier": "chatHistory", "system_prompt": True, "marker": True},
    ],
    "prompt_order": [
        {
            "character_id": 100001,
            "order": [
                {"identifier": name, "enabled": True}
                for name in ("main", "worldInfoBefore", "personaDescription", "chatHistory")
            ],
        }
    ],
    "new_chat_prompt": "",
    "openai_max_context": 4000,
    "openai_max_tokens": 300,
}
BOOK = {
    "name": "Bells",
    "entries": [
        {
            "id": 0,
            "keys": ["bell"],
            "content": "The bell is bronze.",
            "enabled": True,
            "insertion_order": 1,
            "extensions": {"sticky": 3, "position": 0},
        }
    ],
}
CARD: dict[str, Any] = {
    "spec": "chara_card_v2",
    "spec_version": "2.0",
    "data": {"name": "Rook", "description": "a crow", "first_mes": "Hi.", "character_book": BOOK},
}


def write(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_a_vector_passes_through_the_program(tmp_path: Path, capsys: Any) -> None:
    """Card, book, persona, note, preset and chat as files and settings; the messages as SillyTavern sends them."""
    write(tmp_path / "presets" / "p.json", PRESET)
    write(tmp_path / "cards" / "c.json", CARD)
    vector = {
        "fixed_now_utc": "2025-03-14T15:09:26.000Z",
        "case": {
            "preset": "p.json",
            "card": "c.json",
            "persona": "{{user}} is a cartographer.",
            "use_embedded_book": True,
            "chat_metadata": {"note_prompt": "Short.", "note_depth": 1},
        },
        "chat": [
            {"name": "{{char}}", "mes": "Hi."},
            {"name": "Ada", "is_user": True, "mes": "I hear"},
            {"name": "Ada", "is_user": True, "mes": "a bell, {{char}}."},
        ],
        "user": "Ada",
        "char": "Rook",
        "settings_used": {"new_chat_prompt": "", "openai_max_context": 4000, "openai_max_tokens": 300},
        "messages": [
            {"role": "system", "content": "You are Rook. 1"},
            {"role": "system", "content": "The bell is bronze."},
            {"role": "system", "content": "Ada is a cartographer."},
            {"role": "assistant", "content": "Hi."},
            {"role": "user", "content": "I hear"},
            {"role": "system", "content": "Short."},
            {"role": "user", "content": "a bell, Rook."},
            {"role": "system", "content": "a crow"},
        ],
    }
    write(tmp_path / "expected" / "prompts" / "v.json", vector)
    assert main([str(tmp_path), "--only", "prompts", "prompts_through_program"]) == 0, capsys.readouterr().out


def test_a_chat_keeps_variables_and_sticky_lore_from_turn_to_turn(tmp_path: Path) -> None:
    """An entry that was called up stays for three messages, and a variable counts on."""
    home = tmp_path / "home"
    run(home, "init", "rook", "--as", "Ada", "--from-card", str(write(tmp_path / "c.json", CARD)))
    run(home, "preset", "import", str(write(tmp_path / "p.json", PRESET)))
    (home / "familiars/rook/character.toml").write_text('preset_fidelity = "sillytavern"\n', encoding="utf-8")
    script = {
        "people": {"ada": {"name": "Ada"}},
        "places": {"dm": {"kind": "dm", "members": ["ada"]}},
        "models": {"main_prose": {"otherwise": "Mm."}},
        "steps": [
            {"in": "dm", "by": "ada", "say": "What is that bell?"},
            {"expect": {"reply_in": "dm", "prompt_has": ["The bell is bronze.", "You are Rook. 1"]}},
            {"in": "dm", "by": "ada", "say": "And the sea?"},
            {"expect": {"reply_in": "dm", "prompt_has": ["The bell is bronze.", "You are Rook. 2"]}},
            {"in": "dm", "by": "ada", "say": "And the sky?"},
            {"in": "dm", "by": "ada", "say": "And the wind?"},
            {"expect": {"reply_in": "dm", "prompt_lacks": ["The bell is bronze."], "prompt_has": ["You are Rook. 4"]}},
        ],
    }
    run(home, "rehearse", str(write(tmp_path / "r.json", script)), "--familiar", "rook", "--scripted")


def test_variables_of_a_preset_count_on_beside_our_own_memory_too(tmp_path: Path) -> None:
    """Those of the chat and those of all chats, without asking for SillyTavern's own prompt."""
    home = tmp_path / "home"
    counting = "You are {{char}}. Turn {{incvar::n}} here, {{incglobalvar::all}} everywhere."
    prompts = [{**PRESET["prompts"][0], "content": counting}, *PRESET["prompts"][1:]]
    run(home, "init", "rook", "--as", "Ada", "--from-card", str(write(tmp_path / "c.json", CARD)))
    run(home, "preset", "import", str(write(tmp_path / "p.json", {**PRESET, "prompts": prompts})))
    script = {
        "people": {"ada": {"name": "Ada"}},
        "places": {
            "dm": {"kind": "dm", "members": ["ada"]},
            "hall": {"kind": "text", "server": "Rookery", "name": "hall"},
        },
        "models": {"main_prose": {"otherwise": "Mm."}},
        "steps": [
            {"in": "dm", "by": "ada", "say": "And the sea?"},
            {"expect": {"reply_in": "dm", "prompt_has": ["Turn 1 here, 1 everywhere."]}},
            {"in": "dm", "by": "ada", "say": "And the sky?"},
            {"expect": {"reply_in": "dm", "prompt_has": ["Turn 2 here, 2 everywhere."]}},
            {"in": "hall", "by": "ada", "say": "Rook, and the wind?", "mention": True},
            {"expect": {"reply_in": "hall", "prompt_has": ["Turn 1 here, 3 everywhere."]}},
        ],
    }
    run(home, "rehearse", str(write(tmp_path / "r.json", script)), "--familiar", "rook", "--scripted")


def test_macros_in_a_typed_message_are_read_once_when_it_is_sent(tmp_path: Path) -> None:
    """Every later prompt and the exported chat have what they came to; the words stay beside it."""
    with model_endpoint(*[stream_answer("Mm.")] * 3) as server:
        root = make_home(tmp_path, server)
        run_program(tmp_path, "preset", "import", str(write(tmp_path / "p.json", PRESET)))
        settings = root / "character.toml"
        settings.write_text(f'preset_fidelity = "sillytavern"\n{settings.read_text(encoding="utf-8")}', "utf-8")
        said = "I am {{user}}, door {{incvar::doors}}, last: {{lastUserMessage}}.\nAnd {{getvar::doors}}?\n"
        done = run_program(tmp_path, "chat", "--plain", "--as", "Ada", said=said)
        assert done.returncode == 0, done.stderr
        prompts = [[each["content"] for each in seen.payload["messages"]] for seen in server.requests]
        exported = run_program(tmp_path, "export", "chat", "-o", "-").stdout
        settings.write_text(settings.read_text(encoding="utf-8").replace("sillytavern", "with_memory", 1), "utf-8")
        run_program(tmp_path, "chat", "--plain", "--as", "Ada", said="As it is: {{user}}.\n")
        plain = str(server.requests[2].payload["messages"])
    with closing(sqlite3.connect(root / "history.db")) as database:
        kept = database.execute("SELECT content, view FROM turns WHERE role = 'user' ORDER BY id").fetchall()

    first = "I am Ada, door 1, last: ."
    assert first in prompts[0]
    assert {first, "And 1?"} <= set(prompts[1])
    assert first in exported
    assert "incvar" not in exported.replace("incvar::n}}", "").split('"familiar_connect"')[0]
    assert kept == [
        (said.splitlines()[0], first),
        ("And {{getvar::doors}}?", "And 1?"),
        ("As it is: {{user}}.", None),
    ]
    assert "As it is: {{user}}." in plain


def test_names_and_books_are_as_sillytavern_takes_them_in(tmp_path: Path) -> None:
    """A sign no file has in its name is gone, the user has a name at the greeting, the first book is nearest."""
    home = tmp_path / "home"
    card = {**CARD, "data": {**CARD["data"], "name": "Ro|ok: 2", "character_book": None}}
    run(home, "init", "rook", "--as", "Ada", "--from-card", str(write(tmp_path / "c.json", card)))
    for name in ("Zeta", "Alpha"):
        entry = {"uid": 0, "key": [" "], "content": f"{name} of {{{{char}}}} and {{{{user}}}}.", "order": 100}
        run(home, "import", "lorebook", str(write(tmp_path / f"{name}.json", {"name": name, "entries": {"0": entry}})))
    head = {"user_name": "unused", "character_name": "unused", "chat_metadata": {}}
    chat = tmp_path / "chat.jsonl"
    chat.write_text(f"{json.dumps(head)}\n{json.dumps({'name': 'Rook 2', 'mes': 'Hi, {{user}}.'})}\n", "utf-8")
    asked = ("--preset", str(write(tmp_path / "p.json", PRESET)), "--fidelity", "sillytavern", "--json")
    said = [each["content"] for each in json.loads(run(home, "prompt", str(chat), *asked))["messages"]]
    assert said == ["You are Rook 2. 1", "Alpha of Rook 2 and Ada.\nZeta of Rook 2 and Ada.", "Hi, Ada.", "a crow"]
