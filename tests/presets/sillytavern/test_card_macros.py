"""Macros that stand for the card: empty in the card itself, read anew everywhere else."""

from __future__ import annotations

from typing import Any

from familiar_connect.presets.story.types import AuthorNote
from familiar_connect.presets.types import CardFields
from familiar_connect.presets.world_info.read_entries import read_entry
from familiar_connect.presets.world_info.types import BookKind, WorldBook
from tests.fakes.sillytavern import assemble_prompt, chat_lines, node, texts


def book(**entry: Any) -> WorldBook:
    return WorldBook(name="b", kind=BookKind.everyone, entries=(read_entry({"uid": 1, **entry}, book="b"),))


def test_macros_of_the_card_are_empty_in_the_card() -> None:
    """A field never shows another field, nor itself."""
    card = CardFields(name="Rook", description="a{{personality}}b{{description}}c{{persona}}", personality="wry")
    made = assemble_prompt(node("charDescription"), card=card, persona="Ada")
    assert texts(made)[0] == "abc"


def test_every_text_reads_the_fields_of_the_card_anew() -> None:
    """Counting goes on from text to text, not within one."""
    card = CardFields(name="Rook", depth_prompt="{{incvar::n}}")
    made = assemble_prompt(
        node("main", "{{charDepthPrompt}} {{charDepthPrompt}}"), node("nsfw", "{{charDepthPrompt}}"), card=card
    )
    assert texts(made) == ["2 2", "3"]


def test_examples_and_prompt_of_the_card_are_read_where_a_macro_shows_them() -> None:
    """Nothing of the card reaches the model with its names as macros."""
    card = CardFields(name="Rook", mes_example="{{char}}: Caw, {{user}}.", system_prompt="You are {{char}}.")
    made = assemble_prompt(node("nsfw", "{{mesExamples}}{{mesExamplesRaw}} {{charPrompt}}"), card=card)
    assert texts(made) == ["<START>\nRook: Caw, Ada.\nRook: Caw, Ada. You are Rook."]


def test_a_prompt_the_owner_does_not_want_is_empty_for_macros_too() -> None:
    """Where the preset's prompt is preferred, the card's is not there."""
    card = CardFields(name="Rook", system_prompt="Mine.", post_history_instructions="Last.")
    made = assemble_prompt(
        node("nsfw", "x{{charPrompt}}{{charInstruction}}"),
        card=card,
        prefers_card_prompts=False,
        prefers_card_last_words=False,
    )
    assert texts(made) == ["x"]


def test_the_cards_depth_prompt_is_searched_with_the_notes() -> None:
    """Both are searched or neither; a note that is not due is not."""
    lore = (book(key=["raven"], content="LORE"),)
    card = CardFields(name="Rook", depth_prompt="a raven", depth_prompt_depth=9)
    nodes = (node("worldInfoBefore"),)
    assert "LORE" not in texts(assemble_prompt(*nodes, card=card, books=lore, budget=900))
    assert "LORE" in texts(assemble_prompt(*nodes, card=card, books=lore, budget=900, scans_notes=True))
    late = AuthorNote(text="raven", interval=3, is_scanned=True)
    made = assemble_prompt(
        *nodes, card=CardFields(name="Rook"), books=lore, budget=900, author_note=late, chat=chat_lines("", "Hi")
    )
    assert "LORE" not in texts(made)


def test_words_asked_for_in_between_are_searched() -> None:
    """A quiet prompt calls lore up as a message does."""
    lore = (book(key=["raven"], content="LORE"),)
    made = assemble_prompt(
        node("worldInfoBefore"), books=lore, budget=900, kind="quiet", quiet_prompt="Draw the raven."
    )
    assert texts(made)[0] == "LORE"
