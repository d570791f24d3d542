"""Variables at their edges: comparisons, keys, and numbers no list or browser takes."""

from __future__ import annotations

import pytest

from familiar_connect.presets.macros.engine import substitute
from familiar_connect.presets.macros.types import MacroContext, Variables
from familiar_connect.presets.macros.variables import format_number, is_false, number_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "{{.n = 5}}{{.n > 5}} {{.n >= 6}} {{.n >= 4}} {{.n <= 5}} {{.n <= 6}} {{.n < 6}}",
            "false false true true true true",
        ),
        ("{{.t = b}}{{.t >= b}} {{.t <= b}} {{.t < c}}", "false false false"),
        ("{{setvar::l::[1,2]}}[{{getvarkey::l::2}}][{{getvarkey::l::1}}][{{getvarkey::l::length}}]", "[][2][2]"),
        ("{{setvarkey::l::0::a}}{{setvarkey::l::0.5::b}}{{getvar::l}}", '["a"]'),
        ("{{setvarkey::l::10001::a}}[{{getvar::l}}]", "[]"),
        ("{{setvarkey::o::k::é}}{{getvar::o}}", '{"k":"é"}'),
        (
            "{{setglobalvarkey::o::k::v}}{{getglobalvarkey::o::k}}{{hasglobalvar::o}}{{deleteglobalvar::o}}{{hasglobalvar::o}}",
            "vtruefalse",
        ),
        ("{{incglobalvar::n}}{{incglobalvar::n}}{{decglobalvar::n}}{{addglobalvar::n::4}}{{getglobalvar::n}}", "1215"),
        ("{{setvar::e::}}{{setvarkey::e::k::v}}[{{getvar::e}}]", "[]"),
    ],
)
def test_variables_at_their_edges(text: str, expected: str) -> None:
    """Equal is neither more nor less; a key beyond the list is nothing; shared ones count as well."""
    assert substitute(text, MacroContext(variables=Variables())) == expected


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (1e-7, "1e-7"),
        (0.000001234, "0.000001234"),
        (1.5e21, "1.5e+21"),
    ],
)
def test_numbers_without_end_and_very_small_ones_are_written_as_a_browser_does(number: float, text: str) -> None:
    """With as many digits as it has."""
    assert format_number(number) == text


def test_a_number_in_another_base_has_an_end() -> None:
    """Beyond it, it is without end; a long text is no word for no."""
    assert number_of("0x" + "f" * 247) == float(int("f" * 247, 16))
    assert number_of("0x" + "f" * 248) == float("inf")
    assert [is_false("false" + " " * blanks) for blanks in (58, 59)] == [True, False]
