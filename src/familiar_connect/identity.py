"""Author: who said something, on which platform, under which names.

Identity rests on the platform's immutable id. Names change, collide and lie; they only ever
point at a person, they never are one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Any

_NOT_SLUG = re.compile(r"[^a-z0-9]+")
_NOT_NAME = re.compile(r"[^A-Za-z0-9_-]")
MAX_OPENAI_NAME = 64
LOCAL_PLATFORMS = frozenset({"terminal", "web"})
"""The operator's own doors: whoever is there was let in by the operator."""
PUBLIC_PLATFORMS = frozenset({"twitch"})
"""Platforms whose chats everybody can read."""


class PrivacyLevel(Enum):
    """What a person allows us to keep and show of them."""

    MINIMAL = "minimal"
    """Everything."""
    PARTIAL = "partial"
    """No presence, roles or personal notes."""
    FULL = "full"
    """Not heard at all: nothing stored, shown, quoted, summarised or embedded."""


@dataclass(frozen=True)
class Author:
    """One speaker on one platform."""

    platform: str
    user_id: str
    username: str | None
    display_name: str | None
    aliases: frozenset[str] = frozenset()

    @property
    def canonical_key(self) -> str:
        return f"{self.platform}:{self.user_id}"

    @property
    def slug(self) -> str:
        """Names the people file; survives renames because it rests on the id."""
        return _NOT_SLUG.sub("-", self.canonical_key.lower()).strip("-")

    @property
    def label(self) -> str:
        return self.display_name or self.username or self.user_id

    @property
    def openai_name(self) -> str | None:
        return sanitize_name(self.label) or sanitize_name(self.user_id)

    @property
    def all_known_names(self) -> set[str]:
        return set(self.aliases) | {name for name in (self.display_name, self.username) if name}

    @classmethod
    def from_discord_member(cls, member: Any) -> Author:
        return cls(platform="discord", user_id=str(member.id), username=member.name, display_name=member.display_name)

    @classmethod
    def from_twitch(cls, *, user_id: str, user_login: str, user_name: str) -> Author:
        return cls(platform="twitch", user_id=user_id, username=user_login, display_name=user_name)


def sanitize_name(name: str) -> str | None:
    """*name* as the `name` field of a chat message, or None when nothing of it is left."""
    return _NOT_NAME.sub("_", name)[:MAX_OPENAI_NAME].strip("_") or None


def format_turn_for_transcript(role: str, author: Author | None, content: str) -> str:
    """One line of a transcript shown to a side model."""
    if role == "user" and author is not None:
        return f"user ({author.label}): {content}"
    return f"{role}: {content}"
