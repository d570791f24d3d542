"""AddedSpeech: who hears and who speaks where the settings name an extension, which this floor does not know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from familiar_connect.config.voice import STTConfig, TTSConfig
from familiar_connect.voice.protocols import SpeechRecognizer, SpeechSynthesizer


def _refuse(provider: str) -> ValueError:
    return ValueError(f'provider = "{provider}" names an extension, and none is loaded here')


def _no_recognizer(config: STTConfig) -> SpeechRecognizer:
    raise _refuse(config.provider)


def _no_synthesizer(config: TTSConfig) -> SpeechSynthesizer:
    raise _refuse(config.provider)


@dataclass(frozen=True, kw_only=True)
class AddedSpeech:
    """Makes what `provider = "extension:NAME"` names; what stands in the way is a `ConfigError`."""

    create_recognizer: Callable[[STTConfig], SpeechRecognizer] = _no_recognizer
    create_synthesizer: Callable[[TTSConfig], SpeechSynthesizer] = _no_synthesizer


NO_ADDED_SPEECH = AddedSpeech()
