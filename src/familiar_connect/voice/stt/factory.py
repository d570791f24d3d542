"""The recogniser, and the ears, that a familiar's settings name."""

from __future__ import annotations

from collections.abc import Callable

from familiar_connect.config.voice import LOCAL_PROVIDER, STTConfig
from familiar_connect.voice.protocols import HEARING_RATE, EarsFactory, SpeechProbability, SpeechRecognizer
from familiar_connect.voice.service_access import ServiceAccess
from familiar_connect.voice.speech_service import ServiceCalls


def create_recognizer(config: STTConfig, *, access: ServiceAccess | None = None) -> SpeechRecognizer:
    """Makes words of whole stretches of speech as *config* says; a key that is missing is a ValueError naming it."""
    if config.provider == LOCAL_PROVIDER:
        from familiar_connect.voice.stt.whisper import WhisperRecognizer

        return WhisperRecognizer()
    access = access or ServiceAccess.of_home()
    if config.is_extension:
        return access.added.create_recognizer(config)
    calls = ServiceCalls(access.find_service(config))
    if config.provider == "deepgram":
        from familiar_connect.voice.stt.deepgram import DEFAULT_LANGUAGE, DEFAULT_MODEL
        from familiar_connect.voice.stt.deepgram_recording import DeepgramRecognizer

        language = config.language or access.get("DEEPGRAM_LANGUAGE") or DEFAULT_LANGUAGE
        return DeepgramRecognizer(calls, model=access.get("DEEPGRAM_MODEL") or DEFAULT_MODEL, language=language)
    from familiar_connect.voice.stt.openai import OpenAIRecognizer

    return OpenAIRecognizer(calls, model=config.openai_model, language=config.language)


def create_ears_factory(
    config: STTConfig,
    recognizer: SpeechRecognizer,
    make_probability: Callable[[], SpeechProbability],
    *,
    access: ServiceAccess | None = None,
) -> EarsFactory:
    """Makes the ears of one voice channel: streams to Deepgram, stretch by stretch through *recognizer* else."""
    if config.provider == "deepgram":
        return _deepgram_ears(config, make_probability, access or ServiceAccess.of_home())
    from familiar_connect.voice.hearing import Hearing

    return lambda callbacks: Hearing(recognizer, make_probability, callbacks)


def _deepgram_ears(
    config: STTConfig, make_probability: Callable[[], SpeechProbability], access: ServiceAccess
) -> EarsFactory:
    from familiar_connect.voice.stt.deepgram import DeepgramTranscriber, create_transcriber_from_env
    from familiar_connect.voice.stt.streamed_hearing import StreamedHearing

    service = access.find_service(config)

    def make_transcriber() -> DeepgramTranscriber:
        return create_transcriber_from_env(
            access.get, sample_rate=HEARING_RATE, language=config.language, service=service
        )

    make_transcriber()  # a setting that is wrong is said now, not when somebody speaks
    return lambda callbacks: StreamedHearing(make_transcriber, make_probability, callbacks)
