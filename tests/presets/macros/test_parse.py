"""How macros are written: braces, arguments, blocks, flags, conditions."""

from __future__ import annotations

import pytest

from familiar_connect.presets.macros.engine import substitute
from familiar_connect.presets.macros.types import MacroContext, Variables


def came_to(text: str) -> str:
    return substitute(text, MacroContext(char="Fern", user="Ada", persona="A person.", variables=Variables()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{{user}}}", "{Ada}"),
        ("{{{{user}}}}", "{{Ada}}"),
        ("{{reverse::{{{{user}}}}}}", "}}adA{{"),
        ("{{user {{char}}", "{{user Fern"),
        ("{{ {{user}} }}", "{{ Ada }}"),
        ("{{1 {{user}} }} }}", "{{1 Ada }} }}"),
        ("{{ge{{user}}t}}", "{{ge{{user}}t}}"),
        ("{{user!}}{{user,}}{{user's}}{{user(1)}}", "AdaAdaAdaAda"),
        ("{{user{{char}}}}", "Ada}}"),
        ("{{reverse! abc}}{{reverse!abc}}", "cba{{reverse!abc}}"),
        ("{{user|x}}{{user-}}{{user_}}", "{{user|x}}{{user-}}{{user_}}"),
        ("{{// a {{user}} { } }}b", "b"),
        ("{{// {{setvar::q::1}}}}{{getvar::q}}", "1"),
        ("{{// {{ }}b", "b"),
        ("{{//}}{{// }}{{comment}}", "{{//}}{{// }}{{comment}}"),
        ("{{//::a::b}}{{comment::a::b}}{{//a::b}}", "{{//::a::b}}{{comment::a::b}}"),
        ("{{// x}}y{{///}}z", "{{// x}}y{{///}}z"),
        ("{{///}}", "{{///}}"),
        (r"\{\{user\}\}", "{{user}}"),
        (r"\{{user}}", r"\Ada"),
        ("{{reverse::a:b}}", "b:a"),
        ("{{reverse:a::b}}", "b::a"),
        ("{{reverse a::b}}", "b::a"),
        ("{{reverse ::  ab  }}", "ba"),
        ("{{!user}}{{~user}}{{>user}}{{?user}}", "AdaAdaAdaAda"),
        ("{{// one\ntwo}}x", "x"),
        ("{{// never closed", "{{// never closed"),
    ],
)
def test_braces_and_arguments_read_as_people_mean_them(text: str, expected: str) -> None:
    """The next free end closes; what never closes is text; escapes go last."""
    assert expected == came_to(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{reverse}} ab {{/reverse}}", "ba"),
        ("{{setvar::m}}to {{user}}{{/setvar}}[{{getvar::m}}]", "[to Ada]"),
        ("{{//}}a {{user}}{{setvar::q::1}}{{///}}b{{getvar::q}}", "b1"),
        ("{{user}}x{{/user}}", "{{user}}x{{/user}}"),
        ("{{user}}{{user}}x{{/user}}", "{{user}}Adax{{/user}}"),
        ("{{pick}}a,b{{/pick}}{{random::a}}b{{/random}}", "{{pick}}a,b{{/pick}}{{random::a}}b{{/random}}"),
        ("[{{trim::x}}]{{trim}} y {{/trim}}", "[]y"),
        ("{{if user}}a{{/if x}}b{{if user}}c{{/if!}}", "abc"),
        ("{{if user}}a{{ELSE}}b{{/if}}", "ab"),
        ("{{if user}}a\n{{trim}}\n{{/if}}\nb", "a\nb"),
        ("{{if newline}}a{{/if}}{{if {{space}}}}b{{/if}}{{if trim}}c{{/if}}", "ab"),
        ("{{nobody}}x{{user}}{{/nobody}}", "{{nobody}}xAda{{/nobody}}"),
        ("{{if user}}{{setvar::a}}{{/if}}{{/setvar}}", "{{setvar::a}}{{/setvar}}"),
        ("{{setvar::a}}{{setvar::b::1}}x{{/setvar}}{{getvar::a}}", "x"),
        ("{{#reverse}} ab {{/reverse}}", " ba "),
        ("{{newline}} {{user}} {{/newline}}", "{{newline}} Ada {{/newline}}"),
    ],
)
def test_a_block_is_the_last_argument(text: str, expected: str) -> None:
    """Where the macro has room for one; trimmed unless `#` keeps the blanks."""
    assert expected == came_to(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{if user}}yes{{/if}}", "yes"),
        ("{{if !user}}a{{else}}b{{/if}}", "b"),
        ("{{if ! .x}}a{{else}}b{{/if}}", "a"),
        ("{{if {{getvar::x}}}}on{{else}}off{{/if}}", "off"),
        ("{{setvar::f::Off}}{{if .f}}on{{else}}off{{/if}}", "off"),
        ("{{.f=1}}{{if .f}}on{{/if}}{{if $f}}also{{/if}}", "on"),
        ("{{if 0}}a{{/if}}{{if false}}b{{/if}}{{if words}}c{{/if}}", "c"),
        ("{{if user}}{{if scenario}}1{{else}}2{{/if}}{{else}}3{{/if}}", "2"),
        ("{{if user}}{{setvar::a::1}}{{else}}{{setvar::a::2}}{{/if}}{{getvar::a}}", "1"),
        ("{{if::user::yes{{else}}no}}", "yes"),
        ("{{if user::yes}}", "{{if user::yes}}"),
        ("{{if user}}open", "{{if user}}open"),
        ("{{if}}x{{/if}}", "{{if}}x{{/if}}"),
        ("a {{else}} b", "a  b"),
        ("{{IF user}}x{{/If}}", "x"),
        ("{{if user}}\n  # H\n    in\n  out\n{{/if}}|", "# H\n  in\nout|"),
        ("{{#if user}} x {{/if}}|", " x |"),
    ],
)
def test_a_condition_takes_one_branch(text: str, expected: str) -> None:
    """A macro's name, a variable or text decides; the other branch is not even read."""
    assert expected == came_to(text)


def test_document_order_decides() -> None:
    """A variable that is set later is not there yet."""
    assert came_to("[{{getvar::a}}]{{setvar::a::1}}{{getvar::a}}") == "[]1"


def test_blanks_made_by_macros_stay_in_arguments() -> None:
    """Arguments are trimmed as they are written, not as they come out."""
    assert came_to("{{setvar::n:: {{newline}} }}[{{getvar::n}}]") == "[\n]"
