"""Regex scripts as SillyTavern runs them: what they replace, when they apply, and what they cannot do."""

from __future__ import annotations

import time
import tracemalloc
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.presets.macros.types import MacroContext
from familiar_connect.presets.regex_scripts import (
    MAX_RESULT_CHARS,
    Placement,
    TextUse,
    applies,
    read_scripts,
    rewrite_text,
    script_problem,
)
from familiar_connect.presets.regex_summary import is_without_effect, summarize_scripts
from familiar_connect.presets.types import RegexScript

SAID = TextUse(placement=Placement.user_input)
NAMES = MacroContext(char="Rook", user="Ada")


def rewritten(text: str, find: str, replacement: str = "", **more: Any) -> str:
    script = RegexScript(name="s", find=find, replacement=replacement, placements=(1,), **more)
    return rewrite_text(text, [script], SAID, NAMES)


@pytest.mark.parametrize(
    ("text", "find", "replacement", "made"),
    [
        ("a cat, a cat", "/cat/g", "dog", "a dog, a dog"),
        ("a cat, a cat", "/cat/", "dog", "a dog, a cat"),
        ("a cat, a cat", "cat", "dog", "a dog, a cat"),
        ("Hi THERE", "/there/i", "you", "Hi you"),
        ("one two", r"/(\w+) (\w+)/", "$2 $1$3", "two one"),
        ("one", r"/(?<first>o)/", "<$<first>>", "<o>ne"),
        ("one", "/n/", "[{{match}}$0]", "o[nn]e"),
        ("hello", "/hello/", "{{user}} to {{char}}", "Ada to Rook"),
        ("{{user}}", r"/(.+)/", "$1!", "{{user}}!"),
        ("a/b", r"/a\/b/", "c", "c"),
        ("<think>x\ny</think>z", r"/<think>[\s\S]*?<\/think>/gm", "", "z"),
        ("a(b)", "/[unclosed/g", "", "a(b)"),
    ],
)
def test_a_script_replaces_as_there(text: str, find: str, replacement: str, made: str) -> None:
    """All matches with `g`, else the first; groups, the match, names; what people typed is never read as a macro."""
    assert rewritten(text, find, replacement) == made


def test_trims_are_taken_out_of_what_was_matched() -> None:
    """Out of groups, with their macros read; not out of the rest."""
    assert rewritten("*Ada waves*", r"/\*(.*)\*/", "*$1 Ada", trims=("{{user}} ",)) == "*waves Ada"


def test_macros_in_the_pattern_are_read_where_the_script_says_so() -> None:
    """Raw, or with their characters taken literally."""
    odd = replace(NAMES, user="A.a")
    script = RegexScript(name="s", find="/{{user}}/g", replacement="X", placements=(1,), substitution=1)
    assert rewrite_text("Aba A.a", [script], SAID, odd) == "X X"
    assert rewrite_text("Aba A.a", [replace(script, substitution=2)], SAID, odd) == "Aba X"
    assert rewrite_text("Aba A.a", [replace(script, substitution=0)], SAID, odd) == "Aba A.a"


@pytest.mark.parametrize(
    ("flags", "kept", "shown", "sent"),
    [
        ({}, True, False, False),
        ({"is_display_only": True}, False, True, False),
        ({"is_prompt_only": True}, False, False, True),
        ({"is_display_only": True, "is_prompt_only": True}, False, True, True),
        ({"is_off": True}, False, False, False),
    ],
)
def test_flags_say_which_text_is_changed(flags: Any, kept: bool, shown: bool, sent: bool) -> None:
    """Neither: what is kept. Each: only what is shown, only what is sent."""
    script = RegexScript(name="s", find="x", placements=(2,), **flags)
    uses = [
        TextUse(placement=Placement.ai_output),
        TextUse(placement=Placement.ai_output, is_display=True),
        TextUse(placement=Placement.ai_output, is_prompt=True),
    ]
    assert [applies(script, use) for use in uses] == [kept, shown, sent]
    assert not any(applies(script, replace(use, placement=Placement.user_input)) for use in uses)


