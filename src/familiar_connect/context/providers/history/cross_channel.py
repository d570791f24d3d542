"""Cross-channel notes: short-term notes of other channels, as one block of a prompt.

On a server the notes everybody there shares, and those of the person who speaks, wherever they were taken: each
only where everybody who can read here was among those its channel's talk is said to.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from familiar_connect.audience import Audience, may_tell_words
from familiar_connect.context.providers.scene.text import inline_safe, name_marks, persona_of, readable
from familiar_connect.context.types import ContextRequest, Contribution, ItemTag, Layer, Priority
from familiar_connect.errors import SetupError
from familiar_connect.history.chats import ChatRegistry
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author
from familiar_connect.memory.short_term import ShortTermNote, ShortTermNotes
from familiar_connect.support.system_notes import quote_inline, speaker_name
from familiar_connect.support.tokens import estimate_tokens

logger = logging.getLogger(__name__)

MAX_CHANNELS = 2
MAX_NOTES_LOOKED_AT = 50
MAX_LINES = 6
LINE_CHARS = 240
SUMMARY_CHARS = 800
SOURCE = "history:elsewhere"


class CrossChannelNotes:
    """Tells what short-term notes hold of other channels."""

    def __init__(self, notes: ShortTermNotes, history: HistoryStore, chats: ChatRegistry | None = None) -> None:
        self._notes = notes
        self._history = history
        self._chats = chats

    def contributions(self, request: ContextRequest, *, but: Collection[int] = ()) -> list[Contribution]:
        """At most one contribution. Channels of *but* are told of in another way. Reads a database."""
        if request.author is None or not request.settings.short_term_memory_enabled:
            return []
        but = {*but, *self.other_chats(request.channel_id)}
        notes = [note for note in self._notes_for(request, request.author) if note.channel_id not in but]
        notes.sort(key=lambda note: (-note.updated_at.timestamp(), note.channel_id))
        now = self._notes.clock.now()
        told = self._only_tellable(_one_per_channel(notes), request)
        if not told:
            return []
        text = "\n\n".join(note_block(note, request, now) for note, _ in told)
        return [
            Contribution(
                Layer.history_summary,
                int(Priority.ELSEWHERE),
                text,
                estimate_tokens(text),
                SOURCE,
                tag=ItemTag.SHORT_TERM,
                order=110,
                volatile=True,
                audiences=frozenset(audience for _, audience in told),
            )
        ]

    def other_chats(self, channel_id: int) -> Collection[int]:
        """Chats of the same place: a new one begins with nothing of what was said in the others. Reads a file."""
        if self._chats is None:
            return ()
        try:
            return self._chats.siblings(channel_id)
        except SetupError as error:  # the commands that list chats say it to the owner
            logger.warning("the chats of this place cannot be read", extra={"error": str(error)})
            return ()

    def _notes_for(self, request: ContextRequest, author: Author) -> list[ShortTermNote]:
        """Notes of other channels that the server or the speaker has a part in."""
        persona = request.turn.persona if request.turn is not None else ""
        found: list[ShortTermNote] = []
        if request.guild_id is not None and not request.is_dm:
            found = self._notes.server_notes(
                familiar_id=request.familiar_id, persona=persona, guild_id=request.guild_id
            )
        found += self._notes.person_notes(familiar_id=request.familiar_id, persona=persona, author=author)
        return [note for note in found if note.channel_id != request.channel_id]

    def _only_tellable(
        self, notes: Sequence[ShortTermNote], request: ContextRequest
    ) -> list[tuple[ShortTermNote, Audience]]:
        """The first few notes that may be told here, with whom they may be told to."""
        told: list[tuple[ShortTermNote, Audience]] = []
        for note in notes[:MAX_NOTES_LOOKED_AT]:
            audience = self._history.channel_audience(familiar_id=request.familiar_id, channel_id=note.channel_id)
            if audience is not None and request.may_tell([audience]):
                told.append((note, audience))
            elif audience is not None and (own := _own_words(note, audience, request)) is not None:
                told += [(own, each) for each in request.own_audience]
            if len(told) == MAX_CHANNELS:
                break
        return told


def _own_words(note: ShortTermNote, audience: Audience, request: ContextRequest) -> ShortTermNote | None:
    """The speaker's own lines of a note from another server, where they asked to be remembered everywhere."""
    if request.author is None or request.readers is None:
        return None
    key = request.author.canonical_key
    lines = tuple(line for line in note.lines if line.person == key)
    if not lines or not may_tell_words(key, audience, request.readers, request.telling):
        return None
    return replace(note, summary=None, lines=lines)


def _one_per_channel(notes: Sequence[ShortTermNote]) -> list[ShortTermNote]:
    first: dict[int, ShortTermNote] = {}
    for note in notes:
        first.setdefault(note.channel_id, note)
    return list(first.values())


def note_block(note: ShortTermNote, request: ContextRequest, now: datetime) -> str:
    """Where and how long ago, then the summary, or else the last lines."""
    persona = persona_of(request)
    whose = f" with {note.owner_name}" if note.owner_name and not note.is_shared else ""
    where = f"{_place(note, request)}{whose}, {age_in_words(now - note.updated_at)}"
    imitating = request.turn is not None and request.turn.imitated is not None
    opening = f"{where[0].upper()}{where[1:]}:" if imitating else f"{persona} remembers, {where}:"
    if note.summary:
        user = request.author.label if request.author is not None else "User"
        return f"{opening} {readable(request, inline_safe(note.summary, SUMMARY_CHARS), user=user)}"
    texts = [(line.speaker, name_marks(request, line.text[:LINE_CHARS])) for line in note.lines[-MAX_LINES:]]
    said = [f"{speaker}: {quote_inline(text)}" for speaker, text in texts]
    return "\n".join([opening, *said])


def _place(note: ShortTermNote, request: ContextRequest) -> str:
    if note.guild_id is None:
        return "from a direct message"
    if note.guild_id != request.guild_id:
        return "from another server"
    channels = request.scene.channels if request.scene is not None else ()
    name = next((each.name for each in channels if each.channel_id == note.channel_id), note.channel_name)
    return f"from #{speaker_name(name)}" if name else f"from <#{note.channel_id}>"


def age_in_words(passed: timedelta) -> str:
    """How long ago, in round numbers; a clock that went backwards says just now."""
    minutes = int(passed.total_seconds() // 60)
    if minutes < 1:
        return "just now"
    if minutes < 60:
        return f"{minutes} minute{'' if minutes == 1 else 's'} ago"
    hours = minutes // 60
    if hours < 24:
        return f"{hours} hour{'' if hours == 1 else 's'} ago"
    days = hours // 24
    return f"{days} day{'' if days == 1 else 's'} ago" if days <= 7 else "over a week ago"
