"""Regex scripts through the program: counted at import, switched, and each kind changes what it is for alone."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.model_server import ModelServer, stream_answer
from tests.fakes.program import model_endpoint, one_sentence, run_program


def script(name: str, find: str, replacement: str, *placements: int, **more: Any) -> dict[str, Any]:
    return {"scriptName": name, "findRegex": find, "replaceString": replacement, "placement": list(placements), **more}


SCRIPTS = [
    script("Names", "/\\bmate\\b/gi", "{{char}}", 1),
    script("Plain", "/colour/g", "color", 2),
    script("Secret", "/<s>(.*?)<\\/s>/g", "[hidden]", 2, markdownOnly=True),
    script("Shorten", "/very /g", "", 1, 2, promptOnly=True, minDepth=1),
    script("Behind", "/(?<=a)b/", "", 2),
    script("Slashes", "x", "", 3),
    script("Asleep", "/Mm/g", "Oh", 2, disabled=True),
]
CARD = {
    "spec": "chara_card_v2",
    "spec_version": "2.0",
    "data": {
        "name": "Rook",
        "description": "a crow",
        "first_mes": "",
        "extensions": {"regex_scripts": SCRIPTS},
    },
}


def write(path: Path, content: object) -> str:
    path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


def make_rook(
    home: Path, server: ModelServer | None = None, card: object = None, answer: tuple[str, ...] = ("--allow-scripts",)
) -> str:
    """What was said when the familiar was made of the card."""
    home.mkdir(exist_ok=True)
    file = write(home / "card.json", card or CARD)
    done = run_program(home, "init", "rook", "--as", "Ada", "--from-card", file, *answer)
    assert done.returncode == 0, done.stderr
    if server is not None:
        settings = home / "familiars/rook/character.toml"
        slot = f'\n[llm.main_prose]\nmodel = "test-model"\nbase_url = "{server.base_url}"\n'
        settings.write_text(settings.read_text(encoding="utf-8") + slot, encoding="utf-8")
    return done.stdout


def run(home: Path, *words: str, said: str = "") -> str:
    done = run_program(home, *words, said=said)
    assert done.returncode == 0, done.stderr
    return done.stdout


def said_to(payload: Any) -> list[str]:
    return [message["content"] for message in payload["messages"] if message["role"] != "system"]


def test_a_cards_scripts_are_counted_when_it_is_brought_in(tmp_path: Path) -> None:
    """How many run, are off, cannot be run and mean nothing here; the list and the doctor say which."""
    said = make_rook(tmp_path)
    assert (
        "7 regex scripts: 4 off until you allow them, 1 off, 1 not possible here (Behind), "
        "1 without effect here (Slashes). "
        "`familiar regex list` shows them." in said
    )
    listed = run(tmp_path, "regex", "list")
    assert re.search(r"\bcannot run +card +Behind .*look-around cannot be searched in linear time", listed)
    assert re.search(r"\bno effect +card +Slashes ", listed)
    assert re.search(r"\bon +card +Names ", listed)
    assert "slash commands, kept; without effect here" in listed
    assert "replies, shown only" in listed
    doctor = run_program(tmp_path, "doctor", "--all", "--offline").stdout
    assert "Behind (card) cannot run: look-around" in doctor


def test_each_kind_of_script_changes_its_own_text(tmp_path: Path) -> None:
    """What is kept, what is shown, what is sent."""
    answers = [stream_answer("A very nice ", "colour, ", "<s>psst</s> Mm."), stream_answer("Yes.")]
    with model_endpoint(*answers) as server:
        make_rook(tmp_path, server)
        shown = run(tmp_path, "chat", "--plain", said="Hello very old mate\nvery well\n")
        first, second = (request.payload for request in server.requests)
    assert "A very nice color, [hidden] Mm." in shown
    assert "very old Rook" in said_to(first)[-1]
    talk = "\n".join(said_to(second))
    assert "Hello old Rook" in talk
    assert "A nice color, <s>psst</s> Mm." in talk
    assert "very well" in talk
    asked, reply = json.loads(run(tmp_path, "logs", "--json"))[:2]
    assert (asked["text"], asked["view"]) == ("Hello very old mate", "Hello very old Rook")
    assert reply["text"] == reply["view"] == "A very nice color, <s>psst</s> Mm."
    assert reply["words"] == "A very nice colour, <s>psst</s> Mm."


def test_scripts_are_switched_and_added(tmp_path: Path) -> None:
    """By name or number, from the next message on; one's own come first and stand in a file that may be edited."""
    make_rook(tmp_path)
    assert "Names (card) is off" in run(tmp_path, "regex", "off", "names")
    assert "Asleep (card) is on" in run(tmp_path, "regex", "on", "7")
    added = run(tmp_path, "regex", "add", write(tmp_path / "s.json", script("Mine", "/sun/g", "moon", 1)))
    assert added.startswith("Added 1 regex script for rook: 1 on. `familiar regex list --familiar rook` shows")
    rows = json.loads(run(tmp_path, "regex", "list", "--json"))["scripts"]
    assert [(row["origin"], row["name"], row["on"]) for row in rows[:2]] == [
        ("own", "Mine", True),
        ("card", "Names", False),
    ]
    assert rows[-1]["on"] is True
    kept = json.loads((tmp_path / "familiars/rook/regex.json").read_text(encoding="utf-8"))
    assert kept["switched"] == {"card: Names": False, "card: Asleep": True}
    assert "there is no regex script 'nobody'" in one_sentence(run_program(tmp_path, "regex", "on", "nobody"))
    (tmp_path / "familiars/rook/regex.json").write_text("{", encoding="utf-8")
    assert "regex.json is not valid JSON" in one_sentence(run_program(tmp_path, "regex", "list"))


