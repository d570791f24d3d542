"""The value by which Gemini's voices are found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from familiar_connect.api import Extension
from familiar_connect.api.speech import RemoteService, SynthesizerPart
from familiar_connect.extensions.voice_gemini.secrets import KEY, OTHER_KEY, SECRETS
from familiar_connect.extensions.voice_gemini.settings import SpeakingSettings

if TYPE_CHECKING:  # whoever only asks what is missing loads no client
    from familiar_connect.api.speech import SpeechContext, SpeechSynthesizer


def create_voice(context: SpeechContext, _: str) -> SpeechSynthesizer:
    """Speaks as the settings say."""
    from familiar_connect.api.speech import ServiceCalls
    from familiar_connect.extensions.voice_gemini.client import GeminiTTSClient, VoiceDirections

    settings: SpeakingSettings = context.settings
    directions = VoiceDirections(
        scene=settings.gemini_scene,
        context=settings.gemini_context,
        audio_profile=settings.gemini_audio_profile,
        style=settings.gemini_style,
        pace=settings.gemini_pace,
        accent=settings.gemini_accent,
    )
    return GeminiTTSClient(
        ServiceCalls(context.service), model=settings.gemini_model, voice=settings.gemini_voice, directions=directions
    )


extension = Extension(
    name="voice_gemini",
    synthesizer=SynthesizerPart(
        create=create_voice,
        settings=SpeakingSettings,
        secrets=tuple(SECRETS),
        service=RemoteService(
            title="Gemini's speech",
            key=KEY,
            other_keys=(OTHER_KEY,),
            address="https://generativelanguage.googleapis.com/v1beta",
        ),
    ),
)
