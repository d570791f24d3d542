"""Rows of `history.db` as values: turns, authors, moments and modes, both ways.

One odd value in a row, such as a timestamp nobody can read, never hides the row.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TypeAlias

from familiar_connect.config.types import ChannelMode
from familiar_connect.history.types import HistoryTurn, OtherChannelInfo
from familiar_connect.identity import Author
from familiar_connect.support.sqlite import Row

Mode: TypeAlias = ChannelMode | str | None

TURN_COLUMNS = (
    "id, timestamp, role, author_platform, author_user_id, author_username, author_display_name,"
    " content, channel_id, guild_id, mode, platform_message_id"
)
"""The columns `turn` reads, in its order."""

UNKNOWN_MOMENT = datetime.fromtimestamp(0, UTC)
"""Stands for a timestamp that cannot be read."""


def turn(row: Row) -> HistoryTurn:
    id_, when, role, platform, user_id, username, display_name, content, channel_id, guild_id, mode, message_id = row
    return HistoryTurn(
        id_,
        moment(when),
        role,
        author(platform, user_id, username, display_name),
        content,
        channel_id,
        guild_id=guild_id,
        mode=mode,
        platform_message_id=message_id,
    )


def author(platform: str | None, user_id: str | None, username: str | None, display_name: str | None) -> Author | None:
    """Nobody, unless the row says who: a name alone is not a person."""
    if platform is None or user_id is None:
        return None
    return Author(platform, user_id, username, display_name)


def other_channel(row: Row) -> OtherChannelInfo:
    channel_id, mode, latest_id, latest_timestamp = row
    return OtherChannelInfo(channel_id, mode or None, latest_id, moment(latest_timestamp))


def moment(stored: str) -> datetime:
    """A stored timestamp; one without an offset is in UTC."""
    try:
        when = datetime.fromisoformat(stored)
    except (TypeError, ValueError):
        return UNKNOWN_MOMENT
    return when if when.tzinfo is not None else when.replace(tzinfo=UTC)


def in_utc(when: datetime) -> datetime:
    """The same moment in UTC; one without an offset is taken to be in UTC already."""
    if when.tzinfo is UTC:
        return when
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)


def mode_value(mode: Mode) -> str | None:
    """A mode as it is stored; the empty one is none."""
    return (mode.value if isinstance(mode, ChannelMode) else mode) or None
