"""Code is cut into pieces with colours: nothing of it is lost, and what is too large has none."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from familiar_connect.support.code_colours import (
    ALIASES,
    KINDS,
    LANGUAGES,
    MAX_COLOURED_CHARS,
    MAX_LINE_CHARS,
    MAX_LINES,
    colour_code,
    name_language,
)

pytest.importorskip("pygments", reason="the page is an extra")

SAMPLE = "# a\nclass Lamp { let x = \"oil\"; }\n<b c='d'>1</b>\n--- x\n+ y\nkey: [1, 2]\n\t\n"


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_no_character_is_lost_in_any_language(language: str) -> None:
    """Each of the list can be read, and every piece is of a kind that has a colour or of none."""
    pieces = colour_code(SAMPLE, language)

    assert "".join(piece.text for piece in pieces) == SAMPLE
    assert {piece.kind for piece in pieces} <= {*KINDS, ""}


@settings(deadline=None)
@given(st.text(max_size=80), st.sampled_from(sorted(LANGUAGES)))
def test_no_character_of_any_text_is_lost(text: str, language: str) -> None:
    """Whatever stands in a fence."""
    assert "".join(piece.text for piece in colour_code(text, language)) == text


@pytest.mark.parametrize(
    "code", ["x" * (MAX_LINE_CHARS + 1), "x = 1\n" * (MAX_LINES + 1), "x = 1  # y\n" * (MAX_COLOURED_CHARS // 10)]
)
def test_what_is_too_large_has_no_colours(code: str) -> None:
    """A line, the number of lines, and all of it."""
    assert [piece.kind for piece in colour_code(code, "python")] == [""]


def test_languages_are_known_by_their_usual_names() -> None:
    """As people write them behind a fence; another name is none."""
    assert set(ALIASES.values()) <= set(LANGUAGES)
    assert [name_language(info) for info in ("py", "C++ title", " JS", "", "klingon")] == [
        *("Python", "C++", "JavaScript", "", "")
    ]
