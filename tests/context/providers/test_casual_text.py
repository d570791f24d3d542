"""Words as people type them in a hurry."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.context.providers.character import to_casual_text


@pytest.mark.parametrize(
    ("written", "typed"),
    [
        ("I do not like tea.", "i don't like tea"),
        ("It is fine. We are going to try it.", "it's fine. we're gonna try it"),
        ("You cannot stay... Or can you?", "you can't stay... or can you?"),
        ("NASA called.\nThey will not wait.", "NASA called\nthey won't wait"),
        ("Run `Do not.` at https://Example.test/I.", "run `Do not.` at https://Example.test/I."),
        ("{{char}} is not amused.", "{{char}} isn't amused"),
        ("", ""),
    ],
)
def test_b94_samples_are_typed_casually(written: str, typed: str) -> None:
    """B94: short forms, small letters, few full stops; code, addresses and macros stay."""
    assert to_casual_text(written) == typed


@given(st.text(max_size=200))
def test_b94_the_same_words_come_out_the_same_and_no_line_is_lost(text: str) -> None:
    """B94: deterministic, and never longer than it was written."""
    typed = to_casual_text(text)

    assert typed == to_casual_text(text)
    assert typed.count("\n") == text.count("\n")
    assert len(typed) <= len(text) + text.count("\u0130")  # a capital that has no small letter of its own
