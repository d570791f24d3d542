"""Branches: a chat that begins as another one was up to a line, and goes its own way from there."""

from __future__ import annotations

from familiar_connect.history.store import HistoryStore

_COPIED = (
    "guild_id, role, author_platform, author_user_id, author_username, author_display_name, content, timestamp,"
    " mode, facts, audience, mark, view"
)


def copy_turns(history: HistoryStore, *, familiar_id: str, channel_id: int, up_to_id: int, new_channel_id: int) -> int:
    """Repeat the turns of a chat up to one of them in another, with all their versions; how many there are.

    What was undone is left out. Each knows which turn it repeats, so that nothing is remembered or found twice.
    """
    with history.database.transaction() as connection:
        copied = connection.execute(
            f"INSERT INTO turns (familiar_id, channel_id, copy_of, {_COPIED})"
            f" SELECT familiar_id, ?, id, {_COPIED} FROM turns"
            " WHERE familiar_id = ? AND channel_id = ? AND id <= ? AND (mark IS NULL OR mark <> 'undone') ORDER BY id",
            (new_channel_id, familiar_id, channel_id, up_to_id),
        ).rowcount
        connection.execute(
            "INSERT INTO turn_versions SELECT turns.id, number, turn_versions.content, is_chosen, turn_versions.view"
            " FROM turns JOIN turn_versions ON turn_id = copy_of WHERE familiar_id = ? AND channel_id = ?",
            (familiar_id, new_channel_id),
        )
    return copied
