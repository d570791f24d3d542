"""SpeechContext: what hears or speaks is given when it is made.

RemoteService: what is said of a service that hears or speaks somewhere else.

find_hearing, find_speaking: the built-in extension that a provider names, which is loaded for it and no other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from familiar_connect.config.built_in import load_built_in_module, name_voice
from familiar_connect.extensions.part_context import PartContext
from familiar_connect.voice.protocols import SpeechRecognizer, SpeechSynthesizer, StreamingTranscriber

if TYPE_CHECKING:
    from familiar_connect.voice.speech_service import SpeechService


@dataclass(frozen=True, kw_only=True)
class SpeechContext(PartContext):
    """What any part is given, and who is to be asked where the part names a `RemoteService`."""

    language: str | None = None
    """The language that is spoken, as a code; None: nobody has said."""
    found_service: SpeechService | None = field(default=None, repr=False)

    @property
    def service(self) -> SpeechService:
        """Where the service is by the settings, and with which key; a ValueError where the part names none."""
        if self.found_service is None:
            raise ValueError("a part that asks a service names it: `service=RemoteService(…)`")
        return self.found_service


@dataclass(frozen=True, kw_only=True)
class RemoteService:
    """A service that hears or speaks somewhere else: what it is called, where it is, and which key is its own.

    `base_url` and `api_key_env` in the settings take the place of both; `SpeechContext.service` is what comes of it.
    """

    title: str
    """As a sentence calls it."""
    key: str
    """The secret that holds its key. It goes to this service alone, unless the owner says otherwise."""
    other_keys: tuple[str, ...] = ()
    """Secrets that stand in for it."""
    address: str | Callable[[str], str]
    """Where it is; or what makes that of its region, with a ValueError where a name is none."""
    region: str = ""
    """The secret that names the region."""

    def find_address(self, region: str | None) -> str:
        """Where it is, in *region* where that matters."""
        return self.address if isinstance(self.address, str) else self.address(region or "region")


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
