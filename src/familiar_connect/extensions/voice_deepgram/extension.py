"""The value by which Deepgram is found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from familiar_connect.api import Extension
from familiar_connect.api.speech import RecognizerPart
from familiar_connect.extensions.voice_deepgram.secrets import LANGUAGE, MODEL, SECRETS
from familiar_connect.extensions.voice_deepgram.service import SERVICE
from familiar_connect.extensions.voice_deepgram.settings import HearingSettings

if TYPE_CHECKING:  # whoever only asks what is missing loads no client
    from familiar_connect.api.speech import SpeechContext, SpeechRecognizer, StreamingTranscriber


def create_ears(context: SpeechContext, _: str) -> SpeechRecognizer:
    """For stretches of speech that are whole."""
    from familiar_connect.api.speech import ServiceCalls
    from familiar_connect.extensions.voice_deepgram.recording import DeepgramRecognizer
    from familiar_connect.extensions.voice_deepgram.stream import DEFAULT_LANGUAGE, DEFAULT_MODEL

    return DeepgramRecognizer(
        ServiceCalls(context.service),
        model=context.secrets.get(MODEL) or DEFAULT_MODEL,
        language=context.language or context.secrets.get(LANGUAGE) or DEFAULT_LANGUAGE,
    )


def create_stream(context: SpeechContext, _: str) -> StreamingTranscriber:
    """For one speaker, while they speak."""
    from familiar_connect.api.speech import HEARING_RATE
    from familiar_connect.extensions.voice_deepgram.stream import create_transcriber

    return create_transcriber(
        context.secrets.get, sample_rate=HEARING_RATE, language=context.language, service=context.service
    )


extension = Extension(
    name="voice_deepgram",
    recognizer=RecognizerPart(
        create=create_ears,
        create_stream=create_stream,
        settings=HearingSettings,
        secrets=tuple(SECRETS),
        service=SERVICE,
    ),
)
