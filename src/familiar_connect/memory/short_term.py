"""ShortTermNotes: the last lines of each conversation, kept for half a day, and a summary of it for a whole one.

A note belongs to a person and, on a server, also to everybody there. People who are not to be heard are in none,
even if they chose so after it was written. Nothing here grows without bound: lines are few and short, notes are
counted, and what is too old is gone when it is next looked for. Synchronous; async code calls it off the loop.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from familiar_connect.chat.annotate.context import emoji_names
from familiar_connect.chat.scene import Scene
from familiar_connect.chat.types import Turn
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import EVERYTHING_ALLOWED, Author, Privacy
from familiar_connect.support.clock import Clock, SystemClock
from familiar_connect.support.lru import LruCache
from familiar_connect.support.sqlite import Row, storable_all
from familiar_connect.support.system_notes import extract_notes, speaker_name, without_fake_notes
from familiar_connect.support.text import truncate_chars

LINES_TTL = timedelta(hours=12)
SUMMARY_TTL = timedelta(hours=24)
MAX_ENTRIES = 10
"""Entries of the conversation that are kept; the new reply comes on top."""
MAX_LINE_CHARS = 500
MAX_SUMMARY_CHARS = 1_500
MAX_NOTES = 1_000
"""Notes of one familiar; the oldest go first."""
MAX_PEOPLE = 100
LINES_OF_A_TURN = 2
"""A question and its answer."""

_COLUMNS = (
    "persona, channel_id, owner, guild_id, parent_id, channel_name, owner_name, lines, people, summary, updated_at"
)
_PUT = f"INSERT OR REPLACE INTO short_term_notes (familiar_id, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_PLACEHOLDER = re.compile(r"\{\{\s*(\w{1,64})\s*\}\}|\{\s*(\w{1,64})\s*\}")
_KNOWN_PLACEHOLDERS = ("user", "bot", "char")
_SHARED = "server:"
_OWN = "user:"


@dataclass(frozen=True, kw_only=True)
class NoteLine:
    """Something that was said, and by whom: a person's key, or none for a persona of ours."""

    speaker: str
    text: str
    person: str = ""


@dataclass(frozen=True, kw_only=True)
class ShortTermNote:
    """What is still known of one conversation."""

    persona: str
    channel_id: int
    guild_id: int | None
    """None: a direct message."""
    parent_id: int | None = None
    channel_name: str | None = None
    owner_name: str | None = None
    """Whose note it is; None: everybody's on the server."""
    lines: tuple[NoteLine, ...] = ()
    summary: str | None = None
    updated_at: datetime

    @property
    def is_shared(self) -> bool:
        return self.owner_name is None


