"""The voice that a familiar's settings name."""

from __future__ import annotations

from pathlib import Path

from familiar_connect.config.voice import LOCAL_PROVIDER, TTSConfig
from familiar_connect.voice.protocols import SpeechSynthesizer
from familiar_connect.voice.service_access import ServiceAccess
from familiar_connect.voice.speech_service import ServiceCalls


def create_tts_client(
    config: TTSConfig, *, access: ServiceAccess | None = None, home: Path | None = None
) -> SpeechSynthesizer:
    """Speaks as *config* says; a setting or key that is missing is a ValueError that names it.

    Keys are those of *access*, else of *home*, else of the home that the environment names.
    """
    if config.provider == LOCAL_PROVIDER:
        from familiar_connect.voice.tts.local import LocalSynthesizer

        return LocalSynthesizer()
    access = access or ServiceAccess.of_home(home)
    if config.provider not in _OPENERS:
        raise ValueError(f"{access.describe(config)} is not there yet; choose local or openai")
    return _OPENERS[config.provider](config, access)


def _open_openai(config: TTSConfig, access: ServiceAccess) -> SpeechSynthesizer:
    from familiar_connect.voice.tts.openai import OpenAITTSClient

    calls = ServiceCalls(access.find_service(config))
    return OpenAITTSClient(calls, model=config.openai_model, voice=config.openai_voice)


_OPENERS = {
    "openai": _open_openai,
}
