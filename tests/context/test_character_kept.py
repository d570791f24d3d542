"""Who the familiar is stays in every prompt, and a cut of it is told loudly."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.program import run_program
from tests.fakes.rehearsal import rehearse

SIZE = 90
DESCRIPTION = (
    "Ember is the keeper of the copper kettle.\n\n" + "Ember is patient and speaks in short, warm sentences. " * SIZE
)
LONG = "Ember, read this: " + "the river was high today and we walked along the bank for hours. " * 180


@pytest.mark.parametrize("budget_tokens", [3000, 1000])
def test_a_long_message_does_not_drive_out_who_the_familiar_is(tmp_path: Path, budget_tokens: int) -> None:
    """Shortened it may be; then the outline of the turn says so before it lists the cuts."""
    played = rehearse(
        tmp_path,
        {"in": "tea", "by": "ada", "say": LONG, "mention": True},
        {"slash": "/context", "in": "tea", "by": "owner"},
        settings=f"budget_tokens = {budget_tokens}\n",
        familiar={"name": "Ember", "memory": {"self/description.md": DESCRIPTION}},
    )

    assert "keeper of the copper kettle" in played.prompt(1)
    assert "for hours." in played.prompt(1)
    told = played.steps[1].answers[0]
    assert "! Part of the character was not shown: " in told
    assert told.index("! Part of the") < told.index("\nCut\n")


def test_doctor_says_that_a_character_is_larger_than_its_part_of_a_prompt(tmp_path: Path) -> None:
    """And says nothing of one that fits."""
    run_program(tmp_path, "init", "Ember")
    small = run_program(tmp_path, "doctor", "--all", "--offline").stdout
    (file,) = tmp_path.glob("familiars/*/memory/self/description.md")
    file.write_text(DESCRIPTION, encoding="utf-8")
    large = run_program(tmp_path, "doctor", "--all", "--offline").stdout

    assert "! character" not in small
    assert "! character memory/self is about" in large
