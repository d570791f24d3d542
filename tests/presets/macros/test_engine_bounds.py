"""The engine at its edges: line ends, gaps, blocks left open, runs of braces, and what exactly a text may cost."""

from __future__ import annotations

import random

import pytest

from familiar_connect.presets.macros import evaluation
from familiar_connect.presets.macros.engine import expand, substitute
from familiar_connect.presets.macros.evaluation import MAX_OUTPUT
from familiar_connect.presets.macros.parse import MAX_ARGS, MAX_OPENINGS
from familiar_connect.presets.macros.random_choice import SeededRandom, pick_index, roll_choices
from familiar_connect.presets.macros.types import MacroContext, Variables
from familiar_connect.presets.macros.variables import format_number

HANDY = MacroContext(char="Fern", user="Ada", tool_names=frozenset({"recall"}))


class Fixed(random.Random):
    """A source of chance that always says the same."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self.value = value

    def random(self) -> float:
        return self.value


def context(chance: float = 0.5, **kept: str) -> MacroContext:
    return MacroContext(char="Fern", user="Ada", chat_id="k", rng=Fixed(chance), variables=Variables(local=dict(kept)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"a\}", "a}"),
        ("\na\n{{trim}}b", "\nab"),
        ("a{{trim}}\nb\n", "ab\n"),
        ("a{{trim}}\r\n\r\nb", "ab"),
        ("a\r\n\n\r\n{{trim}}b", "ab"),
        ("a\r{{trim}}b", "a\rb"),
        ("a{{trim}}\n{{trim}}b", "ab"),
    ],
)
def test_trim_takes_the_line_ends_on_its_own_sides_alone(text: str, expected: str) -> None:
    """Those of both systems, as many as there are; what begins or ends the whole text stays."""
    assert substitute(text, context()) == expected


@pytest.mark.parametrize(
    ("text", "is_one_gap"),
    [
        ("One.\n\n{{if tool:none}}x{{/if}}\n\nTwo.", True),
        ("One.\n\n{{if !tool:recall}}x{{/if}}\n\nTwo.", True),
        ("One.\n\n{{if ! tool:recall}}x{{/if}}\n\nTwo.", True),
        ("One.\n\n{{if 0}}x{{/if}}\n\nTwo.", False),
        ("One.\n\n{{if {{noop}}}}x{{/if}}\n\nTwo.", False),
        ("One.{{#if tool:recall}}\n\n{{/if}}\n\nTwo.", False),
        ("One.\n\n{{if::tool:none::x}}\n\nTwo.", False),
        ("One.\n\n{{setvar::a}}x{{/setvar}}\n\nTwo.", False),
        ("One.\n\n{{noop}}\n\nTwo.", False),
        ("One.\n\n{{// x}}\n\nTwo.", False),
    ],
)
def test_only_a_block_of_ours_that_came_to_nothing_takes_a_gap_with_it(text: str, is_one_gap: bool) -> None:
    """Every other blank line is the author's."""
    assert substitute(text, HANDY) == ("One.\n\nTwo." if is_one_gap else "One.\n\n\n\nTwo.")


def test_where_sillytavern_s_reading_holds_no_gap_closes() -> None:
    """A predicate is text there, and its block like any other."""
    ctx = MacroContext(ours=False)

    assert substitute("One.\n\n{{if tool:none}}{{/if}}\n\nTwo.", ctx) == "One.\n\n\n\nTwo."


