"""Faults that a rehearsal showed once: endless patterns, a file of one key, the wrong prompt, two questions as one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.rehearsal.said_pattern import explain_no_match
from tests.fakes.program import run_program
from tests.fakes.rehearsal import QUICK, TEA_HOUSE, rehearse

AT = "2026-03-01T08:00:00+00:00"
ENDLESS = "^(a+)+$"
"""Python takes longer than anybody lives for this and the reply below."""
LONG = "a" * 60 + "!"


def play(folder: Path, *steps: dict[str, Any], **changes: Any) -> tuple[int, str]:
    """`familiar rehearse` on a file of *steps* in the tea house: its exit code and what it printed."""
    file = folder / "rehearsal.json"
    file.write_text(json.dumps({**TEA_HOUSE, "familiar": {"settings": QUICK}, **changes, "steps": list(steps)}))
    done = run_program(folder / "home", "rehearse", str(file))
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("pattern", "said", "problem"),
    [
        ("^H.llo$", "Hello", None),
        ("^llo", "Hello", "does not match"),
        (r"\bBo\b", "Hello\n\nBo!", None),
        ("^Bo", "Hello\n\nBo!", "does not match"),
        (r"Hello\n\nBo", "Hello\n\nBo!", None),
        (r"(\w)\1", "Hello", None),
        ("l(?!l)o", "Hello", None),
        ("^$", "", None),
        (ENDLESS, LONG, "does not match"),
        (f"(?=x?){ENDLESS}", LONG, "takes more than 1 s of work"),
        (ENDLESS.replace("$", "!"), f"{LONG[:-1]}\n{LONG}", "takes more than 1 s of work"),
    ],
)
def test_a_pattern_means_what_it_means_in_python_and_ends(pattern: str, said: str, problem: str | None) -> None:
    """In one line by a linear engine, else by Python with a second of work."""
    found = explain_no_match(pattern, said)

    assert found is None if problem is None else found is not None and found.startswith(problem)


def test_a_rehearsal_with_an_endless_pattern_ends_in_a_sentence(tmp_path: Path) -> None:
    """The step fails, and what was said is shown."""
    code, printed = play(
        tmp_path,
        {"at": AT, "in": "dm-ada", "by": "ada", "say": "Hello"},
        {"expect": {"said_matches": ENDLESS}},
        models={"main_prose": {"otherwise": LONG}},
    )

    assert code == 1
    assert f"said_matches: '{ENDLESS}' does not match '{LONG}'" in printed.replace("\n", " ")


def test_a_channel_file_with_only_shares_with_shares(tmp_path: Path) -> None:
    """The rest is as the familiar's settings have it; what is said in tea is told on the other server."""
    places = {**TEA_HOUSE["places"], "far": {"kind": "text", "server": "Far House", "name": "far"}}
    steps = (
        {"at": AT, "in": "tea", "by": "ada", "say": "Ember, the code word is plumtree.", "mention": True},
        {"expect": {"reply_in": "tea"}},
        {"write_up": True},
        {"after": "1h", "in": "far", "by": "bo", "say": "Ember, what is the code word?", "mention": True},
    )
    told = rehearse(tmp_path, *steps, places=places)
    assert "plumtree" not in told.prompt(4)

    numbers = sorted(path.name.partition(".")[0] for path in (told.root / "channels").glob("*.last-context.md"))
    file = {"at": AT, "file": f"channels/{numbers[0]}.toml", "write": f'shares_with = ["channel:{numbers[1]}"]\n'}
    told = rehearse(tmp_path / "again", file, *steps, places=places)
    assert told.failed == []
    assert "plumtree" in told.prompt(5)


@pytest.mark.parametrize("line", ["what = 1", 'mode = "nonsense"', "shares_with = [1"])
def test_a_room_is_never_told_where_a_file_lies(tmp_path: Path, line: str) -> None:
    """A wrong channel file costs the reply, and strangers read that in a few words."""
    played = rehearse(
        tmp_path,
        {"at": AT, "file": "channels/3001.toml", "write": line},
        {"in": "tea", "by": "bo", "say": "Ember, hi", "mention": True},
        {"in": "tea", "by": "bo", "slash": "/preset"},
    )

    told = [notice.text for step in played.steps for notice in step.notices]
    assert told == ["No reply: one of my settings files is wrong. `familiar doctor` says more."]
    assert not any(str(tmp_path) in answer for step in played.steps for answer in step.answers)


def test_prompt_lacks_looks_at_the_reply_that_was_made_anew(tmp_path: Path) -> None:
    """After `/regenerate` the prompt of the first version is not looked at any more."""
    code, printed = play(
        tmp_path,
        {"at": AT, "file": "memory/self/description.md", "write": "Made of brass."},
        {"in": "dm-ada", "by": "ada", "say": "What are you?"},
        {"file": "memory/self/description.md", "write": "Made of copper."},
        {"slash": "/regenerate", "in": "dm-ada", "by": "ada"},
        {"expect": {"prompt_has": ["Made of copper."], "prompt_lacks": ["Made of brass."]}},
    )

    assert code == 0, printed


@pytest.mark.parametrize(("after", "is_one"), [("10m", True), ("2h", False)])
def test_a_question_long_after_a_failed_one_stands_for_itself(tmp_path: Path, after: str, is_one: bool) -> None:
    """Both are shown with their times; only what is written in one go is one message."""
    played = rehearse(
        tmp_path,
        {"at": AT, "in": "dm-ada", "by": "ada", "say": "What is one?"},
        {"after": after, "in": "dm-ada", "by": "ada", "say": "What is two?"},
        models={"main_prose": {"say": [{"fails": 400}, "Two."]}},
    )
    asked = [message.content for message in played.steps[1].calls[-1].messages]

    assert ("[08:00] Ada: What is one?" in asked) is not is_one
    assert ("[10:00] Ada: What is two?" in asked) is not is_one
