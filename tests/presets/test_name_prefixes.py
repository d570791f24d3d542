"""How a preset wants speech written."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from familiar_connect.chat.types import Sender
from familiar_connect.context.types import ContextItem, ItemTag
from familiar_connect.presets.arranger import with_char_prefix, with_speaker_names
from familiar_connect.presets.types import PresetSettings


def said(name: str, words: str, mark: str = "") -> ContextItem:
    item = ContextItem.of("user", f"{mark}{name}: {words}", tag=ItemTag.DIALOGUE, name=name)
    return replace(item, sender=Sender(name=name), words=words)


def own(words: str, tag: ItemTag = ItemTag.DIALOGUE) -> ContextItem:
    return replace(ContextItem.of("assistant", words, tag=tag), words=words)


def sample(words: str) -> ContextItem:
    return replace(ContextItem.of("user", f"User: {words}", tag=ItemTag.SAMPLE), words=words)


def written(*items: ContextItem, **settings: Any) -> list[tuple[str, str | None]]:
    return [(item.text, item.name) for item in with_speaker_names(items, PresetSettings(**settings), char="Wren")]


@pytest.mark.parametrize(
    ("behavior", "expected"),
    [
        (None, [("[12:00] Ada: hi", "Ada"), ("Wren: hello", None)]),
        (2, [("[12:00] Ada: hi", "Ada"), ("Wren: hello", None)]),
        (1, [("[12:00] hi", "Ada"), ("hello", "Wren")]),
        (0, [("[12:00] hi", None), ("hello", None)]),
        (-1, [("[12:00] hi", None), ("hello", None)]),
    ],
)
def test_names_stand_where_the_preset_wants_them(behavior: int | None, expected: list[Any]) -> None:
    """C38, C66, B113: before all words, beside them, or nowhere; a silent preset means before all."""
    assert written(said("Ada", "hi", "[12:00] "), own("hello"), names_behavior=behavior) == expected


def test_in_company_the_default_names_who_speaks() -> None:
    """C38: 0 prefixes only where it is not clear who speaks."""
    assert written(said("Ada", "a"), said("Bo", "b"), own("c"), names_behavior=0) == [
        ("Ada: a", None),
        ("Bo: b", None),
        ("c", None),
    ]


def test_samples_are_written_as_the_dialogue_is() -> None:
    """B92, B113: one switch for history and samples."""
    assert written(sample("Open?"), own("Always.", ItemTag.SAMPLE)) == [("User: Open?", None), ("Wren: Always.", None)]
    assert written(sample("Open?"), own("Always.", ItemTag.SAMPLE), names_behavior=-1) == [
        ("Open?", None),
        ("Always.", None),
    ]


def test_a_name_already_there_is_not_put_twice() -> None:
    """B92, E63: with either colon."""
    assert [with_char_prefix(text, "Wren") for text in ("Hi", "Wren: Hi", "Wren：Hi")] == [
        "Wren: Hi",
        "Wren: Hi",
        "Wren：Hi",
    ]


def test_an_odd_name_is_made_fit_for_the_wire() -> None:
    """C38: letters, digits and underscores, at most 64."""
    items = with_speaker_names([own("hi")], PresetSettings(names_behavior=1), char="Mädchen Ä" * 20)

    assert items[0].name == ("M_dchen__" * 20)[:64]


def test_quotes_go_around_what_people_say() -> None:
    """C38: and around nothing else."""
    assert written(said("Ada", "hi"), own("hello"), wrap_in_quotes=True) == [
        ('Ada: "hi"', "Ada"),
        ("Wren: hello", None),
    ]


def test_other_items_are_left_as_they_are() -> None:
    """Notes and blocks are not speech."""
    note = ContextItem.of("system", "note", tag=ItemTag.AUTHOR_NOTE)

    assert with_speaker_names([note], PresetSettings(), char="Wren")[0] is note
