"""Hostile text: whatever it is made of, it ends soon, stays small and raises nothing."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from familiar_connect.presets.macros.builtins import MACROS
from familiar_connect.presets.macros.engine import MAX_DEPTH, expand, substitute
from familiar_connect.presets.macros.evaluation import MAX_OUTPUT, fill_tool_names
from familiar_connect.presets.macros.identity_macros import fill_identity
from familiar_connect.presets.macros.types import MacroContext, Variables
from familiar_connect.presets.types import ChatLine
from tests.fakes.properties import at_least

MILLION = 1_000_000
PIECES = [
    *("{{", "}}", "{", "}", "::", ":", " ", "\n", "\\", "!", "#", "/", "//", ".x", "$y", "=", "+=", "||=", "++", ","),
    *("<user>", "🦊", "\ud800", "é", "0", "99", "2d6", "[1]", "word", "{{else}}", "{{/if}}", "{{if ", "{{user}}"),
    *sorted(MACROS),
]
WRITTEN = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


def context() -> MacroContext:
    lines = (ChatLine(name="Ada", text="{{user}} said", is_user=True), ChatLine(name="Fern", text="yes"))
    return MacroContext(char="Fern", user="Ada", description="D" * 50, chat=lines, chat_id="c", variables=Variables())


@pytest.mark.slow
@settings(max_examples=at_least(100), deadline=None)
@given(WRITTEN, st.booleans())
def test_nothing_raises_and_nothing_outgrows_its_limit(text: str, defer: bool) -> None:
    """Any mixture of what macros are made of."""
    ctx = context()

    found = expand(text, ctx, original="own", defer_random=defer)

    assert len(found.text.encode("utf-8", "surrogatepass")) <= MAX_OUTPUT
    assert sum(len(value) for value in ctx.variables.local.values()) <= MAX_OUTPUT


@settings(max_examples=at_least(100), deadline=None)
@given(WRITTEN)
def test_the_same_text_comes_to_the_same(text: str) -> None:
    """Nothing depends on what ran before."""
    assert substitute(text, context()) == substitute(text, context())


@given(st.text().filter(lambda text: not {"{", "<", "\\"} & set(text)))
def test_text_without_macros_passes_through(text: str) -> None:
    """However strange its characters."""
    ctx = context()

    assert text == substitute(substitute(text, ctx), ctx)


@given(WRITTEN)
def test_the_single_brace_forms_bear_anything(text: str) -> None:
    """They never raise either."""
    ctx = context()

    assert isinstance(fill_tool_names(fill_identity(text, char="c", user="u"), ctx), str)


HOSTILE = {
    "openings": "{{" * (MILLION // 2),
    "open names": "{{a" * (MILLION // 3),
    "one run of braces": "{" * MILLION + "}" * MILLION,
    "closings": "}}" * (MILLION // 2),
    "small macros": "{{a}}" * (MILLION // 5),
    "deep nests": "{{reverse::" * (MILLION // 13) + "}}" * (MILLION // 13),
    "open conditions": "{{if a}}" * (MILLION // 8),
    "nested conditions": "{{if a}}" * (MILLION // 15) + "{{/if}}" * (MILLION // 15),
    "strays inside strays": "{{1 " * (MILLION // 10) + "{{user}}" * (MILLION // 20) + "}}" * (MILLION // 10),
    "open comments": "{{//" * (MILLION // 4),
    "colons": "{{a" + ":" * MILLION + "}}",
    "picks": "{{pick::a::b}}" * (MILLION // 14),
    "dice": "{{roll:100d6}}" * (MILLION // 14),
    "spaces": "{{space::999999999}}" * 1000,
    "line ends": "\n" * MILLION + "{{trim}}" + "\n" * MILLION,
    "lists": "{{setvar::x::[" + "[" * 100_000 + "}}" + "{{addvar::x::[}}" * (MILLION // 20),
    "growing": "{{setvar::x::ab}}" + "{{addvar::x::{{getvar::x}}}}" * (MILLION // 30),
    "asking": "{{setvar::x::" + "a" * 200_000 + "}}" + "{{if {{getvar::x}}}}y{{/if}}" * (MILLION // 30),
    "dates": "{{datetimeformat " + "LLLL" * (MILLION // 4) + "}}",
    "many formats": "{{datetimeformat LLLL}}" * (MILLION // 23),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(HOSTILE))
def test_a_hostile_megabyte_is_soon_done(kind: str) -> None:
    """Processor time, so that a busy machine does not count; generous, since growth is what matters."""
    text = HOSTILE[kind]
    began = time.process_time()

    found = expand(text, context())

    assert time.process_time() - began < 4
    assert found.text == text or len(found.text) <= MAX_OUTPUT


def test_what_lies_too_deep_stays_literal() -> None:
    """C43: thirty-two levels are read; below them the text stands as written, and the report says so."""

    def nest(levels: int) -> str:
        return "{{noop::" * (levels - 1) + "{{user}}" + "}}" * (levels - 1)

    assert "Ada" in expand(nest(MAX_DEPTH), context()).text
    assert "{{user}}" in (deep := expand(nest(MAX_DEPTH + 1), context())).text
    assert deep.limits == ("nesting",)


def test_blocks_count_as_depth() -> None:
    """Conditions in conditions, too."""
    deep = expand("{{if user}}" * 40 + "x" + "{{/if}}" * 40, context())

    assert deep.text == "{{if user}}" * 8 + "x" + "{{/if}}" * 8
    assert deep.limits == ("nesting",)


def test_long_output_is_cut_between_characters() -> None:
    """C44: at most 256 KiB, and no half character at the end."""
    found = expand("a{{setvar::x::" + "é" * 1000 + "}}" + "{{getvar::x}}" * 400, context())

    assert MAX_OUTPUT - 1 <= len(found.text.encode()) <= MAX_OUTPUT
    assert found.text.endswith("é")
    assert found.limits == ("output",)
