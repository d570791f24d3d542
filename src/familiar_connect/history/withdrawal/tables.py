"""The columns and the table that taking back needs, for a file made before."""

from __future__ import annotations

import sqlite3


def add_withdrawals(connection: sqlite3.Connection) -> None:
    """What came with the words that a turn read before, who or what took them back, and how far a channel was heard.

    The last is for channels whose newest turn was erased: what was erased is not read again.
    """
    present = [str(row[1]) for row in connection.execute("PRAGMA table_info(turn_revisions)")]
    for column in ("facts_before", "removed_by"):
        if column not in present:
            connection.execute(f"ALTER TABLE turn_revisions ADD COLUMN {column} TEXT")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS heard_up_to (familiar_id TEXT NOT NULL, channel_id INTEGER NOT NULL,"
        " platform_message_id TEXT NOT NULL, PRIMARY KEY (familiar_id, channel_id)) WITHOUT ROWID"
    )


def add_withdrawn_views(connection: sqlite3.Connection) -> None:
    """What prompts had in place of the words that a turn read before."""
    if "view_before" not in [str(row[1]) for row in connection.execute("PRAGMA table_info(turn_revisions)")]:
        connection.execute("ALTER TABLE turn_revisions ADD COLUMN view_before TEXT")
