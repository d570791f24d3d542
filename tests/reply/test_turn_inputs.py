"""What a turn brings besides its words."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from familiar_connect.config import ChannelMode, CharacterConfig, channel_config_for_mode
from familiar_connect.memory.card_fields import CardReader
from familiar_connect.memory.lorebooks.book_shelf import BookShelf
from familiar_connect.memory.store import MemoryStore
from familiar_connect.presets.store import PresetStore
from familiar_connect.presets.story.state_store import StoryStateStore
from familiar_connect.presets.types import PresetFidelity
from familiar_connect.reply.turn_builder import TurnInputsLookup, UserPersona

CHANNEL = channel_config_for_mode(ChannelMode.full_rp)


def some_brings(root: Path, config: CharacterConfig | None = None) -> TurnInputsLookup:
    presets = PresetStore(root / "presets")
    for name in ("plain", "fancy"):
        presets.import_bytes(name, json.dumps({"prompts": [], "prompt_order": []}).encode())
    store = MemoryStore(root / "memory")
    return TurnInputsLookup(
        presets=presets,
        card=CardReader(store, "wren"),
        config=config or CharacterConfig(user_persona="A sailor."),
        shelf=BookShelf(store),
        states=StoryStateStore(root / "story"),
        persona=UserPersona("A sailor."),
    )


def test_the_familiars_preset_card_and_persona(tmp_path: Path) -> None:
    """A5, A18: the active preset under the familiar's fidelity, unless the channel says otherwise."""
    brought = some_brings(tmp_path).lookup(CHANNEL, 1)

    assert brought.preset is not None
    assert (brought.preset.preset.name, brought.preset.fidelity) == ("fancy", PresetFidelity.with_memory)
    assert brought.card is not None
    assert (brought.card.name, brought.persona) == ("wren", "A sailor.")


def test_a_channel_may_name_another_preset_or_none(tmp_path: Path) -> None:
    """A5, A18: and another fidelity."""
    brings = some_brings(tmp_path)
    other = brings.lookup(replace(CHANNEL, preset="plain", preset_fidelity="sillytavern"), 1).preset

    assert other is not None
    assert (other.preset.name, other.fidelity) == ("plain", PresetFidelity.sillytavern)
    assert brings.lookup(replace(CHANNEL, preset="none"), 1).preset is None
