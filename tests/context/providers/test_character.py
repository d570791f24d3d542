"""The familiar's own character."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import pytest

from familiar_connect.chat.types import Turn, TurnFlags
from familiar_connect.config.types import PlaceSettings
from familiar_connect.context.budget import Budgeter
from familiar_connect.context.providers.character import CHARACTER_PRIORITY, CharacterProvider
from familiar_connect.context.types import ContextRequest, Contribution, ItemTag, Layer
from familiar_connect.memory.persona import persona_name, read_persona_name
from familiar_connect.memory.store import MemoryStore
from familiar_connect.presets.types import CardFields
from familiar_connect.support.tokens import estimate_tokens
from tests.fakes.context import ADA, BO, a_request
from tests.fakes.scene import entry_by, request_in_place


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore(tmp_path / "memory")


async def given_by(store: MemoryStore, **files: str) -> list[Contribution]:
    for stem, text in files.items():
        store.write_file(f"self/{stem}.md", text)
    return await CharacterProvider(store).contribute(a_request())


async def test_one_contribution_for_each_file_word_for_word(store: MemoryStore) -> None:
    """Sorted by name, paid by the character's layer, at the highest priority."""
    found = await given_by(store, personality="  Wry.\n", description="Small.", hobbies="Tea.")

    assert [(c.source, c.text) for c in found] == [
        ("character:description", "Small."),
        ("character:hobbies", "Tea."),
        ("character:personality", "  Wry.\n"),
    ]
    assert {(c.layer, c.priority) for c in found} == {(Layer.character, CHARACTER_PRIORITY)} == {(Layer.character, 100)}
    assert all(c.estimated_tokens == estimate_tokens(c.text) for c in found)


async def test_each_field_is_what_its_name_says(store: MemoryStore) -> None:
    """A file of any other name has no tag."""
    files = dict.fromkeys(
        ("system_prompt", "description", "personality", "scenario", "post_history_instructions", "hobbies"), "x"
    )
    found = await given_by(store, **files)

    assert {c.source.removeprefix("character:"): (c.tag, c.depth) for c in found} == {
        "system_prompt": (ItemTag.RULES, None),
        "description": (ItemTag.PERSONA, None),
        "personality": (ItemTag.TRAITS, None),
        "scenario": (ItemTag.SCENARIO, None),
        "post_history_instructions": (ItemTag.POST_HISTORY, 0),
        "hobbies": (None, None),
    }


async def test_notes_for_people_never_reach_a_prompt(store: MemoryStore) -> None:
    """Nor do greetings, versions and tags."""
    hidden = ("creator_notes", "tags", "first_mes", "alternate_greetings", "character_version", "creator")

    assert await given_by(store, **dict.fromkeys(hidden, "x")) == []


async def test_nothing_there_gives_nothing(store: MemoryStore) -> None:
    """No folder, blank files, files further down or of another kind."""
    assert await CharacterProvider(store).contribute(a_request()) == []
    store.write_file("self/blank.md", " \n")
    store.write_file("self/deeper/more.md", "x")
    store.write_file("self/notes.txt", "x")

    assert await CharacterProvider(store).contribute(a_request()) == []


