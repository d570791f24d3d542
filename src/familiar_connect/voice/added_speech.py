"""AddedSpeech: who hears and who speaks where the settings name an extension, which this floor does not know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from familiar_connect.config.voice import STTConfig, TTSConfig
from familiar_connect.voice.protocols import SpeechRecognizer, SpeechSynthesizer, StreamingTranscriber


def _refuse(provider: str) -> ValueError:
    return ValueError(f'provider = "{provider}" names an extension, and none is loaded here')


def _no_recognizer(config: STTConfig) -> SpeechRecognizer:
    raise _refuse(config.provider)


def _no_streams(config: STTConfig) -> Callable[[], StreamingTranscriber] | None:
    raise _refuse(config.provider)


def _no_synthesizer(config: TTSConfig) -> SpeechSynthesizer:
    raise _refuse(config.provider)


@dataclass(frozen=True, kw_only=True)
class AddedSpeech:
    """Makes what `provider = "extension:NAME"` names; what stands in the way is a `ConfigError`."""

    create_recognizer: Callable[[STTConfig], SpeechRecognizer] = _no_recognizer
    find_streams: Callable[[STTConfig], Callable[[], StreamingTranscriber] | None] = _no_streams
    """What makes one speaker's stream; None: it hears whole stretches of speech only."""
    create_synthesizer: Callable[[TTSConfig], SpeechSynthesizer] = _no_synthesizer


NO_ADDED_SPEECH = AddedSpeech()
