"""What people of the demonstration do besides talking, through the real library: menus, buttons, forms, edits."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("discord", reason="the Discord library is an extra")

from familiar_connect.config import CharacterConfig
from familiar_connect.config.character import change_section
from familiar_connect.extensions.discord.demo.typed_command import NotTaken, read_typed_fields
from tests.fakes.scripted_familiar import scripted_familiar
from tests.testing.test_demo import demonstrate, no_typing_delays

REMIND = {
    "name": "remind",
    "options": [{"name": "when", "type": 3}, {"name": "text", "type": 3}, {"name": "cancel", "type": 4}],
}
LIMITS = {"name": "limits", "options": [{"name": "replies", "type": 4}, {"name": "tokens", "type": 4}]}
PRIVACY = {"name": "privacy", "options": [{"name": "level", "type": 3, "choices": [{"value": "full"}]}]}


def with_buttons(config: CharacterConfig) -> CharacterConfig:
    return change_section(config, "discord", buttons=True)


async def played(tmp_path: Path, *lines: str, replies: tuple[str, ...] = ("Hello there.",)) -> list[str]:
    """What is shown while each line is answered before the next is typed, with buttons below replies."""
    said: list[str] = []
    async with scripted_familiar(tmp_path, replies, subscribed=False, settings=with_buttons) as house:
        no_typing_delays(house)
        await demonstrate(house, said, *lines, is_scripted=True)
    return said


async def test_a_right_click_shows_what_is_for_whoever_does_it(tmp_path: Path) -> None:
    """Ben sees what everybody sees; Ada keeps the server, is told why, and changes a reply in a form."""
    said = await played(
        tmp_path,
        "ada: hello Ember",
        "ben: !click nothing",
        "ben: !click Forget this",
        "ada: !click Why did you say that?",
        "ada: !click Edit",
        "ada: !fill Good evening.",
        "ada: !click-mine Forget this",
    )

    assert "(On a right-click Discord shows Ben: Forget this.)" in said
    assert any(line.startswith("(only Ben sees) Only the person who wrote a message") for line in said)
    assert any("[context.md]" in line for line in said)
    assert any("It holds: Hello there." in line for line in said)
    assert "(Ember changed that to: Good evening.)" in said
    assert any(line.startswith("(only Ada sees) Forgotten") for line in said)


async def test_buttons_work_for_those_they_are_meant_for(tmp_path: Path) -> None:
    """They stand below the newest reply; Ben is told that they are not his to press."""
    replies = ("Tea.", "Coffee.", "Milk.")
    said = await played(
        tmp_path, "ada: what, Ember?", "ben: !press Again", "ada: !press again", "ada: !press ◀", replies=replies
    )

    assert "  [Again] [◀] [▶] [Continue] [Stop]" in said
    refused = said[said.index("ben: !press Again") + 1]
    assert refused.startswith("(only Ben sees)")
    assert "(Ember changed that to: Coffee.)" in said
    assert "(Ember changed that to: Tea.)" in said


async def test_setup_shows_lists_and_what_is_chosen_counts(tmp_path: Path) -> None:
    """You choose on another server that the familiar is let onto; Ben is not shown the command."""
    said = await played(
        tmp_path, "!invite", "ben: #hall /setup", "#hall /setup", "#hall !pick hall", "cy: #hall hi, Ember"
    )

    assert any("Hello, I am Ember. I do not listen anywhere on this server yet." in line for line in said)
    assert "(Discord does not show /setup to Ben.)" in said
    assert any("[Where I listen ▾]" in line for line in said)
    assert any("I am Ember, and I listen in this channel from now on." in line for line in said)
    assert "[#hall] Ember: Hello there." in said


async def test_a_script_that_ends_with_an_invitation_shows_the_hello(tmp_path: Path) -> None:
    """And one that ends with a kick what the owner is told: both come a moment later."""
    said = await played(tmp_path, "!invite")
    assert "Hello, I am Ember." in said[-1]
    said = await played(tmp_path / "again", "!invite", "!kick")
    assert "I am no longer on the server The Burrow" in said[-1]


async def test_edits_deletions_and_twins_are_heard(tmp_path: Path) -> None:
    """An edit that adds a mention is answered, and so is what PluralKit says; what was deleted is gone."""
    said = await played(
        tmp_path,
        "ada: it rains",
        "ada: !edit it rains, @Ember",
        "ben: !as Luna @Ember is it full?",
        "cy: !delete",
        replies=("It does.", "It is, Luna.", "It is, Luna."),  # the first of these may be ended with its original
    )

    assert next(line for line in said if line.endswith(("It does.", "It is, Luna."))).startswith("Ember")
    assert sum(line.endswith(("It does.", "It is, Luna.")) for line in said) == 2
    assert said[-1] == "(Discord would not take that: Cy has said nothing here.)"


async def test_a_poll_is_asked_voted_in_and_ended(tmp_path: Path) -> None:
    """Its familiar hears of it; a vote that makes no sense is refused."""
    said = await played(
        tmp_path, "ada: !poll Tea? | yes | no", "ben: !vote 2", "ben: !vote 7", "ada: !end", "ada: !end"
    )

    assert "(Discord would not take that: a vote is the number of an answer.)" in said
    assert said[-1] == "(Discord would not take that: no poll is open here.)"


@pytest.mark.parametrize("cut", ["!drop", "!restart"])
async def test_what_is_said_around_a_cut_is_answered_once(tmp_path: Path, cut: str) -> None:
    """The connection is cut and resumed, or the familiar leaves and comes again."""
    said = await played(tmp_path, "ada: one, Ember", cut, "ben: two, Ember", replies=("First.", "Second."))

    assert [line for line in said if line.endswith(("First.", "Second."))] == ["Ember: First.", "Ember: Second."]


async def test_thrown_out_it_tells_its_owner(tmp_path: Path) -> None:
    """By direct message where they share another server, else where the program runs."""
    said = await played(tmp_path, "!invite", "!kick", "ada: are you there, Ember?")

    assert "(Ember is thrown out of The Burrow.)" in said
    assert any(line.startswith("[#dm] Ember: I am no longer on the server The Burrow") for line in said)


def test_what_is_typed_fills_in_the_fields_that_it_fits() -> None:
    """By the names of fields or in their order; text takes the rest, and what fits nowhere is said."""

    def find(kind: int, name: str) -> str | None:
        return None

    assert read_typed_fields(REMIND, "when: in an hour text: tea for Ada", find) == {
        "when": "in an hour",
        "text": "tea for Ada",
    }
    assert read_typed_fields(REMIND, "in 20 minutes tea", find) == {"when": "in 20 minutes tea"}
    assert read_typed_fields(LIMITS, "replies 20 tokens 50000", find) == {"replies": "20", "tokens": "50000"}
    assert read_typed_fields(PRIVACY, "full", find) == {"level": "full"}
    for command, typed in ((PRIVACY, "loud"), (REMIND, "cancel: me"), (LIMITS, "many"), ({"name": "help"}, "me")):
        with pytest.raises(NotTaken):
            read_typed_fields(command, typed, find)
