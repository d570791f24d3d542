"""Expectations: each holds when it should, and says in one sentence what is not so."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.llm.types import Message
from familiar_connect.rehearsal.expectations import Evidence, check_expectation
from familiar_connect.rehearsal.models import ModelCall
from familiar_connect.rehearsal.types import Expectation
from familiar_connect.rehearsal.world import Reply

pytestmark = pytest.mark.process

NOW = datetime(2026, 3, 1, tzinfo=UTC)
CALL = ModelCall(
    slot="main_prose",
    messages=(Message("system", "You are Ember."), Message("user", "Bo: hi"), Message("tool", "saved")),
    place="tea",
    turn=1,
)


def evidence(root: Path, **changes: Any) -> Evidence:
    facts: dict[str, Any] = {
        "replies": (Reply(number=1, place="tea", turn=1, at=NOW, pieces=["Hello,", "Bo!"]),),
        "calls": (CALL,),
        "answers": ("Done.",),
        "withheld": ("history:dm",),
        "calls_for": lambda turn: [CALL] if turn == 1 else [],
        "root": root,
    }
    return Evidence(**facts | changes)


HOLDS = [
    Expectation(reply_in="tea", said_matches="^Hello.*", words={"said_has": ("Bo!",), "said_lacks": ("Ada",)}),
    Expectation(words={"prompt_has": ("Ember", "Bo: hi"), "prompt_lacks": ("swordfish",)}),
    Expectation(words={"tool_has": ("saved",), "tool_lacks": ("refused",)}),
    Expectation(words={"answer_has": ("Done",), "answer_lacks": ("No",)}),
    Expectation(calls={"main_prose": 1, "memory_writer": 0}, withheld=("history:dm",)),
    Expectation(files={"file_has": {"a.md": ("tea",)}, "file_lacks": {"a.md": ("rum",), "none.md": ("x",)}}),
]
FAILS = [
    (Expectation(no_reply=True), "no_reply: there was one in tea: 'Hello,\\n\\nBo!'"),
    (Expectation(reply_in="dm"), "reply_in: the last reply is in tea, not in dm"),
    (Expectation(said_matches="^Bo"), "said_matches: '^Bo' does not match 'Hello,\\n\\nBo!'"),
    (Expectation(words={"said_has": ("hello",)}), "said_has: 'hello' is not there"),
    (
        Expectation(words={"prompt_lacks": ("Bo",)}),
        "prompt_lacks: 'Bo' is in the user message of main_prose: 'Bo: hi'",
    ),
    (Expectation(words={"tool_has": ("found",)}), "tool_has: 'found' is not there"),
    (Expectation(words={"answer_lacks": ("Done",)}), "answer_lacks: 'Done' is in the answer: 'Done.'"),
    (Expectation(calls={"main_prose": 2}), "calls: main_prose was asked 1 times, not 2"),
    (Expectation(withheld=("people",)), "withheld: 'people' was not kept back; kept back: history:dm"),
    (Expectation(files={"file_has": {"none.md": ("x",)}}), "file_has: there is no file none.md"),
    (Expectation(files={"file_has": {"a.md": ("rum",)}}), "file_has a.md: 'rum' is not there"),
    (Expectation(files={"file_lacks": {"a.md": ("tea",)}}), "file_lacks a.md: 'tea' is in a.md: 'tea'"),
]
NOTHING_HAPPENED = [
    (Expectation(reply_in="tea"), "reply_in: nothing was said in tea"),
    (Expectation(said_matches="."), "said_matches: nothing was said"),
    (Expectation(words={"said_lacks": ("x",)}), "said_lacks: nothing was said"),
    (Expectation(words={"prompt_lacks": ("x",)}), "prompt_lacks: no model was asked"),
    (Expectation(words={"tool_lacks": ("x",)}), "tool_lacks: no tool was used"),
    (Expectation(words={"answer_lacks": ("x",)}), "answer_lacks: no slash command was used"),
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "a.md").write_text("tea", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("expected", HOLDS)
def test_what_is_so_holds(expected: Expectation, root: Path) -> None:
    """Nothing is said of it."""
    assert check_expectation(expected, evidence(root)) == []


@pytest.mark.parametrize(("expected", "sentence"), FAILS)
def test_what_is_not_so_is_told_in_a_sentence(expected: Expectation, sentence: str, root: Path) -> None:
    """It names the key and what was found instead."""
    assert check_expectation(expected, evidence(root)) == [sentence]


@pytest.mark.parametrize(("expected", "sentence"), NOTHING_HAPPENED)
def test_an_expectation_about_what_was_never_made_fails(expected: Expectation, sentence: str, root: Path) -> None:
    """Also one that forbids words."""
    nothing = evidence(root, replies=(), calls=(), answers=())

    assert check_expectation(expected, nothing) == [sentence]


def test_the_prompt_is_that_of_the_last_reply_and_of_no_other(root: Path) -> None:
    """Or of the last turn, where nothing was said."""
    other = ModelCall(slot="main_prose", messages=(Message("user", "swordfish"),), place="dm", turn=2)
    both = (CALL, other)
    found = {1: [CALL], 2: [other]}

    lacks = Expectation(words={"prompt_lacks": ("swordfish",)})
    assert check_expectation(lacks, evidence(root, calls=both, calls_for=lambda turn: found[turn])) == []
    silent = evidence(root, calls=both, replies=(), calls_for=lambda turn: found[turn])
    assert len(check_expectation(lacks, silent)) == 1
