"""Saying something: to a person, who has a terminal, and to a script, which reads JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from familiar_connect import commands
from familiar_connect.commands.common import say, say_json

Shown = pytest.CaptureFixture[str]
HOSTILE = "a\x1b]0;owned\x07b\x9bc\x7f\u202ed\re"


def test_nothing_that_is_said_commands_the_terminal(capsys: Shown) -> None:
    """Words from outside lose their control characters; line ends and tabs stay."""
    say(f"{HOSTILE}\n\tend")

    assert capsys.readouterr().out == "a]0;ownedbcd\ne\n\tend\n"


def test_json_keeps_every_character_and_shows_none_raw(capsys: Shown) -> None:
    """What JSON itself would leave as it is comes out written as a number."""
    say_json({"said": HOSTILE, "name": "Zoë"})

    shown = capsys.readouterr().out
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", shown)
    assert "Zoë" in shown
    assert json.loads(shown)["said"] == HOSTILE


def test_json_holds_only_numbers_json_knows(capsys: Shown) -> None:
    """A number that is none is null, wherever it hides."""
    say_json({"rows": [{"share": float("nan"), "most": float("inf"), "fine": 0.5}]})

    assert json.loads(capsys.readouterr().out, parse_constant=pytest.fail) == {
        "rows": [{"share": None, "most": None, "fine": 0.5}]
    }


def test_every_verb_says_things_this_way() -> None:
    """No other line of the commands prints."""
    folder = Path(str(commands.__file__)).parent
    printing = re.compile(r"click\.s?echo\(|\bprint\(")
    found = [path.name for path in folder.rglob("*.py") if printing.search(path.read_text(encoding="utf-8"))]

    assert found == ["common.py"]
