"""The value by which OpenAI's speech is found, and that of every server which is like it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from familiar_connect.api import Extension
from familiar_connect.api.speech import RecognizerPart, RemoteService, SynthesizerPart
from familiar_connect.extensions.voice_openai.secrets import KEY, SECRETS
from familiar_connect.extensions.voice_openai.settings import HearingSettings, SpeakingSettings

if TYPE_CHECKING:  # whoever only asks what is missing loads no client
    from familiar_connect.api.speech import SpeechContext, SpeechRecognizer, SpeechSynthesizer

SERVICE = RemoteService(title="OpenAI's speech", key=KEY, address="https://api.openai.com/v1")


def create_ears(context: SpeechContext, _: str) -> SpeechRecognizer:
    """Hears as the settings say."""
    from familiar_connect.api.speech import ServiceCalls
    from familiar_connect.extensions.voice_openai.hearing import OpenAIRecognizer

    return OpenAIRecognizer(
        ServiceCalls(context.service), model=context.settings.openai_model, language=context.language
    )


def create_voice(context: SpeechContext, _: str) -> SpeechSynthesizer:
    """Speaks as the settings say."""
    from familiar_connect.api.speech import ServiceCalls
    from familiar_connect.extensions.voice_openai.speaking import OpenAITTSClient

    settings: SpeakingSettings = context.settings
    return OpenAITTSClient(ServiceCalls(context.service), model=settings.openai_model, voice=settings.openai_voice)


extension = Extension(
    name="voice_openai",
    recognizer=RecognizerPart(create=create_ears, settings=HearingSettings, secrets=tuple(SECRETS), service=SERVICE),
    synthesizer=SynthesizerPart(
        create=create_voice, settings=SpeakingSettings, secrets=tuple(SECRETS), service=SERVICE
    ),
)
