"""Sample dialogues as turns."""

from __future__ import annotations

from familiar_connect.context.providers.character import MAX_ITEMS, sample_items
from familiar_connect.context.types import ItemTag


def turns(text: str) -> list[tuple[str, str]]:
    return [(item.role, item.text) for item in sample_items(text, "character:mes_example")]


def test_labels_make_turns() -> None:
    """In either writing; several lines belong to the one who began them."""
    text = "<START>\n{{user}}: hi\n{{char}}: hm\nwell\n<start>\n<USER>: again\n<BOT>: no"

    assert turns(text) == [
        ("user", "User: hi"),
        ("assistant", "hm\nwell"),
        ("user", "User: again"),
        ("assistant", "no"),
    ]


def test_what_belongs_to_nobody_is_left_out() -> None:
    """Before the first label, and between two dialogues."""
    assert turns("intro\n{{char}}: hm\n<START>\nstray\n{{char}}: ha") == [("assistant", "hm"), ("assistant", "ha")]


def test_without_labels_there_are_no_turns() -> None:
    """Nor for a label with nothing behind it."""
    assert turns("just prose") == turns("{{user}}:  \n") == []


def test_samples_are_tagged_and_bounded() -> None:
    """They are never taken for real turns, and there is an end to them."""
    items = sample_items("{{char}}: x\n" * 500, "s")

    assert (len(items), {item.tag for item in items}) == (MAX_ITEMS, {ItemTag.SAMPLE})


def test_the_characters_own_name_opens_its_lines() -> None:
    """B92: as do the short forms of the macros."""
    text = "<START>\n{user}: Open?\nWren: Always.\n{bot}: Mind the step."

    found = sample_items(text, "s", char="Wren")

    assert [(item.role, item.words) for item in found] == [
        ("user", "Open?"),
        ("assistant", "Always."),
        ("assistant", "Mind the step."),
    ]
