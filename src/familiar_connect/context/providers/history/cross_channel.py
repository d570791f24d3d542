"""Cross-channel notes: short-term notes of other channels, as one block of a prompt.

On a server the notes everybody there shares; in a direct message those of the person, and of other servers only
for people who asked to be known everywhere. Nothing leaves a private channel for one that is not.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from familiar_connect.context.providers.scene.text import inline_safe, is_dm, persona_of, readable
from familiar_connect.context.types import ContextRequest, Contribution, ItemTag, Layer, Priority
from familiar_connect.identity import Author
from familiar_connect.memory.short_term import ShortTermNote, ShortTermNotes
from familiar_connect.memory.visibility import is_channel_visible
from familiar_connect.support.system_notes import quote_inline, speaker_name
from familiar_connect.support.tokens import estimate_tokens

MAX_CHANNELS = 2
MAX_LINES = 6
LINE_CHARS = 240
SUMMARY_CHARS = 800
SOURCE = "history:elsewhere"


class CrossChannelNotes:
    """Tells what short-term notes hold of other channels. *known_everywhere*: keys of those who asked to be."""

    def __init__(
        self,
        notes: ShortTermNotes,
        private_channel_ids: Collection[int] = (),
        known_everywhere: Collection[str] = (),
    ) -> None:
        self._notes = notes
        self._private = frozenset(private_channel_ids)
        self._known_everywhere = frozenset(known_everywhere)

    def contributions(self, request: ContextRequest, *, but: Collection[int] = ()) -> list[Contribution]:
        """At most one contribution. Channels of *but* are told of in another way. Reads a database."""
        if request.author is None or not request.settings.short_term_memory_enabled:
            return []
        notes = [note for note in self._notes_for(request, request.author) if note.channel_id not in but]
        notes.sort(key=lambda note: (-note.updated_at.timestamp(), note.channel_id))
        now = self._notes.clock.now()
        blocks = [note_block(note, request, now) for note in _one_per_channel(notes)[:MAX_CHANNELS]]
        if not blocks:
            return []
        text = "\n\n".join(blocks)
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
            )
        ]

    def may_tell(self, request: ContextRequest, channel_id: int, parent_id: int | None = None) -> bool:
        """Whether what was said in a channel may be told where *request* comes from."""
        return is_channel_visible(request, channel_id, parent_id, private=self._private)

    def _notes_for(self, request: ContextRequest, author: Author) -> list[ShortTermNote]:
        persona = request.turn.persona if request.turn is not None else ""
        known_everywhere = author.canonical_key in self._known_everywhere
        if request.guild_id is None or is_dm(request):
            own = self._notes.person_notes(familiar_id=request.familiar_id, persona=persona, author=author)
            found = [note for note in own if note.guild_id is None or known_everywhere]
        else:
            found = self._notes.server_notes(
                familiar_id=request.familiar_id, persona=persona, guild_id=request.guild_id
            )
            if known_everywhere:
                own = self._notes.person_notes(familiar_id=request.familiar_id, persona=persona, author=author)
                found += [note for note in own if note.guild_id not in (None, request.guild_id)]
        return [
            note
            for note in found
            if note.channel_id != request.channel_id and self.may_tell(request, note.channel_id, note.parent_id)
        ]


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
    said = [f"{line.speaker}: {quote_inline(line.text[:LINE_CHARS])}" for line in note.lines[-MAX_LINES:]]
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
