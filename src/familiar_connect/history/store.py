"""HistoryStore: every turn ever said to or by a familiar, in one SQLite file.

A turn is on disk when `append_turn` returns, and nothing is ever pruned. What is asked on every reply
(the newest turns, who was here, how many, how far) costs the same whatever the length of the history.
Synchronous and callable from any thread; async code calls it off the event loop.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from familiar_connect.audience import Audience, AudienceKind, parse_audience
from familiar_connect.config.types import ChannelMode
from familiar_connect.errors import HistoryError
from familiar_connect.history.authors import AuthorRows, Speaker
from familiar_connect.history.channel_keys import ChannelKeyRows
from familiar_connect.history.channel_readers import ChannelParentRows, ChannelReaderRows
from familiar_connect.history.channel_stats import ChannelStats
from familiar_connect.history.dialogue_starts import DialogueStartRows, StartKind
from familiar_connect.history.outbox import OutboxRows
from familiar_connect.history.own_name import read_history_name
from familiar_connect.history.rows import (
    MAX_TURNS_READ,
    TURN_COLUMNS,
    UNMARKED,
    Mode,
    author_from_columns,
    find_malformed_rows,
    in_utc,
    mode_value,
    other_channel_from_row,
    turn_from_row,
    where_shown,
)
from familiar_connect.history.schema import MIGRATIONS, infer_audience
from familiar_connect.history.summaries import SummaryRows
from familiar_connect.history.types import (
    CrossContextEntry,
    HistoryTurn,
    OtherChannelInfo,
    SummaryEntry,
    TurnMark,
    WatermarkEntry,
)
from familiar_connect.history.watermarks import WatermarkRows
from familiar_connect.history.withdrawal.quotations import without_old_quotation
from familiar_connect.identity import Author, ChannelKey
from familiar_connect.support.clock import Clock, SystemClock
from familiar_connect.support.sqlite import Database
from familiar_connect.support.text import without_surrogates

__all__ = [
    "CrossContextEntry",
    "HistoryError",
    "HistoryStore",
    "HistoryTurn",
    "OtherChannelInfo",
    "Speaker",
    "SummaryEntry",
    "WatermarkEntry",
]

_INSERT = (
    "INSERT INTO turns (familiar_id, channel_id, guild_id, role, author_platform, author_user_id, author_username,"
    " author_display_name, content, timestamp, mode, platform_message_id, facts, audience, mark, view)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
)
_COLUMNS_WITHOUT_WORDS = TURN_COLUMNS.replace(" content,", " '',").replace(" view", " NULL")
_NOBODY = (None, None, None, None)
# One index step for each audience, instead of reading every turn.
_DISTINCT_AUDIENCES = """
WITH RECURSIVE each(audience) AS (
    SELECT MIN(audience) FROM turns WHERE familiar_id = ?
    UNION ALL
    SELECT (SELECT MIN(audience) FROM turns WHERE familiar_id = ? AND audience > each.audience)
    FROM each WHERE each.audience IS NOT NULL
) SELECT audience FROM each LIMIT 10000
"""


class HistoryStore:
    """The archive of turns and the rows kept beside it. Familiars never see each other's data."""

    def __init__(self, db_path: str | Path, *, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self.database = Database(
            db_path,
            MIGRATIONS,
            error=HistoryError,
            synchronous="FULL",
            doctor="familiar doctor",
            may_be_empty=False,
        )
        try:
            self.channel_stats = ChannelStats(self.database)
            self.outbox = OutboxRows(self.database, self._clock)
        except HistoryError:
            self.database.close()
            raise
        self.summaries = SummaryRows(self.database, self._clock)
        self.watermarks = WatermarkRows(self.database, self._clock)
        self.authors = AuthorRows(self.database)
        self.dialogue_starts = DialogueStartRows(self.database, self._clock)
        self.channel_readers = ChannelReaderRows(self.database, self._clock)
        self.channel_parents = ChannelParentRows(self.database)
        self.channel_keys = ChannelKeyRows(self.database)
        self.audience_changes = 0
        """How often this program saw a channel hidden or opened."""

    def close(self) -> None:
        self.database.close()

    def name(self) -> str:
        """What this history was named when it was made; no other history goes by it, nor this one by another."""
        return read_history_name(self.database)

    def find_message(self, *, familiar_id: str, channel_id: int, message_id: str) -> HistoryTurn | None:
        """The turn that a message of the platform was stored as, whatever its mark."""
        where = "familiar_id = ? AND channel_id = ? AND platform_message_id = ?"
        return next(iter(self._turns(where, (familiar_id, channel_id, message_id), limit=1)), None)

    def append_turn(
        self,
        *,
        familiar_id: str,
        channel_id: int,
        role: str,
        content: str,
        author: Author | None = None,
        guild_id: int | None = None,
        mode: Mode = None,
        platform_message_id: str | None = None,
        timestamp: datetime | None = None,
        facts: str | None = None,
        audience: Audience | None = None,
        view: str | None = None,
    ) -> HistoryTurn:
        """Store one turn for good. A platform message stored before is returned as it was stored then."""
        return self.append_if_new(
            familiar_id=familiar_id,
            channel_id=channel_id,
            role=role,
            content=content,
            author=author,
            guild_id=guild_id,
            mode=mode,
            platform_message_id=platform_message_id,
            timestamp=timestamp,
            facts=facts,
            audience=audience,
            view=view,
        )[0]

    def append_if_new(
        self,
        *,
        familiar_id: str,
        channel_id: int,
        role: str,
        content: str,
        author: Author | None = None,
        guild_id: int | None = None,
        mode: Mode = None,
        platform_message_id: str | None = None,
        timestamp: datetime | None = None,
        facts: str | None = None,
        audience: Audience | None = None,
        mark: TurnMark | None = None,
        view: str | None = None,
    ) -> tuple[HistoryTurn, bool]:
        """As `append_turn`, and whether the turn is new: False when this platform message was stored before.

        *view* is what prompts show. Without an *audience* it has that of the turn before it, else what can be told.
        """
        when = in_utc(timestamp or self._clock.now())
        said_in = mode_value(mode)
        message_id = platform_message_id or None
        who = (author.platform, author.user_id, author.username, author.display_name) if author else _NOBODY
        said_to = audience or self._usual_audience(familiar_id, channel_id, guild_id, author)
        moment = when.isoformat()
        facts = without_old_quotation(self.database, familiar_id, channel_id, facts)
        values = (familiar_id, channel_id, guild_id, role, *who, content, moment, said_in, message_id, facts)
        try:
            stored = self.database.write(_INSERT, (*values, str(said_to), mark and mark.value, view))
        except UnicodeEncodeError:
            return self.append_if_new(
                familiar_id=without_surrogates(familiar_id),
                channel_id=channel_id,
                role=without_surrogates(role),
                content=without_surrogates(content),
                author=author and _storable_author(author),
                guild_id=guild_id,
                mode=said_in and without_surrogates(said_in),
                platform_message_id=message_id and without_surrogates(message_id),
                timestamp=when,
                facts=facts and without_surrogates(facts),
                audience=said_to,
                mark=mark,
                view=view and without_surrogates(view),
            )
        if stored.rowcount == 0 and message_id is not None:
            place = (familiar_id, channel_id, message_id)
            where = "familiar_id = ? AND channel_id = ? AND platform_message_id = ?"
            return self._turns(where, place, limit=1)[0], False
        turn_id = int(stored.lastrowid or 0)
        self.channel_stats.fold_if_due(turn_id)
        said = HistoryTurn(
            turn_id,
            when,
            role,
            author,
            content,
            channel_id,
            guild_id=guild_id,
            mode=said_in,
            platform_message_id=message_id,
            facts=facts,
            audience=said_to,
            mark=mark,
            view=view,
        )
        return said, True

    def _usual_audience(
        self, familiar_id: str, channel_id: int, guild_id: int | None, author: Author | None
    ) -> Audience:
        last = self._newest(familiar_id, channel_id)
        if last and last[0].guild_id == guild_id:
            return last[0].audience
        return infer_audience([(author.platform, author.user_id)] if author is not None else [], guild_id)

    def channel_audience(self, *, familiar_id: str, channel_id: int) -> Audience | None:
        """Those a channel's newest turn was said to; None when nothing was said there."""
        last = self._newest(familiar_id, channel_id)
        return last[0].audience if last else None

    def _newest(self, familiar_id: str, channel_id: int) -> list[HistoryTurn]:
        """The newest turn of a channel, whatever its mark."""
        return self._turns(*_in_scope(familiar_id, channel_id), limit=1, newest=True)

    def audiences(self, *, familiar_id: str) -> list[Audience]:
        """Everybody something was ever said to, each audience once; costs the same however long the history is."""
        rows = self.database.read(_DISTINCT_AUDIENCES, (familiar_id, familiar_id))
        return [parse_audience(row[0]) for row in rows if row[0] is not None]

    def change_audience(self, *, familiar_id: str, channel_id: int, audience: Audience) -> None:
        """A channel was hidden or opened. Hidden, it takes its old turns along; what was told of it is dropped.

        A chat that is sealed, or sealed no more, takes all of them along.
        """
        self.audience_changes += 1
        with self.database.transaction():
            if audience.is_sealed or audience.kind is AudienceKind.OWNER:
                self.database.write(
                    "UPDATE turns SET audience = ? WHERE familiar_id = ? AND channel_id = ?",
                    (str(audience), familiar_id, channel_id),
                )
            elif audience.kind is AudienceKind.CHANNEL:
                self.database.write(
                    "UPDATE turns SET audience = ?"
                    " WHERE familiar_id = ? AND channel_id = ? AND audience LIKE 'server:%'",
                    (str(audience), familiar_id, channel_id),
                )
            self.summaries.forget_channel(familiar_id, channel_id)
            self.database.write(
                "DELETE FROM short_term_notes WHERE familiar_id = ? AND channel_id = ?", (familiar_id, channel_id)
            )

    def recent(
        self,
        *,
        familiar_id: str,
        channel_id: int,
        limit: int,
        mode: Mode = None,
        before_id: int | None = None,
        with_hidden: bool = False,
    ) -> list[HistoryTurn]:
        """The newest *limit* turns of a channel that a model may see, oldest first; or people too, *with_hidden*."""
        where, values = _in_channel(familiar_id, channel_id, mode)
        if before_id is not None:
            where, values = f"{where} AND id < ?", [*values, before_id]
        return self._turns(f"{where} AND {where_shown(with_hidden)}", values, limit=limit, newest=True)

    def recent_distinct_authors(self, *, familiar_id: str, channel_id: int, limit: int) -> list[Author]:
        """Who spoke in a channel, newest first, each under the names of their newest turn."""
        if limit <= 0:
            return []
        rows = self.channel_stats.recent_authors(familiar_id, channel_id, limit)
        return [who for who in (author_from_columns(*row) for row in rows) if who is not None]

    def older_than(
        self,
        *,
        familiar_id: str,
        max_id: int,
        channel_id: int | None = None,
        limit: int = MAX_TURNS_READ,
        min_id: int | None = None,
    ) -> list[HistoryTurn]:
        """Turns from *min_id* to *max_id*, both included, ascending; past the limit the oldest are left out."""
        where, values = _in_scope(familiar_id, channel_id)
        where, values = f"{where} AND {UNMARKED} AND id <= ?", [*values, max_id]
        if min_id is not None:
            where, values = f"{where} AND id >= ?", [*values, min_id]
        return self._turns(where, values, limit=limit, newest=True)

    def turns_after(
        self,
        *,
        familiar_id: str,
        after_id: int,
        max_id: int | None = None,
        channel_id: int | None = None,
        audience: Audience | None = None,
        limit: int = MAX_TURNS_READ,
        with_hidden: bool = False,
    ) -> list[HistoryTurn]:
        """The next *limit* turns after *after_id*, up to and including *max_id*, ascending: one step of a walk."""
        where, values = _in_scope(familiar_id, channel_id)
        where = f"{where} AND {where_shown(with_hidden)}"
        if audience is not None:
            where, values = f"{where} AND audience = ?", [*values, str(audience)]
        where, values = f"{where} AND id > ?", [*values, after_id]
        if max_id is not None:
            where, values = f"{where} AND id <= ?", [*values, max_id]
        return self._turns(where, values, limit=limit)

    def turn_by_id(self, *, familiar_id: str, turn_id: int) -> HistoryTurn | None:
        found = self._turns("id = ? AND familiar_id = ?", (turn_id, familiar_id), limit=1)
        return found[0] if found else None

    def turns_without_words(self, *, familiar_id: str, turn_ids: Iterable[int]) -> dict[int, HistoryTurn]:
        """Who said the turns of these ids, when, where and to whom, in one query; their content is left empty."""
        # The plus keeps SQLite to the ids themselves, which is quicker than its index of familiars.
        rows = self.database.read(
            f"SELECT {_COLUMNS_WITHOUT_WORDS} FROM turns WHERE +familiar_id = ?"
            " AND id IN (SELECT value FROM json_each(?))",
            (familiar_id, json.dumps(sorted(set(turn_ids)))),
        )
        return {row[0]: turn_from_row(row) for row in rows}

    def latest_id(self, *, familiar_id: str, channel_id: int | None = None) -> int | None:
        where, values = _in_scope(familiar_id, channel_id)
        found: int | None = self.database.read(f"SELECT MAX(id) FROM turns WHERE {where}", values)[0][0]
        return found

    def nth_newest_id(self, *, familiar_id: str, back: int, audience: Audience | None = None) -> int | None:
        """Id of the turn that exactly *back* turns of the familiar, or of an audience, follow; None: none."""
        where, values = "familiar_id = ?", [familiar_id]
        if audience is not None:
            where, values = f"{where} AND audience = ?", [*values, str(audience)]
        sql = f"SELECT id FROM turns WHERE {where} ORDER BY id DESC LIMIT 1 OFFSET ?"
        rows = self.database.read(sql, (*values, max(0, back)))
        return int(rows[0][0]) if rows else None

    def count(self, *, familiar_id: str, channel_id: int | None = None) -> int:
        where, values = _in_scope(familiar_id, channel_id)
        return self.channel_stats.count(where, values)

    def count_before(self, *, familiar_id: str, channel_id: int, before_id: int | None, mode: Mode = None) -> int:
        """How many turns of a channel lie before *before_id*; cheap while that is near the end."""
        where, values = _in_channel(familiar_id, channel_id, mode)
        return self.channel_stats.count(where, values, before_id)

    def distinct_other_channels(self, *, familiar_id: str, exclude_channel_id: int) -> list[OtherChannelInfo]:
        """The familiar's other channels, most recently active first."""
        return list(map(other_channel_from_row, self.channel_stats.other_channels(familiar_id, exclude_channel_id)))

    def get_summary(self, *, familiar_id: str, channel_id: int = 0) -> SummaryEntry | None:
        """The rolling summary; channel 0 stands for the familiar as a whole."""
        return self.summaries.get(familiar_id, channel_id)

    def put_summary(
        self,
        *,
        familiar_id: str,
        last_summarised_id: int,
        summary_text: str,
        channel_id: int = 0,
        level: int = -1,
    ) -> None:
        """Keep a summary, unless a turn it covers was changed or taken back after the change *level*."""
        self.summaries.put(familiar_id, channel_id, last_summarised_id, summary_text, level)

    def start_dialogue(
        self, *, familiar_id: str, channel_id: int, kind: StartKind, after_id: int, summary: str = ""
    ) -> None:
        """Begin the channel's dialogue after *after_id*; a reset also drops the summaries that tell of before."""
        with self.database.transaction():
            self.dialogue_starts.put(familiar_id, channel_id, kind, after_id=after_id, summary=summary)
            if kind is StartKind.reset:
                self._forget_dialogue(familiar_id, channel_id)

    def take_back_start(self, *, familiar_id: str, channel_id: int, kind: StartKind) -> bool:
        """Take the mark in force back; False where it is none of that *kind*."""
        with self.database.transaction():
            is_gone = self.dialogue_starts.remove_newest(familiar_id, channel_id, kind)
            if is_gone and kind is StartKind.reset:
                self._forget_dialogue(familiar_id, channel_id)
        return is_gone

    def _forget_dialogue(self, familiar_id: str, channel_id: int) -> None:
        self.summaries.forget_dialogue(familiar_id, channel_id)
        self.database.write(
            "DELETE FROM short_term_notes WHERE familiar_id = ? AND channel_id = ?", (familiar_id, channel_id)
        )

    def get_cross_context(
        self, *, familiar_id: str, viewer_mode: ChannelMode | str, source_channel_id: int
    ) -> CrossContextEntry | None:
        return self.summaries.get_cross_context(familiar_id, viewer_mode, source_channel_id)

    def put_cross_context(
        self,
        *,
        familiar_id: str,
        viewer_mode: ChannelMode | str,
        source_channel_id: int,
        source_last_id: int,
        summary_text: str,
        level: int = -1,
    ) -> None:
        about = (familiar_id, viewer_mode, source_channel_id)
        self.summaries.put_cross_context(*about, source_last_id, summary_text, level)

    def get_writer_watermark(self, *, familiar_id: str) -> WatermarkEntry | None:
        return self.watermarks.get(familiar_id)

    def put_writer_watermark(self, *, familiar_id: str, last_written_id: int) -> None:
        self.watermarks.put(familiar_id, last_written_id)

    def turns_since_watermark(self, *, familiar_id: str, limit: int = MAX_TURNS_READ) -> list[HistoryTurn]:
        """The oldest *limit* turns past the memory writer's watermarks, ascending; all when it has none."""
        return self.watermarks.turns_since(familiar_id, limit)

    def erase_author(self, *, familiar_id: str, author: Author, also: Collection[int] = ()) -> int:
        """Remove what a person said, the words of the turns in *also*, and every summary; how many turns went."""
        with self.database.transaction():
            gone = self.authors.erase(familiar_id, author, also)
            self.channel_keys.forget(ChannelKey(author.platform, author.user_id))
        self.channel_stats.rebuild()
        return gone

    def check(self) -> list[str]:
        """What is wrong with the file, found by reading all of it; empty when it is sound."""
        return self.database.check() or find_malformed_rows(self.database)

    def _turns(self, where: str, values: Sequence[object], *, limit: int, newest: bool = False) -> list[HistoryTurn]:
        """Up to *limit* turns, ascending, counted from the start or from the newest."""
        if limit <= 0:
            return []
        direction = "DESC" if newest else "ASC"
        sql = f"SELECT {TURN_COLUMNS} FROM turns WHERE {where} ORDER BY id {direction} LIMIT ?"
        rows = self.database.read(sql, [*values, limit])
        return [turn_from_row(row) for row in (reversed(rows) if newest else rows)]


def _in_scope(familiar_id: str, channel_id: int | None) -> tuple[str, list[object]]:
    """A familiar's rows: of one channel, or of all."""
    if channel_id is None:
        return "familiar_id = ?", [familiar_id]
    return "familiar_id = ? AND channel_id = ?", [familiar_id, channel_id]


def _in_channel(familiar_id: str, channel_id: int, mode: Mode) -> tuple[str, list[object]]:
    """A channel's rows: of one mode, or of all."""
    where, values = _in_scope(familiar_id, channel_id)
    wanted = mode_value(mode)
    return (where, values) if wanted is None else (f"{where} AND mode = ?", [*values, wanted])


def _storable_author(who: Author) -> Author:
    """*who* under names SQLite can hold."""
    return replace(
        who,
        platform=without_surrogates(who.platform),
        user_id=without_surrogates(who.user_id),
        username=None if who.username is None else without_surrogates(who.username),
        display_name=None if who.display_name is None else without_surrogates(who.display_name),
    )
