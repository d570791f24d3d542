"""For voices: what makes words of speech, and speech of words. Chosen by `provider` under [stt] and [tts]."""

from __future__ import annotations

from familiar_connect.extensions.parts import RecognizerPart, SynthesizerPart
from familiar_connect.voice.protocols import HEARING_RATE, SpeechRecognizer, SpeechSynthesizer
from familiar_connect.voice.types import TTSResult, WordTimestamp

__all__ = [
    "HEARING_RATE",
    "RecognizerPart",
    "SpeechRecognizer",
    "SpeechSynthesizer",
    "SynthesizerPart",
    "TTSResult",
    "WordTimestamp",
]