def test_a_gap_at_the_very_beginning_is_taken_too() -> None:
    """Nothing stands before it, and it would be the first thing anybody sees."""
    assert substitute("{{if tool:none}}x{{/if}}\n\nTwo.", HANDY) == "Two."
    assert substitute("{{if tool:none}}x{{/if}}\nTwo.", HANDY) == "\nTwo."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{user}}a{{user}}b{{/user}}c{{/user}}", "{{user}}a{{user}}b{{/user}}c{{/user}}"),
        ("{{user}}a{{user}}b{{user}}c{{/user}}d{{/user}}", "{{user}}a{{user}}bAdac{{/user}}d{{/user}}"),
        ("{{if user}}{{user}}a{{/if}}b{{/user}}{{/if}}", "Adaab{{/user}}{{/if}}"),
        ("{{if x}}a{{setvar::n}}{{if y}}b{{/setvar}}c{{/if}}", "{{if x}}ac{{/if}}"),
        ("{{if user}}{{user {{else}}b{{/if}}", "{{user b"),
        ("{{if !x}}a{{else}}b{{/if}}", "b"),
        ("{{if !}}a{{else}}b{{/if}}", "a"),
        ("{{reverse::{{1}}x}}", "x}}1{{"),
        ("{{reverse::{{{{{{{{user}}}}}}}}}}", "}}}}}}adA{{{{{{"),
        ("{{reverse::{{{{{{user}}}}}}}}", "}}}}adA{{{{"),
        ("{{reverse::{{{{{user}}}}}}}", "resu{{{{{}}}}}"),
        ("{{.x-- y}}{{.x++ y}}[{{.x}}]", "{{.x-- y}}{{.x++ y}}[]"),
        ("{{roll::d6::2}}{{roll}}", "{{roll::d6::2}}{{roll}}"),
        ("{{random::a:::b}}", ":b"),
        ("{{setvar::a::1}}{{deletevar::b}}{{getvar::a}}", "1"),
        ("{{setvarkey::o::length::9}}{{setvarkey::o::b::1}}{{getvarkey::o::length}}", "9"),
        ("{{globalvarexists::a}}{{varexists::a}}{{flushvar::a}}", "falsefalse"),
        ("{{if reverse}}a{{else}}b{{/if}}", "a"),
        ("{{nobody::  }}{{nobody::x ::  }}", "{{nobody::  }}{{nobody::x ::  }}"),
        ("{{setvar::l::[1,2]}}[{{getvarkey::l::0.5}}][{{getvarkey::l::-1}}]", "[][]"),
        ("{{setvar::l::[1]}}{{setvarkey::l::k::v}}{{getvar::l}}", "[1]"),
        ("{{setvarkey::l::0::a}}{{setvarkey::l::1::b}}{{getvar::l}}", '["a","b"]'),
        ("{{setvar::n::1e999}}{{getvar::n}}{{setvar::n::-1e999}}{{getvar::n}}", "Infinity-Infinity"),
    ],
)
def test_ends_and_signs_belong_to_what_stands_nearest(text: str, expected: str) -> None:
    """Every pair of braces is counted, and text that is no call stays text."""
    assert substitute(text, context()) == expected


def test_openings_are_read_up_to_their_number_and_the_rest_is_text() -> None:
    """The last that is read is worked out; where one is not, the report says so."""
    whole = expand("{{user}}" * MAX_OPENINGS, context())
    longer = expand("{{user}}" * (MAX_OPENINGS + 1), context())

    assert (whole.text, whole.limits) == ("Ada" * MAX_OPENINGS, ())
    assert (longer.text, longer.limits) == ("Ada" * MAX_OPENINGS + "{{user}}", ("output",))


def test_a_run_of_braces_counts_as_the_pairs_it_is_made_of() -> None:
    """Two braces are one opening."""
    run = "{" * (2 * MAX_OPENINGS - 2)

    assert expand(run + "1 {{user}}", context()).limits == ()
    assert expand(run + "1 {{user}}{{user}}", context()).limits == ("output",)


def test_a_list_is_split_up_to_its_limit_and_the_rest_is_its_last_entry() -> None:
    """Thousands of options are enough for a choice."""
    exact, longer = ("{{random::" + "a::" * count + "z}}" for count in (MAX_ARGS - 1, MAX_ARGS + 2))

    assert MAX_ARGS == 4096
    assert substitute(exact, context(chance=0.99999)) == "z"
    assert substitute(longer, context(chance=0.99999)) == "a::a::a::z"


