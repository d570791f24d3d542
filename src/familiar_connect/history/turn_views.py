"""Turn views: what prompts, the chat as it is shown, and exports have in place of a turn's words.

Scripts make a view once, when something is heard or said. `turns.content` stays as it was heard or written, and so does
`turn_versions.content`; the view stands beside it in the same row and goes with it. Whatever changes the words clears
the view, which was made of the old ones; a new view is set in a step of its own.
"""

from __future__ import annotations

import sqlite3

_TRIGGERS = (
    "DROP TRIGGER IF EXISTS turn_with_versions_changed",
    """
    CREATE TRIGGER turn_with_versions_changed AFTER UPDATE OF content ON turns BEGIN
        UPDATE turn_versions SET content = NEW.content, view = NULL WHERE turn_id = NEW.id AND is_chosen = 1;
    END
    """,
    """
    CREATE TRIGGER IF NOT EXISTS view_with_versions_changed AFTER UPDATE OF view ON turns BEGIN
        UPDATE turn_versions SET view = NEW.view WHERE turn_id = NEW.id AND is_chosen = 1;
    END
    """,
    """
    CREATE TRIGGER IF NOT EXISTS turn_with_view_changed AFTER UPDATE OF content ON turns WHEN OLD.view IS NOT NULL BEGIN
        UPDATE turns SET view = NULL WHERE id = NEW.id;
    END
    """,
)


def add_turn_views(connection: sqlite3.Connection) -> None:
    """Give turns and their versions a place for a view."""
    for table in ("turns", "turn_versions"):
        columns = [str(row[1]) for row in connection.execute(f"PRAGMA table_info({table})")]
        if "view" not in columns:
            connection.execute(f"ALTER TABLE {table} ADD COLUMN view TEXT")
    for statement in _TRIGGERS:
        connection.execute(statement)
