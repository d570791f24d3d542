"""SlashCommand: a name, what it does, who may use it, and the function that does it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from familiar_connect.familiar import Familiar
from familiar_connect.identity import Author


@dataclass(frozen=True, kw_only=True)
class SlashContext:
    """Who asks, where, and with which words after the name."""

    channel_id: int
    author: Author
    is_operator: bool
    words: str = ""


@dataclass(frozen=True, kw_only=True)
class SlashReply:
    """The answer; visible to the asker only unless said otherwise."""

    text: str
    public: bool = False


@dataclass(frozen=True, kw_only=True)
class SlashCommand:
    name: str
    description: str
    run: Callable[[SlashContext, Familiar], Awaitable[SlashReply]]
    operator_only: bool = False
