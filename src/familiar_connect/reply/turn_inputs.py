"""What a turn brings besides its words: the preset in force, the character's card, who the speaker is.

Looked up once per turn, in a thread. What cannot be read costs itself only: the turn goes on without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from familiar_connect.config import ChannelConfig
from familiar_connect.memory.card_fields import CardReader
from familiar_connect.presets.types import ActivePreset, CardFields, PresetFidelity

if TYPE_CHECKING:
    from familiar_connect.presets.store import PresetStore


@dataclass(frozen=True, kw_only=True)
class TurnInputs:
    preset: ActivePreset | None = None
    card: CardFields | None = None
    persona: str = ""


class UserPersona:
    """Who the owner is to the familiar, in their own words; they may change it while it runs."""

    def __init__(self, text: str = "") -> None:
        self._text = text

    def read(self) -> str:
        """The words; empty: they said nothing about it."""
        return self._text

    def change(self, text: str) -> None:
        """From the next turn on it is *text*."""
        self._text = text


class TurnInputsLookup:
    """Looks up what a channel's turns bring."""

    def __init__(
        self, *, presets: PresetStore, card: CardReader, fidelity: str, persona: UserPersona | None = None
    ) -> None:
        self._presets = presets
        self._card = card
        self._fidelity = fidelity
        self._persona = persona or UserPersona()

    def lookup(self, channel: ChannelConfig) -> TurnInputs:
        """For a turn in *channel*. Blocks."""
        return TurnInputs(preset=self._active_preset(channel), card=self._card.read(), persona=self._persona.read())

    def _active_preset(self, channel: ChannelConfig) -> ActivePreset | None:
        preset = self._presets.lookup(channel.preset)
        if preset is None:
            return None
        return ActivePreset(preset=preset, fidelity=PresetFidelity(channel.preset_fidelity or self._fidelity))
