"""Scene: server, channel and people as they are now; Surroundings, which can show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, runtime_checkable

from familiar_connect.chat.types import InboundMessage
from familiar_connect.identity import Author


class ChannelKind(Enum):
    text = "text"
    thread = "thread"
    forum_post = "forum_post"
    dm = "dm"
    group_dm = "group_dm"
    voice = "voice"
    stage = "stage"
    forum_root = "forum_root"
    category = "category"


@dataclass(frozen=True)
class ChannelContext:
    """What a channel is called, for people and for the memory writer."""

    name: str
    kind: ChannelKind
    parent_name: str | None = None


@dataclass(frozen=True, kw_only=True)
class Scene:
    """Where we are and who is here. A platform fills what it knows."""

    server_name: str | None = None
    server_description: str | None = None
    channel: ChannelContext | None = None
    participants: tuple[Author, ...] = ()


@runtime_checkable
class Surroundings(Protocol):
    """Something that can look around a channel."""

    async def recent(self, limit: int) -> Sequence[InboundMessage]: ...
    async def scene(self) -> Scene: ...
