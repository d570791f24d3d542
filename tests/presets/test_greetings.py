"""Alternate greetings as one text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.presets.greetings import GREETING_BREAK, join_greetings, split_greetings

GREETINGS = st.lists(st.text().filter(lambda text: text.strip() and GREETING_BREAK not in text))


@given(GREETINGS)
def test_what_is_joined_comes_apart_again(greetings: list[str]) -> None:
    """To the letter."""
    assert split_greetings(join_greetings(greetings)) == tuple(greetings)


def test_an_owner_may_write_it_by_hand() -> None:
    """With blank lines and line ends of their own; blank greetings do not count."""
    text = f"Hello.\r\n  {GREETING_BREAK} \r\nGood day.\n{GREETING_BREAK}\n\n{GREETING_BREAK}\nHi\n\n---\n\nyou."

    assert split_greetings(text) == ("Hello.\r", "Good day.", "Hi\n\n---\n\nyou.")
    assert split_greetings("") == ()
