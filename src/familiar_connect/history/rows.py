"""Rows of `history.db` as values: turns, authors, moments and modes, both ways.

One odd value in a row, such as bytes for text or a timestamp nobody can read, never hides the row;
`find_malformed_rows` finds them.

Integrity: rows of `history.db` that another program wrote and ours would not, listed for the owner.

They are read as well as they can be and break nothing, so nothing here changes them.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from functools import lru_cache
from typing import TypeAlias

from familiar_connect.audience import parse_audience
from familiar_connect.config.types import ChannelMode
from familiar_connect.history.types import HistoryTurn, OtherChannelInfo, TurnMark
from familiar_connect.identity import Author
from familiar_connect.support.sqlite import Database, Row

Mode: TypeAlias = ChannelMode | str | None

MAX_METADATA_CHARS = 100_000
"""Of what came with a message besides its words, as text."""
MAX_TURNS_READ = 10_000
"""Turns handed out at once unless the caller says otherwise."""
TURN_COLUMNS = (
    "id, timestamp, role, author_platform, author_user_id, author_username, author_display_name,"
    " content, channel_id, guild_id, mode, platform_message_id, facts, audience, mark, copy_of, view"
)
"""The columns `turn` reads, in its order."""
SUMMARY_TABLES = ("summaries", "cross_context_summaries")
UNMARKED = "mark IS NULL"
"""Holds for the turns a model may see."""
REMEMBERED = "(mark IS NULL OR mark = 'belated')"
"""Holds for the turns that are searched and written up."""

UNKNOWN_MOMENT = datetime.fromtimestamp(0, UTC)
"""Stands for a timestamp that cannot be read."""
EARLIEST, LATEST = datetime(2, 1, 1, tzinfo=UTC), datetime(9998, 12, 31, tzinfo=UTC)
"""Moments outside these cannot be shown in every zone."""
MAX_TURNS = 2_048
"""Rows that are read as turns once, as long as they stay as they are; a prompt shows the same ones again and again."""
MAX_AUTHORS = 4_096
"""Authors that are made once, not for each of their turns."""


def where_shown(with_hidden: bool) -> str:
    """Holds for the turns that are shown: to a model, or to people."""
    return f"({UNMARKED} OR mark NOT IN ('undone', 'belated'))" if with_hidden else UNMARKED


@lru_cache(maxsize=MAX_TURNS)
def turn_from_row(row: Row) -> HistoryTurn:
    id_, when, role, platform, user_id, username, display_name, content, channel_id, guild_id, mode, *rest = row
    message_id, facts, audience, mark, copy_of, view = rest
    return HistoryTurn(
        id_,
        parse_timestamp(when),
        text_or_none(role) or "",
        author_from_columns(platform, user_id, username, display_name),
        text_or_none(content) or "",
        channel_id,
        guild_id=guild_id,
        mode=text_or_none(mode),
        platform_message_id=text_or_none(message_id),
        facts=text_or_none(facts),
        audience=parse_audience(text_or_none(audience)),
        mark=_mark(mark),
        copy_of=copy_of if isinstance(copy_of, int) else None,
        view=text_or_none(view),
    )


def _mark(stored: object) -> TurnMark | None:
    """A mark nobody knows keeps its turn out of prompts too."""
    if stored is None:
        return None
    known = {mark.value: mark for mark in TurnMark}
    return known.get(str(stored), TurnMark.hidden)


def author_from_columns(platform: object, user_id: object, username: object, display_name: object) -> Author | None:
    """Nobody, unless the row says who: a name alone is not a person."""
    where, who = text_or_none(platform), text_or_none(user_id)
    if where is None or who is None:
        return None
    return _author(where, who, text_or_none(username), text_or_none(display_name))


@lru_cache(maxsize=MAX_AUTHORS)
def _author(platform: str, user_id: str, username: str | None, display_name: str | None) -> Author:
    return Author(platform, user_id, username, display_name)


def text_or_none(stored: object) -> str | None:
    """A stored text; SQLite lets other programs put bytes and numbers in its place."""
    if stored is None or isinstance(stored, str):
        return stored
    return stored.decode("utf-8", "replace") if isinstance(stored, bytes) else str(stored)


def other_channel_from_row(row: Row) -> OtherChannelInfo:
    channel_id, mode, latest_id, latest_timestamp = row
    return OtherChannelInfo(channel_id, text_or_none(mode) or None, latest_id, parse_timestamp(latest_timestamp))


def parse_timestamp(stored: str) -> datetime:
    """A stored timestamp, moved to the nearest one that can be shown; one without an offset is in UTC."""
    try:
        when = datetime.fromisoformat(stored)
    except (TypeError, ValueError):
        return UNKNOWN_MOMENT
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return EARLIEST if when < EARLIEST else LATEST if when > LATEST else when


def in_utc(when: datetime) -> datetime:
    """The same moment in UTC; one without an offset is taken to be in UTC already."""
    if when.tzinfo is UTC:
        return when
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)


def mode_value(mode: Mode) -> str | None:
    """A mode as it is stored; the empty one is none."""
    return (mode.value if isinstance(mode, ChannelMode) else mode) or None


logger = logging.getLogger(__name__)


_TEXTS = ("role", "content", "timestamp")
_TEXTS_OR_NONE = (
    "author_platform",
    "author_user_id",
    "author_username",
    "author_display_name",
    "mode",
    "platform_message_id",
)
_ODD_TURN = " OR ".join(
    [
        *(f"typeof({column}) <> 'text'" for column in _TEXTS),
        *(f"typeof({column}) NOT IN ('text', 'null')" for column in _TEXTS_OR_NONE),
        "typeof(channel_id) <> 'integer'",
        "datetime(timestamp) IS NULL",
        "timestamp NOT BETWEEN '0002' AND '9999'",
    ]
)
_ODD_SUMMARIES = {
    "summaries": "typeof(summary_text) <> 'text' OR typeof(last_summarised_id) <> 'integer'",
    "cross_context_summaries": "typeof(summary_text) <> 'text' OR typeof(source_last_id) <> 'integer'",
}


def find_malformed_rows(database: Database) -> list[str]:
    """One sentence for each table with such rows; reads all of them."""
    found = []
    count, first = database.read(f"SELECT COUNT(*), MIN(id) FROM turns WHERE {_ODD_TURN}")[0]
    if count:
        found.append(f"{count} of the turns hold bytes for text or an impossible time, first the one with id {first}")
    for table, odd in _ODD_SUMMARIES.items():
        count = database.read(f"SELECT COUNT(*) FROM {table} WHERE {odd}")[0][0]
        if count:
            found.append(f"{count} rows of {table} are no summaries and count as absent")
    return found
