"""A pattern that is compiled when it is first used finds what one finds that was compiled at once."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.support.lazy_pattern import LazyPattern

TEXTS = st.text(st.sampled_from("ab AB\n-"), max_size=20)


@given(text=TEXTS)
def test_it_finds_what_a_compiled_pattern_finds(text: str) -> None:
    """By each of the methods it has."""
    at_once = re.compile(r"(a+)(b)?", re.IGNORECASE)
    late = LazyPattern(r"(a+)(b)?", re.IGNORECASE)

    for method in ("search", "match", "fullmatch"):
        found, wanted = getattr(late, method)(text), getattr(at_once, method)(text)
        assert (found and found.span(), found and found.groups()) == (
            wanted and wanted.span(),
            wanted and wanted.groups(),
        )
    assert [each.span() for each in late.finditer(text)] == [each.span() for each in at_once.finditer(text)]
    assert late.findall(text) == at_once.findall(text)
    assert late.split(text) == at_once.split(text)
    assert late.sub("-", text, 1) == at_once.sub("-", text, 1)


def test_nothing_is_compiled_before_the_first_use() -> None:
    """Nor is its text put together."""
    late = LazyPattern(lambda: pytest.fail("put together too early"))
    assert not late.is_compiled

    early = LazyPattern(lambda: "a")
    assert early.search("ba")
    assert early.is_compiled
