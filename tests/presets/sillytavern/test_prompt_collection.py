"""The preset's prompts in order, markers filled, the card's words in their place."""

from __future__ import annotations

import pytest

from familiar_connect.presets.types import CardFields
from tests.fakes.sillytavern import CARD, assemble_prompt, bare, chat_lines, format_messages, in_chat, node, texts


def test_relative_prompts_stand_in_the_order_of_the_preset() -> None:
    """C60: card, preset, persona and chat are all there is, each in its place."""
    made = assemble_prompt(persona="Ada maps coasts.", chat=chat_lines("Hi.", "Well?"))

    assert format_messages(made) == [
        "system: MAIN",
        "system: Ada maps coasts.",
        "system: a crow",
        "system: wry",
        "system: a roof",
        "assistant: Hi.",
        "user: Well?",
        "system: LAST",
    ]


def test_each_item_says_where_it_comes_from() -> None:
    """Sources name the preset's prompt, the card's field, the persona or the chat; lines point back into the chat."""
    made = assemble_prompt(persona="Ada maps coasts.", chat=chat_lines("Hi."))

    assert [item.source for item in made.items] == [
        "preset:P:main",
        "persona",
        "card:description",
        "card:personality",
        "card:scenario",
        "chat",
        "preset:P:jailbreak",
    ]
    assert made.lines == (None, None, None, None, None, 0, None)


def test_a_disabled_marker_suppresses_its_block() -> None:
    """C63: what the order switches off is not sent."""
    made = assemble_prompt(
        node("main", "MAIN"), node("charDescription", is_enabled=False), card=CardFields(description="a crow")
    )

    assert texts(made) == ["MAIN"]


def test_an_absent_marker_is_sent_behind_everything_else() -> None:
    """C63: a content marker the order does not name stands at the end of the list."""
    made = assemble_prompt(node("extra", "EXTRA"), node("main", "MAIN"), card=CARD)

    assert texts(made) == ["EXTRA", "MAIN", "a crow", "wry", "a roof"]


def test_without_their_markers_there_is_no_chat_and_no_example() -> None:
    """chatHistory and dialogueExamples are the exception: absent means nothing."""
    made = assemble_prompt(
        node("main", "MAIN"), card=CardFields(mes_example="Ada: hi\nRook: ho"), chat=chat_lines("Hi.")
    )

    assert texts(made) == ["MAIN"]


def test_a_disabled_main_is_an_empty_anchor() -> None:
    """C63: nothing of a disabled main is sent, nor the card's words in its place."""
    made = assemble_prompt(
        node("main", "MAIN", is_enabled=False), node("extra", "X"), card=CardFields(system_prompt="own")
    )

    assert texts(made) == ["X"]


def test_a_prompt_that_does_not_say_whether_it_is_built_in_is_never_placed() -> None:
    """A relative prompt of the author's is known by `system_prompt: false` alone."""
    made = assemble_prompt(
        node("a", "A", system_prompt=None), node("b", "B", system_prompt=True), node("c", "C"), card=CardFields()
    )

    assert texts(made) == ["C"]


@pytest.mark.parametrize("kind", ["normal", "continue", "impersonate", "quiet", "swipe", "regenerate"])
def test_a_prompt_takes_part_only_in_the_kinds_it_names(kind: str) -> None:
    """C38: an empty list of triggers means every kind."""
    made = assemble_prompt(node("a", "A", triggers=("quiet", "swipe")), node("b", "B"), card=CardFields(), kind=kind)

    assert "B" in texts(made)
    assert ("A" in texts(made)) == (kind in ("quiet", "swipe"))


def test_markers_speak_and_stand_as_the_preset_says() -> None:
    """A marker's role and depth are its prompt's."""
    made = assemble_prompt(
        node("charDescription", role="user"),
        in_chat("charPersonality", "", depth=1, role="assistant"),
        node("chatHistory"),
        chat=chat_lines("Hi.", "Well?"),
        card=CardFields(description="a crow", personality="wry"),
    )

    assert format_messages(made) == ["user: a crow", "assistant: Hi.", "assistant: wry", "user: Well?"]