def test_a_script_that_cannot_run_is_not_said_to_be_on(tmp_path: Path) -> None:
    """Neither when it is added or switched on, nor in the list; nothing is counted that is not there."""
    make_rook(tmp_path, card={"spec": "chara_card_v2", "data": {"name": "Rook", "description": "a crow"}})
    added = run(tmp_path, "regex", "add", write(tmp_path / "s.json", script("Odd", "/(/", "x", 1)))
    assert added.startswith("Added 1 regex script for rook: 1 not possible here (Odd).")
    assert " cannot run   own     Odd " in run(tmp_path, "regex", "list")
    (row,) = json.loads(run(tmp_path, "regex", "list", "--json"))["scripts"]
    assert (row["on"], row["state"]) == (True, "cannot run")
    assert "Odd (own) is on for rook from the next message on, but cannot run: " in run(tmp_path, "regex", "on", "Odd")


@pytest.mark.parametrize("fidelity", ["sillytavern", "with_memory"])
def test_a_presets_scripts_rewrite_the_chat_and_its_lore(tmp_path: Path, fidelity: str) -> None:
    """For the prompt alone, by depth; World Info under `sillytavern`."""
    preset = {
        "prompts": [
            {"identifier": "main", "system_prompt": True, "role": "system", "content": "On {{model}}, {{maxContext}}."},
            {"identifier": "worldInfoBefore", "system_prompt": True, "marker": True},
            {"identifier": "chatHistory", "system_prompt": True, "marker": True},
        ],
        "prompt_order": [
            {
                "character_id": 100001,
                "order": [{"identifier": name, "enabled": True} for name in ("main", "worldInfoBefore", "chatHistory")],
            }
        ],
        "new_chat_prompt": "",
        "openai_max_context": 4000,
        "extensions": {
            "regex_scripts": [
                script("Loud", "/bell/g", "BELL", 1, 5, promptOnly=True),
                script("Old", "/sea/g", "SEA", 1, promptOnly=True, minDepth=2),
            ]
        },
    }
    book = {"entries": [{"keys": ["bell"], "content": "A bell of bronze.", "enabled": True, "insertion_order": 1}]}
    data = {"name": "Rook", "description": "a crow", "first_mes": "", "character_book": book}
    make_rook(tmp_path, card={"spec": "chara_card_v2", "spec_version": "2.0", "data": data})
    said = run(tmp_path, "preset", "import", write(tmp_path / "p.json", preset), "--allow-scripts")
    assert "2 regex scripts: 2 usable. " in said
    assert "Allowed for rook: 2 regex scripts" in said
    lines = [
        {"name": "Ada", "is_user": True, "mes": "the sea"},
        {"name": "Rook", "mes": "sea?"},
        {"name": "Ada", "is_user": True, "mes": "the bell by the sea"},
    ]
    chat = tmp_path / "c.jsonl"
    chat.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    shown = run(tmp_path, "prompt", str(chat), "--fidelity", fidelity)
    assert "On embedded, 4000." in shown
    assert "the SEA" in shown
    assert "the BELL by the sea" in shown
    assert "sea?" in shown
    if fidelity == "sillytavern":
        assert "A BELL of bronze." in shown
