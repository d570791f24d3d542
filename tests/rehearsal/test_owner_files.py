"""Whose a people file is after the owner rewrote it: played through the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fakes.program import run_program

OWNERS_LINE = "# Ada\n\nAda has TWO cats.\n"
SERVERS = "---\naudience: server:discord:2001\n---\n"


@pytest.mark.parametrize(
    ("text", "shown", "withheld"),
    [(SERVERS + OWNERS_LINE, ["TWO cats", "Zelda"], "Biscuit"), (OWNERS_LINE, ["Zelda"], "TWO cats")],
    ids=["its audience kept", "its audience taken away"],
)
def test_a_file_the_familiar_wrote_stays_with_its_audience_or_becomes_the_owners(
    tmp_path: Path, text: str, shown: list[str], withheld: str
) -> None:
    """With its first lines the owner's words are that server's; without them and all it knew, the owner's alone."""
    script = {
        "people": {"ada": {"name": "Ada", "id": "101"}},
        "places": {"tea": {"kind": "text", "server": "Tea House", "name": "lounge"}},
        "models": {"main_prose": {"say": []}, "memory_writer": "echo"},
        "steps": [
            {"in": "tea", "by": "ada", "say": "Ember, I have a cat called Biscuit.", "mention": True},
            {"write_up": True},
            {"file": "memory/people/discord-101.md", "write": text},
            {"in": "tea", "by": "ada", "say": "Ember, my sister Zelda is a plumber.", "mention": True},
            {"write_up": True},
            {"in": "tea", "by": "ada", "say": "Ember, what of my sister Zelda?", "mention": True},
            {"expect": {"reply_in": "tea", "prompt_has": shown}},
        ],
    }
    file = tmp_path / "script.json"
    file.write_text(json.dumps(script), encoding="utf-8")

    done = run_program(tmp_path / "home", "rehearse", str(file), "--scripted", "--json")
    asked = json.loads(done.stdout.splitlines()[-3])
    notes = asked["calls"][-1]["messages"][0]["content"]

    assert done.returncode == 0, done.stdout[-800:]
    assert withheld not in notes
