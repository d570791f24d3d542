"""What a turn is, and what its speaker asks for."""

from __future__ import annotations

import pytest

from familiar_connect.chat.build import turn_flags, wants_remembering
from familiar_connect.chat.types import Reminder, TurnOptions
from tests.fakes.context import ADA, BO


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Remember that I like tea", True),
        ("please  DON’T\nforget this", True),
        ("ｒｅｍｅｍｂｅｒ me", True),
        ("take a note", True),
        ("for future reference: no milk", True),
        ("please save this to your long-term memory", True),
        ("add that to your memory", True),
        ("how large is your long-term memory?", False),
        ("my notebook is gone", False),
        ("she was remembered", False),
        ("これを覚えておいてね", True),
        ("忘れないで", True),
        ("hello", False),
        ("   ", False),
        (None, False),
    ],
)
def test_a_wish_to_be_remembered_is_noticed(text: str | None, wanted: bool) -> None:
    """E33: folded, and in ASCII by whole words."""
    assert wants_remembering(text) is wanted


def test_speaking_for_somebody_goes_without_tools() -> None:
    """E32, D17: all of them are off."""
    flags = turn_flags(TurnOptions(imitate=BO), trigger_text="hi")

    assert (flags.impersonation, flags.disable_all_tools) == (True, True)


def test_a_reminder_forces_a_mention_and_makes_no_tasks() -> None:
    """E31: someone behind a bridge cannot be mentioned."""
    flags = turn_flags(TurnOptions(reminder=Reminder(purpose="tea", recipient=ADA)), trigger_text=None)
    bridged = turn_flags(
        TurnOptions(reminder=Reminder(purpose="tea", recipient=ADA, is_bridge_user=True)), trigger_text=None
    )

    assert (flags.forced_mentions, flags.disable_task_creation, bridged.forced_mentions) == ((ADA,), True, ())


def test_an_ordinary_turn_is_nothing_special() -> None:
    """D17: every flag is off."""
    flags = turn_flags(TurnOptions(), trigger_text="hi")

    assert not any(vars(flags).values())
