"""A whole SillyTavern installation, taken over in one command and written back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.fakes.cards import V2, card_picture
from tests.fakes.program import one_sentence, run_program

QUICK = {"name": "Evening", "qrList": [{"label": "Hi", "message": "Hi."}]}
PRESET = {"prompts": [{"identifier": "main", "content": "Write."}], "temperature": 0.5}
WORLD = {"entries": {"0": {"uid": 0, "key": ["bell"], "comment": "The bell", "content": "It rings.", "order": 1}}}


def card(name: str, **changes: Any) -> bytes:
    return card_picture({**V2, "data": {**V2["data"], "name": name, **changes}})


def chat(*lines: tuple[str, bool, str]) -> str:
    head = {"user_name": "Sam", "character_name": "unused", "chat_metadata": {}}
    rows = [{"name": name, "is_user": is_user, "mes": text} for name, is_user, text in lines]
    return "".join(json.dumps(row) + "\n" for row in (head, *rows))


def installation(root: Path) -> Path:
    """A user's folder with two characters of one name, one that is damaged, a group and a little of everything."""
    user = root / "data" / "default-user"
    files: dict[str, bytes | str] = {
        "characters/Mira.png": card("Mira"),
        "characters/Mira1.png": card(
            "Mira", description="Another.", character_book=None, extensions={"world": "Bells"}
        ),
        "characters/Torn.png": b"nothing",
        "characters/Mira/joy.png": card("x"),
        "chats/Mira/Mira - evening.jsonl": chat(("Mira", False, "Come in."), ("Sam", True, "Thanks.")),
        "chats/Mira/broken.jsonl": "{",
        "chats/Mira1/Mira - other.jsonl": chat(("Mira", False, "Who?")),
        "groups/1.json": json.dumps({"name": "Both", "members": ["Mira.png", "Mira1.png"], "chats": ["g", "../x"]}),
        "group chats/g.jsonl": chat(("Sam", True, "All here?")),
        "worlds/Bells.json": json.dumps(WORLD),
        "worlds/Alone.json": json.dumps(WORLD),
        "OpenAI Settings/Plain.json": json.dumps(PRESET),
        "QuickReplies/Evening.json": json.dumps(QUICK, indent=4),
        "backgrounds/sea.png": card("x"),
        "settings.json": json.dumps({"background": {"name": "sea.png"}}),
    }
    for name, content in files.items():
        path = user / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def test_an_installation_comes_whole_and_again_adds_nothing(tmp_path: Path) -> None:
    """Each character with its chats, groups among them, sprites, presets and lore; what is damaged is one sentence."""
    home, tavern = tmp_path / "home", installation(tmp_path / "SillyTavern")
    first = run_program(home, "import", "sillytavern", str(tavern))
    (tavern / "data" / "default-user" / "chats" / "Mira" / "broken.jsonl").unlink()
    (tavern / "data" / "default-user" / "characters" / "Torn.png").unlink()
    again = run_program(home, "import", "sillytavern", str(tavern), "--json")
    out = home / "out"
    back = run_program(home, "export", "sillytavern", str(out))
    refused = run_program(home, "export", "sillytavern", str(out))

    assert first.returncode == 1
    assert "Made mira from Mira.png: 2 lore files, 1 sprite, 1 preset, 1 quick reply set." in first.stdout
    assert "Made mira-2 from Mira1.png: 1 lore file, 1 preset, 1 quick reply set." in first.stdout
    assert "4 chats with 5 new messages." in first.stdout
    assert "1 lorebook linked to no character: Alone." in first.stdout
    said = [line for line in first.stderr.splitlines() if line.strip()]
    assert len(said) == 2
    assert "Torn.png" in said[0]
    assert "broken.jsonl" in said[1]
    told = json.loads(again.stdout)
    assert (again.returncode, told["messages"], told["problems"]) == (0, 0, [])
    assert [(each["familiar"], each["is_new"], each["presets"]) for each in told["characters"]] == [
        ("mira", False, 0),
        ("mira-2", False, 0),
    ]
    root = home / "familiars" / "mira"
    assert (root / "background.png").exists()
    assert (root / "expressions" / "joy.png").exists()
    assert back.returncode == 0, back.stderr
    assert {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()} == {
        "characters/Mira.png",
        "characters/Mira/joy.png",
        "characters/Mira1.png",
        "chats/Mira/Mira - evening.jsonl",
        "chats/Mira/g.jsonl",
        "chats/Mira1/Mira - other.jsonl",
        "chats/Mira1/g.jsonl",
        "worlds/Mira lore.json",
        "worlds/Mira1 lore.json",
        "OpenAI Settings/Plain.json",
        "QuickReplies/Evening.json",
    }
    source = tavern / "data" / "default-user"
    for kept in ("OpenAI Settings/Plain.json", "QuickReplies/Evening.json"):
        assert (out / kept).read_bytes() == (source / kept).read_bytes()
    assert "Come in." in (out / "chats" / "Mira" / "Mira - evening.jsonl").read_text(encoding="utf-8")
    assert "is not empty; name a new folder" in one_sentence(refused)


def test_a_folder_that_is_none_is_named(tmp_path: Path) -> None:
    """With what is missing in it."""
    done = run_program(tmp_path / "home", "import", "sillytavern", str(tmp_path))

    assert done.returncode == 1
    assert "no folder `characters` is in it" in one_sentence(done)
