"""What macros come to: names, card, chat, conveniences; and what is left as it was written."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from familiar_connect.presets.macros.builtins import MACROS
from familiar_connect.presets.macros.engine import escape_braces, expand, substitute, unescape_braces
from familiar_connect.presets.macros.evaluation import MAX_NOTES
from familiar_connect.presets.macros.types import MacroContext, Variables
from familiar_connect.presets.types import ChatLine

CHAT = (
    ChatLine(name="Fern", text="Come in.", sent_at=datetime(2024, 5, 1, 9, tzinfo=UTC), swipes=("Come in.", "Hi.")),
    ChatLine(name="Ada", text="Thanks.", is_user=True, sent_at=datetime(2024, 5, 1, 10, tzinfo=UTC)),
    ChatLine(name="Fern", text="Tea, {{user}}?", swipes=("a", "b", "Tea, {{user}}?"), swipe_id=2),
    ChatLine(name="Note", text="unseen", is_hidden=True),
)


def context() -> MacroContext:
    return MacroContext(
        char="Fern",
        user="Ada",
        description="A gardener.",
        personality="wry",
        scenario="A rainy day.",
        persona="Ada likes {{char}}.",
        mes_example="<START>\nAda: Hi\n<start>\nFern: Ho",
        system_prompt="Be kind.",
        post_history_instructions="Be brief.",
        creator_notes="For tests.",
        character_version="2.1",
        depth_prompt="Rain falls.",
        first_mes="Hello.",
        alternate_greetings=("Good day.",),
        chat=CHAT,
        input="half a word",
        now=datetime(2024, 5, 1, 13, 7, 5, tzinfo=UTC),
        model="small-one",
        max_context=4096,
        generation="normal",
        summary="They met.",
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{user}} {{ CHAR }}", "Ada Fern"),
        ("<user> <BOT> <Char>", "Ada Fern Fern"),
        ("{{group}} {{charIfNotGroup}} <GROUP>", "Fern Fern Fern"),
        ("{{notChar}}", "Ada"),
        ("{{description}}|{{charDescription}}", "A gardener.|A gardener."),
        ("{{personality}}|{{scenario}}", "wry|A rainy day."),
        ("{{charPrompt}}|{{charInstruction}}|{{charDepthPrompt}}", "Be kind.|Be brief.|Rain falls."),
        ("{{version}}|{{char_version}}|{{creatorNotes}}", "2.1|2.1|For tests."),
        ("{{greeting}}|{{charFirstMessage::1}}|{{greeting::7}}", "Hello.|Good day.|"),
        ("{{mesExamples}}", "<START>\nAda: Hi\n<START>\nFern: Ho\n"),
        ("{{lastMessage}}|{{lastMessageId}}", "unseen|3"),
        ("{{lastUserMessage}}|{{lastCharMessage}}", "Thanks.|Tea, {{user}}?"),
        ("{{allChatRange}}|{{input}}|{{lastGenerationType}}", "0-3|half a word|normal"),
        ("{{model}}|{{maxContext}}|{{maxContextTokens}}|{{isMobile}}", "small-one|4096|4096|false"),
        ("a{{newline}}b{{newline::2}}c{{space::3}}d{{noop}}", "a\nb\n\nc   d"),
        ("{{reverse::añb}}", "bña"),
        ("{{summary}} {{bot}}", "They met. Fern"),
        ("{{lastChatMessage}}", "Thanks."),
        ("[{{hidden_key: x}}{{comment: y}}{{// z}}]", "[]"),
        ("{{idle_duration}}", "3 hours"),
    ],
)
def test_a_known_macro_comes_to_its_value(text: str, expected: str) -> None:
    """C40: names in any case and spaces inside are fine."""
    assert expected == substitute(text, context())


@pytest.mark.parametrize(
    "text",
    ["{{user", "{{ }}", "{{}}", "{{user::x}}", "{{user extra}}", "{{setvar::a}}", "{{nobody}}", "{{/if}}", "{user}"],
)
def test_what_is_no_macro_stays_as_written(text: str) -> None:
    """Unknown names, wrong numbers of arguments, open braces: verbatim."""
    assert text == substitute(text, context())


def test_what_comes_out_is_not_read_again() -> None:
    """A quotation of a macro stays a quotation, also by way of a variable."""
    assert substitute("{{setvar::p::{{persona}}}}{{getvar::p}}", context()) == "Ada likes {{char}}."


def test_arguments_are_worked_out_inside_what_stays() -> None:
    """An unknown macro keeps its shape around resolved arguments, blanks included."""
    found = expand("{{nobody:: {{user}} ::x}}", context())

    assert found.text == "{{nobody:: Ada ::x}}"
    assert found.unknown == ("nobody",)


def test_each_unknown_name_is_told_once_in_order() -> None:
    """The report lists names, not occurrences."""
    assert expand("{{b}}{{a}}{{b}}", context()).unknown == ("b", "a")


def test_what_needs_a_screen_is_empty_and_told() -> None:
    """Swipes, the input box and template parts are known, empty and reported."""
    bare = MacroContext(char="Fern")

    found = expand("[{{input}}{{currentSwipeId}}{{banned::x}}{{instructInput}}]", bare)

    assert found.text == "[]"
    assert found.unsupported == ("input", "currentSwipeId", "banned", "instructInput")


def test_swipes_are_those_of_the_newest_line() -> None:
    """Counted from one, empty where there are none."""
    ctx = replace(context(), chat=CHAT[:3])

    assert substitute("{{currentSwipeId}}/{{lastSwipeId}} ", ctx) == "3/3 "


def test_a_group_lists_its_members() -> None:
    """`notChar` is everyone else, the user last."""
    ctx = replace(context(), group=("Fern", "Moss"))

    assert substitute("{{group}}|{{notChar}}", ctx) == "Fern, Moss|Moss, Ada"


def test_trim_takes_the_line_ends_beside_it_and_no_spaces() -> None:
    """It works after everything else, on Windows line ends too."""
    assert substitute("a\r\n\r\n{{trim}}\n b", context()) == "a b"
    assert substitute("a {{TRIM}} b", context()) == "a  b"


def test_original_is_said_once() -> None:
    """The text that is overridden stands in once; outside an override the macro stays."""
    assert expand("<{{original}}><{{original}}>", context(), original="{{user}}").text == "<{{user}}><>"
    assert substitute("{{original}}", context()) == "{{original}}"
    assert expand("{{if original}}{{original}}{{/if}}", context(), original="x").text == "x"


def test_content_that_came_out_is_told() -> None:
    """Asking whether there is a description does not tell it; an empty one is not told either."""
    ctx = replace(context(), scenario="")

    found = expand("{{if description}}x{{/if}}{{Personality}}{{scenario}}", ctx)

    assert {"personality"} == found.content_macros


def test_the_nodes_of_a_preset_share_their_variables_forward() -> None:
    """What an earlier text sets, a later one sees, never the other way."""
    ctx = MacroContext(personality="wry", variables=Variables())
    nodes = (
        "Tone: {{getvar::tone}}.",
        "{{setvar::tone::dry}}{{// hidden }}{{trim}}",
        "{{addvar::tone::, brief}}  Keep {{Personality}}.",
        "Tone: {{getvar::tone}}.",
        "{{getvar::nope}}{{trim}}",
    )

    found = [expand(node, ctx) for node in nodes]

    assert [each.text for each in found] == ["Tone: .", "", "  Keep wry.", "Tone: dry, brief.", ""]
    assert {"personality"} == set().union(*(each.content_macros for each in found))


def test_sillytavern_alone_reads_none_of_ours() -> None:
    """C47: our own macros stay as written where its reading holds."""
    ctx = replace(context(), ours=False)

    assert substitute("{{bot}}{{hidden_key:x}}", ctx) == "{{bot}}{{hidden_key:x}}"
    assert substitute("[{{summary}}]", replace(ctx, summary="Rain.")) == "[]"


def test_so_many_unknown_names_are_told_and_no_more() -> None:
    """The first ones: a card may have any number."""
    text = "".join(f"{{{{nobody{number}}}}}" for number in range(MAX_NOTES + 2))

    assert expand(text, context()).unknown == tuple(f"nobody{number}" for number in range(MAX_NOTES))


def test_of_an_unknown_block_sillytavern_leaves_the_last_braces() -> None:
    """Where its reading holds; everywhere else the text stays as it was written."""
    text = "{{foo}} {{user}} {{/foo}}"

    assert substitute(text, replace(context(), ours=False)) == "{{foo}}Ada}}"
    assert substitute(text, context()) == "{{foo}} Ada {{/foo}}"


def test_macros_of_one_call_come_first() -> None:
    """Whoever calls may bring names of its own."""
    ctx = replace(context(), dynamic={"Mood": "calm", "user": "You"})

    assert substitute("{{mood}} {{MOOD}} {{user}}", ctx) == "calm calm You"


def test_without_a_card_its_macros_are_empty() -> None:
    """Names and persona stay."""
    assert substitute("[{{description}}{{greeting}}]{{char}}", replace(context(), card=False)) == "[]Fern"


def test_a_context_repeats() -> None:
    """The same context gives the same text, clock and chance included."""
    text = "{{time}} {{random::a::b::c}} {{roll:d20}} {{pick::x::y::z}}"
    runs = {substitute(text, MacroContext(rng=random.Random(5), chat_id="c")) for _ in range(5)}

    assert len(runs) == 1


def test_text_without_macros_is_handed_back() -> None:
    """Not even copied."""
    text = "plain words, \\ backslash"

    assert substitute(text, context()) is text


def test_every_macro_bears_any_number_of_arguments() -> None:
    """Known macros never raise and never come out unknown, however they are called."""
    calls = ["{{" + "::".join([name, *["x"] * count]) + "}}" for name in sorted(MACROS) for count in range(5)]
    assert len(calls) > 600

    raised, unknown = [], []
    for call in calls:
        try:
            unknown += [call] if expand(call, context()).unknown else []
        except Exception as error:
            raised.append((call, repr(error)))
    assert (raised, unknown) == ([], [])


def test_braces_that_no_macro_is_to_match_come_back_as_they_were() -> None:
    """A name or a card's text may look like a macro."""
    text = "I am {{user}}, {really}"

    assert "{" not in escape_braces(text)
    assert "}" not in escape_braces(text)
    assert unescape_braces(escape_braces(text)) == text
