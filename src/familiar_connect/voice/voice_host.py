"""VoiceHost: what a voice session needs of a familiar."""

from __future__ import annotations

from typing import Protocol

from familiar_connect.config.character import CharacterConfig
from familiar_connect.conversation.intake import Intake
from familiar_connect.history.store import HistoryStore
from familiar_connect.llm.protocols import SideModel


class VoiceHost(Protocol):
    """What a voice session needs of a familiar."""

    @property
    def id(self) -> str: ...
    @property
    def config(self) -> CharacterConfig: ...
    @property
    def history_store(self) -> HistoryStore: ...
    @property
    def intake(self) -> Intake: ...
    def side_model(self, slot: str) -> SideModel: ...
