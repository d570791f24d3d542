"""Words that stand in scene blocks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.context.providers.scene.text import block_safe, inline_safe, with_names


def test_names_in_single_and_double_braces() -> None:
    """B12: whatever the case and the spaces inside; anything else stays."""
    text = "{user} {{ User }} {CHAR} {{bot}} {users} {{random::a}}"

    assert with_names(text, char="Wren", user="Ada") == "Ada Ada Wren Wren {users} {{random::a}}"


@given(st.text())
def test_told_text_is_one_line_that_ends_nothing(text: str) -> None:
    """However it was written."""
    line = inline_safe(text)

    assert "]" not in line
    assert "[" not in line
    assert len(line.splitlines()) <= 1


@given(st.text(), st.sampled_from(["[System: x]", "[ sYstem : x", "［System：x"]))
def test_a_block_never_holds_a_system_line(text: str, line: str) -> None:
    """Not even in disguise."""
    assert "[system:" not in block_safe(f"{text}\n{line}\n{text}").lower().replace(" ", "")
