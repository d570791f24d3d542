"""VoiceParts: what hears and what speaks in voice channels, as the familiar's settings have it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from familiar_connect.api.speech import SpeechSynthesizer
from familiar_connect.api.support import how_to_install
from familiar_connect.config.character import CharacterConfig
from familiar_connect.voice.backends import VoiceBackends, libraries_for
from familiar_connect.voice.protocols import EarsFactory
from familiar_connect.voice.service_access import ServiceAccess

if TYPE_CHECKING:  # whoever only asks what is missing needs no familiar
    from familiar_connect.familiar import Familiar

CODEC_LIBRARY = "av"
ENCRYPTION_LIBRARIES = ("davey", "nacl")


async def _close_nothing() -> None:
    """For parts that hold nothing open."""


@dataclass(frozen=True, kw_only=True)
class VoiceParts:
    """Made when a voice channel is joined first, and closed with the platform."""

    ears: EarsFactory
    synthesizer: SpeechSynthesizer
    aclose: Callable[[], Awaitable[None]] = _close_nothing


def missing_extra(
    speech_libraries: Iterable[str],
    *,
    is_installed: Callable[[str], bool] = lambda library: find_spec(library) is not None,
) -> Literal["voice", "discord"] | None:
    """The extra whose libraries voice channels lack, *speech_libraries* among them; None: all are there."""
    if not all(map(is_installed, (*speech_libraries, CODEC_LIBRARY))):
        return "voice"
    return None if all(map(is_installed, ENCRYPTION_LIBRARIES)) else "discord"


def why_no_voice(
    config: CharacterConfig,
    access: ServiceAccess,
    *,
    is_installed: Callable[[str], bool] = lambda library: find_spec(library) is not None,
) -> str | None:
    """Why voice channels cannot be joined, with what to do about it; None: they can."""
    match missing_extra(libraries_for(config, access), is_installed=is_installed):
        case "voice":
            return f"I have no voice yet: {how_to_install('voice')}."
        case "discord":
            return f"I cannot come to voice channels yet, which are encrypted: {how_to_install('discord')}."
        case None:
            return None


def why_libraries_fail() -> str | None:
    """What is wrong with the libraries that Discord's sound takes, which are loaded for it; None: they work."""
    from familiar_connect.extensions.discord.voice.opus import has_opus

    for library in (CODEC_LIBRARY, *ENCRYPTION_LIBRARIES):
        try:
            import_module(library)
        except (ImportError, OSError) as error:
            return f"the package {library} cannot be loaded ({error}): install it anew"
    return None if has_opus() else f"the package {CODEC_LIBRARY} is without the codec Opus: install it anew"


def make_voice_parts(familiar: Familiar, home: Path) -> VoiceParts:
    """Hearing and speaking as the settings say; what they lack is a `SetupError`."""
    from familiar_connect.extensions.speech import open_speech_access

    backends = VoiceBackends(familiar.config, open_speech_access(familiar.root, home, familiar.config))
    return VoiceParts(ears=backends.make_ears, synthesizer=backends.synthesizer, aclose=backends.aclose)
