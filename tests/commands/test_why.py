"""why: three planted causes, each told by the real program from what a rehearsal left behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.fakes.program import one_sentence, run_program
from tests.fakes.rehearsal import rehearse

SECRET = "The spare key lies under the blue pot."


def said(where: str, text: str) -> dict[str, Any]:
    return {"by": "ada", "in": where, "say": text}


def why(root: Path, *words: str) -> dict[str, Any]:
    """What the program answers, and that its exit code says no."""
    done = run_program(root.parents[1], "why", *words, "--json")
    assert done.returncode == 1, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_what_was_never_heard_is_told_so(tmp_path: Path) -> None:
    """Nobody said it anywhere."""
    played = rehearse(tmp_path, said("dm-ada", "Good morning!"), said("dm-ada", "Where is the spare key?"))
    found = why(played.root, "spare key under the pot")

    assert found["answer"] == "heard"


def test_what_was_told_in_confidence_is_told_so(tmp_path: Path) -> None:
    """It was said in a direct message, and missed where others read."""
    asked = {"by": "bo", "in": "tea", "say": "Ember, where is the spare key?"}
    played = rehearse(tmp_path, said("dm-ada", SECRET), asked)
    found = why(played.root, "spare key under the blue pot")

    assert found["answer"] == "allowed here"
    assert "the people of a direct message" in str(found["steps"])


def test_a_turn_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    """With the verb that lists them."""
    played = rehearse(tmp_path, said("dm-ada", "Good morning!"))
    done = run_program(played.root.parents[1], "why", "tea", "--turn", "nothing")

    assert done.returncode == 1
    assert "familiar inspect --list" in one_sentence(done)


def test_words_are_needed(tmp_path: Path) -> None:
    """Without them there is nothing to follow."""
    played = rehearse(tmp_path, said("dm-ada", "Good morning!"))

    assert run_program(played.root.parents[1], "why").returncode == 2
    assert "write a few words" in one_sentence(run_program(played.root.parents[1], "why", " "))
