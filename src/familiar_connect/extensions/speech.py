"""open_speech_access: the speech services of a home, with the voices and recognisers that its extensions bring."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import TypeVar

from familiar_connect.config.character import CharacterConfig
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.llm import split_extension_model
from familiar_connect.config.voice import STTConfig, TTSConfig
from familiar_connect.errors import ConfigError
from familiar_connect.extensions.create import PartMaker
from familiar_connect.extensions.load import load_extensions
from familiar_connect.extensions.part_context import PartContext
from familiar_connect.extensions.parts import Extension
from familiar_connect.extensions.speech_stream import STREAM_METHODS, ExtensionStream
from familiar_connect.extensions.thread import ExtensionThread
from familiar_connect.extensions.turn_parts import RecognizerPart, SpeechPart
from familiar_connect.support.clock import SystemClock
from familiar_connect.voice.protocols import SpeechRecognizer, SpeechSynthesizer, StreamingTranscriber
from familiar_connect.voice.service_access import AddedSpeech, ServiceAccess, section_of
from familiar_connect.voice.speech_context import SpeechContext
from familiar_connect.voice.speech_service import SpeechServiceError
from familiar_connect.voice.types import TTSResult

SPEECH_LIMIT_S = 60.0
"""How long an extension may take over one stretch of speech."""
CLOSE_LIMIT_S = 2.0
LEAST_RATE, MOST_RATE = 8_000, 192_000

T = TypeVar("T")


def open_speech_access(root: Path, home: Path, config: CharacterConfig) -> ServiceAccess:
    """The services that *config* may name. An extension is loaded when a provider names one, and not before."""
    file = FamiliarFolder(root).settings_file
    access = ServiceAccess.of_home(home, file=file)
    maker = PartMaker(root=root, config=config, secrets=access.secrets, clock=SystemClock())
    speech = _ExtensionSpeech(access, maker)
    added = AddedSpeech(
        create_recognizer=speech.create_recognizer,
        find_streams=speech.find_streams,
        create_synthesizer=speech.create_synthesizer,
    )
    return replace(access, added=added)


class _ExtensionSpeech:
    """Makes what the owner's extensions bring for one familiar."""

    def __init__(self, access: ServiceAccess, maker: PartMaker) -> None:
        self._access = access
        self._maker = maker

    def create_recognizer(self, config: STTConfig) -> SpeechRecognizer:
        extension, part, name = self._find_hearing(config)
        made = self._make(part, extension, config, lambda context: part.create(context, name))
        if not callable(getattr(made, "recognize", None)):
            raise ConfigError(f"[stt] provider: the recogniser of {extension.name} has no `recognize`")
        return ExtensionRecognizer(made, ExtensionThread(extension.name))

    def find_streams(self, config: STTConfig) -> Callable[[], StreamingTranscriber] | None:
        extension, part, name = self._find_hearing(config)
        create = part.create_stream
        if create is None:
            return None

        def make_stream() -> StreamingTranscriber:
            made = self._make(part, extension, config, lambda context: create(context, name))
            lacking = [each for each in STREAM_METHODS if not callable(getattr(made, each, None))]
            if lacking:
                raise ConfigError(f"[stt] provider: the stream of {extension.name} has no `{lacking[0]}`")
            return ExtensionStream(made, extension.name)

        return make_stream

    def create_synthesizer(self, config: TTSConfig) -> SpeechSynthesizer:
        extension, name = _find_extension(self._access.home, config)
        part = extension.synthesizer
        if part is None:
            raise ConfigError(f"[tts] provider names the extension {extension.name}, which brings no voice")
        made = self._make(part, extension, config, lambda context: part.create(context, name))
        rate = getattr(made, "sample_rate", None)
        if not isinstance(rate, int) or not LEAST_RATE <= rate <= MOST_RATE:
            raise ConfigError(f"[tts] provider: the voice of {extension.name} has no `sample_rate` that can be played")
        return ExtensionSynthesizer(made, ExtensionThread(extension.name))

    def _find_hearing(self, config: STTConfig) -> tuple[Extension, RecognizerPart, str]:
        extension, name = _find_extension(self._access.home, config)
        if extension.recognizer is None:
            raise ConfigError(f"[stt] provider names the extension {extension.name}, which brings nothing that hears")
        return extension, extension.recognizer, name

    def _make(
        self,
        part: SpeechPart,
        extension: Extension,
        config: STTConfig | TTSConfig,
        create: Callable[[SpeechContext], T],
    ) -> T:
        """What *create* gives for *part*; a `ConfigError` says what the owner has still to do, or how it failed."""
        service = self._access.find_service(config, part.service) if part.service is not None else None

        def create_with_service(context: PartContext) -> T:
            given = {each.name: getattr(context, each.name) for each in fields(context)}
            language = config.language if isinstance(config, STTConfig) else None
            return create(SpeechContext(**given, language=language, found_service=service))

        made = self._maker.make(part, extension, create_with_service)
        if made is None:
            raise ConfigError(f"[{section_of(config)}] provider: {self._maker.troubles[-1]}")
        return made