@pytest.mark.parametrize(
    ("least", "most", "at"),
    [(None, None, {0, 1, 2, 3}), (1, None, {1, 2, 3}), (None, 1, {0, 1}), (1, 2, {1, 2}), (-1, 0, {0})],
)
def test_depth_bounds_which_messages_are_changed(least: int | None, most: int | None, at: set[int]) -> None:
    """Counted from the last message; a text outside the chat has no depth and is always meant."""
    script = RegexScript(name="s", find="x", placements=(1,), is_prompt_only=True, min_depth=least, max_depth=most)
    use = TextUse(placement=Placement.user_input, is_prompt=True)
    assert {depth for depth in range(4) if applies(script, replace(use, depth=depth))} == at
    assert applies(script, use)


@pytest.mark.parametrize("find", [r"/(?<=a)b/", r"/(?!a)b/g", r"/(a)\1/", "/(/"])
def test_what_cannot_be_run_is_said_and_leaves_the_text(find: str) -> None:
    """Look-around, back-references, broken patterns."""
    script = RegexScript(name="odd", find=find, placements=(1,))
    assert script_problem(script)
    assert rewrite_text("aab", [script], SAID, NAMES) == "aab"
    assert "1 not possible here (odd)" in summarize_scripts([script])


def test_a_pattern_that_explodes_elsewhere_takes_no_time_here() -> None:
    """Nested repetition over a long text ends at once, and a result that would be huge is not made."""
    assert rewritten("a" * 50_000 + "!", "/(a+)+$/", "x") == "a" * 50_000 + "!"
    text = "a" * 10_000
    assert len(text) * 100 > MAX_RESULT_CHARS
    assert rewritten(text, "/a/g", "b" * 100) == text


@pytest.mark.parametrize(
    ("find", "replacement"),
    [("/a/g", "b" * 1_000_000), ("/a+/", "$0" * 500_000), ("/(a+)/", "$<no>$1" * 100_000), ("/a/g", "{{user}}")],
)
def test_a_rule_that_would_make_gigabytes_makes_nothing(find: str, replacement: str) -> None:
    """The text stays, and no more than the limit is ever held."""
    text = "a" * 100_000
    tracemalloc.start()
    try:
        assert rewritten(text, find, replacement) == text
        assert tracemalloc.get_traced_memory()[1] < 40_000_000
    finally:
        tracemalloc.stop()


def test_many_rules_read_a_long_text_only_so_often() -> None:
    """Those beyond the limit leave it as it is."""
    text = "a" * 100_000
    rules = [RegexScript(name=str(at), find="/$/", replacement="b", placements=(1,)) for at in range(500)]
    done = rewrite_text(text, rules, SAID, NAMES)
    assert 1 < len(done) - len(text) < 500
    rules = [RegexScript(name=str(at), find="/a/g", replacement="a", placements=(1,)) for at in range(500)]
    began = time.process_time()
    assert rewrite_text("a" * 4_000, rules, SAID, NAMES) == "a" * 4_000
    assert time.process_time() - began < 3


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["scriptName", "findRegex", "replaceString", "trimStrings", "placement", "minDepth"]),
            st.one_of(st.text(max_size=8), st.integers(), st.floats(), st.none(), st.lists(st.integers(), max_size=3)),
        ),
        max_size=4,
    ),
    st.text(max_size=30),
)
def test_whatever_a_file_holds_it_is_read_and_run(listed: list[dict[str, Any]], text: str) -> None:
    """No file and no text make a script fail."""
    scripts = read_scripts(listed, origin="card")
    assert isinstance(rewrite_text(text, scripts, SAID, NAMES), str)
    assert summarize_scripts(scripts, len(listed))


def test_scripts_for_what_does_not_happen_here_are_counted() -> None:
    """Slash commands, thoughts, what people say as it is shown."""
    listed = [
        {"scriptName": "a", "findRegex": "x", "placement": [3, 6]},
        {"scriptName": "b", "findRegex": "x", "placement": [1], "markdownOnly": True},
        {"scriptName": "c", "findRegex": "x", "placement": [5], "promptOnly": True},
        {"scriptName": "d", "findRegex": "x", "placement": [2], "disabled": True},
        {"scriptName": "e"},
    ]
    scripts = read_scripts(listed, origin="card")
    assert [is_without_effect(script) for script in scripts] == [True, True, False, False]
    assert summarize_scripts(scripts, 5).startswith(
        "5 regex scripts: 1 on, 1 off, 2 without effect here (a, b), 1 unreadable."
    )