def test_an_argument_too_long_is_cut_and_told_even_where_nothing_of_it_is_shown() -> None:
    """What a macro is handed never outgrows one text."""
    hidden = expand("{{// " + "a" * (MAX_OUTPUT + 1) + "}}", context())
    turned = expand("{{reverse::" + "a" * MAX_OUTPUT + "bc}}", context())
    fitting = expand("{{// " + "a" * MAX_OUTPUT + "}}", context())

    assert (hidden.text, hidden.limits) == ("", ("output",))
    assert (turned.text, turned.limits) == ("a" * MAX_OUTPUT, ("output",))
    assert (fitting.text, fitting.limits) == ("", ())


def test_a_text_of_exactly_the_limit_is_whole() -> None:
    """One character more is cut, and told."""
    whole = expand("a" * (MAX_OUTPUT - 3) + "{{user}}", context())
    longer = expand("a" * (MAX_OUTPUT - 2) + "{{user}}", context())

    assert (whole.text, whole.limits) == ("a" * (MAX_OUTPUT - 3) + "Ada", ())
    assert (longer.text, longer.limits) == ("a" * (MAX_OUTPUT - 2) + "Ad", ("output",))


def test_what_trim_takes_away_again_counts_towards_the_limit() -> None:
    """What stood behind it is cut, and told."""
    found = expand("a" + "\n" * MAX_OUTPUT + "{{trim}}b{{user}}", context())

    assert (found.text, found.limits) == ("a", ("output",))


