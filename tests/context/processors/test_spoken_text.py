"""What can be said aloud, by rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.context.processors.spoken_text import SpokenTextPostProcessor, to_spoken_text
from familiar_connect.context.protocols import PostProcessor
from tests.fakes.context import a_request


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("Plain words stay, as they are.", "Plain words stay, as they are."),
        ("**Bold** and __strong__ and _soft_ words.", "Bold and strong and soft words."),
        ("*waves happily* Hello there!", "Hello there!"),
        ("*smiles* Hello there!", "Hello there!"),
        ("I *really* mean it.", "I really mean it."),
        ("Good 😀 morning 👩‍🚀!", "Good morning!"),
        ("Fine :) thanks <3", "Fine thanks"),
        ("# Title\n- one\n- two\n> said", "Title\none\ntwo\nsaid"),
        ("1. first\n2) second", "first\nsecond"),
        ("See [the map](https://example.org/a) or https://example.org.", "See the map or"),
        ("Use `ls` now.\n```\nrm -rf\n```\nDone.", "Use ls now.\n\nDone."),
        ("Nice <:blob:123456789> :wave: one", "Nice one"),
        ("2 * 3 is 6", "2 3 is 6"),
        ("snake_case_name stays", "snake_case_name stays"),
        ("At 12:30:45 we met", "At 12:30:45 we met"),
        ("Grüße, 世界! ¿Qué tal?", "Grüße, 世界! ¿Qué tal?"),
    ],
)
def test_markup_actions_and_emojis_are_not_spoken(written: str, spoken: str) -> None:
    """What was said is left, in its order."""
    assert to_spoken_text(written) == spoken


async def test_a_reply_that_is_all_gesture_stays_as_it_is() -> None:
    """Nothing at all would be worse."""
    assert await SpokenTextPostProcessor().process("*nods*", a_request()) == "*nods*"
    assert isinstance(SpokenTextPostProcessor(), PostProcessor)


@given(st.text(max_size=400))
def test_any_text_can_be_spoken(text: str) -> None:
    """No mark is left, nothing is added, and a second time changes nothing more of the marks."""
    spoken = to_spoken_text(text)

    assert "*" not in spoken
    assert "`" not in spoken
    assert len(spoken) <= len(text)