async def test_one_bad_file_costs_that_file_only(
    store: MemoryStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A warning names it, the others still come."""
    store.write_file("self/description.md", "Small.")
    (tmp_path / "memory/self/personality.md").write_bytes(b"\xff\xfe\x00bad")
    with caplog.at_level(logging.WARNING):
        found = await CharacterProvider(store).contribute(a_request())

    assert [c.source for c in found] == ["character:description"]
    assert [r.getMessage() for r in caplog.records] == ["character file skipped: self/personality.md"]


async def test_a_folder_that_is_none_is_told(
    store: MemoryStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A file where the character's folder should be costs the whole character, so a warning names it."""
    (tmp_path / "memory/self").write_text("Small.", encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        assert await CharacterProvider(store).contribute(a_request()) == []

    assert [r.getMessage() for r in caplog.records] == [
        "the character is left out: cannot read memory file 'self': a part of it is a file, not a folder"
    ]


async def test_an_edit_shows_at_the_next_turn(store: MemoryStore) -> None:
    """Files are read on each call."""
    provider = CharacterProvider(store)
    store.write_file("self/description.md", "Small.")
    await provider.contribute(a_request())
    store.write_file("self/description.md", "Tall.")

    assert [c.text for c in await provider.contribute(a_request())] == ["Tall."]


async def test_samples_are_shown_not_ordered(store: MemoryStore) -> None:
    """As turns of a dialogue; without speakers as one block with a label."""
    (talk,) = await given_by(store, mes_example="<START>\n{{user}}: hi\n{{char}}: hm")

    assert (talk.tag, [(i.role, i.text) for i in talk.items]) == (
        ItemTag.SAMPLE,
        [("user", "User: hi"), ("assistant", "hm")],
    )
    (plain,) = await given_by(store, mes_example="I talk like this.")
    assert (plain.tag, plain.items, plain.text) == (ItemTag.SAMPLE, (), "I talk like this.")


async def test_a_tight_budget_cuts_the_right_end(store: MemoryStore) -> None:
    """Rules and description stay; samples go first."""
    found = await given_by(
        store,
        mes_example="{{user}}: hi\n{{char}}: " + "m" * 400,
        system_prompt="r" * 40,
        description="d" * 40,
        personality="p" * 400,
    )
    result = Budgeter().fill(found, {Layer.character: 40})

    assert [(c.source, c.text[:1]) for c in result.kept] == [
        ("character:system_prompt", "r"),
        ("character:description", "d"),
        ("character:personality", "p"),
    ]
    assert {n.source: n.reason for n in result.dropped} == {
        "character:personality": "truncated",
        "character:mes_example": "dropped",
    }


async def test_the_name_is_what_the_file_says_else_the_folders(store: MemoryStore) -> None:
    """Blank counts as none; it is read with the store around it and without."""
    for written, name in ((None, "wren-2"), (" Wren \n", "Wren"), (" \n", "wren-2")):
        if written is not None:
            store.write_file("self/name.md", written)
        assert persona_name(store, "wren-2") == name
        assert read_persona_name(store.root, "wren-2") == name


def test_it_answers_to_its_name_and_quickly(store: MemoryStore) -> None:
    """A plain read needs no more than a quarter of a second."""
    provider = CharacterProvider(store)

    assert (provider.id, provider.deadline_s) == ("character", 3.0)


async def test_the_depth_prompt_is_a_note_among_the_turns(store: MemoryStore) -> None:
    """B25, C35: where the card says, in the role it says."""
    store.write_file("self/depth_prompt.md", "Stay dry.")
    card = CardFields(depth_prompt_depth=2, depth_prompt_role="user")

    (note,) = await CharacterProvider(store).contribute(a_request(card=card))

    assert (note.tag, note.depth, note.role, note.text) == (ItemTag.AUTHOR_NOTE, 2, "user", "Stay dry.")


async def test_what_is_written_of_the_character_may_hold_macros(store: MemoryStore) -> None:
    """B4: each file is marked as authored, its text still word for word."""
    found = await given_by(store, description="{{char}} reads.")

    assert [(piece.text, piece.authored) for piece in found] == [("{{char}} reads.", True)]


async def test_the_fields_of_a_character_come_only_when_written(store: MemoryStore) -> None:
    """B22, B23, B27: blank ones are no block, and all are paid by the character's layer."""
    found = await given_by(store, description=" \n", scenario="\t", personality="Wry.", system_prompt="Rules.")

    assert [(c.tag, c.layer) for c in found] == [(ItemTag.TRAITS, Layer.character), (ItemTag.RULES, Layer.character)]


async def test_speaking_for_somebody_the_character_is_silent(store: MemoryStore) -> None:
    """B24, B23: neither persona nor traits, rules nor last words."""
    for stem in ("system_prompt", "description", "personality", "post_history_instructions", "hobbies"):
        store.write_file(f"self/{stem}.md", "x")

    assert await CharacterProvider(store).contribute(request_in_place(entry_by(ADA), imitated=BO)) == []


async def test_a_channel_may_have_its_own_rules(store: MemoryStore) -> None:
    """B26: then the character's are left out, and nothing else of it."""
    store.write_file("self/system_prompt.md", "Rules.")
    store.write_file("self/personality.md", "Wry.")
    settings = PlaceSettings(channel_prompt="Whisper.", channel_prompt_mode="replace")
    found = await CharacterProvider(store).contribute(request_in_place(entry_by(ADA), settings=settings))

    assert [c.source for c in found] == ["character:personality"]


async def test_a_further_persona_has_a_character_of_its_own(store: MemoryStore) -> None:
    """In place of the familiar's description and traits; rules are shared, and without a file all is."""
    for stem, text in {"system_prompt": "Be kind.", "description": "Small.", "personality": "Wry."}.items():
        store.write_file(f"self/{stem}.md", text)
    store.write_file("self/alters/Moss.md", "Old and slow.")

    def asked_as(alter: str) -> ContextRequest:
        turn = Turn(familiar_id="sage", channel_id=1, said=(), flags=TurnFlags(alter=alter))
        return replace(a_request(), turn=turn)

    provider = CharacterProvider(store)
    moss = await provider.contribute(asked_as("Moss"))
    fern = await provider.contribute(asked_as("Fern"))

    assert [each.text for each in moss] == ["Be kind.", "You are Moss.\n\nOld and slow."]
    assert sorted(each.text for each in fern) == ["Be kind.", "Small.", "Wry."]
