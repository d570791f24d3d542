"""Finding kinds of words: the quick way finds what searching for each pattern finds."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.memory.weighing import statements
from familiar_connect.memory.weighing.lasting_words import LASTING
from familiar_connect.memory.weighing.statements import FADING, KindFinder
from familiar_connect.support.lazy_pattern import LazyPattern
from familiar_connect.support.re2_engine import PatternSet, without_lookaround

PATTERNS = {**LASTING, **{f"fading {kind}": found for kind, found in FADING.items()}}
WORDS = sorted({word for _, pattern in PATTERNS.values() for word in re.findall(r"[a-z']{2,}", pattern.pattern)})
CLAUSES = st.lists(st.sampled_from([*WORDS, "I", "my", "Ada", "fiancée", "32", "?"]), max_size=12).map(" ".join)


@pytest.fixture(scope="module")
def quick() -> KindFinder:
    """A finder that has read enough to use its set."""
    finder = KindFinder(PATTERNS)
    for number in range(statements.WORTH_A_SET + 1):
        finder.find(f"clause {number}")
    return finder


@given(clause=CLAUSES)
def test_the_set_finds_what_each_pattern_finds(quick: KindFinder, clause: str) -> None:
    """In clauses made of the patterns' own words, also with letters that are not ASCII."""
    assert quick.find(clause) == {kind for kind, (_, pattern) in PATTERNS.items() if pattern.search(clause)}


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        (r"a(?!b)c", "ac"),
        (r"(?<=a)b(?:c|d)", "b(?:c|d)"),
        (r"x(?!a(?:b|(?=c))[)]\))y", "xy"),
        (r"[(?!]\(?!a", r"[(?!]\(?!a"),
        (r"[]()]b(?<!c)", "[]()]b"),
    ],
)
def test_what_looks_around_is_left_out_of_a_pattern(pattern: str, left: str) -> None:
    """The rest is as it was, whatever stands in classes and behind backslashes."""
    re.compile(pattern)
    assert without_lookaround(pattern) == left


def test_a_set_tells_too_much_rather_than_too_little() -> None:
    """What RE2 cannot check is left to the pattern itself."""
    patterns = PatternSet([r"\bcat(?! food)", r"dog"])
    assert list(patterns.find_possible("CAT food")) == [0]
    assert list(patterns.find_possible("a bird")) == []
    finder = KindFinder({"cat": (1, LazyPattern(r"\bcat(?! food)", re.IGNORECASE))})
    assert [finder.find("cat food") for _ in range(2)] == [frozenset()] * 2
