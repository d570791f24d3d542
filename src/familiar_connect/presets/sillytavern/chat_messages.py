"""The chat as messages: who becomes which role, and whose name stands before the words."""

from __future__ import annotations

from collections.abc import Sequence

from familiar_connect.context.types import ItemTag, Layer
from familiar_connect.llm.types import Role
from familiar_connect.presets.sillytavern.js_text import api_name
from familiar_connect.presets.sillytavern.types import Piece
from familiar_connect.presets.types import ChatLine, GenerationKind

NAMES_NONE, NAMES_DEFAULT, NAMES_API, NAMES_CONTENT = -1, 0, 1, 2


def lines_to_send(chat: Sequence[ChatLine], kind: GenerationKind) -> list[tuple[int, ChatLine]]:
    """The lines that count, numbered: hidden ones never, nor the answer another is wanted for."""
    lines = [(number, line) for number, line in enumerate(chat) if not line.is_hidden]
    if kind == "swipe" and lines:
        lines.pop()
    return lines


def chat_pieces(
    lines: Sequence[tuple[int, ChatLine]], *, behavior: int | None, user: str, is_group: bool
) -> list[Piece]:
    """One message per line, oldest first, macros not yet read."""
    behavior = NAMES_DEFAULT if behavior is None else behavior
    return [_piece(number, line, behavior, user, is_group) for number, line in lines]


def _piece(number: int, line: ChatLine, behavior: int, user: str, is_group: bool) -> Piece:
    role: Role = "system" if line.is_narrator else "user" if line.is_user else "assistant"
    text = f"{line.name}: {line.text}" if _needs_name_prefix(line, behavior, user, is_group) else line.text
    name = api_name(line.name) or None if behavior == NAMES_API else None
    return Piece(role, text.replace("\r", ""), name, "chat", ItemTag.DIALOGUE, Layer.recent_history, number)


def _needs_name_prefix(line: ChatLine, behavior: int, user: str, is_group: bool) -> bool:
    if behavior == NAMES_CONTENT:
        return not line.is_narrator
    if behavior == NAMES_DEFAULT and line.name != user:
        return is_group or (line.forced_name and not line.is_narrator)
    return False
