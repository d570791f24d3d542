"""What voice channels take besides what hears and speaks: a codec, and what their packets are encrypted with."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.util import find_spec
from typing import Literal

from familiar_connect.api.support import how_to_install

CODEC_LIBRARY = "av"
ENCRYPTION_LIBRARIES = ("davey", "nacl")


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
    speech_libraries: Iterable[str],
    *,
    is_installed: Callable[[str], bool] = lambda library: find_spec(library) is not None,
) -> str | None:
    """Why voice channels cannot be joined, with what to do about it; None: they can."""
    match missing_extra(speech_libraries, is_installed=is_installed):
        case "voice":
            return f"I have no voice yet: {how_to_install('voice')}."
        case "discord":
            return f"Voice channels are encrypted, so I cannot come yet: {how_to_install('discord')}."
        case None:
            return None


def why_libraries_fail() -> str | None:
    """What is wrong with the libraries that Discord's sound takes, which are loaded for it; None: they work."""
    from familiar_connect.extensions.discord.voice.opus import has_opus

    for library in (CODEC_LIBRARY, *ENCRYPTION_LIBRARIES):
        try:
            import_module(library)
        except (ImportError, OSError) as error:
            return f"the package {library} cannot be loaded ({error}): install it again"
    return None if has_opus() else f"the package {CODEC_LIBRARY} lacks the codec Opus: install it again"
