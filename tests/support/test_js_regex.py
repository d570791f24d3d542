"""JavaScript patterns rewritten for a linear engine."""

from __future__ import annotations

import pytest

from familiar_connect.support.js_regex import JsPattern, split_literal
from familiar_connect.support.re2_engine import PatternRefused


@pytest.mark.parametrize(
    ("source", "flags", "text", "is_found"),
    [
        (r"^a.c$", "", "abc", True),
        (r"a.c", "", "a\nc", False),
        (r"a.c", "s", "a\nc", True),
        (r"^c", "m", "b\nc", True),
        (r"KÄSE", "i", "käse", True),
        (r"\bcat\b", "", "猫cat猫", True),
        (r"a\sb", "", "a\u3000b", True),
        (r"[^\s]", "", "\u00a0", False),
        (r"\u0041\x42", "", "AB", True),
        (r"\u{1F600}", "u", "😀", True),
        (r"\uD83D\uDE00", "", "😀", True),
        (r"(?<year>\d{4})", "", "in 2042", True),
        (r"[^]b", "", "\nb", True),
        (r"a{,3}", "", "a{,3}", True),
        (r"b", "y", "ab", False),
        (r"[[a]", "", "[", True),
        (r"\/", "", "/", True),
    ],
)
def test_a_pattern_means_what_it_means_in_javascript(source: str, flags: str, text: str, is_found: bool) -> None:
    """Classes, escapes and flags."""
    assert JsPattern(source, flags).test(text) is is_found


@pytest.mark.parametrize("source", [r"(?=a)", r"(?<!a)b", r"(a)\1", r"a{999}{999}", "(", "[a", "a" * 6000])
def test_what_cannot_be_searched_in_linear_time_is_refused(source: str) -> None:
    """In a sentence."""
    with pytest.raises(PatternRefused) as refused:
        JsPattern(source)
    assert str(refused.value)


def test_a_literal_has_slashes_around_it_and_none_inside() -> None:
    """Unless they are escaped."""
    assert split_literal("/a b/gi") == ("a b", "gi")
    assert split_literal(r"/a\/b/") == ("a/b", "")
    assert split_literal("/a/b/") is None
    assert split_literal("/a/x") is None
    assert split_literal("plain") is None
