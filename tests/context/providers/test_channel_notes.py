"""A channel's own words, and notes near the end."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.chat.types import Imitated
from familiar_connect.config.types import ChannelMode, PlaceSettings
from familiar_connect.context.providers.character import CharacterProvider
from familiar_connect.context.providers.owner_notes import ChannelNotesProvider
from familiar_connect.context.slots import in_prompt_order
from familiar_connect.context.types import ContextRequest, Contribution, ItemTag, Layer
from familiar_connect.memory.store import MemoryStore
from familiar_connect.presets.types import ActivePreset, Preset, PresetFidelity
from tests.fakes.context import ADA, BO, a_request
from tests.fakes.scene import AT, entry_by, request_in_place


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    store = MemoryStore(tmp_path / "memory")
    store.write_file("self/system_prompt.md", "Be Wren.")
    store.write_file("self/description.md", "Small.")
    return store


async def given_by(store: MemoryStore, request: ContextRequest | None = None, **settings: Any) -> list[Contribution]:
    request = request or request_in_place(entry_by(ADA), settings=PlaceSettings(**settings))
    return await ChannelNotesProvider(store).contribute(request)


async def instructions(store: MemoryStore, **settings: Any) -> list[tuple[ItemTag | None, str]]:
    """What character and channel together say on top."""
    request = request_in_place(entry_by(ADA), settings=PlaceSettings(**settings))
    found = [*await CharacterProvider(store).contribute(request), *await given_by(store, request)]
    return [(each.tag, each.text) for each in in_prompt_order(found)]


async def test_a_channels_prompt_follows_the_rules(store: MemoryStore) -> None:
    """B21, B28: as a block of its own, before the persona."""
    assert await instructions(store, channel_prompt="Whisper to {user}.") == [
        (ItemTag.RULES, "Be Wren."),
        (ItemTag.CHANNEL_PROMPT, "Whisper to User."),
        (ItemTag.PERSONA, "Small."),
    ]


async def test_a_channels_prompt_may_stand_instead_of_the_rules(store: MemoryStore) -> None:
    """B20, B26: the persona is not touched."""
    assert await instructions(store, channel_prompt="Whisper.", channel_prompt_mode="replace") == [
        (ItemTag.RULES, "Whisper."),
        (ItemTag.PERSONA, "Small."),
    ]


async def test_a_blank_prompt_replaces_nothing(store: MemoryStore) -> None:
    """B21: and adds nothing."""
    for mode in ("append", "replace"):
        assert await instructions(store, channel_prompt=" \n", channel_prompt_mode=mode) == [
            (ItemTag.RULES, "Be Wren."),
            (ItemTag.PERSONA, "Small."),
        ]


async def test_without_any_rules_a_line_of_ours_stands_in(store: MemoryStore) -> None:
    """B20, A6: not beside a preset, which owns the framing then, and not for a small model."""
    store.write_file("self/system_prompt.md", " \n")
    preset = ActivePreset(preset=Preset(name="p"), fidelity=PresetFidelity.with_memory)
    small = a_request(mode=ChannelMode.full_rp, budget_tokens=1000)
    [rules] = await given_by(store)

    assert (rules.tag, rules.text[:13]) == (ItemTag.RULES, "You are Wren.")
    assert await given_by(store, request_in_place(entry_by(ADA), preset=preset)) == []
    assert await given_by(store, small) == []


async def test_the_channels_prompt_is_paid_by_the_core(store: MemoryStore) -> None:
    """B27: just below the character itself."""
    [prompt] = await given_by(store, channel_prompt="Whisper.")

    assert (prompt.layer, prompt.priority) == (Layer.core, 95)


async def test_an_imitation_has_its_own_style_and_nothing_else(store: MemoryStore) -> None:
    """B24: the only instruction, with the imitated name for the user; without one, none."""
    settings = PlaceSettings(channel_prompt="Whisper.", channel_prompt_mode="replace")
    request = request_in_place(entry_by(ADA), imitated=BO, settings=settings)
    assert request.turn is not None
    styled = request_in_place(entry_by(ADA), settings=settings)
    assert styled.turn is not None
    object.__setattr__(styled.turn, "imitated", Imitated(author=BO, name="Bo", style="{user} never shouts."))
    [style] = await given_by(store, styled)

    assert (style.tag, style.text) == (ItemTag.RULES, "Bo never shouts.")
    assert await given_by(store, request) == []
    assert await CharacterProvider(store).contribute(request) == []


async def test_a_note_stands_near_the_end(store: MemoryStore) -> None:
    """B102: user-role, as a System line, so many turns before the end."""
    [note] = await given_by(store, channel_note="{char} is tired.", channel_note_depth=2)

    assert (note.text, note.role, note.depth) == ("[System: Wren is tired.]", "user", 2)
    assert (note.tag, note.layer, note.priority) == (ItemTag.AUTHOR_NOTE, Layer.author_note, 90)


async def test_the_global_note_gives_way(store: MemoryStore) -> None:
    """B102: it is used only where neither the character nor the channel has one."""
    [note] = await given_by(store, global_note="Be brief.", global_note_depth=0)
    [channels] = await given_by(store, global_note="Be brief.", channel_note="Rain.")
    store.write_file("self/depth_prompt.md", "Hums.")

    assert (note.text, note.depth) == ("[System: Be brief.]", 0)
    assert channels.text == "[System: Rain.]"
    assert await given_by(store, global_note="Be brief.") == []


async def test_after_days_of_silence_it_is_told(store: MemoryStore) -> None:
    """B103: three turns before the end, where the familiar is aware of time."""
    said = (entry_by(ADA, "bye", created_at=AT - timedelta(days=3)), entry_by(ADA, "back", in_exchange=True))
    aware = PlaceSettings(time_awareness=True)
    [note] = await given_by(store, request_in_place(*said, settings=aware))

    assert (note.text, note.depth) == ("[System: Before this, nobody had spoken here for 3 days.]", 3)
    assert await given_by(store, request_in_place(*said)) == []
    assert await given_by(store, request_in_place(*said[1:], settings=aware)) == []
    assert (
        await given_by(store, request_in_place(entry_by(ADA), entry_by(ADA, "x", in_exchange=True), settings=aware))
        == []
    )
