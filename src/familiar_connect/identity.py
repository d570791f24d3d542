"""Author: who said something, on which platform, under which names.

Identity rests on the platform's immutable id. Names change, collide and lie; they only ever
point at a person, they never are one.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from familiar_connect.support.system_notes import mark_further_lines, speaker_name, without_fake_notes
from familiar_connect.support.text import to_slug

_NOT_NAME = re.compile(r"[^A-Za-z0-9_-]")
MAX_OPENAI_NAME = 64
LOCAL_PLATFORMS = frozenset({"terminal", "web"})
"""The operator's own doors: whoever is there was let in by the operator."""
UNNAMED = "Friend"
"""What somebody at such a door is called who has given no name; an account's is none."""

_FAMILIAR_MARK = "familiar:"
"""Begins the user id of another familiar of this home."""


class PrivacyLevel(Enum):
    """What a person allows us to keep and show of them."""

    MINIMAL = "minimal"
    """Everything."""
    PARTIAL = "partial"
    """No presence, roles or personal notes."""
    FULL = "full"
    """Not heard at all: nothing stored, shown, quoted, summarised or embedded."""


class ChannelKey(NamedTuple):
    """A channel by what its platform calls it: a number, a name, whatever text stays the same.

    A direct message is called by the other person's user id, so that whoever is forgotten is not named by it either.
    """

    platform: str
    id: str


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
        return _slug(self.canonical_key)

    @property
    def label(self) -> str:
        return self.display_name or self.username or self.user_id

    @property
    def is_named(self) -> bool:
        """Whether this person has a name, and not the word that stands for none."""
        return bool(self.display_name or self.username) and not (
            self.platform in LOCAL_PLATFORMS and self.display_name == UNNAMED
        )

    @property
    def openai_name(self) -> str | None:
        return sanitize_name(self.label) or sanitize_name(self.user_id)

    @property
    def all_known_names(self) -> set[str]:
        return set(self.aliases) | {name for name in (self.display_name, self.username) if name}

    @property
    def is_familiar(self) -> bool:
        """Whether this is another familiar of the same home, and no person."""
        return self.platform in LOCAL_PLATFORMS and self.user_id.startswith(_FAMILIAR_MARK)

    @classmethod
    def from_familiar(cls, familiar_id: str, name: str, *, platform: str) -> Author:
        """Another familiar of this home, as it is heard at one of the operator's own doors."""
        return cls(platform=platform, user_id=f"{_FAMILIAR_MARK}{familiar_id}", username=None, display_name=name)


class Privacy(ABC):
    """What people allow to be kept and shown of them. Asked anew each time, for people may change their mind."""

    @abstractmethod
    def get(self, author: Author) -> PrivacyLevel:
        """What *author* allows; everything, where they never chose."""

    @abstractmethod
    def all(self) -> dict[str, PrivacyLevel]:
        """Everyone who chose, by canonical key."""

    def is_full(self, author: Author) -> bool:
        """Whether *author* is not to be heard at all."""
        return self.get(author) is PrivacyLevel.FULL

    def may_note(self, author: Author) -> bool:
        """Whether notes about *author* may be kept and shown, and their presence and roles told."""
        return self.get(author) is PrivacyLevel.MINIMAL

    def everywhere_keys(self) -> frozenset[str]:
        """Everyone whose own words on a server may follow them wherever they speak, by canonical key."""
        return frozenset()

    def full_privacy_keys(self) -> frozenset[str]:
        """Everyone who is not to be heard, by canonical key."""
        return frozenset(key for key, level in self.all().items() if level is PrivacyLevel.FULL)

    def slugs_without_notes(self) -> frozenset[str]:
        """Slugs of everyone about whom no notes are shown."""
        return frozenset(_slug(key) for key, level in self.all().items() if level is not PrivacyLevel.MINIMAL)


@dataclass(frozen=True)
class FixedPrivacy(Privacy):
    """Privacy that is given, by canonical key, and written nowhere."""

    levels: Mapping[str, PrivacyLevel] = field(default_factory=dict)

    def get(self, author: Author) -> PrivacyLevel:
        return self.levels.get(author.canonical_key, PrivacyLevel.MINIMAL)

    def all(self) -> dict[str, PrivacyLevel]:
        return dict(self.levels)


EVERYTHING_ALLOWED = FixedPrivacy()
"""Where nobody chose."""


@lru_cache(maxsize=1024)
def sanitize_name(name: str) -> str | None:
    """*name* as the `name` field of a chat message, or None when nothing of it is left."""
    return _NOT_NAME.sub("_", name)[:MAX_OPENAI_NAME].strip("_") or None


@lru_cache(maxsize=4096)
def _slug(canonical_key: str) -> str:
    return to_slug(canonical_key)


def format_turn_for_transcript(role: str, author: Author | None, content: str) -> str:
    """One turn of a transcript for a side model; its further lines are marked, so that nobody speaks for another."""
    words = mark_further_lines(without_fake_notes(content))
    if role == "user" and author is not None:
        return f"user ({speaker_name(author.label, author.user_id)}): {words}"
    return f"{role}: {words}"
