"""open_speech_access: the speech services of a home, with the voices and recognisers that its extensions bring."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from familiar_connect.config.character import CharacterConfig
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.llm import split_extension_model
from familiar_connect.config.voice import STTConfig, TTSConfig
from familiar_connect.errors import ConfigError
from familiar_connect.extensions.create import PartMaker
from familiar_connect.extensions.load import load_extensions
from familiar_connect.extensions.parts import Extension
from familiar_connect.extensions.thread import ExtensionThread
from familiar_connect.support.clock import SystemClock
from familiar_connect.voice.added_speech import AddedSpeech
from familiar_connect.voice.protocols import SpeechRecognizer, SpeechSynthesizer
from familiar_connect.voice.service_access import ServiceAccess, section_of
from familiar_connect.voice.types import TTSResult

SPEECH_LIMIT_S = 60.0
"""How long an extension may take over one stretch of speech."""
LEAST_RATE, MOST_RATE = 8_000, 192_000

T = TypeVar("T")


def open_speech_access(root: Path, home: Path, config: CharacterConfig) -> ServiceAccess:
    """The services that *config* may name. An extension is loaded when a provider names one, and not before."""
    file = FamiliarFolder(root).settings_file
    access = ServiceAccess.of_home(home, file=file)
    maker = PartMaker(root=root, config=config, secrets=access.secrets, clock=SystemClock())
    added = AddedSpeech(
        create_recognizer=partial(_create_recognizer, home, maker),
        create_synthesizer=partial(_create_synthesizer, home, maker),
    )
    return replace(access, added=added)


def _create_recognizer(home: Path, maker: PartMaker, config: STTConfig) -> SpeechRecognizer:
    extension, name = _find_extension(home, config)
    part = extension.recognizer
    if part is None:
        raise ConfigError(f"[stt] provider names the extension {extension.name}, which brings nothing that hears")
    made = maker.make(part, extension, lambda context: part.create(context, name))
    if made is None:
        raise ConfigError(f"[stt] provider: {maker.troubles[-1]}")
    if not callable(getattr(made, "recognize", None)):
        raise ConfigError(f"[stt] provider: the recogniser of {extension.name} has no `recognize`")
    return ExtensionRecognizer(made, ExtensionThread(extension.name))


def _create_synthesizer(home: Path, maker: PartMaker, config: TTSConfig) -> SpeechSynthesizer:
    extension, name = _find_extension(home, config)
    part = extension.synthesizer
    if part is None:
        raise ConfigError(f"[tts] provider names the extension {extension.name}, which brings no voice")
    made = maker.make(part, extension, lambda context: part.create(context, name))
    if made is None:
        raise ConfigError(f"[tts] provider: {maker.troubles[-1]}")
    rate = getattr(made, "sample_rate", None)
    if not isinstance(rate, int) or not LEAST_RATE <= rate <= MOST_RATE:
        raise ConfigError(f"[tts] provider: the voice of {extension.name} has no `sample_rate` that can be played")
    return ExtensionSynthesizer(made, ExtensionThread(extension.name))


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

    def __init__(self, thread: ExtensionThread) -> None:
        self._thread = thread

    async def aclose(self) -> None:
        """End the loop that it works on."""
        self._thread.close()

    async def _call(self, work: Callable[[], Awaitable[T]]) -> T:
        """What *work* comes to; whatever goes wrong is a `SpeechFault`."""
        try:
            async with asyncio.timeout(SPEECH_LIMIT_S):
                return await self._thread.call(work)
        except TimeoutError as error:
            raise SpeechFault(f"the extension {self._thread.name} took over {SPEECH_LIMIT_S:g} seconds") from error
        except Exception as error:  # isolation: told as any speech that failed
            raise SpeechFault(f"the extension {self._thread.name} failed: {type(error).__name__}: {error}") from error


class ExtensionRecognizer(_SpeechPart):
    """A stranger's recogniser, on its extension's own loop."""

    def __init__(self, recognizer: SpeechRecognizer, thread: ExtensionThread) -> None:
        super().__init__(thread)
        self._recognizer = recognizer

    async def recognize(self, pcm: bytes) -> str:
        words: object = await self._call(lambda: self._recognizer.recognize(pcm))
        if not isinstance(words, str):
            raise SpeechFault(f"the extension {self._thread.name} gave no text")
        return words


class ExtensionSynthesizer(_SpeechPart):
    """A stranger's voice, on its extension's own loop."""

    def __init__(self, voice: SpeechSynthesizer, thread: ExtensionThread) -> None:
        super().__init__(thread)
        self._voice = voice
        self.sample_rate = voice.sample_rate

    async def synthesize(self, text: str) -> TTSResult:
        spoken: object = await self._call(lambda: self._voice.synthesize(text))
        if not isinstance(spoken, TTSResult) or len(spoken.audio) % 2:
            raise SpeechFault(f"the extension {self._thread.name} gave no sound of 16-bit samples")
        return spoken
