"""ModeInstructionProvider: the channel's backdrop, or else the note of its mode."""

from __future__ import annotations

import codecs
import logging
from pathlib import Path

from familiar_connect.config.types import ChannelMode
from familiar_connect.context.types import ContextRequest, Contribution, ItemTag, Layer, Priority
from familiar_connect.support.aio import off_loop
from familiar_connect.support.no_follow import load_bytes
from familiar_connect.support.tokens import estimate_tokens

logger = logging.getLogger(__name__)

MODE_INSTRUCTION_PRIORITY = int(Priority.MODE_INSTRUCTIONS)
MODE_INSTRUCTION_DEADLINE_S = 0.25
MAX_NOTE_BYTES = 65_536


class ModeInstructionProvider:
    """At most one contribution; files are read on each call, so an edit shows at once."""

    id = "mode_instructions"
    deadline_s = MODE_INSTRUCTION_DEADLINE_S

    def __init__(
        self,
        *,
        modes_root: Path,
        mode: ChannelMode,
        channel_backdrop_override: str | None = None,
        defaults_modes_root: Path | None = None,
    ) -> None:
        self._modes_root = modes_root
        self._mode = mode
        self._backdrop = channel_backdrop_override
        self._defaults_modes_root = defaults_modes_root

    async def contribute(self, request: ContextRequest) -> list[Contribution]:
        found = await off_loop(self._find)
        if found is None:
            return []
        text, source = found
        return [
            Contribution(
                Layer.author_note,
                MODE_INSTRUCTION_PRIORITY,
                text,
                estimate_tokens(text),
                f"{source}:{self._mode.value}",
                tag=ItemTag.AUTHOR_NOTE,
                authored=True,
            )
        ]

    def _find(self) -> tuple[str, str] | None:
        if self._backdrop and self._backdrop.strip():
            return self._backdrop.strip(), "channel_backdrop"
        if text := _note(self._modes_root, self._mode):
            return text, "mode_instructions"
        if text := _note(self._defaults_modes_root, self._mode):
            return text, "mode_instructions_default"
        return None


def resolve_mode_default(*, modes_root: Path, mode: ChannelMode, defaults_modes_root: Path | None = None) -> str | None:
    """The note a channel of *mode* gets when it has no backdrop of its own."""
    return _note(modes_root, mode) or _note(defaults_modes_root, mode)


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
