"""ModeInstructionProvider: the channel's backdrop, or else the note of its mode: the owner's, or the one that ships."""

from __future__ import annotations

import codecs
import logging
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from familiar_connect.config.types import ChannelMode
from familiar_connect.context.providers.scene.text import is_for_small_model
from familiar_connect.context.types import (
    FILES_DEADLINE_S,
    ContextRequest,
    Contribution,
    ItemTag,
    Layer,
    Modality,
    Priority,
)
from familiar_connect.support.aio import off_loop
from familiar_connect.support.no_follow import load_bytes
from familiar_connect.support.tokens import estimate_tokens

logger = logging.getLogger(__name__)

MODE_INSTRUCTION_PRIORITY = int(Priority.MODE_INSTRUCTIONS)
MAX_NOTE_BYTES = 65_536


SHIPPED_NOTES: Mapping[ChannelMode, str] = MappingProxyType(
    {
        ChannelMode.full_rp: (
            "This is full roleplay. Write {{char}} as in a story: what {{char}} does, sees and feels between asterisks "
            "or in prose, speech in quotation marks, as long as the scene asks for. Stay inside the story, and never "
            "speak or act for anybody else."
        ),
        ChannelMode.text_conversation_rp: (
            "This is a chat between people who write to each other. {{char}} texts as people do: a few sentences, "
            "without narration and without stage directions."
        ),
        ChannelMode.imitate_voice: (
            "Everything {{char}} writes here is heard, not read. Use short spoken sentences, without lists, markup, "
            "emojis or descriptions of what {{char}} does."
        ),
    }
)
"""What each mode means, for a familiar whose owner has written no note of their own."""
SPOKEN_LENGTH = "Say one to three sentences at a time, and more only where somebody asks for it."
"""Added where every word is really spoken: nobody can skip what they hear."""


class ModeInstructionProvider:
    """At most one contribution; files are read on each call, so an edit shows at once.

    What is spoken follows the note of `imitate_voice`, whatever the channel's mode; where its owner wrote none of that
    name but one for the mode, that one.
    """

    id = "mode_instructions"
    deadline_s = FILES_DEADLINE_S

    def __init__(
        self,
        *,
        modes_root: Path,
        mode: ChannelMode,
        channel_backdrop_override: str | None = None,
        defaults_modes_root: Path | None = None,
        shipped: Mapping[ChannelMode, str] | None = None,
    ) -> None:
        """*shipped* stands in where no file says anything; a preset, speaking for somebody and the smallest models go
        without it.
        """
        self._shipped = shipped or {}
        self._modes_root = modes_root
        self._mode = mode
        self._backdrop = channel_backdrop_override
        self._defaults_modes_root = defaults_modes_root

    async def contribute(self, request: ContextRequest) -> list[Contribution]:
        mode = ChannelMode.imitate_voice if request.modality is Modality.voice else self._mode
        found = await off_loop(self._find, mode)
        if found is None and mode in self._shipped and _takes_shipped(request):
            text = self._shipped[mode]
            spoken = f"{text} {SPOKEN_LENGTH}" if request.modality is Modality.voice else text
            found = spoken, f"mode_instructions_shipped:{mode.value}"
        if found is None:
            return []
        text, source = found
        return [
            Contribution(
                Layer.author_note,
                MODE_INSTRUCTION_PRIORITY,
                text,
                estimate_tokens(text),
                source,
                tag=ItemTag.AUTHOR_NOTE,
                authored=True,
            )
        ]

    def _find(self, spoken_or_own: ChannelMode) -> tuple[str, str] | None:
        if self._backdrop and self._backdrop.strip():
            return self._backdrop.strip(), f"channel_backdrop:{self._mode.value}"
        for mode in dict.fromkeys((spoken_or_own, self._mode)):
            if text := _note(self._modes_root, mode):
                return text, f"mode_instructions:{mode.value}"
            if text := _note(self._defaults_modes_root, mode):
                return text, f"mode_instructions_default:{mode.value}"
        return None


def _takes_shipped(request: ContextRequest) -> bool:
    is_imitating = request.turn is not None and request.turn.imitated is not None
    return request.preset is None and not is_imitating and not is_for_small_model(request)


def resolve_mode_default(
    *,
    modes_root: Path,
    mode: ChannelMode,
    defaults_modes_root: Path | None = None,
    shipped: Mapping[ChannelMode, str] | None = None,
) -> str | None:
    """The note a channel of *mode* gets when it has no backdrop of its own."""
    return _note(modes_root, mode) or _note(defaults_modes_root, mode) or (shipped or {}).get(mode)


def _note(root: Path | None, mode: ChannelMode) -> str | None:
    if root is None:
        return None
    path = root / f"{mode.value}.md"
    try:
        start = load_bytes(path, MAX_NOTE_BYTES)
        text, _ = codecs.utf_8_decode(start, "strict", len(start) < MAX_NOTE_BYTES)
        return text.strip() or None
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        logger.warning("mode note skipped: %s", path.name, extra={"reason": str(error)})
        return None
