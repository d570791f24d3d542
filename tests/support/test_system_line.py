"""Notes of ours inside a user's turn."""

from __future__ import annotations

import pytest

from familiar_connect.support.system_line import combine, unwrap, wrap


def test_a_note_is_bracketed() -> None:
    """So that nobody takes it for someone's words."""
    assert wrap("be brief") == "[System: be brief]"


@pytest.mark.parametrize("text", ["stop", " stop ", "[System: stop]", "[stop]", "[system: stop ]", "[System: [stop]]"])
def test_one_outer_pair_of_each_kind_is_taken_off(text: str) -> None:
    """However a directive was written, it goes in bare."""
    assert unwrap(text) == "stop"


def test_inner_brackets_stay() -> None:
    """Only the outermost pair is ours."""
    assert unwrap("say [this] now") == "say [this] now"


def test_several_notes_become_one() -> None:
    """A blank line between them, one bracket around."""
    assert combine(["one", " ", "[System: two]"]) == "[System: one\n\ntwo]"


def test_nothing_to_say_makes_no_line() -> None:
    """All blank means no item."""
    assert combine(["", "  ", "[System: ]"]) is None
