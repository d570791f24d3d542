"""Lines of chats as people look for them: by their words, by a day, and how many there are before one."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import datetime

from familiar_connect.history.rows import TURN_COLUMNS, in_utc, turn_from_row, where_shown
from familiar_connect.history.types import HistoryTurn
from familiar_connect.support.sqlite import Database

_IN_CHANNEL = "familiar_id = ? AND channel_id = ?"


def find_lines_with(
    database: Database, familiar_id: str, channel_ids: Collection[int], words: Sequence[str], *, limit: int
) -> list[HistoryTurn]:
    """The newest lines of some channels that hold all of *words*, in any case, as people see them; the newest first."""
    where = f"familiar_id = ? AND channel_id IN (SELECT value FROM json_each(?)) AND {where_shown(True)}"
    where += " AND COALESCE(view, content) LIKE ? ESCAPE '\\'" * len(words)
    sql = f"SELECT {TURN_COLUMNS} FROM turns WHERE {where} ORDER BY id DESC LIMIT ?"
    patterns = [f"%{_escape(word)}%" for word in words]
    rows = database.read(sql, (familiar_id, json.dumps(sorted(channel_ids)), *patterns, limit))
    return [turn_from_row(row) for row in rows]


def find_first_line_since(database: Database, familiar_id: str, channel_id: int, moment: datetime) -> int | None:
    """Id of the first line of a channel that was said at *moment* or later."""
    sql = f"SELECT MIN(id) FROM turns WHERE {_IN_CHANNEL} AND {where_shown(True)} AND timestamp >= ?"
    found: int | None = database.read(sql, (familiar_id, channel_id, in_utc(moment).isoformat()))[0][0]
    return found


def count_lines_before(database: Database, familiar_id: str, channel_id: int, before_id: int) -> int:
    """How many lines of a channel that a model may see lie before *before_id*."""
    sql = f"SELECT COUNT(*) FROM turns WHERE {_IN_CHANNEL} AND {where_shown(False)} AND id < ?"
    return int(database.read(sql, (familiar_id, channel_id, before_id))[0][0])


def _escape(word: str) -> str:
    """*word* as a part of a pattern that stands for itself alone."""
    return word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
