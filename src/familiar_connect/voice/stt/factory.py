"""The recogniser that a familiar's settings name."""

from __future__ import annotations

from familiar_connect.config.voice import LOCAL_PROVIDER, STTConfig
from familiar_connect.voice.protocols import SpeechRecognizer
from familiar_connect.voice.service_access import ServiceAccess
from familiar_connect.voice.speech_service import ServiceCalls


def create_recognizer(config: STTConfig, *, access: ServiceAccess | None = None) -> SpeechRecognizer:
    """Makes words of stretches of speech as *config* says; a key that is missing is a ValueError that names it."""
    if config.provider == LOCAL_PROVIDER:
        from familiar_connect.voice.stt.whisper import WhisperRecognizer

        return WhisperRecognizer()
    from familiar_connect.voice.stt.openai import OpenAIRecognizer

    calls = ServiceCalls((access or ServiceAccess.of_home()).find_service(config))
    return OpenAIRecognizer(calls, model=config.openai_model, language=config.language)
