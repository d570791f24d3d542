"""Texts among the chat: depth, order, role, notes, persona and the card's depth prompt."""

from __future__ import annotations

import pytest

from familiar_connect.presets.story.types import AuthorNote
from familiar_connect.presets.types import CardFields
from tests.fakes.sillytavern import assemble_prompt, bare, chat_lines, format_messages, in_chat, node, texts

PLAIN = CardFields(name="Rook")
CHAT = chat_lines("a", "b", "c", "d")
HISTORY = node("chatHistory")


def test_depth_counts_the_messages_that_follow() -> None:
    """C37: 0 is after the last message, more than there are is before the first."""
    made = assemble_prompt(
        HISTORY,
        in_chat("zero", "0", depth=0),
        in_chat("two", "2", depth=2),
        in_chat("far", "99", depth=99),
        card=PLAIN,
        chat=CHAT,
    )

    assert texts(made) == ["99", "a", "b", "2", "c", "d", "0"]


def test_at_one_depth_order_and_role_decide() -> None:
    """C37: lower orders first; inside one order assistant, user, system; equal keys joined by a newline."""
    made = assemble_prompt(
        HISTORY,
        in_chat("s", "s", depth=1),
        in_chat("u", "u", depth=1, role="user"),
        in_chat("a", "a2", depth=1, role="assistant"),
        in_chat("low", "low", depth=1, order=50),
        in_chat("high", "high", depth=1, order=200),
        in_chat("s2", "  s2  ", depth=1),
        card=PLAIN,
        chat=chat_lines("x", "y"),
    )

    assert format_messages(made)[1:-1] == ["system: low", "assistant: a2", "user: u", "system: s\n  s2", "system: high"]


def test_without_a_depth_or_a_role_of_its_own_a_prompt_has_no_place_among_the_chat() -> None:
    """A marker is given its role by what fills it, its depth it must have."""
    made = assemble_prompt(
        HISTORY,
        in_chat("no depth", "lost", depth_given=False),
        in_chat("no role", "lost", depth=0, role_given=False),
        in_chat("charDescription", "", depth=0, role_given=False),
        in_chat("scenario", "", depth_given=False),
        card=CardFields(name="Rook", description="a crow", scenario="a roof"),
        chat=chat_lines("x"),
    )

    assert texts(made) == ["x", "a crow"]


def test_a_depth_that_is_no_number_never_comes_up() -> None:
    """A file that gives its depth as text loses the prompt, as in SillyTavern."""
    made = assemble_prompt(
        HISTORY, in_chat("lost", "lost", depth=None), in_chat("deep", "deep", depth=10_001), card=PLAIN
    )

    assert texts(made) == []


def test_notes_join_the_systems_message_of_order_100() -> None:
    """Author's note, then the card's depth prompt, then the persona, behind the preset's prompts."""
    made = assemble_prompt(
        HISTORY,
        in_chat("p", "preset", depth=1),
        card=CardFields(depth_prompt="{{char}} hops", depth_prompt_depth=1),
        persona="persona of {{user}}",
        persona_position="chat",
        persona_depth=1,
        author_note=AuthorNote(text=" note ", depth=1),
        chat=chat_lines("x", "y"),
    )

    assert texts(made) == ["x", "preset\nnote\nRook hops\npersona of Ada", "y"]


def test_a_note_stands_at_its_own_depth_and_role() -> None:
    """Without any prompt of the preset there it is a message of its own."""
    made = assemble_prompt(
        HISTORY, card=PLAIN, chat=CHAT, author_note=AuthorNote(text="note", depth=3, role="assistant")
    )

    assert format_messages(made)[:3] == ["assistant: a", "assistant: note", "user: b"]


@pytest.mark.parametrize(
    ("position", "expected"), [("after_main", ["MAIN", "note"]), ("before_main", ["note", "MAIN"])]
)
def test_a_note_may_stand_next_to_main(position: str, expected: list[str]) -> None:
    """After the main prompt, or before it, in main's own place."""
    note = AuthorNote(text="note", position=position)  # type: ignore[arg-type]
    made = assemble_prompt(
        node("first", "first"), node("main", "MAIN"), node("next", "next"), card=PLAIN, author_note=note
    )

    assert texts(made) == ["first", *expected, "next"]


def test_a_note_next_to_a_main_in_the_chat_joins_its_message() -> None:
    """The note goes where main goes."""
    note = AuthorNote(text="note", position="before_main")
    made = assemble_prompt(
        in_chat("main", "MAIN", depth=1), HISTORY, card=PLAIN, author_note=note, chat=chat_lines("x", "y")
    )

    assert texts(made) == ["x", "note\nMAIN", "y"]


def test_a_disabled_main_still_anchors_the_note() -> None:
    """C63: the empty anchor holds the note's place."""
    note = AuthorNote(text="note", position="after_main")
    made = assemble_prompt(
        node("a", "A"), node("main", "MAIN", is_enabled=False), node("b", "B"), card=PLAIN, author_note=note
    )

    assert texts(made) == ["A", "note", "B"]


@pytest.mark.parametrize(
    ("interval", "shows"), [(0, False), (1, True), (2, True), (3, False), (4, False)], ids=lambda value: str(value)
)
def test_a_note_comes_every_so_many_messages_of_the_user(interval: int, shows: bool) -> None:
    """With two messages said it is due at intervals of one and two."""
    made = assemble_prompt(HISTORY, card=PLAIN, chat=CHAT, author_note=AuthorNote(text="note", interval=interval))

    assert ("note" in texts(made)) == shows


@pytest.mark.parametrize(("position", "text"), [("note_top", "me\nnote"), ("note_bottom", "note\nme")])
def test_the_persona_may_stand_at_the_notes_side(position: str, text: str) -> None:
    """Above or below it, as one text."""
    made = assemble_prompt(
        HISTORY,
        card=PLAIN,
        chat=chat_lines("x"),
        persona="me",
        persona_position=position,
        author_note=AuthorNote(text="note"),
    )

    assert texts(made) == [text, "x"]


def test_a_persona_at_the_notes_side_needs_no_note() -> None:
    """It takes the place the note would have."""
    made = assemble_prompt(HISTORY, card=PLAIN, chat=chat_lines("x"), persona="me", persona_position="note_top")

    assert texts(made) == ["me", "x"]


def test_a_persona_nowhere_is_not_sent() -> None:
    """Position none leaves the marker empty."""
    made = assemble_prompt(node("personaDescription"), HISTORY, card=PLAIN, persona="me", persona_position="none")

    assert texts(made) == []


def test_texts_among_the_chat_do_not_count_as_chat() -> None:
    """C37: one injection never moves another."""
    nodes = [in_chat(f"p{depth}", f"d{depth}", depth=depth) for depth in (0, 1, 2, 3)]
    made = assemble_prompt(HISTORY, *nodes, card=PLAIN, chat=chat_lines("x", "y", "z"), settings=bare())

    assert texts(made) == ["d3", "x", "d2", "y", "d1", "z", "d0"]
