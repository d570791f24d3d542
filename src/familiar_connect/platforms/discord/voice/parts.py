"""VoiceParts: what hears and what speaks in voice channels, as the familiar's settings have it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from familiar_connect.config.character import CharacterConfig
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.familiar import Familiar
from familiar_connect.platforms.requirements import how_to_install
from familiar_connect.voice.backends import VoiceBackends, libraries_for
from familiar_connect.voice.protocols import EarsFactory, SpeechSynthesizer
from familiar_connect.voice.service_access import ServiceAccess

CODEC_LIBRARY = "av"
ENCRYPTION_LIBRARIES = ("davey", "nacl")


async def _close_nothing() -> None:
    """For parts that hold nothing open."""


@dataclass(frozen=True, kw_only=True)
class VoiceParts:
    """Made when a voice channel is joined first, and closed with the platform."""

    ears: EarsFactory
    synthesizer: SpeechSynthesizer
    aclose: Callable[[], Awaitable[None]] = _close_nothing


def why_no_voice(
    config: CharacterConfig,
    access: ServiceAccess,
    *,
    is_installed: Callable[[str], bool] = lambda library: find_spec(library) is not None,
) -> str | None:
    """Why voice channels cannot be joined, with what to do about it; None: they can."""
    if not all(map(is_installed, (*libraries_for(config, access), CODEC_LIBRARY))):
        return f"I have no voice yet: {how_to_install('voice')}."
    if not all(map(is_installed, ENCRYPTION_LIBRARIES)):
        return f"I cannot come to voice channels yet, which are encrypted: {how_to_install('discord')}."
    return None


def make_voice_parts(familiar: Familiar, home: Path) -> VoiceParts:
    """Hearing and speaking as the settings say; what they lack is a `SetupError`."""
    file = FamiliarFolder(familiar.root).settings_file
    backends = VoiceBackends(familiar.config, ServiceAccess.of_home(home, file=file))
    return VoiceParts(ears=backends.make_ears, synthesizer=backends.synthesizer, aclose=backends.aclose)
