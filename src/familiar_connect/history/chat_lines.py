"""Lines of a chat as a whole: all of them taken back, and two that change places."""

from __future__ import annotations

from familiar_connect.history.chats import list_standing_turns
from familiar_connect.history.message_edits import record_change
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.types import TurnMark
from familiar_connect.history.versions import TurnVersionStore
from familiar_connect.support.clock import Clock

_TRAVELS = (
    "content, role, author_platform, author_user_id, author_username, author_display_name, timestamp, guild_id, mode,"
    " facts, audience, mark, copy_of, platform_message_id, view"
)
"""What goes along with a line; `content` comes first and `view` last, because new words clear the view."""


def take_back_all(
    history: HistoryStore, familiar_id: str, channel_id: int, clock: Clock, *, first_id: int = 0
) -> dict[int, str | None]:
    """Take back everything that was said in a chat, or all from one line on; the turns that are gone."""
    standing = [each for each in list_standing_turns(history, familiar_id, channel_id) if each >= first_id]
    gone = TurnVersionStore(history, familiar_id, clock=clock).mark_turns(standing, TurnMark.undone)
    return dict.fromkeys(gone)


def swap_lines(history: HistoryStore, familiar_id: str, first: int, second: int, clock: Clock) -> dict[int, str | None]:
    """Let two lines of a chat change places, with their versions; what each of the two turns reads now.

    The turns stay where they are, and all that a line is goes from one to the other, its time too: what a turn was
    made into is made anew, as after an edit.
    """
    ids = (first, second)
    with history.database.transaction() as connection:
        record_change(connection, ids, clock, was_deleted=False)
        found = {
            row[0]: row[1:]
            for row in connection.execute(f"SELECT id, {_TRAVELS} FROM turns WHERE id IN (?, ?)", ids).fetchall()
        }
        connection.execute("UPDATE turns SET platform_message_id = NULL WHERE id IN (?, ?)", ids)
        connection.execute("UPDATE turn_versions SET turn_id = -turn_id WHERE turn_id IN (?, ?)", ids)
        for here, there in (ids, ids[::-1]):
            for name, value in zip(_TRAVELS.split(","), found[there], strict=True):
                connection.execute(f"UPDATE turns SET {name} = ? WHERE id = ?", (value, here))
        for table, column, sign in (("turn_versions", "turn_id", -1), ("turns", "copy_of", 1)):
            connection.execute(
                f"UPDATE {table} SET {column} = CASE {column} WHEN ? THEN ? ELSE ? END WHERE {column} IN (?, ?)",
                (sign * first, second, first, sign * first, sign * second),
            )
    now = {each: history.turn_by_id(familiar_id=familiar_id, turn_id=each) for each in ids}
    return {each: turn.display_text if turn is not None and turn.mark is None else None for each, turn in now.items()}
