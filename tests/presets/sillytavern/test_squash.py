"""System messages made one."""

from __future__ import annotations

from familiar_connect.presets.types import CardFields
from tests.fakes.sillytavern import assemble_prompt, bare, chat_lines, format_messages, node

SQUASH = bare(squash_system_messages=True)


def test_neighbouring_system_messages_become_one() -> None:
    """C38: joined by a newline; empty ones leave no trace."""
    made = assemble_prompt(
        node("main", "MAIN"),
        node("a", ""),
        node("b", "B"),
        node("u", "U", role="user"),
        node("c", "C"),
        card=CardFields(),
        settings=SQUASH,
    )

    assert format_messages(made) == ["system: MAIN\nB", "user: U", "system: C"]
    assert made.items[0].source == "preset:P:main, preset:P:b"


def test_an_empty_message_of_another_role_still_parts_its_neighbours() -> None:
    """It is not sent, yet what it parted stays two."""
    made = assemble_prompt(
        node("main", "MAIN"), node("u", "", role="user"), node("b", "B"), card=CardFields(), settings=SQUASH
    )

    assert format_messages(made) == ["system: MAIN", "system: B"]


def test_separators_nudges_and_named_examples_stand_alone() -> None:
    """C38: they are never squashed."""
    made = assemble_prompt(
        node("main", "MAIN"),
        node("dialogueExamples"),
        node("chatHistory"),
        node("jailbreak", "LAST"),
        card=CardFields(mes_example="Ada: hi"),
        settings=bare(
            squash_system_messages=True,
            new_group_chat_prompt="[new]",
            new_example_chat_prompt="[example]",
            group_nudge_prompt="[nudge]",
        ),
        is_group=True,
        chat=(),
    )

    assert [item.text for item in made.items] == ["MAIN", "[example]", "Ada: hi", "[new]", "[nudge]", "LAST"]


def test_without_the_switch_nothing_is_joined() -> None:
    """Each prompt is a message of its own."""
    made = assemble_prompt(
        node("main", "MAIN"), node("b", "B"), node("chatHistory"), card=CardFields(), chat=chat_lines("Hi.")
    )

    assert format_messages(made) == ["system: MAIN", "system: B", "assistant: Hi."]
