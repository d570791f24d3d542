"""AnnotationContext: what simplifying one message needs to know of the turn around it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from familiar_connect.chat.annotate.identity import People
from familiar_connect.chat.annotate.mentions import MentionResolver
from familiar_connect.chat.message_ids import MessageIdMap
from familiar_connect.chat.scene import Scene
from familiar_connect.chat.types import TurnSettings
from familiar_connect.identity import Author


def nobody(author: Author) -> bool:
    """Takes no one for the owner."""
    return False


@dataclass(frozen=True, kw_only=True)
class AnnotationContext:
    """One per turn; the handles it gives out are those of the turn."""

    scene: Scene
    people: People
    marks: MentionResolver
    ids: MessageIdMap
    settings: TurnSettings
    blocked: frozenset[str] = frozenset()
    """Canonical keys of the people the persona does not want to hear."""
    is_owner: Callable[[Author], bool] = nobody
    """Who may speak in the persona's name."""
    is_voice: bool = False
    """Spoken: no handles."""

    @cached_property
    def emoji_urls(self) -> dict[str, str]:
        """Where the pictures of the server's emojis are, by name."""
        return {emoji.name: emoji.url for emoji in self.scene.emojis if emoji.url}

    def is_hidden(self, author: Author | None) -> bool:
        """Whether nothing *author* said may be quoted or passed on."""
        if author is None:
            return False
        return (bool(self.blocked) and author.canonical_key in self.blocked) or self.people.is_private(author)

    def visible_name(self, author: Author) -> str | None:
        """What *author* is called; None where nothing of them may be passed on."""
        known = self._visible_names.get(id(author))
        if known is None:
            name = None if self.is_hidden(author) else self.people.name_of(author)
            known = self._visible_names[id(author)] = author, name
        return known[1]

    def visible_names(self, authors: Iterable[Author]) -> list[str | None]:
        """`visible_name` of each of *authors*."""
        known = self._visible_names
        return [
            held[1] if (held := known.get(id(author))) is not None else self.visible_name(author) for author in authors
        ]

    @cached_property
    def _visible_names(self) -> dict[int, tuple[Author, str | None]]:
        """By identity: many react to many messages."""
        return {}

    def readable(self, text: str) -> str:
        return self.marks.readable(text)
