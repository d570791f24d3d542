"""What a familiar says of its notes when it stops listening: written up only where it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fakes.rehearsal import rehearse

LEAVE = {"after": "1s", "slash": "/unsubscribe-text", "in": "tea", "by": "owner"}
TOLD = {"in": "tea", "by": "ada", "say": "Ember, I live in Graz and I am allergic to nuts.", "mention": True}


def answer_of_leaving(folder: Path, writer: Any, *before: dict[str, Any], settings: str = "") -> str:
    """What the last step, an `/unsubscribe-text`, was answered with."""
    played = rehearse(
        folder,
        *before,
        LEAVE,
        settings=settings,
        models={"main_prose": {"otherwise": "Mm."}, "memory_writer": writer},
    )
    return played.steps[-1].answers[-1]


def test_what_was_heard_and_written_is_called_written_up(tmp_path: Path) -> None:
    """Where files hold it now."""
    assert answer_of_leaving(tmp_path, "echo", TOLD).endswith("I wrote up what I heard.")


def test_a_channel_in_which_nothing_was_heard_has_nothing_written_up(tmp_path: Path) -> None:
    """Nor is what was said in another channel taken for it."""
    elsewhere = {**TOLD, "in": "staff"}

    assert answer_of_leaving(tmp_path, "echo", elsewhere).endswith("There was nothing left to write up.")


@pytest.mark.parametrize(
    "writer",
    [{"say": [{"fails": 500, "times": 9}], "otherwise": "x"}, {"otherwise": "This is no plan."}],
    ids=["model fails", "answer is none"],
)
def test_what_the_model_did_not_write_is_not_called_written_up(tmp_path: Path, writer: dict[str, Any]) -> None:
    """It waits, and the answer says so."""
    answer = answer_of_leaving(tmp_path, writer, TOLD)

    assert answer.endswith("I could not write up what I heard yet; I will try again later.")


def test_what_was_put_aside_is_not_called_written_up(tmp_path: Path) -> None:
    """After as many attempts as a batch gets, two of them before the channel is left."""
    attempts = [{"write_up": True, "after": "1s"}] * 2
    answer = answer_of_leaving(tmp_path, {"otherwise": "This is no plan."}, TOLD, *attempts)

    assert "I could not write up what I heard" in answer


def test_notes_that_wait_for_the_owner_are_not_called_written_up(tmp_path: Path) -> None:
    """With `[memory_writer] review = true` nothing is in a file yet."""
    answer = answer_of_leaving(tmp_path, "echo", TOLD, settings="[memory_writer]\nreview = true\n")

    assert answer.endswith("My notes on what I heard are waiting for my owner's approval.")
