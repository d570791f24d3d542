"""The voice that a familiar's settings name."""

from __future__ import annotations

from pathlib import Path

from familiar_connect.config.voice import TTSConfig
from familiar_connect.voice.protocols import SpeechSynthesizer
from familiar_connect.voice.service_access import ServiceAccess
from familiar_connect.voice.speech_context import find_speaking


def create_tts_client(
    config: TTSConfig, *, access: ServiceAccess | None = None, home: Path | None = None
) -> SpeechSynthesizer:
    """Speaks as *config* says; a setting or key that is missing is a ValueError that names it.

    Keys are those of *access*, else of *home*, else of the home that the environment names.
    """
    access = access or ServiceAccess.of_home(home)
    if config.is_extension:
        return access.added.create_synthesizer(config)
    return find_speaking(config.provider).create(access.open_context(config), "")
