"""What tools work with: a keeper of summaries, a sender of stickers, and whoever tells people of changes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from familiar_connect.chat.message_parts import Sticker
from familiar_connect.identity import Author
from familiar_connect.tools.types import MemoryChange

Notify = Callable[[MemoryChange], Awaitable[None]]
SendSticker = Callable[[Sticker], Awaitable[None]]
"""Puts a sticker into the channel being answered."""


class SummaryKeeper(Protocol):
    """Keeps what a conversation comes to, for a while."""

    def write_summary(
        self, text: str, *, familiar_id: str, persona: str, channel_id: int, guild_id: int | None, author: Author
    ) -> bool: ...
