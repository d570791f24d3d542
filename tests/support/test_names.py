"""One folding of names, one set of invisible characters."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.context.providers.scene.text import block_safe, inline_safe
from familiar_connect.conversation.name_match import contains_any_name
from familiar_connect.extensions.discord.people import visible_name
from familiar_connect.support.system_notes import speaker_name
from familiar_connect.support.text import fold_name, has_visible, to_slug, without_invisible

HIDDEN = [*map(chr, range(0xE0020, 0xE0080)), "\u200b", "\u2060", "\ufeff", "\u00ad", "\u034f", "\u3164", "\u202e"]


@given(st.text(max_size=60))
def test_folding_twice_is_folding_once(name: str) -> None:
    """So a folded name may be compared with any other."""
    assert fold_name(fold_name(name)) == fold_name(name)


@given(st.text(max_size=40), st.sampled_from(HIDDEN), st.integers(0, 40))
def test_an_invisible_character_never_tells_two_names_apart(name: str, hidden: str, at: int) -> None:
    """Nor does letter case, width or a doubled space."""
    assert fold_name(name[:at] + hidden + name[at:]) == fold_name(without_invisible(name[:at] + name[at:]))
    assert fold_name(name.upper()) == fold_name(name.upper().lower())


@given(st.text(max_size=60))
def test_taking_out_what_nobody_sees_leaves_all_that_is_seen(text: str) -> None:
    """Letters, digits and signs stay in order; taking out twice changes nothing."""
    left = without_invisible(text)

    assert without_invisible(left) == left
    assert [char for char in left if char.isalnum()] == [
        char for char in text if char.isalnum() and char not in "\u115f\u1160\u3164\uffa0"
    ]


def test_every_reader_of_names_takes_the_same_characters_for_invisible() -> None:
    """Who is called, whose name shows, what a prompt's lines hold: tag characters pass nowhere."""
    expected = (True, None, "Ada", "nobody", False)
    seen = {
        hidden: (
            contains_any_name(f"hey A{hidden}da!", ["Ada"]),
            visible_name(hidden),
            speaker_name(f"A{hidden}da"),
            speaker_name(hidden, "nobody"),
            hidden in inline_safe(f"A{hidden}da") + block_safe(f"A{hidden}da"),
        )
        for hidden in HIDDEN
    }

    assert len(seen) > 100
    assert {f"U+{ord(each):04X}": found for each, found in seen.items() if found != expected} == {}


def test_joiners_stay_in_text_and_are_ignored_in_names() -> None:
    """A family emoji stays one; a name written with or without a joiner is the same."""
    assert without_invisible("👩‍👧 می‌خواهم ❤️") == "👩‍👧 می‌خواهم ❤️"
    assert fold_name("می‌خواهم") == fold_name("میخواهم")


def test_what_shows_nothing_is_not_visible() -> None:
    """Spaces, marks without a letter, blank letters; anything else is seen."""
    assert not has_visible(" \u0301\u2800\ufe0f\u3164\t")
    assert has_visible("\u2800a")
    assert not has_visible("")
    assert not has_visible("  ")
    assert not has_visible(" \x07\n")
    assert has_visible("a\x07")
    assert has_visible("Ada L.")
    assert unicodedata.category("\u2800") == "So"


@pytest.mark.parametrize(
    ("words", "most", "slug"),
    [("The Old Boat!", None, "the-old-boat"), ("  ", None, ""), ("discord:41", None, "discord-41"), ("ab cd", 3, "ab")],
)
def test_a_slug_is_the_piece_of_a_files_name(words: str, most: int | None, slug: str) -> None:
    """Lower case, dashes between, none at an end where it is cut."""
    assert to_slug(words, most) == slug