def _find_extension(home: Path, config: STTConfig | TTSConfig) -> tuple[Extension, str]:
    """The extension that the provider names, and what stands behind the slash."""
    name, voice = split_extension_model(config.provider) or ("", "")
    found = next((each for each in load_extensions(home) if each.name == name), None)
    if found is None or found.extension is None:
        reason = found.trouble if found is not None else "it is not allowed here"
        raise ConfigError(
            f"[{section_of(config)}] provider names the extension {name}, and {reason}: "
            "`familiar extension list` tells more"
        )
    return found.extension, voice


class SpeechFault(RuntimeError):
    """An extension did not hear or speak; what every voice raises is a RuntimeError."""


class _SpeechPart:
    """What both directions have in common: a loop of its own, a limit, and one kind of error."""

    def __init__(self, made: object, thread: ExtensionThread) -> None:
        self._made = made
        self._thread = thread

    async def load(self) -> None:
        """Have it loaded now, where it can be."""
        load: Callable[[], Awaitable[None]] | None = getattr(self._made, "load", None)
        if load is not None:
            await self._call(load)

    async def aclose(self) -> None:
        """Close it, where it can be, and end the loop that it works on."""
        aclose: Callable[[], Awaitable[None]] | None = getattr(self._made, "aclose", None)
        if aclose is not None:
            with suppress(SpeechFault):
                await self._call(aclose, limit_s=CLOSE_LIMIT_S)
        self._thread.close()

    async def _call(self, work: Callable[[], Awaitable[T]], *, limit_s: float = SPEECH_LIMIT_S) -> T:
        """What *work* comes to; whatever goes wrong is a `SpeechFault`, but a service's own sentence stays."""
        try:
            async with asyncio.timeout(limit_s):
                return await self._thread.call(work)
        except TimeoutError as error:
            raise SpeechFault(f"the extension {self._thread.name} took over {limit_s:g} seconds") from error
        except SpeechServiceError:
            raise
        except Exception as error:  # isolation: told as any speech that failed
            raise SpeechFault(f"the extension {self._thread.name} failed: {type(error).__name__}: {error}") from error


class ExtensionRecognizer(_SpeechPart):
    """A stranger's recogniser, on its extension's own loop."""

    def __init__(self, recognizer: SpeechRecognizer, thread: ExtensionThread) -> None:
        super().__init__(recognizer, thread)
        self._recognizer = recognizer

    async def recognize(self, pcm: bytes) -> str:
        words: object = await self._call(lambda: self._recognizer.recognize(pcm))
        if not isinstance(words, str):
            raise SpeechFault(f"the extension {self._thread.name} gave no text")
        return words


class ExtensionSynthesizer(_SpeechPart):
    """A stranger's voice, on its extension's own loop."""

    def __init__(self, voice: SpeechSynthesizer, thread: ExtensionThread) -> None:
        super().__init__(voice, thread)
        self._voice = voice
        self.sample_rate = voice.sample_rate

    async def synthesize(self, text: str) -> TTSResult:
        spoken: object = await self._call(lambda: self._voice.synthesize(text))
        if not isinstance(spoken, TTSResult) or len(spoken.audio) % 2:
            raise SpeechFault(f"the extension {self._thread.name} gave no sound of 16-bit samples")
        return spoken