def test_the_cards_words_replace_the_presets() -> None:
    """C36: system prompt for main, last words for jailbreak; `{{original}}` is what they replace, once."""
    card = CardFields(system_prompt="Own. {{original}}{{original}}", post_history_instructions="End.")
    made = assemble_prompt(node("main", "MAIN"), node("jailbreak", "LAST"), card=card)

    assert texts(made) == ["Own. MAIN", "End."]
    assert [item.source for item in made.items] == ["card:system_prompt", "card:post_history_instructions"]


def test_a_preset_may_forbid_being_overridden() -> None:
    """C36: then its own text stands alone."""
    card = CardFields(system_prompt="Own.", post_history_instructions="End.")
    made = assemble_prompt(
        node("main", "MAIN", forbid_overrides=True), node("jailbreak", "LAST", is_enabled=False), card=card
    )

    assert texts(made) == ["MAIN"]


def test_the_owner_may_prefer_the_presets_words() -> None:
    """Without the preference the card's words are left out."""
    made = assemble_prompt(node("main", "MAIN"), card=CardFields(system_prompt="Own."), prefers_card_prompts=False)

    assert texts(made) == ["MAIN"]


def test_the_two_preferences_are_apart() -> None:
    """The preset's main prompt may stand while the card has the last word."""
    card = CardFields(system_prompt="Own.", post_history_instructions="End.")
    nodes = (node("main", "MAIN"), node("jailbreak", "LAST"))

    assert texts(assemble_prompt(*nodes, card=card, prefers_card_prompts=False)) == ["MAIN", "End."]
    assert texts(assemble_prompt(*nodes, card=card, prefers_card_last_words=False)) == ["Own.", "LAST"]


def test_a_main_prompt_of_other_generations_leaves_its_place() -> None:
    """Its own text is not sent, but the card's words may stand there."""
    main = node("main", "MAIN", triggers=("continue",))

    assert texts(assemble_prompt(main, node("nsfw", "AUX"), card=CardFields())) == ["AUX"]
    assert texts(assemble_prompt(main, node("nsfw", "AUX"), card=CardFields(system_prompt="Own.{{original}}"))) == [
        "Own.",
        "AUX",
    ]


def test_a_marker_with_a_text_of_its_own_says_it_where_nothing_fills_it() -> None:
    """The persona's marker is not filled without a persona; an author's prompt may call itself a marker."""
    nodes = (node("personaDescription", "Someone."), node("odd", "ODD", is_marker=True, system_prompt=False))

    assert texts(assemble_prompt(*nodes, card=CardFields())) == ["Someone.", "ODD"]
    assert texts(assemble_prompt(*nodes, card=CardFields(), persona="Ada.")) == ["Ada.", "ODD"]


def test_formats_wrap_personality_and_scenario_when_there_are_any() -> None:
    """An empty field gets no frame."""
    settings = bare(personality_format="<{{char}}: {{personality}}>", scenario_format="[{{scenario}}]")
    card = CardFields(personality="wry")
    made = assemble_prompt(node("charPersonality"), node("scenario"), settings=settings, card=card)

    assert texts(made) == ["<Rook: wry>"]


def test_an_empty_format_leaves_the_field_as_it_is() -> None:
    """No format, no frame."""
    made = assemble_prompt(node("scenario"), settings=bare(scenario_format=""), card=CardFields(scenario="a roof"))

    assert texts(made) == ["a roof"]


def test_variables_are_seen_in_the_order_of_reading() -> None:
    """Greeting, card, preset in list order, then the chat from newest to oldest."""
    made = assemble_prompt(
        node("main", "{{getvar::a}}|{{getvar::b}}{{setvar::c::3}}"),
        node("late", "{{getvar::c}}"),
        node("chatHistory"),
        card=CardFields(description="{{setvar::b::2}}"),
        chat=chat_lines("{{setvar::a::1}}Hi.", "{{getvar::d}}old", "{{setvar::d::4}}new", "{{getvar::d}}newest"),
    )

    assert texts(made) == ["1|2", "3", "Hi.", "4old", "new", "newest"]


def test_what_fills_a_marker_is_read_once_more() -> None:
    """A macro that the first reading only freed of its backslashes is resolved by the second one."""
    made = assemble_prompt(node("charDescription"), card=CardFields(name="Rook", description="\\{\\{char\\}\\}ish"))

    assert texts(made) == ["Rookish"]
