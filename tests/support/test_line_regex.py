"""Python's patterns, searched line by line in linear time."""

from __future__ import annotations

import contextlib
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from familiar_connect.support.line_regex import LineHit, LinePattern
from familiar_connect.support.re2_engine import PatternRefused

ATOMS = st.one_of(
    st.sampled_from("abéß日 _.^$"),
    st.sampled_from([r"\w", r"\W", r"\d", r"\s", r"\S", r"\b", r"\B", r"\.", r"\A", r"\Z", "[ab]", "[^a]", "[a-f]"]),
    st.sampled_from([r"[\W_]", r"[^\W_]", r"[^\Wa]", r"[\s\d]", "(?i:É)", "(?-i:A)"]),
)
PATTERNS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map("(?:{0[0]}|{0[1]})".format),
        inner.map("(?:{}x)*".format),
        inner.map("(?:{}y)+?".format),
        inner.map("({}z)?".format),
    ),
    max_leaves=6,
)
TEXTS = st.text(alphabet="abAéÉß日 _.x\nyz9\u00a0\u0301-", max_size=40)


def by_python(pattern: str, text: str, *, ignore_case: bool) -> list[LineHit]:
    """What the same search is with `re` alone."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    compiled = re.compile(pattern, re.IGNORECASE if ignore_case else 0)
    found = [(number, line, compiled.search(line)) for number, line in enumerate(lines, 1)]
    return [LineHit(number, line, *match.span()) for number, line, match in found if match]


@settings(deadline=None)
@given(pattern=PATTERNS, text=TEXTS, ignore_case=st.booleans())
def test_the_answer_is_the_one_re_gives(pattern: str, text: str, ignore_case: bool) -> None:
    """Lines, first matches and offsets agree with Python's engine, in every script."""
    if r"\B" in pattern and "\n\n" in f"\n{text}\n":
        text = text.replace("\n", "")  # Python itself changed its mind about \B in an empty line
    if not text:
        return

    found = list(LinePattern(pattern, ignore_case=ignore_case).search(text.encode()))
    assert found == by_python(pattern, text, ignore_case=ignore_case)


@settings(deadline=None)
@given(pattern=PATTERNS, text=TEXTS)
def test_what_cannot_occur_is_never_found(pattern: str, text: str) -> None:
    """`occurs_in` rules out a text only when `search` finds nothing there."""
    searched = LinePattern(pattern)

    assert searched.may_match(b"x\n" + text.encode() + b"\nx") or not list(searched.search(text.encode()))


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(x+x+)+y", "(.*)*$!", "a{0,500}" * 2 + "!"])
def test_hostile_patterns_take_linear_time(pattern: str) -> None:
    """What keeps a backtracking engine busy for years is done or refused at once."""
    started = time.process_time()
    with contextlib.suppress(PatternRefused):
        list(LinePattern(pattern).search(b"a" * 200_000 + b"!"))

    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("(", "missing )"),
        ("[", "unterminated character set"),
        ("*a", "nothing to repeat"),
        ("(?=a)b", "look-around"),
        ("(?<!a)b", "look-around"),
        (r"(a)\1", "back-references"),
        ("(a)?(?(1)b|c)", "conditional"),
        ("(?>a+)b", "atomic"),
        ("a++b", "possessive"),
        (r"(\w{100}){10}", "too large"),
        ("a" * 1001, "longer than 1000"),
        ("(" * 450 + ")" * 450, None),
        ("a\ud800", "not valid text"),
    ],
)
def test_a_refusal_says_why(pattern: str, words: str | None) -> None:
    """Invalid and non-linear patterns are refused in words; deep nesting is either refused or searched."""
    if words is None:
        list(LinePattern(pattern).search(b"x"))
        return
    with pytest.raises(PatternRefused, match=re.escape(words)):
        LinePattern(pattern)


def test_doubtful_sets_do_not_warn() -> None:
    """Python's own doubts about a pattern do not reach the terminal."""
    assert [hit.start for hit in LinePattern("[[a]").search(b"x[")] == [1]


def test_carriage_returns_belong_to_the_line_end() -> None:
    """A file saved on Windows is searched like any other."""
    assert list(LinePattern("b$").search(b"ab\r\ncb\r\n")) == [LineHit(1, "ab", 1, 2), LineHit(2, "cb", 1, 2)]


def test_bytes_that_are_not_text_are_told_when_met() -> None:
    """A match in a file that is not UTF-8 is an error for the caller to skip."""
    with pytest.raises(UnicodeDecodeError):
        list(LinePattern("a").search(b"a\xff"))


def test_too_many_kinds_of_character_are_refused() -> None:
    """Beside a word boundary in another script only so many characters can be told apart."""
    many = "|".join(chr(code) * 2 for code in range(0x4E00, 0x4E50))
    with pytest.raises(PatternRefused, match="too many different characters"):
        list(LinePattern(rf"\b(?:{many})\b").search(many.encode()))
