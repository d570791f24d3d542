"""Variables: kept as text, counted as numbers, grown as lists."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.presets.macros.engine import expand, substitute
from familiar_connect.presets.macros.evaluation import MAX_OUTPUT
from familiar_connect.presets.macros.types import MacroContext, Variables
from familiar_connect.presets.macros.variables import format_number, number_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{setvar::a::007}}{{getvar::a}}", "7"),
        ("{{setvar::a::1.50}}{{getvar::a}}", "1.5"),
        ("{{setvar::n::5}}{{addvar::n::3}}{{getvar::n}}", "8"),
        ("{{setvar::n::5}}{{addvar::n::x}}{{getvar::n}}", "5x"),
        ("{{addvar::t::one}}{{addvar::t::, two}}{{getvar::t}}", "one, two"),
        ("{{setvar::l::[1]}}{{addvar::l::b}}{{getvar::l}}", '[1,"b"]'),
        ("{{incvar::i}}{{incvar::i}}{{decvar::i}}", "121"),
        ("{{hasvar::a}}{{setvar::a::}}{{varexists::a}}{{deletevar::a}}{{hasvar::a}}", "falsetruefalse"),
        ("{{setglobalvar::a::g}}{{getvar::a}}{{getglobalvar::a}}{{flushglobalvar::a}}{{getglobalvar::a}}", "g"),
        ("{{setvarkey::o::k::v}}{{getvarkey::o::k}}{{getvar::o}}", 'v{"k":"v"}'),
        ("{{setvarkey::l::1::v}}{{getvar::l}}{{getvarkey::l::1}}{{getvarkey::l::9}}", '[null,"v"]v'),
        ("{{setvar::a::text}}{{getvarkey::a::k}}", "text"),
        ("{{setvarkey::o::k::v}}{{setvarkey::o::0::a}}[{{getvarkey::o::}}][{{getvarkey::o::00}}]", "[][a]"),
        ("{{.x=5}}{{.x++}}{{.x--}}{{.x}}", "655"),
        ("{{.x = 5}}{{.x += 2}}{{.x -= 4}}{{.x}}", "3"),
        ("{{.x -= 4}}{{.x}}", "-4"),
        ("{{.no || a}}{{.no ?? b}}{{.no}}", "ab"),
        ("{{.z = 0}}{{.z || a}}{{.z ?? b}}", "a0"),
        ("{{.y ||= c}}{{.y ||= d}}{{.q ??= e}}{{.q ??= f}}", "ccee"),
        (
            "{{.n = 5}}{{.n == 5}} {{.n != 5}} {{.n > 4}} {{.n >= 5}} {{.n < 5}} {{.n <= 4}}",
            "true false true true false false",
        ),
        ("{{.t = b}}{{.t == b}} {{.t > a}}", "true false"),
        ("{{.t = b}}{{.t < 3}} {{.t >= 3}} {{.n = 3}}{{.n > b}} {{.n <= b}}", "false false false false"),
        ("{{$g = 1}}{{$g}}{{.g}}", "1"),
        ("{{.my-var = {{newline}}x}}[{{.my-var}}]", "[\nx]"),
        ("{{.x=3}}{{.x y}}{{.x?}}{{.x y z}}", "33{{.x y z}}"),
        ("{{.x=1}}{{.x == 1.0}}{{.x == 01}}{{.x == 1}}", "falsefalsetrue"),
        ("{{.x=a}}{{.x-=1.50}}{{.x}}{{.x-=b}}{{.x}}", "a-1.5a-1.5"),
        ("{{setvar::x::[1]}}{{incvar::x}}{{addvar::x::2}}{{.x-=3}}{{getvar::x}}", '[1,1][1,1,"2",-3]'),
        ("{{setvar::::1}}{{incvar::}}[{{getvar::}}]", "{{setvar::::1}}{{incvar::}}[]"),
        ("{{setvar::x::123456789012345678901}}{{getvar::x}}", "123456789012345680000"),
        ("{{setvar::x::[true,false,null]}}{{getvarkey::x::0}}{{getvarkey::x::1}}{{getvarkey::x::length}}", "103"),
        ('{{setvar::x::"abc"}}{{getvarkey::x::1}}{{setvar::x::5}}[{{getvarkey::x::0}}]', "b[]"),
        ("{{setvar::x::null}}{{setvarkey::x::k::v}}{{getvar::x}}", '{"k":"v"}'),
    ],
)
def test_variables_keep_and_count(text: str, expected: str) -> None:
    """Assignments say nothing; counting, defaults and comparisons say what they came to."""
    assert expected == substitute(text, MacroContext(variables=Variables()))


def test_all_variables_together_stay_within_the_limit() -> None:
    """Doubling a text again and again ends at the limit, and the report says so."""
    ctx = MacroContext(variables=Variables())

    found = expand("{{setvar::x::ab}}" + "{{addvar::x::{{getvar::x}}}}" * 30 + "{{getvar::x}}", ctx)

    assert sum(map(len, ctx.variables.local.values())) <= MAX_OUTPUT
    assert len(found.text) <= MAX_OUTPUT
    assert "output" in found.limits


def test_what_earlier_texts_kept_counts() -> None:
    """The limit holds for the store, not for one text."""
    ctx = MacroContext(variables=Variables())
    for name in "abcdefgh":
        expand("{{setvar::" + name + "::" + "x" * 50_000 + "}}", ctx)

    assert sum(map(len, ctx.variables.local.values())) <= MAX_OUTPUT


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_survives_being_written(number: float) -> None:
    """Whatever is printed reads back as the same number."""
    assert number == number_of(format_number(number))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1e21", "1e+21"), ("0.000001", "0.000001"), ("1e-7", "1e-7"), ("0x10", "16"), ("-0", "0"), ("12.0", "12")],
)
def test_numbers_are_written_as_a_browser_writes_them(text: str, expected: str) -> None:
    """Plain digits up to the 21st, exponents beyond."""
    number = number_of(text)

    assert number is not None
    assert expected == format_number(number)


@pytest.mark.parametrize("blank", ["", " ", " \n\t"])
def test_what_is_blank_counts_as_nothing(blank: str) -> None:
    """As it does in a browser."""
    assert number_of(blank) == 0.0
