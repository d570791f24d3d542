"""Single braces: people, tools, and what models leave behind; and our own conditions."""

from __future__ import annotations

import logging

import pytest

from familiar_connect.presets.macros.engine import substitute
from familiar_connect.presets.macros.evaluation import fill_tool_names
from familiar_connect.presets.macros.identity_macros import fill_identity
from familiar_connect.presets.macros.types import MacroContext

HANDY = MacroContext(
    tools={"memory_tool": "recall", "search_tool": "any search you have"},
    capabilities=frozenset({"vision"}),
    tool_names=frozenset({"recall"}),
    tool_families=frozenset({"web"}),
)


def test_single_braces_name_people() -> None:
    """Any case, blanks inside; double braces are not theirs."""
    assert (
        fill_identity("{user} { CHAR } {Bot} {{user}} {other}", char="Fern", user="Ada")
        == "Ada Fern Fern {{user}} {other}"
    )


def test_names_may_be_preserved() -> None:
    """What people wrote keeps its braces."""
    assert fill_identity("{user}", char="Fern", user="Ada", preserve=True) == "{user}"


def test_a_name_is_data() -> None:
    """A name that looks like a pattern or a macro is put in as it is."""
    assert fill_identity("{user}", char="Fern", user=r"\1 {char}") == r"\1 {char}"


def test_tool_macros_name_the_tool_or_say_it_in_words() -> None:
    """A function's name stands in backticks; without the tool a phrase stands there; unknown ones stay."""
    text = "{memory_tool}, {Search_Tool}, {sticker_tool}, {strange_tool}"

    assert fill_tool_names(text, HANDY) == "`recall`, any search you have, a sticker, {strange_tool}"


def test_tool_macros_in_double_braces_are_the_engine_s() -> None:
    """The same names, the same words."""
    assert substitute("{{memory_tool}} {{sticker_tool}}", HANDY) == "`recall` a sticker"


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("capability:vision", "yes"),
        ("!capability:vision", "no"),
        ("tool:recall", "yes"),
        ("tool:other", "no"),
        ("! tool:other", "yes"),
        ("tool_family:web", "yes"),
        ("weather:rain", "no"),
        ("!weather:rain", "no"),
    ],
)
def test_our_predicates_ask_what_can_be_done_now(condition: str, expected: str) -> None:
    """One nobody knows never holds, inverted or not."""
    assert expected == substitute("{{if " + condition + "}}yes{{else}}no{{/if}}", HANDY)


def test_an_unknown_predicate_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """So that its author can find it."""
    with caplog.at_level(logging.WARNING):
        substitute("{{if weather:rain}}x{{/if}}", HANDY)

    assert [getattr(record, "predicate", None) for record in caplog.records] == ["weather:rain"]


def test_sillytavern_reads_a_predicate_as_text() -> None:
    """Text is true there."""
    assert substitute("{{if weather:rain}}x{{/if}}", MacroContext(ours=False)) == "x"


def test_a_block_of_ours_that_falls_away_leaves_one_gap() -> None:
    """Paragraphs stay one blank line apart."""
    assert substitute("One.\n\n{{if tool:none}}Gone.{{/if}}\n\nTwo.", HANDY) == "One.\n\nTwo."
    assert substitute("One. {{if tool:none}}Gone.{{/if}}Two.", HANDY) == "One. Two."