class ShortTermNotes:
    """The notes of every familiar whose history this is. *privacy* says who is not to be heard."""

    def __init__(
        self,
        history: HistoryStore,
        *,
        clock: Clock | None = None,
        privacy: Privacy = EVERYTHING_ALLOWED,
    ) -> None:
        self._database = history.database
        self.clock = clock or SystemClock()
        self._privacy = privacy
        self._turns_since: LruCache[tuple[str, str, int, str], int] = LruCache(MAX_NOTES)
        """Turns captured since a note was summed up, as far as this run knows."""

    # Writing

    def capture(self, turn: Turn, sent: str, *, scene: Scene | None = None) -> bool:
        """Note down how the conversation stands after *turn* was answered with *sent*; whether there was anything to.

        Not where the turn only stopped a reply, spoke for somebody else or was not answered.
        """
        who, reply = turn.speaker, _line_text(sent)
        unanswered = turn.flags.stop or turn.imitated is not None or turn.flags.impersonation or not reply
        if who is None or unanswered or self._privacy.is_full(who):
            return False
        lines = self._lines(turn)
        if not lines:
            return False
        said = NoteLine(speaker=speaker_name(turn.persona, turn.familiar_id), text=reply)
        channel_name, parent_id = _channel(turn.channel_id, scene)
        with self._database.transaction():
            if turn.reset_at is not None:
                self.clear_channel(familiar_id=turn.familiar_id, channel_id=turn.channel_id, before=turn.reset_at)
            for owner, name in _owners(who, turn.guild_id):
                old = self._row(turn.familiar_id, turn.persona, turn.channel_id, owner)
                before = _lines_of(old[7]) if old is not None and not turn.messages else []
                kept = [*before, *lines][-MAX_ENTRIES:]
                people = dict.fromkeys([*(_people_of(old[8]) if old else ()), *(each.person for each in kept)])
                self._put(
                    turn.familiar_id,
                    (turn.persona, turn.channel_id, owner, turn.guild_id, parent_id, channel_name, name),
                    [*kept, said],
                    [person for person in people if person],
                    old[9] if old is not None else None,
                )
                key = (turn.familiar_id, turn.persona, turn.channel_id, owner)
                self._turns_since.put(
                    key, self._count_known_turns_since(key, before=len(_lines_of(old[7])) if old else 0) + 1
                )
            self._sweep(turn.familiar_id)
        return True

    def write_summary(
        self, text: str, *, familiar_id: str, persona: str, channel_id: int, guild_id: int | None, author: Author
    ) -> bool:
        """Keep *text* as the summary of a conversation, for its speaker and its server; False for nothing to keep."""
        summary = without_placeholders(" ".join(without_fake_notes(text[: MAX_SUMMARY_CHARS * 2]).split()))[
            :MAX_SUMMARY_CHARS
        ]
        if not summary.strip() or self._privacy.is_full(author):
            return False
        with self._database.transaction():
            for owner, name in _owners(author, guild_id):
                old = self._row(familiar_id, persona, channel_id, owner)
                place = (old[4], old[5]) if old is not None else (None, None)
                people = [*(_people_of(old[8]) if old else ()), author.canonical_key]
                self._put(
                    familiar_id,
                    (persona, channel_id, owner, guild_id, *place, name),
                    _lines_of(old[7]) if old is not None else [],
                    list(dict.fromkeys(people)),
                    summary.strip(),
                )
                self._turns_since.put((familiar_id, persona, channel_id, owner), 0)
        return True

    def clear_channel(self, *, familiar_id: str, channel_id: int, before: datetime | None = None) -> int:
        """Forget the notes of a channel, all of them or those from *before* a moment; how many went."""
        limit = before.timestamp() if before is not None else float("inf")
        return self._database.write(
            "DELETE FROM short_term_notes WHERE familiar_id = ? AND channel_id = ? AND updated_at < ?",
            (familiar_id, channel_id, limit),
        ).rowcount

    # Reading

    def channel_note(
        self, *, familiar_id: str, persona: str, channel_id: int, guild_id: int | None, author: Author
    ) -> ShortTermNote | None:
        """The note of this conversation: the server's, or in a direct message the person's."""
        owner = _owner_here(author, guild_id)
        row = self._row(familiar_id, persona, channel_id, owner)
        return self._show(row) if row is not None else None

    def turns_since_summary(
        self, *, familiar_id: str, persona: str, channel_id: int, guild_id: int | None, author: Author
    ) -> int:
        """How many turns of this conversation were captured since it was summed up, or at all.

        Of what an earlier run captured, as many as the lines that are left of it say.
        """
        owner = _owner_here(author, guild_id)
        row = self._row(familiar_id, persona, channel_id, owner)
        before = len(_lines_of(row[7])) if row is not None else 0
        return self._count_known_turns_since((familiar_id, persona, channel_id, owner), before=before)

    def _count_known_turns_since(self, key: tuple[str, str, int, str], *, before: int) -> int:
        known = self._turns_since.get(key)
        return before // LINES_OF_A_TURN if known is None else known

    def server_notes(self, *, familiar_id: str, persona: str, guild_id: int) -> list[ShortTermNote]:
        """What everybody on a server may know of its channels, newest first."""
        return self._list_owned(familiar_id, persona, f"{_SHARED}{guild_id}")

    def person_notes(self, *, familiar_id: str, persona: str, author: Author) -> list[ShortTermNote]:
        """What *author* took part in, anywhere, newest first."""
        return (
            []
            if self._privacy.is_full(author)
            else self._list_owned(familiar_id, persona, f"{_OWN}{author.canonical_key}")
        )

    # Rows

    def _lines(self, turn: Turn) -> list[NoteLine]:
        """The newest entries of the dialogue that anyone said, oldest first."""
        platform = turn.speaker.platform if turn.speaker is not None else ""
        found: list[NoteLine] = []
        for entry in turn.messages:
            text = _line_text(extract_notes(entry.content or "")[1])
            if not text or entry.is_debug or entry.author_kind == "system":
                continue
            person = ""
            if entry.author_type == "user":
                person = entry.author_id if entry.author_kind == "bridge" else f"{platform}:{entry.author_id}"
            found.append(NoteLine(speaker=speaker_name(entry.author_name), text=text, person=person))
        if not turn.messages:
            found = [
                NoteLine(speaker=speaker_name(said.author.label), text=text, person=said.author.canonical_key)
                for said in turn.said
                if (text := _line_text(without_fake_notes(said.text)))
            ]
        return [line for line in found if not self._is_hidden(line.person)][-MAX_ENTRIES:]

    def _is_hidden(self, person: str) -> bool:
        platform, _, user_id = person.partition(":")
        return bool(user_id) and self._privacy.is_full(Author(platform, user_id, None, None))

    def _row(self, familiar_id: str, persona: str, channel_id: int, owner: str) -> Row | None:
        """One row that is still young enough; an old one goes."""
        rows = self._database.read(
            f"SELECT {_COLUMNS} FROM short_term_notes"
            " WHERE familiar_id = ? AND persona = ? AND channel_id = ? AND owner = ?",
            storable_all((familiar_id, persona, channel_id, owner)),
        )
        if rows and self._is_old(rows[0]):
            self._delete(familiar_id, persona, channel_id, owner)
            return None
        return rows[0] if rows else None

    def _list_owned(self, familiar_id: str, persona: str, owner: str) -> list[ShortTermNote]:
        rows = self._database.read(
            f"SELECT {_COLUMNS} FROM short_term_notes WHERE familiar_id = ? AND persona = ? AND owner = ?"
            " ORDER BY updated_at DESC, channel_id",
            storable_all((familiar_id, persona, owner)),
        )
        notes = [self._show(row) for row in rows if not self._is_old(row)]
        return [note for note in notes if note is not None]

    def _show(self, row: Row) -> ShortTermNote | None:
        """*row* without anybody who is not to be heard; None when nothing is left."""
        lines = tuple(line for line in _lines_of(row[7]) if not self._is_hidden(line.person))
        silenced = any(map(self._is_hidden, _people_of(row[8])))
        summary = None if silenced else row[9]
        if not any(line.person for line in lines) and not summary:
            return None
        return ShortTermNote(
            persona=row[0],
            channel_id=row[1],
            guild_id=row[3],
            parent_id=row[4],
            channel_name=row[5],
            owner_name=None if str(row[2]).startswith(_SHARED) else row[6],
            lines=lines,
            summary=summary or None,
            updated_at=datetime.fromtimestamp(row[10], UTC),
        )

    def _is_old(self, row: Row) -> bool:
        """Past its time; so is a note from a future that a wrong clock told of."""
        ttl = SUMMARY_TTL if row[9] else LINES_TTL
        return abs(self.clock.now().timestamp() - float(row[10])) > ttl.total_seconds()

    def _put(
        self,
        familiar_id: str,
        key: tuple[object, ...],
        lines: Sequence[NoteLine],
        people: Sequence[str],
        summary: str | None,
    ) -> None:
        told = json.dumps([[line.speaker, line.text, line.person] for line in lines], ensure_ascii=False)
        values = (familiar_id, *key, told, json.dumps(people[-MAX_PEOPLE:]), summary, self.clock.now().timestamp())
        self._database.write(_PUT, storable_all(values))

    def _delete(self, familiar_id: str, persona: str, channel_id: int, owner: str) -> None:
        self._database.write(
            "DELETE FROM short_term_notes WHERE familiar_id = ? AND persona = ? AND channel_id = ? AND owner = ?",
            storable_all((familiar_id, persona, channel_id, owner)),
        )

    def _sweep(self, familiar_id: str) -> None:
        """Take away what is too old, and the oldest of too many."""
        now = self.clock.now().timestamp()
        self._database.write(
            "DELETE FROM short_term_notes WHERE familiar_id = ? AND updated_at < ? - CASE WHEN summary IS NULL"
            " THEN ? ELSE ? END",
            (familiar_id, now, LINES_TTL.total_seconds(), SUMMARY_TTL.total_seconds()),
        )
        oldest = self._database.read(
            "SELECT familiar_id, persona, channel_id, owner FROM short_term_notes WHERE familiar_id = ?"
            " ORDER BY updated_at DESC, persona, channel_id, owner LIMIT -1 OFFSET ?",
            (familiar_id, MAX_NOTES),
        )
        for key in oldest:
            self._delete(*key)


