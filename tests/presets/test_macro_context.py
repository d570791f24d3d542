"""What macros mean in a turn, and which text they are read in."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.chat.types import Sender
from familiar_connect.context.types import ContextItem, ContextRequest, Contribution, ItemTag, Layer
from familiar_connect.presets.macro_context import (
    build_macro_context,
    chat_lines,
    escape_braces,
    expand_all_macros,
    expand_authored,
    rng_for,
    unescape_braces,
)
from familiar_connect.presets.types import ActivePreset, CardFields, Preset, PresetFidelity
from tests.fakes.context import ADA, BO, a_dialogue, a_piece, a_request, said

CARD = CardFields(name="Wren")


def written(text: str, **more: Any) -> Contribution:
    """Something an author wrote about the character."""
    facts: dict[str, Any] = {"layer": Layer.character, "source": "character:x", "authored": True}
    return a_piece(text, **facts | more)


def by(name: str, words: str) -> ContextItem:
    return replace(said("user", f"{name}: {words}"), sender=Sender(name=name), words=words)


def read_text(*pieces: Contribution, request: ContextRequest | None = None) -> list[str]:
    return [piece.text for piece in expand_authored(pieces, request or a_request(card=CARD))]


def test_the_user_is_the_other_one_between_two_and_nobody_by_name_in_company() -> None:
    """B3, B4: on a server the text stays the same whoever speaks; both forms of the macros are read."""
    text, company = "{{char}}, {char} and {{user}}, {USER}", a_dialogue(by("Bo", "hi"), by("Ada", "hello"))
    among = expand_authored([written(text), company], a_request(card=CARD, guild_id=None))

    assert read_text(written(text), request=a_request(card=CARD, guild_id=None)) == ["Wren, Wren and Ada, Ada"]
    assert read_text(written(text), request=a_request(card=CARD, guild_id=3)) == ["Wren, Wren and User, User"]
    assert among[0].text == "Wren, Wren and User, User"


def test_what_was_said_or_found_is_never_read() -> None:
    """C42: only authored text has macros."""
    found = a_piece("{{char}} {user}", tag=ItemTag.FOUND)
    talk = a_dialogue(said("user", "Ada: {{char}} {user}"))

    assert expand_authored([found, talk], a_request(card=CARD)) == [found, talk]


def test_without_a_card_nothing_is_read() -> None:
    """A bare request is shown as it is."""
    piece = written("{{char}}")

    assert expand_authored([piece], a_request()) == [piece]


@given(st.text(st.characters(exclude_characters="{}<>\\"), max_size=60))
def test_text_without_macros_stays_the_same_object(text: str) -> None:
    """Byte for byte, whatever the letters."""
    piece = written(text)

    assert expand_authored([piece], a_request(card=CARD))[0] is piece


def test_variables_run_in_the_order_of_the_prompt() -> None:
    """B4: what the rules set, the persona sees, whatever came first."""
    persona = written("{{getvar::mood}}", tag=ItemTag.PERSONA)
    rules = written("{{setvar::mood::dry}}Rules.", tag=ItemTag.RULES)

    assert read_text(persona, rules) == ["dry", "Rules."]


def test_a_choice_makes_a_block_volatile_and_is_left_for_later() -> None:
    """A17: it would break the shared beginning of prompts; one with a depth keeps its place."""
    pieces = expand_authored(
        [written("{{random::a::b}}"), written("{{random::a::b}}", depth=4), written("plain {x}")],
        a_request(card=CARD),
    )

    assert [piece.volatile for piece in pieces] == [True, False, False]
    assert pieces[0].text == "{{random::a::b}}"


def test_tokens_are_those_of_the_text_that_is_sent() -> None:
    """Budgets count what the macros came to."""
    piece = expand_authored([written("{{// a very long remark that nobody will ever see }}x")], a_request(card=CARD))[0]

    assert (piece.text, piece.estimated_tokens) == ("x", 1)


def test_own_text_keeps_its_place_for_the_presets() -> None:
    """C36: with a preset the original is filled in later; without one it is empty."""
    piece = written("a {{original}} b", tag=ItemTag.RULES)
    preset = ActivePreset(preset=Preset(name="p"))

    assert read_text(piece) == ["a  b"]
    assert read_text(piece, request=a_request(card=CARD, preset=preset)) == ["a {{original}} b"]


def a_sample() -> Contribution:
    user = replace(ContextItem.of("user", "User: Open, {{char}}?", tag=ItemTag.SAMPLE), words="Open, {{char}}?")
    own = replace(ContextItem.of("assistant", "Yes, {{user}}.", tag=ItemTag.SAMPLE), words="Yes, {{user}}.")
    return written("…", tag=ItemTag.SAMPLE, items=(user, own))


def test_samples_name_nobody() -> None:
    """No living person said them, and the beginning of the prompt is the same whoever speaks."""
    talk = a_dialogue(by("Bo", "hi"), by("Ada", "hello"))
    for author in (ADA, BO):
        piece = expand_authored([a_sample(), talk], a_request(card=CARD, author=author))[0]

        assert [item.text for item in piece.items] == ["User: Open, Wren?", "Yes, User."]


def test_values_come_from_card_clock_and_chat() -> None:
    """C4: card fields have their own macros read first; the chat holds words without names and marks."""
    card = CardFields(name="Wren", description="{{char}} reads.\r\n", first_mes="Hello", personality=" dry ")
    request = a_request(card=card, now=datetime(2025, 3, 14, 15, 9, tzinfo=UTC), seed=5)
    lines = chat_lines([by("Ada", "what now?"), said("assistant", "rain")], "Wren")

    ctx = build_macro_context(request, lines, user="Ada", rng=rng_for(request, "x"))

    assert (
        expand_all_macros("{{description}}|{{personality}}|{{greeting}}|{{isotime}}", ctx)
        == "Wren reads.|dry|Hello|15:09"
    )
    assert expand_all_macros("{{lastUserMessage}}|{{lastMessage}}", ctx) == "what now?|rain"
    assert [(line.name, line.is_user) for line in lines] == [("Ada", True), ("Wren", False)]


def test_quoted_text_is_out_of_every_macros_sight() -> None:
    """C42: quoted or not, what people said is never read."""
    request = a_request(card=CARD)
    ctx = build_macro_context(
        request,
        chat_lines([by("Ada", "{{char}} {user} {{random::a::b}}")], "Wren"),
        user="Ada",
        rng=rng_for(request, ""),
    )

    shown = expand_all_macros("{{lastMessage}} {user}", ctx)

    assert "{" not in shown
    assert unescape_braces(shown) == "{{char}} {user} {{random::a::b}} Ada"


@given(st.text(max_size=40).filter(lambda text: not any(char in text for char in "\ue000\ue001\ue002")))
def test_a_seal_comes_off_without_a_trace(text: str) -> None:
    """Any text, but for letters nobody types."""
    assert unescape_braces(escape_braces(text)) == text


def test_chances_are_those_of_the_turn() -> None:
    """A16: the same seed and part roll the same; another part rolls its own."""
    rolls = [rng_for(a_request(seed=7), part).random() for part in ("a", "a", "b")]

    assert rolls[0] == rolls[1] != rolls[2]


def test_under_sillytavern_the_original_is_left_to_the_assembler() -> None:
    """C36: its own reading of `{{original}}` holds there."""
    preset = ActivePreset(preset=Preset(name="p"), fidelity=PresetFidelity.sillytavern)

    assert read_text(written("{{char}}"), request=a_request(card=CARD, preset=preset)) == ["Wren"]
