"""find_hearing, find_speaking: the built-in extension that a provider names, which is loaded for it and no other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from familiar_connect.config.built_in import load_built_in_module, name_voice
from familiar_connect.voice.protocols import SpeechRecognizer, SpeechSynthesizer, StreamingTranscriber
from familiar_connect.voice.remote_service import RemoteService
from familiar_connect.voice.speech_context import SpeechContext


class BuiltInPart(Protocol):
    """What is read of a part that hears or speaks."""

    settings: type[object] | None
    secrets: tuple[str, ...]
    required: tuple[str, ...]
    library: str
    model_files: Mapping[str, str]
    service: RemoteService | None


class HearingPart(BuiltInPart, Protocol):
    """A `RecognizerPart`, which this floor does not know."""

    create: Callable[[SpeechContext, str], SpeechRecognizer]
    create_stream: Callable[[SpeechContext, str], StreamingTranscriber] | None


class SpeakingPart(BuiltInPart, Protocol):
    """A `SynthesizerPart`, which this floor does not know."""

    create: Callable[[SpeechContext, str], SpeechSynthesizer]


def find_hearing(provider: str) -> HearingPart:
    """What makes words of speech where `provider` under [stt] is *provider*."""
    part: HearingPart = load_built_in_module(name_voice(provider), "extension").extension.recognizer
    return part


def find_speaking(provider: str) -> SpeakingPart:
    """What makes speech of words where `provider` under [tts] is *provider*."""
    part: SpeakingPart = load_built_in_module(name_voice(provider), "extension").extension.synthesizer
    return part


def libraries_of(part: BuiltInPart) -> tuple[str, ...]:
    """The modules that *part* cannot do without."""
    return tuple(dict.fromkeys(name for name in (part.library, *part.model_files) if name))
