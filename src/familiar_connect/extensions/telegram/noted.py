"""ReactionNotes: who reacted to which message with what, as far as Telegram tells; it cannot be asked for later.

Noted: all that is kept of what went by, for every conversation of one bot.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from familiar_connect.api import Author, InboundMessage
from familiar_connect.api.messages import Reaction
from familiar_connect.api.support import LruCache
from familiar_connect.extensions.telegram.groups import GroupFacts

if TYPE_CHECKING:  # the library is loaded when a bot is opened
    from telegram import ReactionType

MAX_MESSAGES = 2_000
MAX_PEOPLE = 50
MAX_PEOPLE_KNOWN = 5_000
PAID = "⭐"
CUSTOM = "custom emoji"


class ReactionNotes:
    """Reactions by message, the latest of them."""

    def __init__(self) -> None:
        self._by_message: LruCache[str, dict[str, dict[str, Author]]] = LruCache(MAX_MESSAGES)

    def note(self, message_id: str, who: Author, now: Iterable[ReactionType]) -> None:
        """Somebody's reactions to a message are these now."""
        known = self._by_message.get(message_id) or {}
        for people in known.values():
            people.pop(who.user_id, None)
        for each in now:
            people = known.setdefault(_label(each), {})
            if len(people) < MAX_PEOPLE:
                people[who.user_id] = who
        self._by_message.put(message_id, {label: people for label, people in known.items() if people})

    def add_to(self, message: InboundMessage) -> InboundMessage:
        """*message* with its reactions."""
        known = self._by_message.get(message.message_id or "")
        if not known:
            return message
        found = tuple(
            Reaction(label=label, count=len(people), users=tuple(people.values())) for label, people in known.items()
        )
        return replace(message, reactions=found)


@dataclass(frozen=True)
class Noted:
    """What one bot was told by the way."""

    groups: GroupFacts
    reactions: ReactionNotes = field(default_factory=ReactionNotes)
    usernames: LruCache[str, str] = field(default_factory=lambda: LruCache(MAX_PEOPLE_KNOWN))
    """By user id, of people who wrote."""

    def note_person(self, who: Author) -> None:
        if who.username:
            self.usernames.put(who.user_id, who.username)
        else:
            self.usernames.pop(who.user_id)


def _label(reaction: ReactionType) -> str:
    """A reaction as people see it."""
    emoji = getattr(reaction, "emoji", None)
    if emoji:
        return str(emoji)
    return PAID if reaction.type == "paid" else CUSTOM