def without_placeholders(text: str) -> str:
    """*text* a model wrote, with the braces off every placeholder but those for names."""
    return _PLACEHOLDER.sub(
        lambda found: found[0] if (word := found[1] or found[2]).lower() in _KNOWN_PLACEHOLDERS else word, text
    )


def _owner_here(author: Author, guild_id: int | None) -> str:
    return f"{_OWN}{author.canonical_key}" if guild_id is None else f"{_SHARED}{guild_id}"


def _owners(author: Author, guild_id: int | None) -> list[tuple[str, str]]:
    """Under whose names a conversation is noted: the speaker's, and the server's where there is one."""
    own = (f"{_OWN}{author.canonical_key}", speaker_name(author.label, author.user_id))
    return [own] if guild_id is None else [own, (f"{_SHARED}{guild_id}", "")]


def _channel(channel_id: int, scene: Scene | None) -> tuple[str | None, int | None]:
    """What the channel is called, and the one it hangs under."""
    if scene is None:
        return None, None
    known = next((each for each in scene.channels if each.channel_id == channel_id), None)
    name = known.name if known is not None else scene.channel.name if scene.channel is not None else None
    return speaker_name(name) if name else None, known.parent_id if known is not None else None


def _line_text(text: str) -> str:
    return truncate_chars(emoji_names(" ".join(text[: MAX_LINE_CHARS * 8].split())), MAX_LINE_CHARS)


def _lines_of(stored: object) -> list[NoteLine]:
    return [
        NoteLine(speaker=str(row[0]), text=str(row[1]), person=str(row[2]))
        for row in _load(stored)
        if isinstance(row, list) and len(row) == 3
    ]


def _people_of(stored: object) -> list[str]:
    return [str(person) for person in _load(stored)]


def _load(stored: Any) -> Iterable[Any]:
    """A JSON list from a row; what another program spoilt counts as empty."""
    try:
        found = json.loads(stored)
    except (TypeError, ValueError):
        return []
    return found if isinstance(found, list) else []