def test_bytes_count_and_not_characters() -> None:
    """Wide characters fill a text four times as fast."""
    found = expand("🦊" * 70_000 + "{{user}}", context())

    assert (found.text, found.limits) == ("🦊" * (MAX_OUTPUT // 4), ("output",))


@pytest.mark.parametrize(
    ("text", "cost", "comes_to"),
    [
        ("{{user}}", 259, "Ada"),
        ("{{noop}}{{user}}", 256 + 259, "Ada"),
        ("{{reverse::abc}}", 3 + 259, "cba"),
        ("{{reverse::{{user}}}}", 259 + 3 + 259, "adA"),
        ("{{if user}}{{user}}{{/if}}", 259 + 3 + 259, "Ada"),
        ("{{roll:2d6}}", 3 + 512 + 257, "8"),
        ("{{pick::a::a}}", 2 + 32768 + 257, "a"),
        ("{{getvar::x}}", 1 + 3 + 259, "[1]"),
        ("{{setvar::y::ab}}", 3 + 3 + 256, ""),
        ("{{getvarkey::x::0}}", 2 + 8 * 3 + 257, "1"),
    ],
)
def test_a_text_may_cost_what_is_allowed_and_no_more(
    text: str, cost: int, comes_to: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every macro has its price, besides what it reads and comes to; where that is too much, the text ends."""
    monkeypatch.setattr(evaluation, "MAX_WORK", cost)
    enough = expand("so " + text, context(x="[1]"))
    monkeypatch.setattr(evaluation, "MAX_WORK", cost - 1)
    short = expand("so " + text + "!", context(x="[1]"))

    assert (enough.text, enough.limits) == ("so " + comes_to, ())
    assert (short.text, short.limits) == ("so ", ("output",))


def test_no_text_works_for_long() -> None:
    """Sixty-four million characters on the way are the most, however few are shown."""
    much = "{{// {{getvar::x}}}}"

    assert expand(much * 111 + "end", context(x="a" * 200_000)).text == "end"
    stopped = expand(much * 112 + "end", context(x="a" * 200_000))
    assert (stopped.text, stopped.limits) == ("", ("output",))


def test_what_is_no_number_is_written_so() -> None:
    """As a browser does."""
    assert format_number(float("nan")) == "NaN"


def test_variables_are_cut_to_the_room_that_is_left() -> None:
    """Names count; a name that has no room is not kept."""
    ctx = context(a="x" * (MAX_OUTPUT - 5))

    found = expand("{{setvar::b::wxyz}}", ctx)
    assert (ctx.variables.local["b"], found.limits) == ("wxy", ("output",))
    assert expand("{{setvar::longer::v}}", ctx).limits == ("output",)
    assert set(ctx.variables.local) == {"a", "b"}


def test_a_variable_that_is_deleted_makes_room() -> None:
    """For exactly as much as it held, its name included; changing one counts it once."""
    ctx = context()

    found = expand("{{setvar::aa::xyz}}{{deletevar::aa}}{{setvar::b::" + "y" * (MAX_OUTPUT - 1) + "}}", ctx)
    assert (found.limits, len(ctx.variables.local["b"])) == ((), MAX_OUTPUT - 1)
    found = expand("{{setvar::b::" + "z" * (MAX_OUTPUT - 1) + "}}{{deletevar::b}}{{setvar::c::yy}}", ctx)
    assert (found.limits, ctx.variables.local) == ((), {"c": "yy"})


@pytest.mark.parametrize(
    ("text", "made"),
    [("{{random::{a}::b}}", "b"), ("{{random::a:::b}}", ":b"), ("{{random:a,b:}}", "b:")],
)
def test_a_choice_the_last_pass_would_misread_is_made_at_once(text: str, made: str) -> None:
    """Even where only one of its options has the braces or the colon."""
    assert expand(text, context(chance=0.5), defer_random=True).text == made


def test_an_option_that_came_out_with_colons_is_one_option() -> None:
    """The last pass would take it for two."""
    assert expand("{{random::{{getvar::x}}::b}}", context(x="p::q"), defer_random=True).text == "b"


def test_single_braces_choose_between_what_commas_part() -> None:
    """In the last pass, as double ones do."""
    assert roll_choices("{random: red , blue}", Fixed(0.9)) == "blue"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("{{user}} {{user}} {{/user}}", "{{user}} Ada {{/user}}"),
        ("{{random::a}}x{{random::b}}y{{/random}}", "{{random::a}}xby{{/random}}"),
    ],
)
def test_an_end_that_fits_no_block_is_the_first_openings(text: str, left: str) -> None:
    """Where there are more openings than ends: it takes no block, so both stay as they are, and the others count."""
    assert expand(text, context(chance=0.5)).text == left


def test_a_variable_named_like_a_macro_opens_no_block() -> None:
    """The end belongs to the macro, or to nobody."""
    assert expand("{{.reverse}} x {{/reverse}}", context(reverse="R")).text == "R x {{/reverse}}"
    assert expand("{{reverse}}a{{.reverse}}b{{/reverse}}", context(reverse="R")).text == "bRa"


def test_a_die_never_shows_more_than_its_sides() -> None:
    """Not even where chance is as high as can be."""
    assert [expand("{{roll:d6}}", context(chance=chance)).text for chance in (0.0, 0.999, 1.0)] == ["1", "6", "6"]


def test_two_options_are_picked_both() -> None:
    """In one chat or another."""
    assert {substitute("{{pick::a::b}}", MacroContext(chat_id=chat)) for chat in "uvwxyz"} == {"a", "b"}


def test_a_place_counts_wide_characters_twice_and_no_others() -> None:
    """The last character of the first plane is not wide."""
    text = "\uffff🦊{{pick::a::b::c::d::e::f::g}}"

    for chat in "klmn":
        assert substitute(text, MacroContext(chat_id=chat))[2] == "abcdefg"[pick_index(chat, text, 3, 7)]


def test_a_long_seed_wraps_around() -> None:
    """Every character of it counts."""
    streams = [SeededRandom(seed).random() for seed in ("ab" * 150, "ab" * 149 + "ac", "ab" * 128)]

    assert len(set(streams)) == 3
    assert streams[0] == 0.5139501342450606
