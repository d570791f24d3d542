"""Discord's people under the names that can be seen."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.extensions.discord.people import visible_name


@given(st.text(alphabet="\u200b\u200c\u200d\u2060\ufeff\u3164\u2800 \t\u0301"))
def test_nothing_to_see_is_no_name(name: str) -> None:
    """Whatever it is made of."""
    assert visible_name(name) is None


@given(st.text(alphabet="ab\u200b\u3164 "), st.sampled_from("xé漢😀"))
def test_a_name_with_one_visible_letter_is_kept_as_it_is(around: str, letter: str) -> None:
    """Nothing of it is changed."""
    assert visible_name(around + letter) == around + letter
